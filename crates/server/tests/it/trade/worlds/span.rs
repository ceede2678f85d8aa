//! The first and the last instant of a world.

use serde_json::{Value, json};

use super::super::hall::{Hall, at, data};
use super::{World, import_rows};

/// 2026-11-16, a Monday after all candles of the test market, and 10:03 in Hong Kong.
const MONDAY: i64 = 243 * 86_400;

#[tokio::test]
async fn without_an_end_a_world_ends_when_the_last_stored_candle_has_acted() {
    let hall = Hall::open().await;
    let settings = json!({"name": "w", "start": "2026-11-16T10:00:00+08:00", "markets": ["HK"]});
    import_rows(&hall, &[(at("10:03") + MONDAY, "300,302,299,301,10000,3005000")]);
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    let shown = world.get("/v1/world").await;
    assert_eq!(shown["end"], "2026-11-16T02:04:00Z", "not the end of a day that is in progress");
    let order = data(&world.submit("305.00").await)["order_id"].as_str().unwrap().to_owned();
    let ended = data(&world.try_step(json!({"by": "P1D"})).await);
    assert_eq!((&ended["now"], &ended["state"]), (&shown["end"], &json!("ended")));
    let order = world.get(&format!("/v1/trade/order?order_id={order}")).await;
    assert_eq!(order["status"], "FilledStatus", "the last candle fills orders");
}

#[tokio::test]
async fn a_closing_auction_acts_before_the_default_end() {
    let hall = Hall::open().await;
    let settings = json!({"name": "w", "start": "2026-11-16T15:00:00+08:00", "markets": ["HK"]});
    import_rows(&hall, &[(at("16:00") + MONDAY, "300,300,300,300,10000,3000000")]);
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    assert_eq!(world.get("/v1/world").await["end"], "2026-11-16T08:10:00Z");
    let ended = data(&hall.ask("POST", "/v1/worlds/w/step", &json!({"by": "P1D"})).await);
    assert_eq!(ended["now"], "2026-11-16T08:10:00Z");
    assert_eq!(world.closes().await.last().map(String::as_str), Some("300.000"));
    assert_eq!(hall.ask("DELETE", "/v1/worlds/w", &Value::Null).await.status, 200);
}
