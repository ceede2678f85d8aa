//! Queue tests: slow readers, ended subscriptions, and the tag of quotes without volume (U15).

use std::sync::Arc;

use bytes::Bytes;
use feed::{
    BYTES_MAX, Board, EncodedPush, Figures, Full, Growth, Outgoing, PUSHES_MAX, Push, PushQueue, QuotePush,
    SubType, Tag, TradeStatus, TradesPush,
};
use market::{Price, Session, Timestamp, Turnover};

use crate::common::symbol;

fn quote(name: &str, sequence: i64, volume: i64) -> QuotePush {
    let price = Price(1_000_000);
    QuotePush {
        symbol: symbol(name),
        board: Board::Security,
        sequence,
        day: "2026-03-18".parse().unwrap(),
        session: Session::Intraday,
        figures: Figures { open: price, high: price, low: price, last: price, volume, turnover: Turnover(0) },
        time: Timestamp(1_773_797_400),
        growth: Growth { volume: 10, turnover: Turnover(500) },
        tag: Tag::Normal,
        status: TradeStatus::Normal,
    }
}

fn trades(name: &str, sequence: i64) -> Push {
    Push::Trades(TradesPush {
        symbol: symbol(name),
        sequence,
        session: Session::Intraday,
        prints: Vec::new(),
    })
}

/// Encodes a push as its symbol, type, sequence number and tag.
fn encoded(push: Push) -> Arc<EncodedPush> {
    Arc::new(EncodedPush::new(push, |push| Bytes::from(name(push))))
}

fn name(push: &Push) -> String {
    match push {
        Push::Quote(push) => {
            let tag = if push.tag == Tag::Eod { " eod" } else { "" };
            format!("{} quote {}{tag}", push.symbol.as_str(), push.sequence)
        }
        Push::Trades(push) => format!("{} trades {}", push.symbol.as_str(), push.sequence),
    }
}

/// Takes all pushes from the queue and formats them. Merged quotes are formatted with their growth.
fn drain(queue: &mut PushQueue) -> Vec<String> {
    let texts = std::iter::from_fn(|| queue.pop()).map(|push| match push {
        Outgoing::Shared { bytes, .. } => String::from_utf8(bytes.to_vec()).unwrap(),
        Outgoing::Merged(quote) => {
            let growth = quote.growth;
            format!("{} grew {} / {}", name(&Push::Quote(quote)), growth.volume, growth.turnover.0)
        }
    });
    texts.collect()
}

#[test]
fn a_newer_quote_replaces_a_queued_quote() {
    let mut queue = PushQueue::default();
    queue.push(&encoded(Push::Quote(quote("700.HK", 1, 100)))).unwrap();
    queue.push(&encoded(trades("700.HK", 1))).unwrap();
    queue.push(&encoded(Push::Quote(quote("5.HK", 1, 100)))).unwrap();
    queue.push(&encoded(Push::Quote(quote("700.HK", 2, 110)))).unwrap();
    queue.push(&encoded(trades("700.HK", 2))).unwrap();
    queue.push(&encoded(Push::Quote(quote("700.HK", 3, 120)))).unwrap();
    let expected = ["700.HK quote 3 grew 30 / 1500", "700.HK trades 1", "5.HK quote 1", "700.HK trades 2"];
    assert_eq!(drain(&mut queue), expected);
    // A newer quote cannot be merged with a quote that was already sent.
    queue.push(&encoded(Push::Quote(quote("700.HK", 4, 130)))).unwrap();
    assert_eq!(drain(&mut queue), ["700.HK quote 4"]);
}

#[test]
fn quotes_with_a_different_day_session_or_tag_are_not_merged() {
    let mut queue = PushQueue::default();
    let first = quote("700.HK", 1, 100);
    let others = [
        first.clone(),
        QuotePush { sequence: 2, day: "2026-03-19".parse().unwrap(), ..first.clone() },
        QuotePush { sequence: 3, session: Session::Post, ..first.clone() },
        QuotePush { sequence: 4, session: Session::Post, tag: Tag::Eod, ..first.clone() },
    ];
    others.into_iter().for_each(|push| queue.push(&encoded(Push::Quote(push))).unwrap());
    // The first quote has the same day, session and tag, but replacing it would send sequence
    // numbers out of order.
    queue.push(&encoded(Push::Quote(QuotePush { sequence: 5, ..first }))).unwrap();
    let sent = drain(&mut queue);
    assert_eq!(
        sent,
        ["700.HK quote 1", "700.HK quote 2", "700.HK quote 3", "700.HK quote 4 eod", "700.HK quote 5"]
    );
}

#[test]
fn a_short_queue_tags_quotes_but_does_not_merge_them() {
    let mut queue = PushQueue::merging_from(3);
    for (sequence, volume) in [(1, 100), (2, 0), (3, 0), (4, 0)] {
        queue.push(&encoded(Push::Quote(quote("700.HK", sequence, volume)))).unwrap();
    }
    queue.push(&encoded(Push::Quote(quote("5.HK", 1, 0)))).unwrap();
    let expected =
        ["700.HK quote 1", "700.HK quote 2 eod", "700.HK quote 4 eod grew 20 / 1000", "5.HK quote 1"];
    assert_eq!(drain(&mut queue), expected);
}

#[test]
fn index_quotes_are_never_merged() {
    let mut queue = PushQueue::default();
    for sequence in 1..=3 {
        let push = QuotePush { board: Board::Index, ..quote("HSI.HK", sequence, 100) };
        queue.push(&encoded(Push::Quote(push))).unwrap();
    }
    assert_eq!(drain(&mut queue), ["HSI.HK quote 1", "HSI.HK quote 2", "HSI.HK quote 3"]);
}

#[test]
fn the_limits_of_a_queue_can_be_set() {
    let mut queue = PushQueue::default().with_limits(2, BYTES_MAX);
    for sequence in 1..3 {
        queue.push(&encoded(trades("700.HK", sequence))).unwrap();
    }
    assert_eq!(queue.push(&encoded(trades("700.HK", 3))), Err(Full { waiting: 2 }));
    let mut queue = PushQueue::default().with_limits(2, 0);
    assert_eq!(queue.push(&encoded(trades("700.HK", 1))), Err(Full { waiting: 0 }));
}

#[test]
fn a_full_queue_refuses_pushes_but_still_merges() {
    let mut queue = PushQueue::default();
    queue.push(&encoded(Push::Quote(quote("700.HK", 1, 100)))).unwrap();
    for sequence in 1..PUSHES_MAX as i64 {
        queue.push(&encoded(trades("700.HK", sequence))).unwrap();
    }
    let full = queue.push(&encoded(trades("700.HK", 9999)));
    assert_eq!(full, Err(Full { waiting: 4096 }));
    assert_eq!(full.unwrap_err().to_string(), "too slow: 4096 pushes waiting");
    assert_eq!(queue.push(&encoded(Push::Quote(quote("700.HK", 2, 110)))), Ok(()));
    assert_eq!(queue.len(), PUSHES_MAX);
    assert_eq!(queue.pop().map(|push| matches!(push, Outgoing::Merged(_))), Some(true));
    assert_eq!(queue.push(&encoded(trades("700.HK", 9999))), Ok(()));
}

#[test]
fn a_queue_refuses_pushes_past_its_byte_limit() {
    let mut queue = PushQueue::default();
    let half = Bytes::from(vec![0; BYTES_MAX / 2]);
    let large = |sequence| Arc::new(EncodedPush::new(trades("700.HK", sequence), |_| half.clone()));
    queue.push(&large(1)).unwrap();
    queue.push(&large(2)).unwrap();
    assert_eq!(queue.push(&encoded(trades("700.HK", 3))), Err(Full { waiting: 2 }));
    queue.pop();
    assert_eq!(queue.bytes(), BYTES_MAX / 2);
    assert_eq!(queue.push(&encoded(trades("700.HK", 3))), Ok(()));
    while queue.pop().is_some() {}
    assert_eq!((queue.bytes(), queue.is_empty()), (0, true));
}

#[test]
fn queued_pushes_of_an_ended_subscription_are_removed() {
    let mut queue = PushQueue::default();
    queue.push(&encoded(Push::Quote(quote("700.HK", 1, 100)))).unwrap();
    queue.push(&encoded(trades("700.HK", 1))).unwrap();
    queue.push(&encoded(Push::Quote(quote("5.HK", 1, 100)))).unwrap();
    queue.retain(|symbol, kind| {
        !(symbol.is_some_and(|symbol| symbol.as_str() == "700.HK") && kind == SubType::Quote)
    });
    assert_eq!(queue.len(), 2);
    // Queue positions have shifted, but merging must still find the right push.
    queue.push(&encoded(Push::Quote(quote("5.HK", 2, 110)))).unwrap();
    queue.push(&encoded(Push::Quote(quote("700.HK", 2, 110)))).unwrap();
    assert_eq!(drain(&mut queue), ["700.HK trades 1", "5.HK quote 2 grew 20 / 1000", "700.HK quote 2"]);
}

#[test]
fn u15_zero_volume_is_tagged_eod_after_nonzero_volume() {
    let open = || encoded(Push::Quote(quote("700.HK", 2, 0)));
    let mut fresh = PushQueue::default();
    fresh.push(&open()).unwrap();
    assert_eq!(drain(&mut fresh), ["700.HK quote 2"]);

    let mut old = PushQueue::default();
    old.push(&encoded(Push::Quote(quote("700.HK", 1, 100)))).unwrap();
    assert_eq!(drain(&mut old), ["700.HK quote 1"]);
    old.push(&open()).unwrap();
    old.push(&encoded(Push::Quote(quote("5.HK", 1, 0)))).unwrap();
    old.push(&encoded(Push::Quote(quote("700.HK", 3, 50)))).unwrap();
    assert_eq!(drain(&mut old), ["700.HK quote 2 eod", "5.HK quote 1", "700.HK quote 3"]);
}

#[test]
fn queued_volume_triggers_the_eod_tag_unless_removed() {
    let mut queue = PushQueue::default();
    let before = QuotePush { day: "2026-03-17".parse().unwrap(), ..quote("700.HK", 1, 100) };
    queue.push(&encoded(Push::Quote(before.clone()))).unwrap();
    queue.push(&encoded(Push::Quote(quote("700.HK", 2, 0)))).unwrap();
    assert_eq!(drain(&mut queue), ["700.HK quote 1", "700.HK quote 2 eod"]);

    let mut queue = PushQueue::default();
    queue
        .push(&encoded(Push::Quote(QuotePush {
            sequence: 0,
            figures: quote("700.HK", 0, 0).figures,
            ..before.clone()
        })))
        .unwrap();
    queue.push(&encoded(Push::Quote(before.clone()))).unwrap();
    queue.push(&encoded(Push::Quote(quote("700.HK", 2, 0)))).unwrap();
    assert_eq!(drain(&mut queue), ["700.HK quote 1 grew 20 / 1000", "700.HK quote 2 eod"]);

    let mut queue = PushQueue::default();
    queue.push(&encoded(Push::Quote(before))).unwrap();
    queue.retain(|_, _| false);
    queue.push(&encoded(Push::Quote(quote("700.HK", 2, 0)))).unwrap();
    assert_eq!(drain(&mut queue), ["700.HK quote 2"]);
}

#[test]
fn connections_share_the_bytes_of_a_push() {
    let push = encoded(Push::Quote(quote("700.HK", 1, 100)));
    let mut queues = [PushQueue::default(), PushQueue::default()];
    let taken: Vec<Bytes> = queues
        .iter_mut()
        .map(|queue| {
            queue.push(&push).unwrap();
            match queue.pop() {
                Some(Outgoing::Shared { bytes, .. }) => bytes,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(taken[0].as_ptr(), taken[1].as_ptr());
}

#[test]
fn quotes_are_merged_once_the_queue_is_long_enough() {
    let mut queue = PushQueue::merging_from(3);
    for sequence in 1..=5 {
        queue.push(&encoded(Push::Quote(quote("700.HK", sequence, 1)))).unwrap();
    }
    let pushes = ["700.HK quote 1", "700.HK quote 2", "700.HK quote 5 grew 30 / 1500"];
    assert_eq!(drain(&mut queue), pushes);
}
