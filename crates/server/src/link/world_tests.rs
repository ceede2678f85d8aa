//! The clock of a running world and its pushes (example W7), with tokio's paused clock.

use std::sync::Arc;
use std::time::Duration;

use access::{Actor, Created, NewWorld, Present};
use market::{Grain, Timestamp};
use prost::Message;
use tokio::time::advance;
use wire::Packet;
use wire::command::{QUOTE, SUBSCRIBE};
use wire::quote::{
    PushQuote, PushTrades, QuoteResponse, SubscribeRequest, SubscriptionsResponse, SymbolsRequest,
};
use world::{Span, Speed};

use super::house::{BOTH, Far, House, Kind, NOW, Seen};
use crate::market_clock::tests::Stepped;
use crate::world_changes::{self, RunRequest, Target};
use crate::worlds::{Standing, World};

/// 2026-03-18 09:30:00 in Hong Kong.
const OPEN: i64 = 1_773_797_400;
/// The minute of example U2, and the following one.
const MINUTES: &str = "700.HK,2026-03-18T09:30:00+08:00,300,302,299,301,10000,3005000\n\
                       700.HK,2026-03-18T09:31:00+08:00,301,303,300,302,8000,2412000\n";

/// Creates a world whose clock is stopped one minute before the market opens.
fn world(house: &House, owner: &Created, name: &str) -> (Arc<World>, Created) {
    let access = &house.core.access;
    let owner = access.account(owner.account_id).unwrap().unwrap();
    let span = Span::new(Timestamp(OPEN - 60), Timestamp(OPEN + 3_600)).unwrap();
    let clock = Standing::at_start(span, world::Settings::default()).clock([0; 32]);
    let new = NewWorld {
        owner: &owner,
        name,
        starts_at: span.start(),
        ends_at: span.end(),
        settings: "",
        is_limited: false,
        clock: &clock,
        worlds_max: 100,
    };
    let present = Present { market: NOW, machine: NOW };
    let key = access.create_world(&new, &Actor::Operator, present).unwrap().credentials;
    (house.core.worlds.of(&access.database(), key.account_id).unwrap(), key)
}

/// Returns the next packet, ignoring pings.
async fn packet(far: &mut Far) -> Packet<'static> {
    loop {
        match far.see().await {
            Seen::Packet(Packet::Request { command: 1, .. }) | Seen::Ping(_) => {}
            Seen::Packet(packet) => return packet,
            other => panic!("{other:?} instead of a packet"),
        }
    }
}

/// Returns the symbol, the second and the price of the last print or of the quote.
async fn push(far: &mut Far) -> (String, i64, String) {
    match packet(far).await {
        Packet::Push { command: 101, body } => {
            let quote = PushQuote::decode(&*body).unwrap();
            (quote.symbol, quote.timestamp - OPEN, quote.last_done)
        }
        Packet::Push { command: 104, body } => {
            let trades = PushTrades::decode(&*body).unwrap();
            let last = trades.trade.last().unwrap();
            (trades.symbol, last.timestamp - OPEN, last.price.clone())
        }
        other => panic!("{other:?} instead of a push"),
    }
}

/// Returns the time of the clock in a quote, in seconds after the open. Asserts that no push
/// precedes the response.
async fn clock(far: &mut Far) -> i64 {
    let request = SymbolsRequest { symbol: vec!["CLOCK.WORLD".to_owned()] };
    let answer: QuoteResponse = far.ask(QUOTE, &request).await.unwrap();
    answer.secu_quote[0].timestamp - OPEN
}

/// Advances machine time, and moves the running worlds as the job does.
async fn pass(house: &House, milliseconds: u64) {
    advance(Duration::from_millis(milliseconds)).await;
    world_changes::move_running(&house.core);
}

#[tokio::test(start_paused = true)]
async fn w7_at_speed_60_the_next_minute_is_pushed_after_one_second() {
    let market = Arc::new(Stepped::at(Timestamp(OPEN)));
    let house = House::with_files(&[(Grain::Minute, MINUTES)]).under(market);
    let owner = house.account("ann", 10);
    for (kind, name) in BOTH.into_iter().zip(["one", "two"]) {
        let (world, key) = world(&house, &owner, name);
        let (mut far, _) = house.signed_in(kind, &key).await;
        let request =
            SubscribeRequest { symbol: vec!["700.HK".to_owned()], sub_type: vec![1, 4], is_first_push: true };
        far.ask::<SubscriptionsResponse>(SUBSCRIBE, &request).await.unwrap();
        // A step does not return before the pushes are written, so it runs on another thread.
        let (core, stepping) = (house.core.clone(), world.clone());
        let step = move || world_changes::step(&core, &stepping, Target::To(Timestamp(OPEN)), None);
        tokio::task::spawn_blocking(step).await.unwrap().unwrap();
        let opening = ("700.HK".to_owned(), 0, "300.000".to_owned());
        for _ in 0..2 {
            assert_eq!(push(&mut far).await, opening, "{kind:?}");
        }
        let speed = Some(Speed::Factor { thousandths: 60_000 });
        world_changes::run(&house.core, &world, RunRequest { speed, stop_at: None }).unwrap();
        pass(&house, 0).await;
        assert_eq!(clock(&mut far).await, 0, "{kind:?}");
        pass(&house, 500).await;
        assert_eq!(clock(&mut far).await, 30, "{kind:?}");
        pass(&house, 499).await;
        assert_eq!(clock(&mut far).await, 59, "{kind:?}: nothing is pushed before its time");
        pass(&house, 1).await;
        for (second, price) in [(59, "301.000"), (59, "301.000"), (60, "301.000"), (60, "301.000")] {
            assert_eq!(push(&mut far).await, ("700.HK".to_owned(), second, price.to_owned()), "{kind:?}");
        }
        assert_eq!(clock(&mut far).await, 60, "{kind:?}");
        world_changes::pause(&house.core, &world).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_world_without_a_speed_does_not_follow_machine_time() {
    let house = House::with_files(&[(Grain::Minute, MINUTES)]).under(Arc::new(Stepped::at(Timestamp(OPEN))));
    let owner = house.account("ann", 10);
    let (_world, key) = world(&house, &owner, "one");
    let (mut far, _) = house.signed_in(Kind::WebSocket, &key).await;
    pass(&house, 5_000).await;
    assert_eq!(clock(&mut far).await, -60);
}
