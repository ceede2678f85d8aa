//! Subscriptions and the pushes that follow, under a stepped clock: the tables 8.1 and 8.2 of the
//! specification, as raw packets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use access::{Actor, Created, Right, Validity};
use history::AsOf;
use market::{Grain, Timestamp};
use prost::Message;
use wire::command::{CANDLESTICKS, QUOTE, SUBSCRIBE, SUBSCRIPTIONS, UNSUBSCRIBE};
use wire::quote::{
    PushQuote, PushTrades, QuoteResponse, SecurityCandlestickRequest, SecurityCandlestickResponse,
    SubscribeRequest, SubscriptionsResponse, SymbolsRequest, TradeStatus, UnsubscribeRequest,
    UnsubscribeResponse,
};
use wire::{Packet, Status, control};

use super::house::{BOTH, Far, House, Kind, NOW, Refused, Seen};
use crate::market_clock::tests::Stepped;
use crate::pushes;

/// 2026-03-18 09:30:00 in Hong Kong.
const OPEN: i64 = 1_773_797_400;
/// The minute of example U2, and the following one of example U14.
const MINUTES: &str = "700.HK,2026-03-18T09:30:00+08:00,300,302,299,301,10000,3005000\n\
                       700.HK,2026-03-18T09:31:00+08:00,301,303,300,302,8000,2412000\n\
                       9988.HK,2026-03-18T09:30:00+08:00,80,81,79,80.5,1000,80000\n\
                       AAPL.US,2026-03-17T15:59:00-04:00,190,190.2,189.9,190.1,4000,760900\n";
const DAYS: &str = "700.HK,2026-03-17,297,299,296,298.6,1000000,298000000\n\
                    700.HK,2026-03-18,300,310,295,308,9000000,2727000000\n";

/// A push of a quote or of trades.
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

    fn symbol(&self) -> &str {
        match self {
            Pushed::Quote(quote) => &quote.symbol,
            Pushed::Trades(trades) => &trades.symbol,
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
    pushes::publish(&house.core).unwrap();
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
    far.ask(SUBSCRIBE, &request(symbols, types, is_first_push)).await.map(listed)
}

fn request(symbols: &[&str], types: &[i32], is_first_push: bool) -> SubscribeRequest {
    let symbol = symbols.iter().map(|&symbol| symbol.to_owned()).collect();
    SubscribeRequest { symbol, sub_type: types.to_vec(), is_first_push }
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

/// Asserts that no push is queued: the next packet is the response to a request sent now.
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
    let refused =
        b.refused(SUBSCRIBE, &request(&["1001.HK", "1002.HK", "1003.HK", "1.HK"], &[1], true)).await;
    let text = "too many subscriptions: 498 of 500 used, 3 more asked".to_owned();
    assert_eq!(refused, (Status::ServerError, 301_605, text));
    assert_eq!(list(&mut b).await, []);
    let three = subscribe(&mut b, &["9988.HK", "700.HK", "1.HK"], &[1], true).await.unwrap();
    assert_eq!(three, pairs(&[("9988.HK", &[1]), ("700.HK", &[1])]), "1.HK is not stored");
    // The first pushes are in the order of the response.
    assert_eq!(pushed(&mut b).await.quote().symbol, "9988.HK");
    assert_eq!(pushed(&mut b).await.quote().symbol, "700.HK");
    assert_eq!(list(&mut b).await, pairs(&[("700.HK", &[1]), ("9988.HK", &[1])]));
    let refused = b.refused(SUBSCRIBE, &request(&["1001.HK"], &[1], true)).await;
    assert_eq!(refused.2, "too many subscriptions: 500 of 500 used, 1 more asked");
    let many: Vec<String> = (1..=501).map(|number| format!("{number}.HK")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let refused = b.refused(SUBSCRIBE, &request(&many, &[1], true)).await;
    assert_eq!(refused.2, "too many subscriptions: 500 of 500 used, 3 more asked");
    assert_eq!(list(&mut b).await.len(), 2, "nothing of it is subscribed");
    drop(a);
    // Once the first connection has closed, its securities are not counted.
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
async fn s5_symbols_without_a_right_or_with_invalid_form_are_left_out() {
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
async fn subscriptions_end_when_a_right_is_withdrawn_or_the_account_is_revoked() {
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
async fn s6_s7_subscription_types_add_up_and_end_one_by_one() {
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
async fn s8_a_resubscription_leaves_out_excess_symbols_and_is_never_refused() {
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
async fn a_stored_security_is_subscribed_before_its_first_candle() {
    let house = house(OPEN - 60);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    // Its first candle is later than the clock, so no first push exists.
    let subscribed = subscribe(&mut far, &["9988.HK", "9999.HK"], &[1, 4], true).await.unwrap();
    assert_eq!(subscribed, pairs(&[("9988.HK", &[1, 4])]));
    assert_eq!(list(&mut far).await, pairs(&[("9988.HK", &[1, 4])]));
    let id = house.hub.links.list(Some(account.account_id))[0].id;
    assert_eq!(house.core.live.of_connection(id).waiting, ["9999.HK".parse().unwrap()]);
    step(&house, OPEN);
    assert_eq!(prints(&pushed(&mut far).await.trades()), [print("80.000", 0, 0)]);
    let opened = pushed(&mut far).await.quote();
    assert_eq!((opened.last_done.as_str(), opened.volume, opened.tag), ("80.000", 0, 0));
    nothing_more(&mut far).await;
    step(&house, OPEN + 60);
    pushed(&mut far).await.trades();
    assert_eq!(pushed(&mut far).await.quote().volume, 1000);
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn unsubscribing_all_with_symbols_ends_all_types_of_these_symbols() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let symbols = ["700.HK", "9988.HK", "9999.HK"];
    subscribe(&mut far, &symbols, &[1, 4], false).await.unwrap();
    unsubscribe(&mut far, &["00700.hk", "XX", "5.HK"], &[], true).await.unwrap();
    assert_eq!(list(&mut far).await, pairs(&[("9988.HK", &[1, 4])]));
    let id = house.hub.links.list(Some(account.account_id))[0].id;
    let waiting = || house.core.live.of_connection(id).waiting.len();
    assert_eq!(waiting(), 1);
    // Malformed symbols are ignored. A list of only malformed symbols is not treated as an empty
    // list.
    unsubscribe(&mut far, &["XX"], &[], true).await.unwrap();
    assert_eq!((list(&mut far).await.len(), waiting()), (1, 1));
    unsubscribe(&mut far, &["9999.HK"], &[1, 4], false).await.unwrap();
    assert_eq!(waiting(), 0);
    step(&house, OPEN + 60);
    for _ in 0..2 {
        assert_eq!(pushed(&mut far).await.symbol(), "9988.HK");
    }
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn s12_a_client_may_subscribe_to_its_securities_one_by_one() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    for number in 1..=500 {
        let subscribed = subscribe(&mut far, &[&format!("{number}.HK")], &[1, 4], true).await;
        assert_eq!(subscribed, Ok(Vec::new()), "{number}");
    }
    // Commands 6 and 7 share a window of one thousand, which other commands do not use.
    for _ in 0..500 {
        unsubscribe(&mut far, &["700.HK"], &[1], false).await.unwrap();
    }
    let refused = unsubscribe(&mut far, &["700.HK"], &[1], false).await;
    assert_eq!(refused, Err((Status::BadRequest, 301_606)));
    let refused = subscribe(&mut far, &["700.HK"], &[1], false).await;
    assert_eq!(refused, Err((Status::BadRequest, 301_606)));
    assert_eq!(list(&mut far).await, []);
    // The limit applies to each connection.
    let mut other = connected(&house, Kind::Tcp, &account).await;
    assert_eq!(subscribe(&mut other, &["1.HK"], &[1], false).await, Ok(Vec::new()));
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
    // A second request for the same types repeats the first push, but not the trades.
    subscribe(&mut far, &["700.HK"], &[1, 4], true).await.unwrap();
    assert_eq!(pushed(&mut far).await.quote().sequence, first.sequence);
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn u14_pushes_of_an_instant_are_ordered_and_numbered() {
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
        pushes::publish(&core).unwrap();
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

#[tokio::test]
async fn stored_trades_are_pushed_at_their_seconds_after_a_subscription() {
    let trades = "symbol,time,price,volume,direction,type\n\
                  700.HK,2026-03-18T09:30:10+08:00,300,100,,\n700.HK,2026-03-18T09:30:10+08:00,300.2,50,,\n";
    let house = house(OPEN + 5).with_file(trades);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    subscribe(&mut far, &["700.HK"], &[1, 4], false).await.unwrap();
    // The publisher is idle now, but must not sleep until the next minute.
    for _ in 0..2 {
        assert_eq!(pushes::publish(&house.core).unwrap().next, Some(Timestamp(OPEN + 10)));
    }
    step(&house, OPEN + 10);
    let both = [print("300.000", 100, 10), print("300.200", 50, 10)];
    assert_eq!(prints(&pushed(&mut far).await.trades()), both);
    assert_eq!(pushed(&mut far).await.quote().volume, 150);
    assert_eq!(pushes::publish(&house.core).unwrap().next, Some(Timestamp(OPEN + 60)));
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn a_damaged_security_does_not_stop_the_pushes_of_other_securities() {
    let house = house(OPEN - 60);
    let series =
        store::Series { symbol: "5.HK".parse().unwrap(), grain: Grain::Minute, lane: store::Lane::Regular };
    let (first, last) = (Timestamp(OPEN - 86_400), Timestamp(OPEN + 600));
    let damaged = store::NewBlock { first, last, rows: 100, bytes: b"no block".to_vec() };
    let store = house.writable();
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.ensure_security(&series.symbol).unwrap();
    batch.replace_blocks(&series, &[], &[damaged]).unwrap();
    batch.commit().unwrap();
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let subscribed = subscribe(&mut far, &["5.HK", "700.HK"], &[1, 4], true).await.unwrap();
    assert_eq!(subscribed, pairs(&[("5.HK", &[1, 4]), ("700.HK", &[1, 4])]));
    assert_eq!(pushed(&mut far).await.quote().last_done, "298.600");
    step(&house, OPEN);
    assert_eq!(prints(&pushed(&mut far).await.trades()), [print("300.000", 0, 0)]);
    pushed(&mut far).await.quote();
    nothing_more(&mut far).await;
}

/// Sends a request, and returns the pushes before its response.
async fn pushed_before(far: &mut Far, command: u8, body: &impl Message) -> Vec<String> {
    far.request(command, 9, body.encode_to_vec()).await;
    let mut symbols = Vec::new();
    loop {
        match far.see().await {
            Seen::Packet(Packet::Response { id: 9, status: Status::Success, .. }) => return symbols,
            Seen::Packet(Packet::Push { command: 101, body }) => {
                symbols.push(PushQuote::decode(&*body).unwrap().symbol);
            }
            Seen::Packet(Packet::Push { command: 104, body }) => {
                symbols.push(PushTrades::decode(&*body).unwrap().symbol);
            }
            Seen::Ping(_) => {}
            other => panic!("{other:?} instead of a response"),
        }
    }
}

/// Property 6, while another thread moves the clock.
#[tokio::test]
async fn pushes_arrive_only_between_the_responses_to_subscribe_and_unsubscribe() {
    const MINUTES: i64 = 300;
    let rows: String = (0..MINUTES)
        .flat_map(|minute| {
            let time = OPEN - OPEN.rem_euclid(86_400) + 8 * 3_600 + 60 * minute;
            ["AAPL.US", "MSFT.US"].map(|symbol| format!("{symbol},{time},10,11,9,10,100,1000\n"))
        })
        .collect();
    let start = OPEN - OPEN.rem_euclid(86_400) + 8 * 3_600 - 60;
    let clock = Arc::new(Stepped::at(Timestamp(start)));
    let house = House::with_files(&[(Grain::Minute, &rows)]).under(clock);
    let terms = access::Terms { rate: Some(access::RateRule::Unlimited), ..Default::default() };
    let account = house.account_of("ann", terms);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    subscribe(&mut far, &["AAPL.US"], &[1, 4], false).await.unwrap();
    let core = house.core.clone();
    let moving = tokio::task::spawn_blocking(move || {
        for minute in 0..MINUTES {
            core.market_clock().step_to(Timestamp(start + 60 * minute)).unwrap();
            pushes::publish(&core).unwrap();
        }
    });
    let mut count = 0;
    // This number of rounds is within the rate limit of commands 6 and 7.
    for _ in 0..400 {
        if moving.is_finished() {
            break;
        }
        let wish = request(&["MSFT.US"], &[1, 4], false);
        let before = pushed_before(&mut far, SUBSCRIBE, &wish).await;
        assert!(!before.contains(&"MSFT.US".to_owned()), "pushed before the answer");
        count += before.len();
        let list = SubscribeRequest::default();
        count += pushed_before(&mut far, SUBSCRIPTIONS, &list).await.len();
        let end = UnsubscribeRequest { symbol: wish.symbol, sub_type: wish.sub_type, unsub_all: false };
        count += pushed_before(&mut far, UNSUBSCRIBE, &end).await.len();
        let after = pushed_before(&mut far, SUBSCRIPTIONS, &list).await;
        assert!(!after.contains(&"MSFT.US".to_owned()), "pushed after the answer");
        count += after.len();
    }
    moving.await.unwrap();
    assert!(count > 0, "nothing was pushed meanwhile");
}

#[tokio::test]
async fn a_status_change_is_pushed_with_unchanged_figures() {
    let day = 86_400;
    let house = house(OPEN + 3_600);
    house.import("symbol,from,to\n700.HK,2026-03-19,2026-03-20\n");
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    subscribe(&mut far, &["700.HK", "9988.HK"], &[1, 4], false).await.unwrap();
    step(&house, OPEN + day - 1);
    let last = pushed(&mut far).await.quote();
    assert_eq!((last.last_done.as_str(), last.trade_status), ("308.000", 0));
    nothing_more(&mut far).await;
    assert_eq!(status(&mut far, "700.HK").await, 0);
    step(&house, OPEN + day);
    let suspended = pushed(&mut far).await.quote();
    let number = (OPEN + day) * 1_000_000;
    let expected = PushQuote { sequence: number, trade_status: TradeStatus::Suspended.into(), ..last };
    assert_eq!(suspended, expected, "the time is that of the last price");
    nothing_more(&mut far).await;
    assert_eq!(status(&mut far, "700.HK").await, suspended.trade_status);
    assert_eq!(status(&mut far, "9988.HK").await, 0);
    // A later subscriber gets this status in its first push, too.
    step(&house, OPEN + day + 3_600);
    let bob = house.account("bob", 10);
    let mut late = connected(&house, Kind::Tcp, &bob).await;
    subscribe(&mut late, &["700.HK"], &[1], true).await.unwrap();
    assert_eq!(pushed(&mut late).await.quote(), suspended);
    // The suspension ends on the day after the last one, which is a Saturday.
    step(&house, OPEN + 3 * day);
    let ended = pushed(&mut far).await.quote();
    assert_eq!((ended.trade_status, ended.timestamp), (0, suspended.timestamp));
    nothing_more(&mut far).await;
}

/// Returns the status in the response of command 11.
async fn status(far: &mut Far, symbol: &str) -> i32 {
    let request = SymbolsRequest { symbol: vec![symbol.to_owned()] };
    let answer: QuoteResponse = far.ask(QUOTE, &request).await.unwrap();
    answer.secu_quote[0].trade_status
}

/// Returns the code and the text of a refusal.
async fn refusal(far: &mut Far, command: u8, body: Vec<u8>) -> (Status, u64, String) {
    far.request(command, 9, body).await;
    match far.see().await {
        Seen::Packet(Packet::Response { status, body, .. }) if status != Status::Success => {
            let error = control::Error::decode(&*body).unwrap();
            (status, error.code, error.msg)
        }
        other => panic!("{other:?} instead of a refusal"),
    }
}

fn encoded(symbols: impl IntoIterator<Item = String>, is_first_push: bool) -> Vec<u8> {
    SubscribeRequest { symbol: symbols.into_iter().collect(), sub_type: vec![1], is_first_push }
        .encode_to_vec()
}

fn numbered(numbers: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = String> {
    numbers.map(|number| format!("{number}.HK"))
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_as_a_whole() {
    let house = house(OPEN);
    let (ann, bob) = (house.account("ann", 10), house.account("bob", 10));
    let mut far = connected(&house, Kind::WebSocket, &ann).await;
    let mut other = connected(&house, Kind::Tcp, &bob).await;
    subscribe(&mut other, &["700.HK"], &[1], false).await.unwrap();
    let text = "too many subscriptions: 0 of 500 used, 1500 more asked".to_owned();
    let refused = refusal(&mut far, SUBSCRIBE, encoded(numbered(1..=1_500), true)).await;
    assert_eq!(refused, (Status::ServerError, 301_605, text));
    assert_eq!(list(&mut far).await, []);
    subscribe(&mut far, &["700.HK", "9988.HK"], &[1], false).await.unwrap();
    let text = "too many subscriptions: 2 of 500 used, 499 more asked".to_owned();
    let refused = refusal(&mut far, SUBSCRIBE, encoded(numbered(1..=499), true)).await;
    assert_eq!(refused, (Status::ServerError, 301_605, text));
    // A thousand requests, each with one security above the limit.
    far.request(SUBSCRIBE, 1, encoded(numbered(1..=498), false)).await;
    assert!(matches!(far.see().await, Seen::Packet(Packet::Response { id: 1, .. })));
    for number in 1_001..2_000 {
        let refused = refusal(&mut far, SUBSCRIBE, encoded(numbered(number..=number), true)).await;
        let expected =
            if number < 1_997 { (Status::ServerError, 301_605) } else { (Status::BadRequest, 301_606) };
        assert_eq!((refused.0, refused.1), expected, "{number}: {}", refused.2);
    }
    // The other account has its own limits.
    subscribe(&mut other, &["9988.HK"], &[1], true).await.unwrap();
    assert_eq!(pushed(&mut other).await.quote().symbol, "9988.HK");
    step(&house, OPEN + 60);
    for _ in 0..3 {
        pushed(&mut other).await.quote();
    }
    nothing_more(&mut other).await;
}

#[tokio::test]
async fn symbols_that_cannot_be_subscribed_are_left_out_with_a_reason() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    for command in [SUBSCRIBE, UNSUBSCRIBE] {
        let refused = refusal(&mut far, command, vec![0xff; 3]).await;
        assert_eq!((refused.0, refused.1), (Status::BadRequest, 301_600), "{command}: {}", refused.2);
    }
    let symbols = ["700.XX", "700.HK", "AAPL260717C200000.US", "", "9999.HK"];
    let subscribed = subscribe(&mut far, &symbols, &[1], false).await.unwrap();
    assert_eq!(subscribed, pairs(&[("700.HK", &[1])]));
    let id = house.hub.links.list(Some(account.account_id))[0].id;
    let subscribed = house.core.live.of_connection(id);
    let left_out: Vec<(&str, &str)> =
        subscribed.left_out.iter().map(|of| (of.symbol.as_str(), of.reason)).collect();
    let expected = [("700.XX", "malformed"), ("AAPL260717C200000.US", "option"), ("", "malformed")];
    assert_eq!(left_out, expected);
    assert_eq!(subscribed.waiting.iter().map(market::Symbol::as_str).collect::<Vec<_>>(), ["9999.HK"]);
    // Pending subscriptions are not listed, and end with all others.
    assert_eq!(list(&mut far).await, pairs(&[("700.HK", &[1])]));
    unsubscribe(&mut far, &["8888.HK", "XX"], &[1], false).await.unwrap();
    unsubscribe(&mut far, &["9999.HK"], &[4], false).await.unwrap();
    assert_eq!(house.core.live.of_connection(id).waiting.len(), 1, "unknown pairs are ignored");
    unsubscribe(&mut far, &[], &[], true).await.unwrap();
    assert!(house.core.live.of_connection(id).waiting.is_empty());
}

#[tokio::test]
async fn a_client_that_never_reads_is_closed_without_affecting_others() {
    const SECURITIES: u32 = 500;
    const MINUTES: i64 = 14;
    let rows: String = (0..MINUTES)
        .flat_map(|minute| {
            numbered(1..=SECURITIES)
                .map(move |name| format!("{name},{},10,10,10,10,9,90\n", OPEN + minute * 60))
        })
        .collect();
    let now = Arc::new(AtomicI64::new(OPEN));
    let clock = now.clone();
    let house = House::with_files(&[(Grain::Minute, &rows)])
        .under(Arc::new(move || AsOf::Replay(Timestamp(clock.load(Ordering::Acquire)))));
    let (ann, bob) = (house.account("ann", 10), house.account("bob", 10));
    let mut slow = house.connect_narrow(Kind::WebSocket, 16 << 10);
    let session = slow.auth(&house.otp(&ann)).await.unwrap().session_id;
    let mut fast = connected(&house, Kind::WebSocket, &bob).await;
    let trades = SubscribeRequest {
        symbol: numbered(1..=SECURITIES).collect(),
        sub_type: vec![4],
        is_first_push: false,
    };
    for far in [&mut slow, &mut fast] {
        far.ask::<SubscriptionsResponse>(SUBSCRIBE, &trades).await.unwrap();
    }
    for minute in 1..MINUTES {
        now.store(OPEN + minute * 60, Ordering::Release);
        pushes::publish(&house.core).unwrap();
        // A minute is complete, and another opens.
        for _ in 0..SECURITIES * 2 {
            pushed(&mut fast).await.trades();
        }
        nothing_more(&mut fast).await;
    }
    let metrics = &house.core.metrics.pushes;
    assert_eq!(metrics.slow_readers_closed(), 1);
    let mut seen = Vec::new();
    let mut note = |body: &[u8]| {
        let push = PushTrades::decode(body).unwrap();
        if push.symbol == "1.HK" {
            seen.push(push.sequence);
        }
    };
    let close = loop {
        match slow.see().await {
            Seen::Packet(Packet::Push { command: 0, body }) => break control::Close::decode(&*body).unwrap(),
            Seen::Packet(Packet::Push { command: 104, body }) => note(&body),
            Seen::Ping(_) => {}
            other => panic!("{other:?} instead of a push"),
        }
    };
    assert_eq!((close.code, close.reason.as_str()), (1, "too slow: 4096 pushes waiting"));
    assert!(house.hub.links.list(Some(ann.account_id)).is_empty());
    assert_eq!(house.core.live.load().connections, 1);
    // After its reconnect, the client gets the pushes that were queued when it was closed.
    let mut again = house.connect(Kind::WebSocket);
    again.reconnect(&session).await.unwrap();
    again.ask::<SubscriptionsResponse>(SUBSCRIBE, &request(&["1.HK"], &[4], false)).await.unwrap();
    again.request(SUBSCRIPTIONS, 77, Vec::new()).await;
    loop {
        match again.see().await {
            Seen::Packet(Packet::Push { command: 104, body }) => note(&body),
            Seen::Packet(Packet::Response { .. }) => break,
            Seen::Ping(_) => {}
            other => panic!("{other:?} instead of a push"),
        }
    }
    let numbers = |minute: i64| {
        let first = (OPEN + minute * 60) * 1_000_000;
        [first, first + 1]
    };
    assert_eq!(seen, (1..MINUTES).flat_map(numbers).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_length_of_the_push_queue_is_configurable() {
    let limits = crate::settings::Limits { push_queue: 2_048, ..Default::default() };
    let house = house(OPEN).with_limits(limits);
    let ann = house.account("ann", 10);
    let _far = connected(&house, Kind::WebSocket, &ann).await;
    assert_eq!(house.mailbox(&ann).quotes_max(), 2_048);
}

#[tokio::test]
async fn a_listener_of_another_region_leaves_out_all_symbols() {
    let house = house(OPEN);
    let region = access::Region::ALL.into_iter().find(|region| *region != access::Region::default()).unwrap();
    let ann = house.account("ann", 10);
    let mut far = house.connect_at(Kind::WebSocket, Some(region));
    far.auth(&house.otp(&ann)).await.unwrap();
    assert_eq!(subscribe(&mut far, &["700.HK", "XX"], &[1, 4], true).await, Ok(Vec::new()));
    let id = house.hub.links.list(Some(ann.account_id))[0].id;
    let left_out = house.core.live.of_connection(id).left_out;
    let left_out: Vec<(&str, &str)> = left_out.iter().map(|of| (of.symbol.as_str(), of.reason)).collect();
    assert_eq!(left_out, [("700.HK", "wrong region"), ("XX", "malformed")]);
    step(&house, OPEN + 60);
    nothing_more(&mut far).await;
}

#[tokio::test]
async fn a_revoked_account_gets_no_more_pushes_and_is_closed() {
    let house = house(OPEN);
    let (ann, bob) = (house.account("ann", 10), house.account("bob", 10));
    let mut far = connected(&house, Kind::WebSocket, &ann).await;
    let mut other = connected(&house, Kind::WebSocket, &bob).await;
    for far in [&mut far, &mut other] {
        subscribe(far, &["700.HK"], &[1, 4], false).await.unwrap();
    }
    house.core.access.revoke(ann.account_id, &Actor::Operator, "", NOW).unwrap();
    step(&house, OPEN + 60);
    for _ in 0..4 {
        pushed(&mut other).await;
    }
    nothing_more(&mut other).await;
    // The next packet is the close push, without a ping.
    assert_eq!(far.closed().await, (4, Some(1008)));
}

#[tokio::test]
async fn streams_count_toward_the_limit_like_connections() {
    let house = house(OPEN);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let open = |first: u32, last: u32| {
        let client = crate::caller::Client {
            who: house.identify(&account),
            language: Default::default(),
            overnight: false,
            listener_region: None,
            connection: None,
        };
        let caller = house.core.caller(client).unwrap();
        let symbols: Vec<String> = (first..=last).map(|number| format!("{number}.HK")).collect();
        let address = ([127, 0, 0, 1], 53_124).into();
        pushes::open(&house.core, pushes::StreamCredentials { caller, session: None }, address, &symbols)
            .unwrap()
    };
    let stream = open(1, 300);
    let many: Vec<String> = (201..=498).map(|number| format!("{number}.HK")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    subscribe(&mut far, &many, &[1], false).await.unwrap();
    let refused =
        far.refused(SUBSCRIBE, &request(&["1.HK", "1001.HK", "1002.HK", "1003.HK"], &[1], true)).await;
    assert_eq!(refused.2, "too many subscriptions: 498 of 500 used, 3 more asked");
    subscribe(&mut far, &["1.HK", "1001.HK"], &[1], true).await.unwrap();
    // A stream leaves out the symbols that exceed the limit.
    let second = open(400, 500);
    let streams = house.core.live.list_streams(Some(account.account_id));
    let left_out: Vec<&str> = streams[1].1.left_out.iter().map(|of| of.symbol.as_str()).collect();
    assert_eq!(left_out, ["500.HK"]);
    drop((stream, second));
    subscribe(&mut far, &["1002.HK", "1003.HK"], &[1], true).await.unwrap();
}

#[tokio::test]
async fn the_clock_of_the_server_is_pushed_after_all_quotes() {
    let house = house(OPEN - 60);
    let account = house.account("ann", 10);
    let mut far = connected(&house, Kind::WebSocket, &account).await;
    let symbols = ["9988.HK", "CLOCK.WORLD", "00700.hk", "AAPL.US", "CLOCK.WORLD"];
    let subscribed = subscribe(&mut far, &symbols, &[1], false).await.unwrap();
    let one: &[i32] = &[1];
    assert_eq!(
        subscribed,
        pairs(&[("9988.HK", one), ("CLOCK.WORLD", one), ("700.HK", one), ("AAPL.US", one)]),
        "request order"
    );
    let clock = |push: Pushed| {
        let quote = push.quote();
        (quote.symbol, quote.timestamp, quote.volume, quote.last_done)
    };
    let shown = |at: i64, step: i64, pushes: &str| ("CLOCK.WORLD".to_owned(), at, step, pushes.to_owned());
    assert_eq!(clock(pushed(&mut far).await), shown(OPEN - 60, 0, "0"));
    let listed = list(&mut far).await;
    assert_eq!(listed, pairs(&[("700.HK", one), ("9988.HK", one), ("AAPL.US", one), ("CLOCK.WORLD", one)]));
    step(&house, OPEN);
    for symbol in ["700.HK", "9988.HK"] {
        assert_eq!(pushed(&mut far).await.symbol(), symbol);
    }
    assert_eq!(clock(pushed(&mut far).await), shown(OPEN, 1, "3"));
    unsubscribe(&mut far, &["9988.HK", "700.HK", "AAPL.US"], &[1], false).await.unwrap();
    step(&house, OPEN + 60);
    assert_eq!(clock(pushed(&mut far).await), shown(OPEN + 60, 2, "1"));
    unsubscribe(&mut far, &["CLOCK.WORLD"], &[1], false).await.unwrap();
    step(&house, OPEN + 120);
    nothing_more(&mut far).await;
    assert_eq!(list(&mut far).await, []);
}

#[tokio::test]
async fn pushes_end_when_a_right_expires() {
    let house = house(OPEN);
    let (ann, bob) = (house.account("ann", 10), house.account("bob", 10));
    let until = Validity { starts_at: None, ends_at: Some(Timestamp(OPEN + 90)) };
    house.core.access.grant(ann.account_id, Right::Hk, until, &Actor::Operator, NOW).unwrap();
    let mut far = connected(&house, Kind::WebSocket, &ann).await;
    let mut other = connected(&house, Kind::WebSocket, &bob).await;
    for far in [&mut far, &mut other] {
        subscribe(far, &["700.HK", "9988.HK"], &[1], false).await.unwrap();
    }
    step(&house, OPEN + 60);
    for far in [&mut far, &mut other] {
        for _ in 0..3 {
            pushed(far).await.quote();
        }
        nothing_more(far).await;
    }
    step(&house, OPEN + 120);
    assert_eq!(list(&mut far).await, [], "nothing was pushed");
    let id = house.hub.links.list(Some(ann.account_id))[0].id;
    let left_out = house.core.live.of_connection(id).left_out;
    assert_eq!(left_out.iter().map(|of| of.reason).collect::<Vec<_>>(), ["no right"; 2]);
    pushed(&mut other).await.quote();
    nothing_more(&mut other).await;
}
