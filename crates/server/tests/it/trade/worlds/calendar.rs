//! Half days of a world, which clients need but cannot request.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use serde_json::{Value, json};
use server::Settings;
use wire::quote::{TradingDaysRequest, TradingDaysResponse};

use super::super::hall::Hall;
use super::{World, import_rows};
use crate::support::{Running, TransportLabel};

/// 2026-11-17, 08:00 in Hong Kong.
const MACHINE: i64 = 1_794_873_600;
/// 2026-02-16, 10:00 in Hong Kong, on a half day.
const HALF_DAY: i64 = 1_771_207_200;

/// Sends the request that clients send automatically for the machine's date.
async fn half_days(world: &World<'_>, market: &str) -> TradingDaysResponse {
    let (beg_day, end_day) = ("20261112".to_owned(), "20261212".to_owned());
    let request = TradingDaysRequest { market: market.to_owned(), beg_day, end_day };
    let mut client = world.hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    client.ask(9, &request).await.unwrap()
}

fn settings(name: &str, start: &str, end: &str) -> Value {
    json!({"name": name, "start": start, "end": end})
}

#[tokio::test]
async fn q9_a_client_in_a_world_receives_the_half_days_between_start_and_end() {
    let machine = Arc::new(AtomicI64::new(MACHINE));
    let hall = Hall::of(Running::start_at(&machine, Settings::default()).await).await;
    import_rows(&hall, &[(HALF_DAY, "300,300,300,300,100,30000")]);
    let world = World::open_as(&hall, &hall.ann, &settings("w", "2026-02-01", "2026-03-01")).await;
    let answer = half_days(&world, "HK").await;
    // The server was started at a later market time, whose half days are outside the world.
    assert_eq!(answer.half_trade_day, ["20260216"]);
    assert_eq!(answer.trade_day.len(), 22);
    assert_eq!((&*answer.trade_day[0], &*answer.trade_day[21]), ("20261112", "20261211"));
    // The requested dates include a half day in the US.
    assert_eq!(half_days(&world, "US").await.half_trade_day, ["20261127"]);
}

#[tokio::test]
async fn the_half_days_of_a_world_begin_five_days_before_its_start() {
    let machine = Arc::new(AtomicI64::new(MACHINE));
    let hall = Hall::of(Running::start_at(&machine, Settings::default()).await).await;
    import_rows(&hall, &[(HALF_DAY, "300,300,300,300,100,30000")]);
    for (name, start, end, is_known) in [
        ("before", "2026-02-10", "2026-02-16T12:00:00+08:00", true),
        ("after", "2026-02-21T12:00:00+08:00", "2026-03-19", true),
        ("later", "2026-02-22T12:00:00+08:00", "2026-03-19", false),
    ] {
        let world = World::open_as(&hall, &hall.ann, &settings(name, start, end)).await;
        let answer = half_days(&world, "HK").await;
        assert_eq!(answer.half_trade_day == ["20260216"], is_known, "{name}: {answer:?}");
    }
}
