//! The clock of `chandler demo --serve`. It replays the demo market from its newest session, skips
//! closed hours, and continues after a restart. Candles are generated a few days ahead of the
//! clock.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use market::{Date, Market, Timestamp, Venues};
use serde::{Deserialize, Serialize};
use store::Access;

use super::demo;
use crate::clock::{Clock, machine_ms};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local::{Books, open_accounts};
use crate::open_hours::OpenHours;
use crate::progress;

/// Market seconds per second. A one-minute candle takes six seconds, so quotes visibly move and an
/// order that needs the next minute is filled within seconds. A day of all markets takes 70 minutes.
pub(super) const SPEED: u32 = 10;
/// Hour of the day in Hong Kong at which the clock starts. The market has been open for half an
/// hour, so the day's chart is not empty.
const START_HOUR: i64 = 10;
/// Number of Hong Kong trading days for which data is generated ahead of the clock.
const DAYS_AHEAD: usize = 5;
/// Number of remaining trading days at which more data is generated.
const DAYS_AHEAD_MIN: usize = 2;
/// Hour in UTC at which generated data ends: New York has closed and Hong Kong has not opened.
const END_HOUR: i64 = 22;
/// File with the clock's time.
pub(super) const FILE: &str = "demo-clock.json";
/// Interval at which the clock's time is stored.
const STORED_EVERY: Duration = Duration::from_secs(10);
/// Maximum time that the clock may have run since its time was last stored. Much longer than the
/// interval, so that the clock does not go back even if the server was killed under load.
const UNSTORED_MAX_MS: i64 = 60_000;

/// The stored time of a clock, which showed `market` (seconds) when the machine's clock showed
/// `machine_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredTime {
    market: i64,
    machine_ms: i64,
}

impl StoredTime {
    /// Returns the instant from which the clock continues: the stored time, plus the time that may
    /// have passed before the server stopped, at most [`UNSTORED_MAX_MS`].
    fn resumed(self, machine_ms: i64, venues: &Venues) -> Timestamp {
        let from = Timestamp(self.market);
        let passed_ms = machine_ms.saturating_sub(self.machine_ms).clamp(0, UNSTORED_MAX_MS);
        OpenHours::since(venues, from).after(from, passed_ms * i64::from(SPEED) / 1_000)
    }
}

/// Returns the instant at which the clock starts: in the newest session of Hong Kong, or later if
/// the stored clock or an account has already passed that instant. `None` if the calendars do not
/// cover the days ahead.
pub(super) fn start(context: &CommandContext) -> Result<Option<Timestamp>, Failure> {
    let venues = context.history.venues();
    let Some(newest) = newest_session(venues, context.now()) else { return Ok(None) };
    let stored = read(&context.work_folder(None)?.join(FILE));
    let resumed = stored.map(|stored| stored.resumed(machine_ms(), venues));
    let from = newest.max(resumed.unwrap_or(newest)).max(accounts_at(context)?.unwrap_or(newest));
    let from = OpenHours::since(venues, from).after(from, 0);
    Ok(data_end(venues, from, DAYS_AHEAD).map(|_| from))
}

fn newest_session(venues: &Venues, now: Timestamp) -> Option<Timestamp> {
    let venue = venues.of(Market::Hk);
    let start = |date: Date| venue.zone().instant(date, START_HOUR * 3_600);
    let today = venue.calendar().on_or_before(venue.zone().date(now))?;
    if start(today) <= now {
        return Some(start(today));
    }
    venue.calendar().on_or_before(today.yesterday().ok()?).map(start)
}

/// Returns the latest time of an account.
fn accounts_at(context: &CommandContext) -> Result<Option<Timestamp>, Failure> {
    let books = Books::open(context)?;
    let mut latest: Option<Timestamp> = None;
    for account in open_accounts(context)?.list()? {
        latest = latest.max(books.horizon(&account)?);
    }
    Ok(latest)
}

/// Returns the instant until which data is generated for a clock at `now`.
pub(super) fn made_through(context: &CommandContext, now: Timestamp) -> Option<Timestamp> {
    data_end(context.history.venues(), now, DAYS_AHEAD)
}

/// Returns the instant until which a clock at `now` needs data.
pub(super) fn needed_through(context: &CommandContext, now: Timestamp) -> Option<Timestamp> {
    data_end(context.history.venues(), now, DAYS_AHEAD_MIN)
}

fn data_end(venues: &Venues, now: Timestamp, days: usize) -> Option<Timestamp> {
    let venue = venues.of(Market::Hk);
    let today = venue.zone().date(now);
    let last = (0..days).try_fold(today, |date, _| venue.calendar().after(date))?;
    Some(Timestamp(utc_midnight(last)?.0 + END_HOUR * 3_600))
}

fn utc_midnight(date: Date) -> Option<Timestamp> {
    let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Timestamp(midnight.timestamp().as_second()))
}

/// Returns the running clock.
pub(super) fn run_from(context: &CommandContext, from: Timestamp) -> Clock {
    Clock::skipping(from, u64::from(SPEED) * 1_000, context.history.venues())
}

/// Stores the time of the clock and generates more data while the server runs. `context` contains
/// the clock of the server.
pub(super) fn keep(context: CommandContext) -> Result<(), Failure> {
    let path = context.work_folder(None)?.join(FILE);
    // Written before the server starts, so that an unwritable folder is reported.
    write(&path, machine_ms(), context.now())?;
    let mut made = made_through(&context, context.now());
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(STORED_EVERY);
            // The machine time is read first, so that a pause between the two reads does not set
            // the clock back.
            let machine_ms = machine_ms();
            let now = context.now();
            if let Err(error) = write(&path, machine_ms, now) {
                tracing::warn!(%error, "cannot store the time of the demo's clock");
            }
            if needed_through(&context, now) > made {
                // A failure is reported, and retried a few days later.
                made = made_through(&context, now);
                if let Some(Err(failure)) = made.map(|until| make_more(&context, until)) {
                    tracing::warn!(?failure, "cannot generate more of the demo market");
                }
            }
        }
    });
    Ok(())
}

fn make_more(context: &CommandContext, until: Timestamp) -> Result<(), Failure> {
    // The import ledger has the machine's time.
    let context = &context.under(Clock::Machine);
    let store = context.open(Access::Write { now: context.now() })?;
    demo::make(context, &store, progress::Flags { quiet: true }, until).map(drop)
}

/// Reads the stored time. Returns `None` if it is missing or invalid.
fn read(path: &Path) -> Option<StoredTime> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Replaces the file atomically. `now` was read at `machine_ms` or later and is rounded down, so
/// the next second is stored.
fn write(path: &Path, machine_ms: i64, now: Timestamp) -> Result<(), anyhow::Error> {
    let stored = StoredTime { market: now.0.saturating_add(1), machine_ms };
    let partial = path.with_extension("partial");
    std::fs::write(&partial, serde_json::to_vec(&stored)?)
        .and_then(|()| std::fs::rename(&partial, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_second())
    }

    #[test]
    fn the_clock_starts_in_the_newest_session_of_hong_kong() {
        let venues = Venues::built_in().unwrap();
        for (now, expected) in [
            ("2026-11-18T15:31:00Z", "2026-11-18T02:00:00Z"),
            ("2026-11-18T02:00:00Z", "2026-11-18T02:00:00Z"),
            ("2026-11-18T01:59:59Z", "2026-11-17T02:00:00Z"),
            // A Sunday, and the morning of a Monday.
            ("2026-11-15T02:00:00Z", "2026-11-13T02:00:00Z"),
            ("2026-11-16T00:00:00Z", "2026-11-13T02:00:00Z"),
            // A half day.
            ("2026-12-24T12:00:00Z", "2026-12-24T02:00:00Z"),
        ] {
            assert_eq!(newest_session(&venues, at(now)), Some(at(expected)), "{now}");
        }
    }

    #[test]
    fn data_is_generated_for_five_trading_days_ahead() {
        let venues = Venues::built_in().unwrap();
        let ends = |now: &str, days| data_end(&venues, at(now), days);
        assert_eq!(ends("2026-11-18T02:00:00Z", DAYS_AHEAD), Some(at("2026-11-25T22:00:00Z")));
        assert_eq!(ends("2026-11-20T02:00:00Z", DAYS_AHEAD_MIN), Some(at("2026-11-24T22:00:00Z")));
    }

    #[test]
    fn a_restarted_clock_continues_without_the_time_while_stopped() {
        let venues = Venues::built_in().unwrap();
        let stored = StoredTime { market: at("2026-11-18T03:00:00Z").0, machine_ms: 5_000_000 };
        for (passed_ms, expected) in [
            (0, "2026-11-18T03:00:00Z"),
            (6_000, "2026-11-18T03:01:00Z"),
            (60_000, "2026-11-18T03:10:00Z"),
            // A day later, only the time that may not have been stored is added.
            (86_400_000, "2026-11-18T03:10:00Z"),
            // The machine's clock was set back.
            (-1_000, "2026-11-18T03:00:00Z"),
        ] {
            assert_eq!(stored.resumed(5_000_000 + passed_ms, &venues), at(expected), "{passed_ms}");
        }
        let before_lunch = StoredTime { market: at("2026-11-18T03:59:00Z").0, machine_ms: 0 };
        assert_eq!(before_lunch.resumed(12_000, &venues), at("2026-11-18T05:01:00Z"));
    }

    #[test]
    fn the_time_is_stored_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert_eq!(read(&path), None);
        write(&path, 5, Timestamp(7)).unwrap();
        assert_eq!(read(&path), Some(StoredTime { market: 8, machine_ms: 5 }));
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(read(&path), None);
    }
}
