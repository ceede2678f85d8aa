//! Measures the memory and time per subscription in the registry, and the time per queued push
//! (Linux only): `cargo run --release -p feed --example measure-feed [all|fifty|one]`. The argument
//! selects how many connections subscribe to each security.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a measurement, not a server")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use feed::{ConnectionId, EncodedPush, Push, PushQueue, Registry, SubType, SubTypes, TradesPush};
use market::{Region, Session, Symbol};

/// Default subscription limit of an account.
const SUBSCRIPTIONS: u64 = 500;

fn main() {
    // Each case runs in a separate process, because a case would otherwise reuse memory that an
    // earlier case has freed.
    match std::env::args().nth(1).as_deref() {
        Some("one") => subscriptions(180, |connection, n| connection * SUBSCRIPTIONS + n),
        Some("fifty") => subscriptions(2_000, |connection, n| (connection * 17 + n * 41) % 20_000),
        _ => subscriptions(2_000, |_, n| n),
    }
}

fn subscriptions(connections: u64, security: impl Fn(u64, u64) -> u64) {
    let types: SubTypes = [SubType::Quote, SubType::Trades].into_iter().collect();
    let mut registry = Registry::default();
    let before = resident();
    let start = Instant::now();
    for connection in 0..connections {
        for n in 0..SUBSCRIPTIONS {
            registry.subscribe(ConnectionId(connection), &symbol(security(connection, n)), types);
        }
    }
    let (took, bytes) = (start.elapsed(), resident().saturating_sub(before));
    let count = connections * SUBSCRIPTIONS;
    println!(
        "{count} subscriptions to {} securities: {} bytes and {} ns each",
        registry.symbols().count(),
        bytes / count,
        took.as_nanos() / u128::from(count)
    );

    let first = symbol(security(0, 0));
    let trades =
        TradesPush { symbol: first.clone(), sequence: 1, session: Session::Intraday, prints: Vec::new() };
    let push = Arc::new(EncodedPush::new(Push::Trades(trades), |_| Bytes::from_static(&[0; 100])));
    let mut queues: Vec<PushQueue> = (0..connections).map(|_| PushQueue::default()).collect();
    let start = Instant::now();
    let mut sent = 0u32;
    for ConnectionId(connection) in registry.recipients(&first, SubType::Trades) {
        let queue = usize::try_from(connection).ok().and_then(|place| queues.get_mut(place));
        let queue = queue.expect("a queue for each connection");
        queue.push(&push).expect("room");
        black_box(queue.pop());
        sent += 1;
    }
    let each = start.elapsed().as_nanos() / u128::from(sent);
    println!("a push to {sent} connections, queued and taken: {each} ns each");
}

fn symbol(number: u64) -> Symbol {
    let (ticker, region) = (number % 90_000 + 1, if number < 90_000 { Region::Hk } else { Region::Us });
    Symbol::new(&ticker.to_string(), region).expect("a symbol")
}

/// Returns the resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
