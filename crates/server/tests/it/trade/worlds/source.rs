//! Worlds that begin with a copy of an account.

use access::Terms;
use serde_json::{Value, json};

use super::super::hall::{Hall, data, refused};
use super::{World, instant, march};

/// Starts a server whose account has filled an order at 10:02, and whose clock is at 10:03.
async fn traded() -> (Hall, String) {
    let hall = Hall::open().await;
    hall.step("10:00:15").await;
    let order = hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.step("10:02").await;
    hall.step("10:03").await;
    assert_eq!(hall.detail(&order).await["status"], "FilledStatus");
    (hall, order)
}

fn from(name: &str, source: &str, start: Value) -> Value {
    json!({"name": name, "from": source, "start": start, "end": "2026-03-18T16:30:00+08:00"})
}

async fn order_of(world: &World<'_>) -> Value {
    let orders = world.get("/v1/trade/order/today").await["orders"].as_array().unwrap().clone();
    assert_eq!(orders.len(), 1, "{orders:?}");
    orders[0].clone()
}

#[tokio::test]
async fn a_world_begins_with_the_account_of_its_owner_as_of_an_instant() {
    let (hall, order) = traded().await;
    let body = from("w", "account:ann@2026-03-18T10:01:30+08:00", Value::Null);
    let world = World::open_as(&hall, &hall.ann, &body).await;
    let shown = world.get("/v1/world").await;
    assert_eq!((&shown["start"], &shown["now"]), (&instant("10:01:30"), &instant("10:01:30")));
    assert_eq!(shown["orders"], 1);
    let copied = order_of(&world).await;
    assert_eq!((&copied["status"], &copied["executed_quantity"]), (&json!("NewStatus"), &json!("0")));
    let cash = world.get("/v1/asset/account").await["list"][0]["total_cash"].clone();
    assert!(cash.as_str().unwrap().starts_with("1280000"), "{cash}");
    let id = copied["order_id"].as_str().unwrap();
    assert_ne!(id, order);
    data(&world.ask("DELETE", &format!("/v1/trade/order?order_id={id}"), &Value::Null).await);
    world.step("10:03").await;
    assert_eq!(order_of(&world).await["status"], "CanceledStatus");
    assert_eq!(hall.detail(&order).await["status"], "FilledStatus", "the source is unchanged");
}

#[tokio::test]
async fn events_between_the_copy_and_a_later_start_are_repeated_after_a_reset() {
    let (hall, _) = traded().await;
    let body = from("w", "account:ann@2026-03-18T10:00:30+08:00", instant("10:05"));
    let world = World::open_as(&hall, &hall.ann, &body).await;
    let run = async || {
        let order = order_of(&world).await;
        assert_eq!((&order["status"], &order["executed_price"]), (&json!("FilledStatus"), &json!("305.200")));
        assert_eq!(order["updated_at"], super::at("10:02").to_string());
        world.step("10:10").await;
        world.get("/v1/world").await["digest"].clone()
    };
    let first = run().await;
    data(&hall.ask("POST", "/v1/worlds/w/reset", &Value::Null).await);
    assert_eq!(run().await, first);
    // Sets another start, which must not be before the instant of the copy.
    data(&hall.ask("POST", "/v1/worlds/w/reset", &Value::Null).await);
    let set =
        async |start: &str| hall.ask("POST", "/v1/worlds/w/set", &json!({"start": instant(start)})).await;
    let refusal = refused(&set("10:00:29").await);
    let wanted = "the start 2026-03-18T02:00:29Z is before 2026-03-18T02:00:30Z, up to which the account of the world was copied";
    assert_eq!((refusal.0, refusal.2.as_str()), (400, wanted));
    data(&set("10:01").await);
    assert_eq!(order_of(&world).await["status"], "NewStatus");
    data(&set("10:05").await);
    assert_eq!(run().await, first);
}

#[tokio::test]
async fn a_world_begins_with_another_world_and_has_separate_settings() {
    let hall = Hall::open().await;
    let source = World::open(&hall, "w").await;
    source.step("10:00:15").await;
    data(&source.submit("306.00").await);
    source.step("10:03").await;
    let mut body = from("x", "world:w@2026-03-18T10:01:30+08:00", Value::Null);
    body["speed"] = 60.into();
    let world = World::open_as(&hall, &hall.ann, &body).await;
    assert_eq!(world.get("/v1/world").await["speed"], 60);
    assert_eq!(order_of(&world).await["status"], "NewStatus");
    world.step("10:03").await;
    let digest = async |world: &World<'_>| world.get("/v1/world").await["digest"].clone();
    assert_eq!(digest(&world).await, digest(&source).await, "the same was done in both");
    // An account that was never used has nothing to copy.
    let bob = hall.server.account("bob", Terms::default());
    let body = from("y", "account:bob@2026-03-18T09:00:00+08:00", instant("10:00"));
    let unused = World::open_as(&hall, &bob, &body).await;
    assert_eq!(unused.get("/v1/trade/order/today").await["orders"], json!([]));
}

#[tokio::test]
async fn only_operators_copy_the_account_of_another() {
    let (hall, _) = traded().await;
    World::open(&hall, "w").await;
    let bob = hall.server.account("bob", Terms::default());
    for (source, status) in [
        ("account:ann@2026-03-18T10:00:30+08:00", 403),
        ("account:nobody@2026-03-18T10:00:30+08:00", 403),
        ("world:ann/w@2026-03-18T09:29:00+08:00", 403),
        ("world:w@2026-03-18T09:29:00+08:00", 404),
    ] {
        let body = from("copy", source, Value::Null).to_string();
        assert_eq!(hall.server.post("/v1/worlds", &bob, &body).await.status, status, "{source}");
    }
    for (number, source) in
        ["account:ann@2026-03-18T10:00:30+08:00", "world:ann/w@2026-03-18T09:29:00+08:00"].iter().enumerate()
    {
        World::open_as(&hall, &hall.op, &from(&format!("copy-{number}"), source, Value::Null)).await;
    }
    let nobody = from("x", "account:nobody@2026-03-18T10:00:30+08:00", Value::Null).to_string();
    assert_eq!(hall.server.post("/v1/worlds", &hall.op, &nobody).await.status, 404);
}

#[tokio::test]
async fn invalid_sources_are_refused_with_the_reason() {
    let (hall, _) = traded().await;
    World::open(&hall, "w").await;
    let malformed = "from is account:NAME@INSTANT or world:NAME@INSTANT";
    for (source, message) in [
        ("ann@2026-03-18T10:00:30+08:00", malformed),
        ("account:ann", malformed),
        ("paper:ann@2026-03-18T10:00:30+08:00", malformed),
        (
            "account:ann@2026-03-18T10:03:01+08:00",
            "from: 2026-03-18T02:03:01Z is after the market clock, which is at 2026-03-18T02:03:00Z",
        ),
        (
            "world:w@2026-03-18T09:29:01+08:00",
            "2026-03-18T01:29:01Z is not between the world's start 2026-03-18T01:29:00Z and its clock 2026-03-18T01:29:00Z",
        ),
    ] {
        let refusal = refused(&hall.ask("POST", "/v1/worlds", &from("x", source, Value::Null)).await);
        assert_eq!((refusal.0, refusal.2.as_str()), (400, message), "{source}");
    }
    let source = "account:ann@2026-03-18T10:00:30+08:00";
    let early = from("x", source, instant("10:00:29"));
    let refusal = refused(&hall.ask("POST", "/v1/worlds", &early).await);
    assert_eq!(
        (refusal.0, refusal.2.as_str()),
        (400, "the start 2026-03-18T02:00:29Z is before 2026-03-18T02:00:30Z, the instant of from")
    );
    let mut rich = march("x");
    rich["from"] = source.into();
    rich["start"] = Value::Null;
    let refusal = refused(&hall.ask("POST", "/v1/worlds", &rich).await);
    assert_eq!(
        (refusal.0, refusal.2.as_str()),
        (400, "from cannot be combined with cash, credit and settings, which are copied")
    );
    let refusal = refused(&hall.ask("POST", "/v1/worlds", &json!({"name": "x"})).await);
    assert_eq!((refusal.0, refusal.2.as_str()), (400, "start is required, or from"));
    // The account of a world must be named as a world.
    let of_world = from("x", "account:ann/w@2026-03-18T09:29:00+08:00", Value::Null).to_string();
    let refusal = refused(&hall.server.post("/v1/worlds", &hall.op, &of_world).await);
    assert_eq!(refusal.2, "from: the account of a world is named world:NAME@INSTANT");
}
