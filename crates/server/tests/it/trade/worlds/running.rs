//! Running clocks: where they stop, and what they skip.

use serde_json::{Value, json};
use server::Settings;

use super::super::hall::{Hall, at, data, refused};
use super::{World, import_rows, instant, march, push, subscribe, until_state};
use crate::support::{PATIENCE, Running, TransportLabel, pass};

#[tokio::test]
async fn a_world_runs_up_to_an_instant() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let run = async |stop_at: &str| {
        let body = json!({"speed": "max", "stop_at": stop_at});
        hall.ask("POST", "/v1/worlds/w/run", &body).await
    };
    data(&run("2026-03-18T10:00:17+08:00").await);
    let paused = until_state(&world, "paused").await;
    assert_eq!((&paused["now"], &paused["stop_at"]), (&instant("10:00:17"), &Value::Null));
    let refusal = refused(&run("2026-03-18T10:00:17+08:00").await);
    assert_eq!(
        (refusal.0, refusal.2.as_str()),
        (400, "the clock of the world is at 2026-03-18T02:00:17Z: it can only move forward")
    );
    // The end of the world is earlier.
    data(&run("2026-03-20").await);
    assert_eq!(until_state(&world, "ended").await["now"], instant("16:30"));
}

#[tokio::test]
async fn the_instant_at_which_a_world_stops_is_shown() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let body = json!({"speed": 0.001, "stop_at": "2026-03-18T10:00:00+08:00"});
    assert_eq!(data(&world.ask("POST", "/v1/world/run", &body).await)["stop_at"], instant("10:00"));
    let paused = data(&world.ask("POST", "/v1/world/pause", &Value::Null).await);
    assert_eq!(paused["stop_at"], Value::Null, "a pause by call forgets it");
}

#[tokio::test]
async fn a_running_world_is_paused_after_a_restart_of_the_server() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    data(&world.ask("POST", "/v1/world/run", &json!({"speed": 1})).await);
    pass(5).await;
    // Waits for an instant between two movements, which end at full minutes.
    let between = async {
        loop {
            let now = world.get("/v1/world").await["now"].as_str().unwrap().to_owned();
            if !now.ends_with(":00Z") {
                return now;
            }
        }
    };
    let before = tokio::time::timeout(PATIENCE, between).await.expect("a running clock");
    let (key, ann, op) = (world.key, hall.ann, hall.op);
    let server = Running::start_in(hall.server.stop().await, Settings::default()).await;
    server.set_now(at("09:00"));
    let hall = Hall { server, ann, op };
    let world = World { hall: &hall, key };
    let shown = world.get("/v1/world").await;
    assert_eq!((&shown["state"], &shown["paused_alone"]), (&json!("paused"), &json!(false)));
    assert!(shown["now"].as_str() >= Some(&*before), "{shown}: the clock has not gone back");
}

#[tokio::test]
async fn w4_a_weekend_is_skipped_without_a_push() {
    let hall = Hall::open().await;
    let settings = json!({
        "name": "w", "start": "2026-11-06T15:59:30+08:00", "end": "2026-11-09T08:55:00+08:00",
        "markets": ["HK"], "speed": "max", "cash": {"HKD": "500000"},
    });
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    let order = data(&world.submit("50.00").await)["order_id"].as_str().unwrap().to_owned();
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut quotes, &["700.HK"]).await;
    push(&mut quotes).await;
    data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
    let ended = until_state(&world, "ended").await;
    assert_eq!(ended["now"], "2026-11-09T00:55:00Z");
    let detail = world.get(&format!("/v1/trade/order?order_id={order}")).await;
    assert_eq!(detail["status"], "ExpiredStatus");
    assert_eq!(detail["updated_at"], (at("16:10") + (233 * 86_400)).to_string());
    // The end of the day on Friday, 233 days after the day of the other tests. There is no later
    // data.
    while !push(&mut quotes).await.starts_with("101 700.HK 5608:10:00 ") {}
    assert!(quotes.is_alive().await);
}

/// A position of each market is carried over the weekend.
#[tokio::test]
async fn w4_the_days_roll_between_friday_and_monday_at_their_own_instants() {
    let hall = Hall::open().await;
    let friday = 2 * 86_400;
    import_rows(&hall, &[(at("15:59") + friday, "305,305,300,305,50000,15250000")]);
    let settings = json!({
        "name": "w", "start": "2026-03-20T15:58:30+08:00", "end": "2026-03-23T09:31:00+08:00",
        "markets": ["HK"], "speed": "max", "cash": {"HKD": "500000"},
    });
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut quotes, &["700.HK"]).await;
    data(&world.submit("306.00").await);
    data(&world.submit("50.00").await);
    let position = json!({"symbol": "AAPL.US", "quantity": "10", "cost": "190"});
    let path = format!("/v1/admin/paper/{}/position", world.key.account_id.0);
    data(&hall.manage(&path, position).await);
    data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
    until_state(&world, "ended").await;
    // An account without open orders rolls with its next request, each day at its own instant.
    world.get("/v1/asset/stock").await;
    let lines = hall.get("/v1/worlds/w/log?limit=500").await["lines"].as_array().unwrap().clone();
    let of = |kind: &str| lines.iter().filter(move |line| line["kind"] == kind).collect::<Vec<_>>();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let steps: Vec<(String, u64)> = of("step")
        .iter()
        .map(|line| (text(&line["at"]), line["entry"]["quote"]["pushes"].as_u64().unwrap()))
        .collect();
    let from = steps.iter().position(|(at, _)| at == "2026-03-20T08:10:00Z").expect("the Day expiries");
    let after = |instants: &[&str]| instants.iter().map(|at| ((*at).to_owned(), 0)).collect::<Vec<_>>();
    // The rolls of Hong Kong and of the US, and 08:55, where the skip ends.
    let wanted = after(&["2026-03-22T16:00:00Z", "2026-03-23T00:00:00Z", "2026-03-23T00:55:00Z"]);
    assert_eq!(steps[from + 1..from + 4], wanted, "nothing is pushed in between: {steps:?}");
    assert_eq!(steps[from + 4].0, "2026-03-23T01:30:00Z");
    let events: Vec<(String, String, String)> = of("event")
        .iter()
        .filter(|line| ["expired", "rolled"].contains(&line["entry"]["event"]["type"].as_str().unwrap()))
        .map(|line| {
            let event = &line["entry"]["event"];
            let of = event["market"].as_str().unwrap_or_default().to_owned();
            // The time of the entry is compared, because a log line may have a later time than its
            // entry.
            let own = market::Timestamp(line["entry"]["at"].as_i64().unwrap());
            (own.to_string(), text(&event["type"]), of)
        })
        .collect();
    let event = |at: &str, kind: &str, market: &str| (at.to_owned(), kind.to_owned(), market.to_owned());
    assert_eq!(
        events,
        [
            event("2026-03-20T08:10:00Z", "expired", ""),
            event("2026-03-22T16:00:00Z", "rolled", "HK"),
            event("2026-03-23T00:00:00Z", "rolled", "US"),
        ]
    );
}

#[tokio::test]
async fn w7_the_clock_of_a_running_world_moves_at_its_speed() {
    let hall = Hall::open().await;
    let mut settings = march("w");
    settings["start"] = "2026-03-18T12:00:00+08:00".into();
    settings["pause_when_alone"] = false.into();
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    data(&world.ask("POST", "/v1/world/run", &json!({"speed": 60})).await);
    for (seconds, clock) in [(30, "2026-03-18T04:30:00Z"), (29, "2026-03-18T04:59:00Z")] {
        pass(seconds).await;
        let until = async { while world.get("/v1/world").await["now"].as_str() < Some(clock) {} };
        tokio::time::timeout(PATIENCE, until).await.expect(clock);
    }
}
