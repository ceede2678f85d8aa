//! Worlds that step automatically after a quiet time.

use serde_json::{Value, json};

use super::super::hall::{Hall, data};
use super::flow::Reader;
use super::{World, import_morning, march, subscribe, until_state};
use crate::support::TransportLabel;

#[tokio::test]
async fn a_world_with_auto_sends_the_same_pushes_as_steps() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let mut settings = march("stepped");
    settings["end"] = "2026-03-18T10:05:00+08:00".into();
    let stepped = World::open_as(&hall, &hall.ann, &settings).await;
    let mut quotes = Reader::enter(&stepped, &["700.HK"]).await;
    data(&stepped.try_step(json!({"by": "P1D"})).await);
    let wanted = quotes.pushes_until("2026-03-18T10:03:59").await;
    assert!(wanted.len() > 10, "{wanted:?}");

    (settings["name"], settings["auto"]) = ("auto".into(), json!({"quiet_ms": 1}));
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    assert_eq!(world.get("/v1/world").await["auto_quiet_ms"], 1);
    let mut quotes = Reader::enter(&world, &["700.HK"]).await;
    let started = data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
    assert_eq!((&started["state"], &started["speed"]), (&json!("running"), &json!(0)));
    assert_eq!(quotes.pushes_until("2026-03-18T10:03:59").await, wanted);
    let ended = tokio::select! {
        ended = until_state(&world, "ended") => ended,
        never = quotes.read_on() => never,
    };
    assert!(ended["late"].is_u64() && ended["step"].as_u64() > Some(5), "{ended}");
}

#[tokio::test]
async fn a_step_waits_for_a_client_that_has_not_read_the_previous_one() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let mut settings = march("w");
    settings["auto"] = json!({"quiet_ms": 1});
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    settings["name"] = "other".into();
    let other = World::open_as(&hall, &hall.ann, &settings).await;
    // The client does not answer pings.
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut quotes, &["700.HK"]).await;
    for world in [&world, &other] {
        data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
        // The first step waits for a request.
        world.get("/v1/world").await;
    }
    until_state(&other, "ended").await;
    let shown = world.get("/v1/world").await;
    assert_eq!((&shown["state"], &shown["now"]), (&json!("running"), &super::instant("09:30")));
}
