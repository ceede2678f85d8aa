//! Fairness between connections, backpressure and rate limits, with tokio's paused clock.

use std::time::Duration;

use access::{Actor, Created, NewWorld, Present, Terms};
use prost::Message;
use store::WorldClock;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;
use wire::{Packet, Status, control, quote};

use super::house::{BOTH, Far, House, Kind, NOW, Seen};
use crate::settings::Limits;

const SECOND: Duration = Duration::from_secs(1);

fn account(house: &House, name: &str, rate: &str) -> Created {
    house.account_of(name, Terms { rate: Some(rate.parse().unwrap()), ..Terms::default() })
}

fn days() -> Vec<u8> {
    quote::TradingDaysRequest {
        market: "HK".to_owned(),
        beg_day: "20261101".to_owned(),
        end_day: "20261110".to_owned(),
    }
    .encode_to_vec()
}

/// Returns the next response, ignoring pings, as its request id and, for a refusal, the code.
async fn answer(far: &mut Far) -> (u32, Option<u64>) {
    loop {
        match far.see().await {
            Seen::Packet(Packet::Response { id, status: Status::Success, .. }) => return (id, None),
            Seen::Packet(Packet::Response { id, status, body, .. }) => {
                let error = control::Error::decode(&*body).unwrap();
                let expected = if error.code == 301_606 { Status::BadRequest } else { status };
                assert_eq!(status, expected);
                return (id, Some(error.code));
            }
            Seen::Ping(_) | Seen::Packet(Packet::Request { command: 1, .. }) => {}
            other => panic!("{other:?} instead of an answer"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sequential_calls_are_delayed_instead_of_refused() {
    let house = House::new();
    let ann = account(&house, "ann", "60/30");
    for kind in BOTH {
        let (mut far, _) = house.signed_in(kind, &ann).await;
        let begun = Instant::now();
        for id in 0..50 {
            far.request(9, id, days()).await;
            assert_eq!(answer(&mut far).await, (id, None));
            let least = u64::from(id.saturating_sub(9)) * 100;
            let took = u64::try_from(begun.elapsed().as_millis()).unwrap();
            assert!((least..=least + 60).contains(&took), "{kind:?}: call {id} was answered after {took} ms");
        }
        tokio::time::advance(2 * SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn all_connections_of_an_account_share_one_limit() {
    let house = House::new();
    let ann = account(&house, "ann", "60/30");
    let mut fars = Vec::new();
    for kind in [Kind::WebSocket, Kind::Tcp, Kind::WebSocket] {
        fars.push(house.signed_in(kind, &ann).await.0);
    }
    let begun = Instant::now();
    for far in &mut fars {
        for id in 0..20 {
            far.request(9, id, days()).await;
        }
    }
    let (mut answered, mut refused) = (0, 0);
    for far in &mut fars {
        for _ in 0..20 {
            match answer(far).await.1 {
                None => answered += 1,
                Some(301_606) => refused += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    // Ten calls are answered immediately, and two per connection are delayed until admitted.
    assert_eq!((answered, refused), (16, 44));
    assert!(begun.elapsed() <= SECOND);
    // History requests have a separate rate limit, and accounts without limits have none.
    let bob = account(&house, "bob", "unlimited");
    let (mut far, _) = house.signed_in(Kind::Tcp, &bob).await;
    for id in 0..60 {
        far.request(9, id, days()).await;
    }
    for _ in 0..60 {
        assert_eq!(answer(&mut far).await.1, None);
    }
}

#[tokio::test(start_paused = true)]
async fn occasional_refusals_are_answered_without_delay() {
    let house = House::with_days();
    let ann = account(&house, "ann", "1/3600");
    for kind in BOTH {
        let (mut far, _) = house.signed_in(kind, &ann).await;
        let begun = Instant::now();
        for id in 0..150 {
            far.request(27, id, Vec::new()).await;
            let (answered, refused) = answer(&mut far).await;
            assert_eq!(answered, id);
            assert!(refused.is_some());
        }
        assert_eq!(begun.elapsed(), Duration::ZERO, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_refused_requests_is_slowed_down() {
    let house = House::new();
    let ann = account(&house, "ann", "1/3600");
    let bob = account(&house, "bob", "60/30");
    for (kinds, seconds) in [(&[Kind::Tcp][..], 8), (&[Kind::WebSocket, Kind::Tcp], 20)] {
        let begun = Instant::now();
        let mut floods = Vec::new();
        for kind in kinds {
            let (mut far, _) = house.signed_in(*kind, &ann).await;
            floods.push(tokio::spawn(async move {
                let mut refused = 0;
                for first in (0..2_000_u32).step_by(100) {
                    for id in first..first + 100 {
                        far.request(27, id, Vec::new()).await;
                    }
                    for id in first..first + 100 {
                        // Responses arrive in order, each with its exact code.
                        let (answered, code) = answer(&mut far).await;
                        assert_eq!(answered, id);
                        refused += u32::from(code.is_some_and(|code| [301_600, 301_606].contains(&code)));
                    }
                }
                refused
            }));
        }
        // Another account is not affected.
        let (mut far, _) = house.signed_in(Kind::WebSocket, &bob).await;
        for id in 0..5 {
            let requested = Instant::now();
            far.request(8, id, Vec::new()).await;
            assert_eq!(answer(&mut far).await, (id, None));
            assert_eq!(requested.elapsed(), Duration::ZERO);
            tokio::time::sleep(SECOND).await;
        }
        for flood in floods {
            assert!(flood.await.unwrap() >= 1_999);
        }
        let took = begun.elapsed().as_secs();
        assert!((seconds - 1..=seconds + 1).contains(&took), "{kinds:?} took {took} s");
    }
}

#[tokio::test(start_paused = true)]
async fn unauthenticated_clients_are_slowed_down_after_many_refusals() {
    let house = House::new();
    let mut far = house.connect(Kind::Tcp);
    let begun = Instant::now();
    for id in 0..1_000 {
        far.request(27, id, Vec::new()).await;
        assert_eq!(answer(&mut far).await, (id, Some(401_004)));
    }
    let took = begun.elapsed();
    assert!((2_900..=3_100).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn unread_responses_pause_reading_for_the_whole_account() {
    let limits = Limits { unsent_bytes: 40_000, ..Limits::default() };
    let house = House::new().with_limits(limits);
    let ann = house.account("ann", 10);
    let narrow = 8 << 10;
    let mut taken = Vec::new();
    for _ in 0..3 {
        let mut far = house.connect_narrow(Kind::Tcp, narrow);
        far.auth(&house.otp(&ann)).await.unwrap();
        let mut heartbeat = Vec::new();
        let body = vec![1; 1000].into();
        Packet::Request { command: 1, id: 1, timeout_ms: 0, body }.encode(&mut heartbeat).unwrap();
        let mut sent = 0;
        // Write until the server stops reading. The server must not close the connection within
        // five seconds.
        while tokio::time::timeout(5 * SECOND, far.stream.write_all(&heartbeat)).await.is_ok() {
            sent += heartbeat.len();
        }
        taken.push((far, sent));
    }
    let all: usize = taken.iter().map(|(_, sent)| sent).sum();
    // Per connection, the bound covers the bytes in flight in both directions and in one read. In
    // total, it covers the unsent limit.
    let bound = limits.unsent_bytes + 3 * (2 * narrow + 2 * 8192 + 2048);
    assert!(all < bound, "{all} bytes were taken, at most {bound} expected");
    // A connection whose client reads its responses is not affected.
    let (mut far, _) = house.signed_in(Kind::WebSocket, &ann).await;
    far.request(1, 7, Vec::new()).await;
    assert_eq!(answer(&mut far).await, (7, None));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_refused_sign_ins_is_slowed_down() {
    let house = House::new();
    let ann = account(&house, "ann", "60/30");
    for (kind, command) in [(Kind::Tcp, 2), (Kind::WebSocket, 3)] {
        let (mut far, _) = house.signed_in(kind, &ann).await;
        let body = match command {
            2 => control::AuthRequest { token: "wrong".to_owned(), ..Default::default() }.encode_to_vec(),
            _ => control::ReconnectRequest { session_id: "wrong".to_owned(), ..Default::default() }
                .encode_to_vec(),
        };
        let begun = Instant::now();
        for id in 0..1_400 {
            far.request(command, id, body.clone()).await;
            let (answered, refused) = answer(&mut far).await;
            assert_eq!(answered, id);
            assert!(refused.is_some());
        }
        // The first four hundred refusals are not delayed. Each request counts twice, as a second
        // sign-in and as a refusal.
        let seconds = begun.elapsed().as_secs();
        assert!((11..=13).contains(&seconds), "{kind:?}: {seconds} s");
        tokio::time::advance(60 * SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn trade_subscriptions_count_as_calls_and_need_a_valid_account() {
    let house = House::new();
    let ann = account(&house, "ann", "60/30");
    let (mut far, _) = house.signed_in(Kind::WebSocket, &ann).await;
    let topics = wire::trade::SubscribeRequest { topics: vec!["private".to_owned()] }.encode_to_vec();
    for id in 0..40 {
        far.request(16, id, topics.clone()).await;
    }
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..40 {
        match answer(&mut far).await.1 {
            None => answered += 1,
            Some(301_606) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((answered, refused), (12, 28), "ten at once, and two that waited");
    house.core.access.revoke(ann.account_id, &access::Actor::Operator, "", super::house::NOW).unwrap();
    // A version check is reused for half a millisecond of real time.
    std::thread::sleep(Duration::from_millis(1));
    tokio::time::advance(2 * SECOND).await;
    far.request(16, 99, topics).await;
    assert_eq!(answer(&mut far).await, (99, Some(401_004)));
}

/// Creates a world, and returns its API key.
fn world(house: &House) -> Created {
    let owner = account(house, "ann", "unlimited");
    let owner = house.core.access.account(owner.account_id).unwrap().unwrap();
    let clock = WorldClock { state: "created".to_owned(), now: NOW, step: 0, digest: [0; 32] };
    let new = NewWorld {
        owner: &owner,
        name: "w",
        starts_at: NOW,
        ends_at: market::Timestamp(NOW.0 + 86_400),
        settings: "",
        is_limited: false,
        clock: &clock,
        worlds_max: 1,
    };
    let present = Present { market: NOW, machine: NOW };
    house.core.access.create_world(&new, &Actor::Operator, present).unwrap().credentials
}

#[tokio::test(start_paused = true)]
async fn requests_wait_at_most_thirty_seconds_for_the_clock_of_their_world() {
    const QUOTE: u8 = wire::command::QUOTE;
    let house = House::new();
    let key = world(&house);
    let world = house.core.worlds.of(&house.core.access.database(), key.account_id).unwrap();
    let clock = quote::SymbolsRequest { symbol: vec!["CLOCK.WORLD".to_owned()] }.encode_to_vec();
    for kind in BOTH {
        let (mut far, _) = house.signed_in(kind, &key).await;
        let (held, begun) = (world.begin_movement(), Instant::now());
        far.request(QUOTE, 1, clock.clone()).await;
        assert_eq!(answer(&mut far).await, (1, Some(301_602)));
        assert!((30 * SECOND..31 * SECOND).contains(&begun.elapsed()), "{kind:?}");
        for id in [2, 3] {
            far.request(QUOTE, id, clock.clone()).await;
        }
        // A heartbeat is answered in between.
        far.request(1, 4, Vec::new()).await;
        assert_eq!(answer(&mut far).await, (4, None));
        drop(held);
        let mut answers = [answer(&mut far).await, answer(&mut far).await];
        answers.sort_unstable();
        assert_eq!(answers, [(2, None), (3, None)]);
    }
}
