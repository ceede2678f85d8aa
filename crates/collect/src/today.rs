//! The candles of the current day, of which the last may be incomplete.

use history::ingest::{CandleInput, Head, Intake, Rows, Submitted};
use market::{Candle, Grain, Symbol, Venues};
use store::Store;

use crate::error::CollectError;

/// Stores today's candles as ingested rows, so that incomplete minutes are marked as incomplete.
/// Today has no daily candle yet; it is folded from the minutes.
pub(crate) fn put(
    store: &Store,
    venues: &Venues,
    (mirror, symbol): (&str, &Symbol),
    candles: &[Candle],
    now_ms: i64,
) -> Result<u64, CollectError> {
    let now = market::Timestamp(now_ms.div_euclid(1_000));
    let venue = venues.of(symbol.market());
    let Some(today) = venue.rolled(now) else { return Ok(0) };
    let of_today = candles
        .iter()
        .filter(|candle| venue.slot(candle.time).is_some_and(|slot| slot.day == today) && candle.time <= now);
    let rows: Vec<_> = of_today
        .map(|candle| {
            let (symbol, candle) = (symbol.clone(), *candle);
            Ok(CandleInput { symbol, grain: Grain::Minute, candle, is_final: None })
        })
        .collect();
    let count = rows.len() as u64;
    if rows.is_empty() {
        return Ok(0);
    }
    let source = format!("mirror-{mirror}");
    let head = Head { source: &source, seq: None, gap: false, build: false };
    let (mut intake, mut merger) = Intake::open(store, venues, history::ingest::GRACE_S)?;
    let now_us = now_ms.saturating_mul(1_000);
    let batch = Submitted { head, rows: Rows::Candles(rows), now_us, answer: &|_| String::new() };
    for outcome in intake.commit(vec![batch])? {
        outcome?;
    }
    // The merge fails if a running server or an import holds the lock. The rows are then merged
    // later.
    match merger.merge(now) {
        Err(error) if !error.is_busy() => Err(error.into()),
        _ => Ok(count),
    }
}
