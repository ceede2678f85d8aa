//! The owner's limits in a world, or no limits.

use access::{Actor, NewWorld, RateRule, Terms};
use market::Timestamp;
use serde_json::{Value, json};
use store::WorldClock;
use wire::quote::{QuoteProfileRequest, QuoteProfileResponse};

use super::super::hall::{Hall, at, data, refused};
use super::{World, march};
use crate::support::TransportLabel;

const CANDLES: &str = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count=1";

#[tokio::test]
async fn w8_requests_of_a_world_count_toward_the_limits_of_its_owner() {
    let hall = Hall::open().await;
    let bob = hall.server.account("bob", Terms { rate: Some(RateRule::SERVICE), ..Terms::default() });
    let mut settings = march("w");
    settings["limits"] = "owner".into();
    let world = World::open_as(&hall, &bob, &settings).await;
    world.step("10:02").await;
    for _ in 0..30 {
        assert_eq!(world.ask("GET", CANDLES, &Value::Null).await.status, 200);
        // The owner's clock is before the first candle, but the request is counted anyway.
        assert_eq!(hall.server.get(CANDLES, &bob).await.status, 404);
    }
    let of_world = world.ask("GET", CANDLES, &Value::Null).await;
    assert_eq!(of_world.json()["code"], 301_606, "{of_world:?}");
    assert_eq!(hall.server.get(CANDLES, &bob).await.json()["code"], 301_606);
}

#[tokio::test]
async fn the_quota_of_the_owner_is_charged_only_if_its_limits_apply() {
    let hall = Hall::open().await;
    let bob = hall.server.account("bob", Terms { rate: Some(RateRule::SERVICE), ..Terms::default() });
    let used = || hall.server.access.usage(bob.account_id, Timestamp(at("09:00"))).unwrap().unwrap().used;
    for (limits, charged) in [("none", 0), ("owner", 1)] {
        let mut settings = march(limits);
        settings["limits"] = limits.into();
        let world = World::open_as(&hall, &bob, &settings).await;
        world.step("10:02").await;
        assert_eq!(world.ask("GET", CANDLES, &Value::Null).await.status, 200);
        assert_eq!(used(), charged, "{limits}");
    }
}

#[tokio::test]
async fn a_server_has_at_most_a_thousand_worlds_by_default() {
    let hall = Hall::open().await;
    let owner = hall.server.access.account(hall.ann.account_id).unwrap().unwrap();
    let now = Timestamp(at("09:29"));
    let clock = WorldClock { state: "created".to_owned(), now, step: 0, digest: [0; 32] };
    for number in 1..1_000 {
        let name = format!("w{number}");
        let new = NewWorld {
            owner: &owner,
            name: &name,
            starts_at: now,
            ends_at: Timestamp(at("16:30")),
            settings: "",
            is_limited: false,
            clock: &clock,
            worlds_max: u32::MAX,
        };
        hall.server.access.create_world(&new, &Actor::Operator, hall.server.present()).unwrap();
    }
    hall.server.noticed().await;
    World::open(&hall, "w1000").await;
    let refusal = refused(&hall.ask("POST", "/v1/worlds", &march("w1001")).await);
    let wanted = "there are 1000 worlds already, which is the limit worlds_max: delete some";
    assert_eq!(refusal, (429, 429_002, wanted.to_owned()));
    data(&hall.ask("DELETE", "/v1/worlds/w1", &Value::Null).await);
    World::open(&hall, "w1001").await;
}

#[tokio::test]
async fn at_most_sixty_four_worlds_run_by_default() {
    let hall = Hall::open().await;
    // So slow that the clocks remain in their first second.
    let slowly = json!({"speed": 0.001});
    let run = async |name: &str| hall.ask("POST", &format!("/v1/worlds/{name}/run"), &slowly).await;
    for number in 1..=65 {
        World::open(&hall, &format!("w{number}")).await;
    }
    for number in 1..=64 {
        assert_eq!(data(&run(&format!("w{number}")).await)["state"], "running", "{number}");
    }
    let refusal = refused(&run("w65").await);
    let wanted = "64 worlds are running already, which is the limit worlds_running";
    assert_eq!(refusal, (429, 429_002, wanted.to_owned()));
    data(&hall.ask("POST", "/v1/worlds/w1/pause", &Value::Null).await);
    assert_eq!(data(&run("w65").await)["state"], "running");
}

#[tokio::test]
async fn the_profile_of_a_world_without_limits_announces_none() {
    let hall = Hall::open().await;
    for limits in ["none", "owner"] {
        let mut settings = march(limits);
        settings["limits"] = limits.into();
        let bob = hall.server.account(limits, Terms { rate: Some(RateRule::SERVICE), ..Terms::default() });
        let world = World::open_as(&hall, &bob, &settings).await;
        let mut client = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
        let profile: QuoteProfileResponse = client.ask(4, &QuoteProfileRequest::default()).await.unwrap();
        assert_eq!(profile.rate_limit.is_empty(), limits == "none", "{:?}", profile.rate_limit);
    }
}
