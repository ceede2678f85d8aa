//! Queries and orders share one clock, which decides which candles a query returns and which
//! candles may fill an order.

use serde_json::{Value, json};

use super::hall::{Hall, at, data, event};
use crate::support::import_files;

/// The last one-minute candle of the day and the closing auction, in addition to the candles in
/// `hall`.
const EVENING: [&str; 2] = ["15:59 304.8 305 304.4 304.8 20000", "16:00 304.6 304.6 304.6 304.6 900000"];

fn import_evening(hall: &Hall) {
    let row = |candle: &&str| {
        let parts: Vec<&str> = candle.split(' ').collect();
        format!("700.HK,{},{}\n", at(parts[0]), parts[1..].join(","))
    };
    let rows: String = EVENING.iter().map(row).collect();
    let path = hall.server.dir.path().join("evening.csv");
    std::fs::write(&path, format!("symbol,time,open,high,low,close,volume\n{rows}")).unwrap();
    import_files(hall.server.dir.path(), &[path]);
}

/// Returns the latest one-minute candles.
async fn minutes(hall: &Hall, count: u32) -> Vec<Value> {
    let path = format!("/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count={count}");
    hall.get(&path).await["candlesticks"].as_array().unwrap().clone()
}

/// Parses a price or an amount into thousandths.
fn thousandths(text: &Value) -> i64 {
    let text = text.as_str().unwrap();
    let (whole, part) = text.split_once('.').unwrap();
    format!("{whole}{part:0<3}").parse().unwrap()
}

#[tokio::test]
async fn queries_and_positions_have_the_same_price() {
    let hall = Hall::open().await;
    import_evening(&hall);
    let position = json!({"symbol": "700.HK", "quantity": "100", "cost": "300"});
    data(&hall.manage("/v1/admin/paper/ann/position", position).await);
    for (clock, mark) in [
        ("10:00:00", 305_000),
        ("10:00:59", 305_000),
        ("10:01:00", 305_200),
        ("10:01:59", 305_200),
        ("10:02:00", 305_600),
        ("10:03:59", 305_400),
        ("10:04:00", 305_200),
        ("12:30:00", 305_200),
        ("15:59:30", 304_800),
        ("16:00:00", 304_800),
        // The closing auction is visible once it is over.
        ("16:09:59", 304_800),
        ("16:10:00", 304_600),
        ("23:00:00", 304_600),
    ] {
        hall.step(clock).await;
        let request = minutes(&hall, 1).await;
        assert_eq!(thousandths(&request[0]["close"]), mark, "{clock}: {request:?}");
        let account = hall.get("/v1/asset/account").await["list"][0].clone();
        let value = thousandths(&account["net_assets"]) - thousandths(&account["total_cash"]);
        assert_eq!(value, 100 * mark, "{clock}: {account}");
    }
}

#[tokio::test]
async fn a_visible_candle_never_fills_a_new_order() {
    let hall = Hall::open().await;
    import_evening(&hall);
    for clock in
        ["10:00:00", "10:00:59", "10:01:30", "10:02:00", "10:03:01", "15:59:59", "16:05:00", "16:10:00"]
    {
        hall.step(clock).await;
        for candle in minutes(&hall, 10).await {
            let stamp = candle["timestamp"].as_i64().unwrap();
            let acts = stamp + if stamp == at("16:00") { 600 } else { 60 };
            let prices = ["open", "high", "low", "close"].map(|price| candle[price].clone());
            let is_open_alone = candle["volume"] == 0 && prices.iter().all(|price| *price == prices[0]);
            assert!(acts <= at(clock) || (stamp <= at(clock) && is_open_alone), "{clock}: {candle}");
        }
        // A new order can only be filled by later candles, so none of the candles above fills it.
        let id = hall.submit(json!({"submitted_price": "280.00"})).await;
        assert_eq!(hall.detail(&id).await["executed_quantity"], "0", "{clock}");
    }
}

#[tokio::test]
async fn the_current_candle_does_not_fill_a_new_order() {
    let hall = Hall::open().await;
    hall.step("10:01:30").await;
    let shown = minutes(&hall, 1).await[0].clone();
    assert_eq!(
        (&shown["timestamp"], &shown["high"], &shown["volume"]),
        (&json!(at("10:01")), &json!("305.200"), &json!(0))
    );
    let id = hall.submit(json!({"submitted_price": "306.00", "submitted_quantity": "100"})).await;
    // The candle trades through the limit before it ends.
    hall.step("10:02:00").await;
    assert_eq!(minutes(&hall, 2).await[0]["high"], "305.800");
    assert_eq!(hall.detail(&id).await["status"], "NewStatus");
    hall.step("10:03:00").await;
    let filled = hall.detail(&id).await;
    assert_eq!((&filled["status"], &filled["executed_price"]), (&json!("FilledStatus"), &json!("305.600")));
}

#[tokio::test]
async fn events_skipped_by_a_clock_jump_are_pushed_with_their_time() {
    let hall = Hall::open().await;
    let mut client = hall.listener().await;
    hall.step("10:00:15").await;
    let filled = hall.submit(json!({"submitted_price": "306.00"})).await;
    let expired = hall.submit(json!({"submitted_price": "290.00"})).await;
    // 10:00 on the next day.
    hall.step("34:00").await;
    let mut actual = Vec::new();
    for _ in 0..6 {
        let event = event(&mut client).await;
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        actual.push((text("order_id"), text("status"), text("updated_at").parse::<i64>().unwrap()));
    }
    let (filled, expired) = (filled.as_str(), expired.as_str());
    let expected = [
        (filled, "WaitToNew", "10:00:15"),
        (filled, "NewStatus", "10:00:15"),
        (expired, "WaitToNew", "10:00:15"),
        (expired, "NewStatus", "10:00:15"),
        (filled, "FilledStatus", "10:02"),
        (expired, "ExpiredStatus", "16:10"),
    ]
    .map(|(id, status, clock)| (id.to_owned(), status.to_owned(), at(clock)));
    assert_eq!(actual, expected);
}
