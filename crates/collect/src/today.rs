//! The candles of the current day, of which the last may be incomplete.

use history::ingest::{CandleInput, Head, Intake, Rows, Submitted};
use history::mirror::MirrorStore;
use market::{Candle, Grain, Period, Symbol, Timestamp, Venues};
use mirror::{Adjust, DateRange, Series, Sessions};
use store::{MirrorId, MirrorJob, Store};

use crate::error::CollectError;
use crate::jobs::{self, Job, Purpose, TODAY};

/// Stores today's candles as ingested rows, so that incomplete minutes are marked as incomplete.
/// Today has no daily candle yet; it is folded from the minutes.
pub(crate) fn put(
    store: &Store,
    venues: &Venues,
    (mirror, symbol): (&str, &Symbol),
    candles: &[Candle],
    now_ms: i64,
) -> Result<u64, CollectError> {
    let now = Timestamp(now_ms.div_euclid(1_000));
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

/// Records that the minutes of the current day are incomplete. Must be called before they are
/// stored.
pub(crate) fn mark_incomplete(
    (store, id): (&mut MirrorStore, MirrorId),
    venues: &Venues,
    (symbol, sessions): (&Symbol, Sessions),
    now: Timestamp,
) -> Result<(), CollectError> {
    let venue = venues.of(symbol.market());
    let Some(day) = venue.rolled(now) else { return Ok(()) };
    let series = Series::new(symbol.clone(), Period::MINUTE, Adjust::None, sessions)?;
    let dates = DateRange { from: day, through: day };
    let job = Job::new(series, dates, Purpose::Read, venue, now);
    let row = MirrorJob { purpose: TODAY.to_owned(), ..job.row(None, now) };
    let stored = store.view().mirror_jobs_of(id, symbol)?;
    let is_known = |known: &MirrorJob| {
        known.purpose == TODAY && known.first_day == day && known.sessions == row.sessions
    };
    if stored.iter().any(is_known) {
        return Ok(());
    }
    // Earlier days are complete once a run has collected them.
    let covered = jobs::covered(&stored).remove(job.walk.series()).unwrap_or_default();
    let is_complete = |of: &&MirrorJob| {
        let mut ranges = covered.iter();
        of.purpose == TODAY
            && of.sessions == row.sessions
            && ranges.any(|range| range.from <= of.first_day && of.first_day <= range.through)
    };
    store.write(|batch| {
        stored.iter().filter(is_complete).try_for_each(|of| batch.remove_mirror_job(id, of))?;
        batch.put_mirror_job(id, &row)
    })?;
    Ok(())
}
