//! Pushes sent between responses, and pushes to a client that does not read, with tokio's paused
//! clock.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use access::{Created, RateRule, Terms};
use bytes::Bytes;
use prost::Message;
use tokio::sync::Semaphore;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};
use wire::{Packet, Status, control, quote};

use super::house::{BOTH, Far, House, Kind, NOW, Seen};
use super::session::close_reason;
use super::{Arrival, Link, Program, Transport, UNSENT_MAX};
use crate::mailbox::{ClosedBy, Kick, Mailbox, Push, PushError};

const SECOND: Duration = Duration::from_secs(1);
/// Number of a push command that has no other meaning for clients.
const NOTIFICATION: u8 = 18;
/// Body size of a push in bytes. The body is the push's number followed by padding.
const LENGTH: usize = 1000;
/// Size of a push with packet header and frame, in bytes.
const SENT: usize = LENGTH + 16;
/// Capacity of a mailbox in bytes.
const MAILBOX_BYTES: usize = 1 << 20;
/// Capacity of a connection's pipe in bytes.
const NARROW: usize = 16 << 10;

fn body(number: u32) -> Bytes {
    let mut body = vec![7; LENGTH];
    body[..4].copy_from_slice(&number.to_be_bytes());
    Bytes::from(body)
}

fn push(number: u32) -> Push {
    Push::new(NOTIFICATION, body(number))
}

fn number(body: &[u8]) -> u32 {
    assert_eq!(body.len(), LENGTH);
    u32::from_be_bytes(body[..4].try_into().unwrap())
}

/// Returns the number of the next push, ignoring pings.
async fn pushed(far: &mut Far) -> u32 {
    loop {
        match far.see().await {
            Seen::Packet(Packet::Push { command: NOTIFICATION, body }) => return number(&body),
            Seen::Ping(_) | Seen::Packet(Packet::Request { command: 1, .. }) => {}
            other => panic!("{other:?} instead of a push"),
        }
    }
}

/// Returns the numbers of all pushes before the close push, and the close push's code.
async fn pushed_until_closed(far: &mut Far) -> (Vec<u32>, i32) {
    let mut numbers = Vec::new();
    loop {
        match far.see().await {
            Seen::Packet(Packet::Push { command: NOTIFICATION, body }) => numbers.push(number(&body)),
            Seen::Packet(Packet::Push { command: 0, body }) => {
                let close = control::Close::decode(&*body).unwrap();
                assert!(!close.reason.is_empty());
                return (numbers, close.code);
            }
            other => panic!("{other:?} instead of a push"),
        }
    }
}

/// Yields until the connection has had time to run.
async fn settle() {
    for _ in 0..1000 {
        yield_now().await;
    }
}

async fn narrow(house: &House, kind: Kind, account: &Created) -> (Far, Mailbox) {
    let mut far = house.connect_narrow(kind, NARROW);
    far.auth(&house.otp(account)).await.unwrap();
    (far, house.mailbox(account))
}

/// Fills the mailbox of a client that does not read until the connection is closed as too slow.
/// Returns the number of pushes queued.
async fn overflow(mailbox: &Mailbox) -> u32 {
    for number in 0..10_000 {
        match mailbox.put(push(number)) {
            Ok(()) => yield_now().await,
            Err(error) => {
                assert_eq!(error, PushError::TooSlow);
                return number;
            }
        }
    }
    panic!("there is no end to what is kept")
}

#[tokio::test(start_paused = true)]
async fn pushes_arrive_in_order_without_loss() {
    let house = House::new();
    for kind in BOTH {
        let account = house.account(if kind == Kind::Tcp { "ann" } else { "bob" }, 10);
        let (mut far, mailbox) = narrow(&house, kind, &account).await;
        let begun = Instant::now();
        for first in (0..20_000).step_by(1000) {
            for number in first..first + 1000 {
                mailbox.put(push(number)).unwrap();
            }
            for number in first..first + 1000 {
                assert_eq!(pushed(&mut far).await, number, "{kind:?}");
            }
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_too_slowly_is_closed_with_a_reason() {
    let house = House::new();
    for kind in BOTH {
        let account = house.account(if kind == Kind::Tcp { "ann" } else { "bob" }, 10);
        let (mut far, mailbox) = narrow(&house, kind, &account).await;
        let before = Instant::now();
        let put = overflow(&mailbox).await;
        let stored = usize::try_from(put).unwrap() * LENGTH;
        assert!(stored > UNSENT_MAX + MAILBOX_BYTES - 10 * SENT, "{stored} bytes were taken");
        assert!(stored < UNSENT_MAX + MAILBOX_BYTES + NARROW + 10 * SENT, "{stored} bytes were taken");
        assert_eq!(mailbox.put(push(put)), Err(PushError::Gone));
        let (seen, code) = pushed_until_closed(&mut far).await;
        assert_eq!(code, 1);
        // Pushes already being sent are complete, and none is missing.
        assert!(seen.iter().copied().eq(0..u32::try_from(seen.len()).unwrap()));
        assert!(seen.len() * SENT > UNSENT_MAX, "{} pushes", seen.len());
        if kind == Kind::WebSocket {
            assert_eq!(far.see().await, Seen::Close(1011));
        }
        assert_eq!(far.see().await, Seen::End);
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert!(house.hub.links.list(Some(account.account_id)).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_push_is_sent_if_the_client_reads_within_five_seconds() {
    let house = House::new();
    for kind in BOTH {
        let account = house.account(if kind == Kind::Tcp { "ann" } else { "bob" }, 10);
        let (mut far, mailbox) = narrow(&house, kind, &account).await;
        overflow(&mailbox).await;
        settle().await;
        sleep(SECOND * 9 / 2).await;
        let (_, code) = pushed_until_closed(&mut far).await;
        assert_eq!(code, 1, "{kind:?}");
    }
}

/// Reads packets. Returns how many arrived at each instant.
async fn bursts(far: &mut Far, packets: usize) -> Vec<usize> {
    let mut bursts: Vec<(Instant, usize)> = Vec::new();
    for _ in 0..packets {
        let Seen::Packet(_) = far.see().await else { panic!("not a packet") };
        match bursts.last_mut() {
            Some((at, count)) if *at == Instant::now() => *count += 1,
            _ => bursts.push((Instant::now(), 1)),
        }
    }
    bursts.into_iter().map(|(_, count)| count).collect()
}

#[tokio::test(start_paused = true)]
async fn packets_to_the_go_sdk_are_paced_from_the_first_on() {
    let house = House::new();
    let account = house.account("ann", 10);
    let mut far = house.connect_of(Kind::WebSocket, Program::GoSdk);
    far.auth(&house.otp(&account)).await.unwrap();
    let mailbox = house.mailbox(&account);
    for number in 0..20 {
        mailbox.put(push(number)).unwrap();
    }
    assert_eq!(bursts(&mut far, 20).await, [8, 8, 4]);
    // Responses count, too. Four pushes were already counted.
    for id in 0..2 {
        far.request(wire::command::PROFILE, id, Vec::new()).await;
        assert!(matches!(far.see().await, Seen::Packet(Packet::Response { .. })));
    }
    sleep(SECOND).await;
    for number in 20..30 {
        mailbox.put(push(number)).unwrap();
    }
    assert_eq!(bursts(&mut far, 10).await, [2, 8]);

    let mut other = house.connect_of(Kind::WebSocket, Program::Other);
    other.auth(&house.otp(&account)).await.unwrap();
    let id = house.hub.links.list(Some(account.account_id)).last().unwrap().id;
    let mailbox = house.hub.links.mailbox(id).unwrap();
    for number in 0..20 {
        mailbox.put(push(number)).unwrap();
    }
    assert_eq!(bursts(&mut other, 20).await, [20]);
}

#[test]
fn the_close_reason_of_a_slow_client_contains_the_number_of_queued_pushes() {
    let (code, reason) = close_reason(Kick::TooSlow { waiting: 4_096 });
    assert_eq!((code as i32, reason.as_str()), (1, "too slow: 4096 pushes waiting"));
}

#[tokio::test(start_paused = true)]
async fn queued_pushes_are_charged_to_the_account() {
    let house = House::new();
    let account = house.account("ann", 10);
    let (far, mailbox) = narrow(&house, Kind::WebSocket, &account).await;
    let mut most = 0;
    for number in 0.. {
        if mailbox.put(push(number)).is_err() {
            break;
        }
        settle().await;
        most = most.max(house.core.unsent.bytes());
    }
    assert!(most > UNSENT_MAX + MAILBOX_BYTES - 10 * SENT, "{most} bytes");
    assert!(most < UNSENT_MAX + MAILBOX_BYTES + 10 * SENT, "{most} bytes");
    settle().await;
    assert_eq!(house.core.unsent.bytes(), 0, "it is given up at once");
    drop(far);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_no_pushes_is_closed_after_thirty_seconds() {
    let house = House::new();
    for kind in BOTH {
        let account = house.account(if kind == Kind::Tcp { "ann" } else { "bob" }, 10);
        let (_far, mailbox) = narrow(&house, kind, &account).await;
        for number in 0..400 {
            mailbox.put(push(number)).unwrap();
            yield_now().await;
        }
        let begun = Instant::now();
        while mailbox.put(push(0)).is_ok() {
            sleep(SECOND / 2).await;
        }
        assert_eq!(begun.elapsed().as_secs(), 30, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_push_to_a_closed_connection_fails() {
    let house = House::new();
    for (kind, case) in
        BOTH.into_iter().flat_map(|kind| ["left", "closed", "revoked"].map(|case| (kind, case)))
    {
        let account = house.account(&format!("{kind:?} {case}"), 10);
        let (mut far, mailbox) = narrow(&house, kind, &account).await;
        let id = house.hub.links.list(Some(account.account_id))[0].id;
        house.hub.links.mailbox(id).unwrap().put(push(1)).unwrap();
        assert_eq!(pushed(&mut far).await, 1);
        match case {
            "left" => drop(far),
            "closed" => {
                assert!(house.hub.links.close(id, ClosedBy::Operator));
                // The push fails before the connection's task has detected that the connection is
                // closed.
                assert_eq!(mailbox.put(push(2)), Err(PushError::Gone));
                assert_eq!(far.closed().await.0, 5);
            }
            _ => {
                house.core.access.revoke(account.account_id, &access::Actor::Operator, "", NOW).unwrap();
                // A version check is reused for half a millisecond of real time.
                std::thread::sleep(Duration::from_millis(1));
                far.ask::<control::Error>(4, &control::Error::default()).await.unwrap_err();
                // The client is still connected, but no longer signed in.
                assert_eq!(mailbox.put(push(2)), Err(PushError::Gone));
                assert_eq!(far.closed().await.0, 4);
            }
        }
        settle().await;
        assert_eq!(mailbox.put(push(3)), Err(PushError::Gone), "{kind:?} {case}");
        assert!(house.hub.links.mailbox(id).is_none());
    }
}

/// Returns a sign-in packet, framed for a WebSocket.
fn sign_in(house: &House, account: &Created, id: u32) -> Vec<u8> {
    let auth = control::AuthRequest { token: house.otp(account), metadata: Default::default() };
    let mut packet = Vec::new();
    let body = auth.encode_to_vec().into();
    Packet::Request { command: 2, id, timeout_ms: 0, body }.encode(&mut packet).unwrap();
    let head = [0x82, 0x80 | u8::try_from(packet.len()).unwrap(), 0, 0, 0, 0];
    [&head[..], &packet].concat()
}

#[tokio::test(start_paused = true)]
async fn pushes_follow_the_sign_in_response_and_precede_the_next_sign_in() {
    let house = House::new();
    let (ann, bob) = (house.account("ann", 10), house.account("bob", 10));
    let (near, far) = tokio::io::duplex(1 << 20);
    let address = ([127, 0, 0, 1], 53_124).into();
    let from =
        Arrival { address, region: None, program: Program::Other, unauthenticated: Default::default() };
    let mut link = Link::new(near, Transport::websocket(), from, house.hub.clone());
    assert_eq!(house.hub.links.list(None), [], "there is nobody to push anything to");
    link.read(&sign_in(&house, &ann, 1)).unwrap();
    let of_ann = house.mailbox(&ann);
    of_ann.put(push(1)).unwrap();
    of_ann.put(push(2)).unwrap();
    link.read(&sign_in(&house, &bob, 2)).unwrap();
    assert_eq!(of_ann.put(push(3)), Err(PushError::Gone));
    assert!(house.hub.links.list(Some(ann.account_id)).is_empty());
    house.mailbox(&bob).put(push(4)).unwrap();
    poll_fn(|cx| {
        while let Poll::Ready(done) = link.poll_wire(cx) {
            done.unwrap();
        }
        Poll::Ready(())
    })
    .await;
    let mut far = Far::new(far, Kind::WebSocket);
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(match far.see().await {
            Seen::Packet(Packet::Response { command: 2, id, status: Status::Success, .. }) => ("answer", id),
            Seen::Packet(Packet::Push { body, .. }) => ("push", number(&body)),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(seen, [("answer", 1), ("push", 1), ("push", 2), ("answer", 2), ("push", 4)]);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_pushes_blocks_neither_responses_nor_shutdown() {
    let house = House::new();
    let length = 2 * NARROW;
    for kind in BOTH {
        let account = house.account(if kind == Kind::Tcp { "ann" } else { "bob" }, 10);
        let (mut far, mailbox) = narrow(&house, kind, &account).await;
        // One push is added for each push that the client has read, so that the mailbox is never
        // empty and never overflows.
        let room = Arc::new(Semaphore::new(MAILBOX_BYTES / length - 1));
        let read = room.clone();
        let flood = tokio::spawn(async move {
            // Each push is longer than one client read, and another push always follows.
            let body = Bytes::from(vec![7; length]);
            loop {
                room.acquire().await.unwrap().forget();
                if mailbox.put(Push::new(NOTIFICATION, body.clone())).is_err() {
                    break;
                }
            }
        });
        settle().await;
        for id in 0..50 {
            far.request(1, id, b"still there?".to_vec()).await;
            let mut before = 0;
            // The bound covers pushes queued before the request, and pushes that arrived while it
            // was read.
            let bound = 2 * (UNSENT_MAX + NARROW) / length + 10;
            loop {
                match far.see().await {
                    Seen::Packet(Packet::Push { .. }) => {
                        read.add_permits(1);
                        before += 1;
                    }
                    Seen::Packet(Packet::Response { id: answered, .. }) => break assert_eq!(answered, id),
                    other => panic!("{other:?}"),
                }
                assert!(before <= bound, "{kind:?}: {before} pushes before answer {id}");
            }
        }
        assert!(!flood.is_finished());
        if kind == BOTH[1] {
            house.stop();
            let code = loop {
                match far.see().await {
                    Seen::Packet(Packet::Push { command: 0, body }) => {
                        break control::Close::decode(&*body).unwrap().code;
                    }
                    Seen::Packet(Packet::Push { .. }) => {}
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(code, 2);
            read.add_permits(1);
            flood.await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_requests_does_not_block_pushes() {
    let house = House::with_days();
    let latest = quote::SecurityCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1000,
        count: 1000,
        ..Default::default()
    };
    for kind in BOTH {
        let terms = Terms { rate: Some(RateRule::Unlimited), ..Terms::default() };
        let account = house.account_of(if kind == Kind::Tcp { "ann" } else { "bob" }, terms);
        let (mut far, mailbox) = narrow(&house, kind, &account).await;
        // The response is now cached, and longer than one client read.
        let length = far.ask::<quote::SecurityCandlestickResponse>(19, &latest).await.unwrap().encoded_len();
        assert!(length > 2 * NARROW, "{length} bytes");
        let (reads, writes) = tokio::io::split(far.stream);
        let (mut reads, mut writes) = (Far::new(reads, kind), Far::new(writes, kind));
        let body = latest.encode_to_vec();
        let flood = tokio::spawn(async move {
            loop {
                writes.request(19, 1, body.clone()).await;
            }
        });
        settle().await;
        for number in 0..100 {
            mailbox.put(push(number)).unwrap();
        }
        let (mut answers, mut pushes) = (0, 0);
        while pushes < 100 {
            match reads.see().await {
                Seen::Packet(Packet::Push { body, .. }) => {
                    assert_eq!(number(&body), pushes);
                    pushes += 1;
                }
                Seen::Packet(Packet::Response { .. }) => answers += 1,
                other => panic!("{other:?}"),
            }
            assert!(answers <= 100, "{kind:?}: {answers} answers and {pushes} pushes");
        }
        assert!(!flood.is_finished());
        flood.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn queued_pushes_are_sent_before_shutdown() {
    // One client reads everything immediately, and the other is slow.
    for bytes in [2 << 20, NARROW] {
        let house = House::new();
        let account = house.account("ann", 10);
        let mut far = house.connect_narrow(Kind::Tcp, bytes);
        far.auth(&house.otp(&account)).await.unwrap();
        let mailbox = house.mailbox(&account);
        for number in 0..1000 {
            mailbox.put(push(number)).unwrap();
        }
        house.stop();
        settle().await;
        assert_eq!(mailbox.put(push(1000)), Err(PushError::Gone));
        let (seen, code) = pushed_until_closed(&mut far).await;
        assert_eq!((seen, code), ((0..1000).collect(), 2), "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_stream_of_the_go_sdk_without_a_close() {
    for kind in [Kind::WebSocket, Kind::Tcp] {
        let house = House::new();
        let account = house.account("ann", 10);
        let mut far = house.connect_of(kind, Program::GoSdk);
        far.auth(&house.otp(&account)).await.unwrap();
        let mailbox = house.mailbox(&account);
        // More than it gets between two pauses.
        for number in 0..20 {
            mailbox.put(push(number)).unwrap();
        }
        house.stop();
        for number in 0..20 {
            assert_eq!(pushed(&mut far).await, number, "{kind:?}");
        }
        assert_eq!(far.see().await, Seen::End, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_shutdown_is_not_announced_over_raw_tcp() {
    let house = House::new();
    let account = house.account("ann", 10);
    for (kind, announced) in [(Kind::WebSocket, false), (Kind::Tcp, true)] {
        let mut far = house.connect_of(kind, Program::GoSdk);
        let session = far.auth(&house.otp(&account)).await.unwrap().session_id;
        let mut next = house.connect(kind);
        next.reconnect(&session).await.unwrap();
        match announced {
            true => assert_eq!(far.closed().await, (6, None)),
            false => assert_eq!(far.see().await, Seen::End),
        }
    }
}
