//! The first and the last instant of a world.

use access::Terms;
use serde_json::{Value, json};

use super::super::hall::{Hall, at, data, refused};
use super::{World, import_rows, instant, march, push, subscribe};
use crate::support::{Response, TransportLabel};

/// Seconds from the day of the other tests to 2026-11-16, a Monday after all candles of the test
/// market.
const MONDAY: i64 = 243 * 86_400;

#[tokio::test]
async fn the_default_end_is_when_the_last_stored_candle_has_filled_orders() {
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
async fn a_closing_auction_fills_orders_before_the_default_end() {
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

async fn set(hall: &Hall, body: Value) -> Response {
    hall.ask("POST", "/v1/worlds/w/set", &body).await
}

#[tokio::test]
async fn start_and_end_change_while_a_world_has_not_begun() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let shown = data(&set(&hall, json!({"end": "2026-03-18T10:02:00+08:00"})).await);
    assert_eq!((&shown["start"], &shown["end"]), (&instant("09:29"), &instant("10:02")));
    let shown = data(&set(&hall, json!({"start": "2026-03-18T10:00:30+08:00"})).await);
    assert_eq!(
        (&shown["start"], &shown["now"], &shown["end"], &shown["state"]),
        (&instant("10:00:30"), &instant("10:00:30"), &instant("10:02"), &json!("created"))
    );
    assert_eq!(world.get("/v1/world").await, shown);
    assert_eq!(world.closes().await, ["305.000"]);
    // The end is where the clock stops.
    let ended = data(&world.try_step(json!({"by": "P1D"})).await);
    assert_eq!((&ended["now"], &ended["state"]), (&instant("10:02"), &json!("ended")));
    let both = json!({"start": "2026-03-18T09:40:00+08:00", "end": "2026-03-18T10:03:00+08:00"});
    let refusal = refused(&set(&hall, both.clone()).await);
    let wanted = (409, "the world is ended: reset it to its start first");
    assert_eq!((refusal.0, refusal.2.as_str()), wanted);
    data(&hall.ask("POST", "/v1/worlds/w/reset", &Value::Null).await);
    let shown = data(&set(&hall, both).await);
    assert_eq!((&shown["start"], &shown["end"]), (&instant("09:40"), &instant("10:03")));
    // A world that has begun, and a world of another account.
    world.step("10:00").await;
    assert_eq!(set(&hall, json!({"end": "2026-03-19"})).await.status, 409);
    let bob = hall.server.account("bob", Terms::default());
    let body = json!({"end": "2026-03-19"}).to_string();
    assert_eq!(hall.server.post("/v1/worlds/w/set", &bob, &body).await.status, 404);
}

#[tokio::test]
async fn an_invalid_start_or_end_is_refused_as_at_creation() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let before = world.get("/v1/world").await;
    for (body, message) in [
        (json!({}), "start or end is required"),
        (
            json!({"end": "2026-03-18T09:28:59+08:00"}),
            "the end 2026-03-18T01:28:59Z is before the start 2026-03-18T01:29:00Z",
        ),
        (
            json!({"start": "2026-03-18T16:30:01+08:00"}),
            "the end 2026-03-18T08:30:00Z is before the start 2026-03-18T08:30:01Z",
        ),
        (
            json!({"start": "2019-03-18", "end": "2019-03-19"}),
            "no candles are stored from 2019-03-17T16:00:00Z to 2019-03-18T16:00:00Z",
        ),
    ] {
        let refusal = refused(&set(&hall, body.clone()).await);
        assert_eq!((refusal.0, refusal.2.as_str()), (400, message), "{body}");
    }
    assert_eq!(set(&hall, json!({"speed": 1})).await.status, 400);
    assert_eq!(world.get("/v1/world").await, before);
}

/// The digests of two worlds are equal, although one of them first had another start.
#[tokio::test]
async fn another_start_resets_the_account() {
    let hall = Hall::open().await;
    let mut settings = march("x");
    settings["start"] = "2026-03-18T09:40:00+08:00".into();
    let (world, other) = (World::open(&hall, "w").await, World::open_as(&hall, &hall.ann, &settings).await);
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut quotes, &["CLOCK.WORLD"]).await;
    push(&mut quotes).await;
    // An order at the start opens the account at that instant.
    data(&world.submit("306.00").await);
    for start in ["2026-03-18T09:35:00+08:00", "2026-03-18T09:20:00+08:00", "2026-03-18T09:40:00+08:00"] {
        data(&set(&hall, json!({"start": start})).await);
        assert_eq!(world.get("/v1/trade/order/today").await["orders"], json!([]), "{start}");
    }
    assert_eq!(quotes.closed().await, (2, "the clock was set back".to_owned()));
    for world in [&world, &other] {
        world.get("/v1/trade/order/today").await;
        world.step("10:00:15").await;
        data(&world.submit("306.00").await);
        world.step("10:02").await;
    }
    let digest = async |world: &World<'_>| world.get("/v1/world").await["digest"].clone();
    assert_eq!(digest(&world).await, digest(&other).await);
    let first = &hall.get("/v1/worlds/w/log?after=2&limit=1").await["lines"][0];
    assert_eq!((&first["kind"], &first["entry"]["start"]), (&json!("created"), &instant("09:40")));
}
