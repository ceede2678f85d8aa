//! A running world pauses when its last connection is closed, and resumes with the next one.

use serde_json::{Value, json};
use wire::quote::{SecurityCandlestickRequest, SecurityCandlestickResponse};

use super::super::hall::{Hall, data, refused};
use super::{World, import_morning, march, push, subscribe, until_state};
use crate::support::{TransportLabel, pass};

/// Starts a world so slowly that its clock remains in the first second.
async fn start_slowly(world: &World<'_>) {
    let started = data(&world.ask("POST", "/v1/world/run", &json!({"speed": 0.001})).await);
    assert_eq!(started["state"], "running");
}

#[tokio::test]
async fn w9_a_world_without_connections_pauses_until_a_new_one_has_subscribed() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    let mut first = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut first, &["700.HK"]).await;
    let run = json!({"speed": "max", "stop_at": "2026-03-18T09:31:00+08:00"});
    data(&world.ask("POST", "/v1/world/run", &run).await);
    until_state(&world, "paused").await;
    start_slowly(&world).await;
    let second = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    drop(first);
    hall.server.until_online(&world.key, 1).await;
    assert_eq!(world.get("/v1/world").await["state"], "running", "one connection is left");
    drop(second);
    let paused = until_state(&world, "paused").await;
    assert_eq!((&paused["paused_alone"], &paused["now"]), (&json!(true), &super::instant("09:31")));

    let mut next = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    let request = SecurityCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1,
        count: 10,
        ..Default::default()
    };
    let candles: SecurityCandlestickResponse = next.ask(19, &request).await.unwrap();
    assert_eq!(candles.candlesticks.len(), 2, "09:30 and the minute that runs");
    assert_eq!(world.get("/v1/world").await["state"], "paused", "it has not subscribed");
    subscribe(&mut next, &["700.HK"]).await;
    let running = until_state(&world, "running").await;
    assert_eq!((&running["paused_alone"], &running["speed"]), (&json!(false), &json!(0.001)));
    assert_eq!(push(&mut next).await, "101 700.HK 09:31:00 last 301.000 volume 10000");
}

#[tokio::test]
async fn w9_a_world_waits_at_most_ten_seconds_for_a_connection() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    start_slowly(&world).await;
    drop(hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await);
    until_state(&world, "paused").await;
    let _silent = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    assert_eq!(world.get("/v1/world").await["paused_alone"], true);
    pass(11).await;
    until_state(&world, "running").await;
}

#[tokio::test]
async fn w9_a_subscription_to_orders_resumes_the_clock_too() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    start_slowly(&world).await;
    drop(hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await);
    until_state(&world, "paused").await;
    let _listener = world.listener().await;
    until_state(&world, "running").await;
}

#[tokio::test]
async fn a_world_that_never_had_a_connection_runs() {
    let hall = Hall::open().await;
    let mut settings = march("w");
    settings["speed"] = "max".into();
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
    until_state(&world, "ended").await;
}

#[tokio::test]
async fn a_world_with_pause_when_alone_off_runs_without_connections() {
    let hall = Hall::open().await;
    let mut settings = march("w");
    settings["pause_when_alone"] = false.into();
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    start_slowly(&world).await;
    drop(hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await);
    hall.server.until_online(&world.key, 0).await;
    data(&world.ask("POST", "/v1/world/pause", &Value::Null).await);
    data(&world.ask("POST", "/v1/world/run", &json!({"speed": "max"})).await);
    until_state(&world, "ended").await;
}

#[tokio::test]
async fn a_step_ends_a_run_that_waits_for_a_connection() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let run = json!({"speed": 0.001, "stop_at": "2026-03-18T10:00:00+08:00"});
    data(&world.ask("POST", "/v1/world/run", &run).await);
    drop(hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await);
    until_state(&world, "paused").await;
    world.step("11:00").await;
    let shown = world.get("/v1/world").await;
    assert_eq!((&shown["paused_alone"], &shown["stop_at"]), (&json!(false), &Value::Null));
    // The clock does not go back to the instant at which the run would have stopped.
    let mut client = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut client, &["700.HK"]).await;
    world.step("11:01").await;
}

#[tokio::test]
async fn a_world_that_ended_by_a_step_cannot_be_paused() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    start_slowly(&world).await;
    drop(hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await);
    until_state(&world, "paused").await;
    assert_eq!(world.step("16:30").await["state"], "ended");
    assert_eq!(refused(&world.ask("POST", "/v1/world/pause", &Value::Null).await).0, 409);
    assert_eq!(world.get("/v1/world").await["state"], "ended");
}

#[tokio::test]
async fn a_world_paused_by_a_request_does_not_resume_with_a_connection() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    start_slowly(&world).await;
    drop(hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await);
    until_state(&world, "paused").await;
    let paused = data(&world.ask("POST", "/v1/world/pause", &Value::Null).await);
    assert_eq!((&paused["state"], &paused["paused_alone"]), (&json!("paused"), &json!(false)));
    let mut client = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut client, &["700.HK"]).await;
    // A running world refuses steps.
    world.step("09:30").await;
}
