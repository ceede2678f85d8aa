//! The owner's limits in a world, or none.

use access::{RateRule, Terms};
use market::Timestamp;
use serde_json::Value;
use wire::quote::{QuoteProfileRequest, QuoteProfileResponse};

use super::super::hall::{Hall, at};
use super::{World, march};
use crate::support::TransportLabel;

const CANDLES: &str = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count=1";

#[tokio::test]
async fn w8_requests_of_a_world_count_with_those_of_its_owner() {
    let hall = Hall::open().await;
    let bob = hall.server.account("bob", Terms { rate: Some(RateRule::SERVICE), ..Terms::default() });
    let mut settings = march("w");
    settings["limits"] = "owner".into();
    let world = World::open_as(&hall, &bob, &settings).await;
    world.step("10:02").await;
    for _ in 0..30 {
        assert_eq!(world.ask("GET", CANDLES, &Value::Null).await.status, 200);
        // The owner's own clock is before the first candle; the request counts all the same.
        assert_eq!(hall.server.get(CANDLES, &bob).await.status, 404);
    }
    let of_world = world.ask("GET", CANDLES, &Value::Null).await;
    assert_eq!(of_world.json()["code"], 301_606, "{of_world:?}");
    assert_eq!(hall.server.get(CANDLES, &bob).await.json()["code"], 301_606);
}

#[tokio::test]
async fn the_quota_of_the_owner_is_charged_only_with_its_limits() {
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
