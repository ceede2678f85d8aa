//! Classifies the intervals ("steps") between consecutive times of a symbol on the same day.

use std::collections::HashMap;

use market::{Date, Minutes, Period, Segment, Venue};

use super::weigh::{self, Candidate, Step};
use super::{JudgeContext, Stamp};
use crate::Problem;
use crate::time::DAY;

/// Returns the supported minute periods that are multiples of `base`, shortest first, each with its
/// multiple.
fn longer(base: Minutes) -> impl Iterator<Item = (Period, u16)> {
    Period::all().filter_map(move |period| match period {
        Period::Clock(minutes) if minutes > base && minutes.get() % base.get() == 0 => {
            Some((period, minutes.get() / base.get()))
        }
        _ => None,
    })
}

pub(super) fn candidates(base: Minutes) -> Vec<Candidate> {
    longer(base).map(|(period, times)| Candidate::of_minutes(period, f64::from(times))).collect()
}

/// Classifies the steps between consecutive stamps of the same day, measured in trading time, so
/// that the lunch break does not count. `base` is the shortest possible step.
pub(super) fn steps(stamps: &[i64], venue: &Venue, base: Minutes) -> Vec<Step> {
    let shortest = i64::from(base.get()) * 60;
    let lengths: Vec<i64> = longer(base).map(|(_, times)| i64::from(times) * shortest / 60).collect();
    let of_seconds = |seconds: i64| {
        if seconds == shortest {
            return Step { shortest: true, ..Step::default() };
        }
        let mut step = Step::default();
        for (bit, length) in lengths.iter().enumerate() {
            if seconds == length * 60 {
                step.one |= 1 << bit;
            } else if seconds % (length * 60) == 0 {
                step.several |= 1 << bit;
            }
        }
        step
    };
    traded_seconds(stamps, venue).into_iter().map(of_seconds).collect()
}

/// Returns the trading time between consecutive stamps of the same day, in seconds.
fn traded_seconds(stamps: &[i64], venue: &Venue) -> Vec<i64> {
    let mut hours = Hours::default();
    let pairs = stamps.windows(2).filter_map(|pair| if let &[a, b] = pair { Some((a, b)) } else { None });
    pairs
        .filter(|(a, b)| a.div_euclid(DAY) == b.div_euclid(DAY))
        .map(|(a, b)| hours.between(a, b, venue))
        .filter(|seconds| *seconds > 0)
        .collect()
}

/// Returns an error if candles are usually spaced at an unsupported interval, such as 90 minutes.
pub(super) fn refuse_odd_lengths(rows: &[Stamp], context: JudgeContext<'_>) -> Result<(), Problem> {
    let mut counts: HashMap<i64, u64> = HashMap::new();
    for rows in rows.chunk_by(|a, b| a.symbol == b.symbol) {
        let Some(symbol) = rows.first().map(|row| row.symbol) else { continue };
        let mut stamps: Vec<i64> = rows.iter().map(|row| row.local).collect();
        stamps.dedup();
        for seconds in traded_seconds(&stamps, context.venue(symbol)) {
            *counts.entry(seconds).or_default() += 1;
        }
    }
    let all = counts.values().sum();
    let usual = counts.into_iter().max_by_key(|(seconds, count)| (*count, -seconds));
    match usual {
        Some((seconds, count)) if seconds > 60 && !weigh::is_chance(seconds as f64 / 60.0, count, all) => {
            Err(Problem::OddMinutes(seconds / 60))
        }
        _ => Ok(()),
    }
}

/// Returns whether at least a third of the steps are exactly `length`, and the average step is at
/// most twice `length`.
pub(super) fn are_near(rows: &[Stamp], length: Minutes, context: JudgeContext<'_>) -> bool {
    let length = i64::from(length.get()) * 60;
    let (mut one, mut count, mut sum) = (0i64, 0i64, 0i64);
    for rows in rows.chunk_by(|a, b| a.symbol == b.symbol) {
        let Some(symbol) = rows.first().map(|row| row.symbol) else { continue };
        let mut stamps: Vec<i64> = rows.iter().map(|row| row.local).collect();
        stamps.dedup();
        for seconds in traded_seconds(&stamps, context.venue(symbol)) {
            one += i64::from(seconds == length);
            count += 1;
            sum += seconds;
        }
    }
    one * 3 >= count && sum <= 2 * length * count
}

/// Caches the trading hours of one day, because rows are sorted by day.
#[derive(Default)]
struct Hours<'a> {
    of: Option<(i64, &'a [Segment])>,
}

impl<'a> Hours<'a> {
    /// Returns the trading seconds between two times of one day. If either time is outside all
    /// sessions, as in a file in another time zone, returns the elapsed seconds.
    fn between(&mut self, a: i64, b: i64, venue: &'a Venue) -> i64 {
        let day = a.div_euclid(DAY);
        let segments = match self.of {
            Some((of, segments)) if of == day => segments,
            _ => {
                let segments = super::days::date(a).map_or(&[][..], |date: Date| venue.hours(date));
                self.of.insert((day, segments)).1
            }
        };
        let (a, b) = (a.rem_euclid(DAY), b.rem_euclid(DAY));
        match (traded(a, segments), traded(b, segments)) {
            (Some(before), Some(after)) => after - before,
            _ => b - a,
        }
    }
}

/// Returns the trading seconds from midnight to a time of day, or `None` outside the sessions. Both
/// ends of a session are inside, because a candle may be stamped with either.
fn traded(at: i64, segments: &[Segment]) -> Option<i64> {
    let bounds = |segment: &Segment| (i64::from(segment.start).max(0) * 60, i64::from(segment.end) * 60);
    let inside = segments.iter().map(bounds).any(|(start, end)| (start..=end).contains(&at));
    let sum = segments.iter().map(bounds).map(|(start, end)| (at.min(end) - start).max(0)).sum();
    inside.then_some(sum)
}

/// Returns whether at least three quarters of the days have a single row, and at least three
/// quarters have the same time of day. That time is mostly the close, which differs on half days
/// and after clock changes.
pub(super) fn one_a_day(rows: &[Stamp]) -> bool {
    // Minimum number of dates of a symbol. Symbols with fewer dates are skipped, because files with
    // one row per symbol also have one row per day.
    const DATES_MIN: usize = 3;
    let day = |row: &Stamp| row.local.div_euclid(DAY);
    let days = rows
        .chunk_by(|a, b| a.symbol == b.symbol)
        .filter(|rows| rows.chunk_by(|a, b| day(a) == day(b)).nth(DATES_MIN - 1).is_some())
        .flat_map(|rows| rows.chunk_by(|a, b| day(a) == day(b)));
    let mut alone = 0;
    let mut times: HashMap<i64, usize> = HashMap::new();
    let mut count = 0;
    for day in days {
        count += 1;
        alone += usize::from(day.len() == 1);
        if let Some(row) = day.first() {
            *times.entry(row.local.rem_euclid(DAY)).or_default() += 1;
        }
    }
    let usual = times.iter().map(|(time, rows)| {
        // A fixed UTC time has two local times, an hour apart, because of daylight saving time.
        rows + times.get(&(time + 3600)).copied().unwrap_or_default()
    });
    count > 0 && alone * 4 >= count * 3 && usual.max().unwrap_or_default() * 4 >= count * 3
}

/// Returns an error if a minute file contains daily candles, which are stamped with midnight. Only
/// the US market trades at midnight, and its minute candles at midnight have neighbours shortly
/// before or after.
pub(super) fn refuse_day_rows(rows: &[Stamp], context: JudgeContext<'_>) -> Result<(), Problem> {
    let near = 2 * usual_step(rows).max(15 * 60);
    let (mut lonely, mut dates, mut nights) = (0, 0, 0);
    let mut before: Option<Stamp> = None;
    let mut rows = rows.iter().peekable();
    while let Some(row) = rows.next() {
        let follows = before.filter(|before| before.symbol == row.symbol);
        if follows.is_none_or(|before| before.local.div_euclid(DAY) != row.local.div_euclid(DAY)) {
            dates += 1;
        }
        let time = row.local.rem_euclid(DAY);
        if time == 0 {
            let is_near =
                |other: &Stamp| other.symbol == row.symbol && (other.local - row.local).abs() <= near;
            // A duplicate of the row is not a neighbour.
            let follows = before.as_ref().is_some_and(|other| other.local != row.local && is_near(other));
            let leads = rows.peek().is_some_and(|other| other.local != row.local && is_near(other));
            lonely += usize::from(!follows && !leads);
        } else {
            const FOUR: i64 = 4 * 3600;
            nights += usize::from(
                context.market(row.symbol) == market::Market::Us && !(FOUR..5 * FOUR).contains(&time),
            );
        }
        before = Some(*row);
    }
    let are_days = lonely > 0 && (lonely * 2 >= dates || nights == 0);
    if are_days { Err(Problem::Mixed) } else { Ok(()) }
}

/// Returns the most common step between consecutive rows of a day, in seconds, or 0 if there are no
/// steps. Steps from midnight are skipped, because rows at midnight may be daily candles.
fn usual_step(rows: &[Stamp]) -> i64 {
    let steps = rows.windows(2).filter_map(|pair| match pair {
        [a, b] => Some((a, b)),
        _ => None,
    });
    let steps = steps.filter(|(a, b)| {
        let is_same_day = a.symbol == b.symbol && a.local.div_euclid(DAY) == b.local.div_euclid(DAY);
        is_same_day && a.local != b.local && a.local.rem_euclid(DAY) != 0
    });
    let mut counts: HashMap<i64, usize> = HashMap::new();
    // Runs of equal steps are counted together, to save hash map lookups.
    let (mut last, mut count) = (0, 0);
    for step in steps.map(|(a, b)| b.local - a.local) {
        if step != last {
            *counts.entry(last).or_default() += count;
            (last, count) = (step, 0);
        }
        count += 1;
    }
    *counts.entry(last).or_default() += count;
    counts.into_iter().max_by_key(|(step, count)| (*count, -step)).map_or(0, |(step, _)| step)
}

/// Returns an error if rows are usually less than a minute apart. Rows on full minutes would
/// otherwise be imported as one-minute candles.
pub(super) fn refuse_seconds(rows: &[Stamp]) -> Result<(), Problem> {
    let step = usual_step(rows);
    if (1..60).contains(&step) { Err(Problem::Seconds(step)) } else { Ok(()) }
}
