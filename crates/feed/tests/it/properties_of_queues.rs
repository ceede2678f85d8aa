//! Property tests of the queue limits with random pushes.

use std::sync::Arc;

use bytes::Bytes;
use feed::{
    BYTES_MAX, Board, EncodedPush, Figures, Growth, Outgoing, PUSHES_MAX, Push, PushQueue, QuotePush,
    SubType, Tag, TradeStatus, TradesPush,
};
use market::{Session, Symbol, Timestamp, Turnover};
use proptest::prelude::*;

use crate::common::symbol;
use crate::random::Dice;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The queue never exceeds its limits, drops no trades, and removes the pushes of ended
    /// subscriptions.
    #[test]
    fn queues_stay_within_their_limits(seed in any::<u64>(), bytes in 1usize..4_000) {
        let mut dice = Dice(seed);
        let names = ["1.HK", "5.HK", "700.HK"].map(symbol);
        let mut queue = PushQueue::default();
        let (mut waiting, mut sequence) = (Vec::new(), 0);
        let body = Bytes::from(vec![0; bytes]);
        for _ in 0..6_000 {
            let name = names[dice.roll(3) as usize].clone();
            sequence += 1;
            if dice.roll(1_000) == 0 {
                queue.retain(|of, _| of != Some(&name));
                waiting.retain(|(of, _)| *of != name);
            } else if dice.is(1) {
                if let Some(Outgoing::Shared { sub_type: SubType::Trades, .. }) = queue.pop() {
                    waiting.remove(0);
                }
            } else {
                let push = random_push(name.clone(), sequence, &mut dice);
                let is_trades = matches!(push, Push::Trades(_));
                let (len, size) = (queue.len(), queue.bytes());
                let added = queue.push(&Arc::new(EncodedPush::new(push, |_| body.clone())));
                if added.is_err() {
                    prop_assert!(len == PUSHES_MAX || size + bytes > BYTES_MAX);
                    prop_assert_eq!((queue.len(), queue.bytes()), (len, size));
                } else if is_trades {
                    waiting.push((name, sequence));
                }
            }
            prop_assert!(queue.len() <= PUSHES_MAX && queue.bytes() <= BYTES_MAX);
            prop_assert_eq!(queue.bytes(), queue.len() * bytes);
        }
        let left = std::iter::from_fn(|| queue.pop());
        let trades = left.filter(|push| matches!(push, Outgoing::Shared { sub_type: SubType::Trades, .. }));
        prop_assert_eq!(trades.count(), waiting.len());
    }
}

fn random_push(symbol: Symbol, sequence: i64, dice: &mut Dice) -> Push {
    let session = if dice.is(9) { Session::Intraday } else { Session::Post };
    if dice.is(8) {
        return Push::Trades(TradesPush { symbol, sequence, session, prints: Vec::new() });
    }
    let (price, volume) = (dice.price(), dice.number(3));
    let figures =
        Figures { open: price, high: price, low: price, last: price, volume, turnover: Turnover(0) };
    Push::Quote(QuotePush {
        symbol,
        board: if dice.is(5) { Board::Index } else { Board::Security },
        sequence,
        day: "2026-03-18".parse().unwrap(),
        session,
        figures,
        time: Timestamp(sequence),
        growth: Growth { volume: 1, turnover: Turnover(1) },
        tag: Tag::Normal,
        status: TradeStatus::Normal,
    })
}
