//! Subscriptions and the pushes that follow, under a stepped clock: the tables 8.1 and 8.2 of the
//! specification, as raw packets.

use std::sync::Arc;

use access::{Actor, Created, Right};
use market::{Grain, Timestamp};
use prost::Message;
use wire::command::{CANDLESTICKS, SUBSCRIBE, SUBSCRIPTIONS, UNSUBSCRIBE};
use wire::quote::{
    PushQuote, PushTrades, SecurityCandlestickRequest, SecurityCandlestickResponse, SubscribeRequest,
    SubscriptionsResponse, UnsubscribeRequest, UnsubscribeResponse,
};
use wire::{Packet, Status};

use super::house::{BOTH, Far, House, Kind, NOW, Refused, Seen};
use crate::live;
use crate::market_clock::tests::Stepped;

/// 2026-03-18 09:30:00 in Hong Kong.
const OPEN: i64 = 1_773_797_400;
/// U2 and the minute after it, of U14.
const MINUTES: &str = "700.HK,2026-03-18T09:30:00+08:00,300,302,299,301,10000,3005000\n\
                       700.HK,2026-03-18T09:31:00+08:00,301,303,300,302,8000,2412000\n\
                       9988.HK,2026-03-18T09:30:00+08:00,80,81,79,80.5,1000,80000\n\
                       AAPL.US,2026-03-17T15:59:00-04:00,190,190.2,189.9,190.1,4000,760900\n";
const DAYS: &str = "700.HK,2026-03-17,297,299,296,298.6,1000000,298000000\n\
                    700.HK,2026-03-18,300,310,295,308,9000000,2727000000\n";

/// What a client sees of its subscriptions.
#[derive(Clone, Debug, PartialEq)]
enum Pushed {
    Quote(PushQuote),
    Trades(PushTrades),
}

impl Pushed {
    fn quote(self) -> PushQuote {
        match self {
            Pushed::Quote(quote) => quote,
            other => panic!("{other:?} instead of a quote"),
        }
    }

    fn trades(self) -> PushTrades {
        match self {
            Pushed::Trades(trades) => trades,
            other => panic!("{other:?} instead of trades"),
        }
    }
}

fn house(now: i64) -> House {
    House::with_files(&[(Grain::Minute, MINUTES), (Grain::Day, DAYS)])
        .under(Arc::new(Stepped::at(Timestamp(now))))
}

/// Moves the clock as `POST /v1/admin/clock` does.
fn step(house: &House, to: i64) {
    house.core.market_clock().step_to(Timestamp(to)).unwrap();
    live::publish(&house.core).unwrap();
}

async fn connected(house: &House, kind: Kind, account: &Created) -> Far {
    house.signed_in(kind, account).await.0
}

async fn subscribe(
    far: &mut Far,
    symbols: &[&str],
    types: &[i32],
    is_first_push: bool,
) -> Result<Vec<(String, Vec<i32>)>, Refused> {
    let symbol = symbols.iter().map(|&symbol| symbol.to_owned()).collect();
    let request = SubscribeRequest { symbol, sub_type: types.to_vec(), is_first_push };
    far.ask(SUBSCRIBE, &request).await.map(listed)
}

fn listed(response: SubscriptionsResponse) -> Vec<(String, Vec<i32>)> {
    response.sub_list.into_iter().map(|of| (of.symbol, of.sub_type)).collect()
}

async fn unsubscribe(far: &mut Far, symbols: &[&str], types: &[i32], unsub_all: bool) -> Result<(), Refused> {
    let symbol = symbols.iter().map(|&symbol| symbol.to_owned()).collect();
    let request = UnsubscribeRequest { symbol, sub_type: types.to_vec(), unsub_all };
    far.ask::<UnsubscribeResponse>(UNSUBSCRIBE, &request).await.map(drop)
}

async fn list(far: &mut Far) -> Vec<(String, Vec<i32>)> {
    listed(far.ask(SUBSCRIPTIONS, &SubscribeRequest::default()).await.unwrap())
}

/// Returns the next push, ignoring pings.
async fn pushed(far: &mut Far) -> Pushed {
    loop {
        match far.see().await {
            Seen::Packet(Packet::Push { command: 101, body }) => {
                return Pushed::Quote(PushQuote::decode(&*body).unwrap());
            }
            Seen::Packet(Packet::Push { command: 104, body }) => {
                return Pushed::Trades(PushTrades::decode(&*body).unwrap());
            }
            Seen::Ping(_) => {}
            other => panic!("{other:?} instead of a push"),
        }
    }
}

/// Asserts that nothing is queued: the next packet answers a request sent now.
async fn nothing_more(far: &mut Far) {
    list(far).await;
}

fn pairs(symbols: &[(&str, &[i32])]) -> Vec<(String, Vec<i32>)> {
    symbols.iter().map(|(symbol, types)| ((*symbol).to_owned(), types.to_vec())).collect()
}

fn prints(trades: &PushTrades) -> Vec<(String, i64, i64)> {
    trades.trade.iter().map(|trade| (trade.price.clone(), trade.volume, trade.timestamp - OPEN)).collect()
}

fn print(price: &str, volume: i64, second: i64) -> (String, i64, i64) {
    (price.to_owned(), volume, second)
}

#[tokio::test]
async fn s1_symbols_are_canonical_and_types_ascend() {
    let house = house(OPEN);
    for kind in BOTH {
        let account = house.account(if kind == Kind::Tcp { "ann" } else { "bob" }, 10);
        let mut far = connected(&house, kind, &account).await;
        let subscribed = subscribe(&mut far, &["00700.hk"], &[4, 1], true).await.unwrap();
        assert_eq!(subscribed, pairs(&[("700.HK", &[1, 4])]), "{kind:?}");
        assert_eq!(pushed(&mut far).await.quote().symbol, "700.HK");
        nothing_more(&mut far).await;
    }
}

#[tokio::test]
async fn s2_s3_the_limit_counts_distinct_securities_of_all_connections() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let (mut a, mut b) =
        (connected(&house, Kind::WebSocket, &account).await, connected(&house, Kind::Tcp, &account).await);
    // Securities that are not stored count, too.
    let many: Vec<String> = (1..=498).map(|number| format!("{number}.HK")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    subscribe(&mut a, &many, &[1], false).await.unwrap();
    let refused = subscribe(&mut b, &["1001.HK", "1002.HK", "1003.HK", "1.HK"], &[1], true).await;
    assert_eq!(refused, Err((Status::ServerError, 301_605)));
    assert_eq!(list(&mut b).await, []);
    subscribe(&mut b, &["700.HK", "9988.HK", "1.HK"], &[1], false).await.unwrap();
    assert_eq!(list(&mut b).await, pairs(&[("700.HK", &[1]), ("9988.HK", &[1])]));
    let refused = subscribe(&mut b, &["1001.HK"], &[1], true).await;
    assert_eq!(refused, Err((Status::ServerError, 301_605)));
    drop(a);
    // Once the first connection has closed, its securities do not count.
    while subscribe(&mut b, &["1001.HK"], &[1], true).await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn s4_missing_and_unknown_types_are_refused() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    for types in [&[][..], &[5], &[1, 5], &[0], &[-1]] {
        let refused = subscribe(&mut far, &["700.HK"], types, true).await;
        assert_eq!(refused, Err((Status::ServerError, 301_600)), "{types:?}");
        let refused = unsubscribe(&mut far, &["700.HK"], types, false).await;
        assert_eq!(refused, Err((Status::ServerError, 301_600)), "{types:?}");
    }
    assert_eq!(subscribe(&mut far, &[], &[1], true).await, Ok(Vec::new()));
    assert_eq!(unsubscribe(&mut far, &[], &[1], false).await, Ok(()));
}

#[tokio::test]
async fn s5_symbols_without_right_or_form_are_left_out() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    house.core.access.withdraw(account.account_id, Right::Us, &Actor::Operator, NOW).unwrap();
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let subscribed = subscribe(&mut far, &["700.HK", "XX", "AAPL.US"], &[1], false).await.unwrap();
    assert_eq!(subscribed, pairs(&[("700.HK", &[1])]));
    let id = house.hub.links.list(Some(account.account_id))[0].id;
    let left_out = house.core.live.of_connection(id).left_out;
    let left_out: Vec<(&str, &str)> = left_out.iter().map(|of| (of.symbol.as_str(), of.reason)).collect();
    assert_eq!(left_out, [("XX", "malformed"), ("AAPL.US", "no right")]);
}

#[tokio::test]
async fn pushes_end_with_the_right_and_with_the_account() {
    let house = house(OPEN - 60);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    subscribe(&mut far, &["700.HK", "AAPL.US"], &[1], false).await.unwrap();
    house.core.access.withdraw(account.account_id, Right::Hk, &Actor::Operator, NOW).unwrap();
    step(&house, OPEN);
    assert_eq!(list(&mut far).await, pairs(&[("AAPL.US", &[1])]));
    let id = house.hub.links.list(Some(account.account_id))[0].id;
    let left_out = house.core.live.of_connection(id).left_out;
    assert!(left_out.iter().any(|of| (of.symbol.as_str(), of.reason) == ("700.HK", "no right")));
    house.core.access.revoke(account.account_id, &Actor::Operator, "", NOW).unwrap();
    step(&house, OPEN + 60);
    assert!(house.core.live.of_connection(id).list.is_empty());
}

#[tokio::test]
async fn s6_s7_types_add_up_and_end_one_by_one() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let first = subscribe(&mut far, &["700.HK"], &[1], false).await.unwrap();
    assert_eq!(first, pairs(&[("700.HK", &[1])]));
    let second = subscribe(&mut far, &["700.HK"], &[4], false).await.unwrap();
    assert_eq!(second, pairs(&[("700.HK", &[1, 4])]));
    unsubscribe(&mut far, &["700.HK"], &[1], false).await.unwrap();
    assert_eq!(list(&mut far).await, pairs(&[("700.HK", &[4])]));
    step(&house, OPEN + 60);
    for _ in 0..2 {
        pushed(&mut far).await.trades();
    }
    nothing_more(&mut far).await;
    unsubscribe(&mut far, &[], &[], true).await.unwrap();
    assert_eq!(list(&mut far).await, []);
    step(&house, OPEN + 120);
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn s8_a_resubscription_takes_what_fits_and_is_never_refused() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let many: Vec<String> = (1..=600).rev().map(|number| format!("{number}.HK")).collect();
    let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
    many.push("700.HK");
    subscribe(&mut far, &many, &[1], false).await.unwrap();
    let id = house.hub.links.list(Some(account.account_id))[0].id;
    let subscribed = house.core.live.of_connection(id);
    assert_eq!(subscribed.waiting.len() + subscribed.list.len(), 500);
    let mut sorted: Vec<market::Symbol> = many.iter().map(|symbol| symbol.parse().unwrap()).collect();
    sorted.sort();
    assert!(subscribed.left_out.iter().all(|of| of.reason == "over the limit"));
    let largest: Vec<&str> = sorted[500..].iter().map(|symbol| symbol.as_str()).collect();
    let mut left_out: Vec<&str> = subscribed.left_out.iter().map(|of| of.symbol.as_str()).collect();
    left_out.sort_unstable();
    let mut expected = largest.clone();
    expected.sort_unstable();
    assert_eq!(left_out, expected);
}

#[tokio::test]
async fn s9_a_security_that_arrives_later_begins_with_its_state() {
    let house = house(OPEN - 60);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    // The security has no candle before the clock, so it is not known yet.
    assert_eq!(subscribe(&mut far, &["9988.HK"], &[1, 4], true).await.unwrap(), []);
    assert_eq!(list(&mut far).await, []);
    step(&house, OPEN);
    let first = pushed(&mut far).await.quote();
    assert_eq!((first.last_done.as_str(), first.current_volume), ("80.000", 0));
    nothing_more(&mut far).await;
    assert_eq!(list(&mut far).await, pairs(&[("9988.HK", &[1, 4])]));
    step(&house, OPEN + 60);
    pushed(&mut far).await.trades();
    assert_eq!(pushed(&mut far).await.quote().volume, 1000);
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn s11_pushes_between_candle_request_and_subscription_are_sent() {
    let house = house(OPEN + 59);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let request = SecurityCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1,
        count: 1000,
        ..Default::default()
    };
    far.ask::<SecurityCandlestickResponse>(CANDLESTICKS, &request).await.unwrap();
    step(&house, OPEN + 60);
    subscribe(&mut far, &["700.HK"], &[1, 4], true).await.unwrap();
    let acted = pushed(&mut far).await.trades();
    let expected = [
        print("299.000", 0, 20),
        print("302.000", 0, 40),
        print("300.500", 10_000, 59),
        print("301.000", 0, 59),
    ];
    assert_eq!(prints(&acted), expected);
    assert_eq!(prints(&pushed(&mut far).await.trades()), [print("301.000", 0, 60)]);
    let first = pushed(&mut far).await.quote();
    assert_eq!((first.current_volume, first.timestamp), (0, OPEN + 60));
    nothing_more(&mut far).await;
    // A second request for the same types repeats the first push, not the trades.
    subscribe(&mut far, &["700.HK"], &[1, 4], true).await.unwrap();
    assert_eq!(pushed(&mut far).await.quote().sequence, first.sequence);
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn u14_pushes_of_an_instant_have_order_and_sequence() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    subscribe(&mut far, &["700.HK"], &[1, 4], true).await.unwrap();
    let first = pushed(&mut far).await.quote();
    assert_eq!((first.last_done.as_str(), first.volume, first.timestamp), ("300.000", 0, OPEN));
    step(&house, OPEN + 60);
    let acted = pushed(&mut far).await.trades();
    assert_eq!((acted.sequence, acted.trade.len()), (1_773_797_460_000_000, 4));
    let state = pushed(&mut far).await.quote();
    let expected = PushQuote {
        symbol: "700.HK".to_owned(),
        sequence: 1_773_797_460_000_000,
        last_done: "301.000".to_owned(),
        open: "300.000".to_owned(),
        high: "302.000".to_owned(),
        low: "299.000".to_owned(),
        timestamp: 1_773_797_459,
        volume: 10_000,
        turnover: "3005000.000".to_owned(),
        trade_status: 0,
        trade_session: 0,
        current_volume: 10_000,
        current_turnover: "3005000.000".to_owned(),
        tag: 0,
    };
    assert_eq!(state, expected);
    let opened = pushed(&mut far).await.trades();
    assert_eq!(opened.sequence, 1_773_797_460_000_001);
    assert_eq!(prints(&opened), [print("301.000", 0, 60)]);
    let running = pushed(&mut far).await.quote();
    let expected = PushQuote {
        sequence: 1_773_797_460_000_001,
        timestamp: 1_773_797_460,
        current_volume: 0,
        current_turnover: "0.000".to_owned(),
        ..expected
    };
    assert_eq!(running, expected);
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn u15_a_quote_without_volume_is_tagged_after_one_with_volume() {
    let house = house(OPEN - 3_600);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    subscribe(&mut far, &["700.HK"], &[1], true).await.unwrap();
    let yesterday = pushed(&mut far).await.quote();
    assert_eq!((yesterday.last_done.as_str(), yesterday.volume), ("298.600", 1_000_000));
    step(&house, OPEN);
    let opened = pushed(&mut far).await.quote();
    assert_eq!((opened.last_done.as_str(), opened.volume, opened.tag), ("300.000", 0, 1));
    step(&house, OPEN + 60);
    assert_eq!(pushed(&mut far).await.quote().tag, 0);
    pushed(&mut far).await.quote();
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn u17_the_stored_daily_candle_is_pushed_at_the_end_of_the_day() {
    let house = house(OPEN + 3_600);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    subscribe(&mut far, &["700.HK"], &[1, 4], false).await.unwrap();
    step(&house, 1_773_821_400);
    let day = pushed(&mut far).await.quote();
    assert_eq!(
        (day.last_done.as_str(), day.high.as_str(), day.volume, day.current_volume, day.timestamp, day.tag),
        ("308.000", "310.000", 9_000_000, 0, 1_773_821_400, 0)
    );
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn a_long_movement_ends_with_the_final_state() {
    let rows: String = (0..20)
        .flat_map(|minute| {
            let time = Timestamp(OPEN + minute * 60);
            (1..=5).map(move |number| format!("{number}.HK,{},10,11,9,10,100,1000\n", time.0))
        })
        .collect();
    let clock = Arc::new(Stepped::at(Timestamp(OPEN - 60)));
    let limits = crate::settings::Limits { push_jump: 200, ..Default::default() };
    let house = House::with_files(&[(Grain::Minute, &rows)]).under_with(clock, limits);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let symbols: Vec<String> = (1..=5).map(|number| format!("{number}.HK")).collect();
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    subscribe(&mut far, &symbols, &[1, 4], false).await.unwrap();
    let core = house.core.clone();
    // Twenty minutes of five securities with four pushes each are more than a movement sends.
    let moving = tokio::task::spawn_blocking(move || {
        core.market_clock().step_to(Timestamp(OPEN + 20 * 60)).unwrap();
        live::publish(&core).unwrap();
    });
    let mut count = 0;
    let mut last = Vec::new();
    while last.len() < 5 {
        let push = pushed(&mut far).await;
        count += 1;
        if let Pushed::Quote(quote) = push
            && quote.timestamp == OPEN + 20 * 60 - 1
            && quote.current_volume == 0
        {
            last.push(quote.symbol);
        }
    }
    moving.await.unwrap();
    assert_eq!(last, ["1.HK", "2.HK", "3.HK", "4.HK", "5.HK"]);
    assert!(count <= 200 + 5, "{count} pushes");
    nothing_more(&mut far).await;
}
