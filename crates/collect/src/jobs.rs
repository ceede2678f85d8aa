//! The series that a run reads: unfinished, missing and rechecked ones.

use std::collections::BTreeMap;

use market::{Date, DateSpan, Floors, Period, Symbol, Timestamp, Venue};
use mirror::recheck::Recheck;
use mirror::{Adjust, Bounds, DateRange, Position, Series, SeriesError, Sessions, Walk, gaps};
use store::MirrorJob;

/// Number of days by which a request for new adjusted candles overlaps the stored ones. If an
/// overlapping day differs, a corporate action has changed all earlier days, and they are read
/// again.
const OVERLAP_DAYS: i64 = 15;

/// Time after the end of a day, in seconds, after which a source is expected to have the day.
pub(crate) const SETTLED_AFTER_S: i64 = 86_400;
/// Purpose of a row for a day that was collected before its end. Its minutes are incomplete.
pub(crate) const TODAY: &str = "today";

/// Why a series is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// To collect its candles.
    History,
    /// To find corrections of recent candles.
    Again,
    /// To answer a request to the server.
    Read,
}

impl Purpose {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Purpose::History => "history",
            Purpose::Again => "again",
            Purpose::Read => "read",
        }
    }

    pub(crate) fn parse(text: &str) -> Purpose {
        match text {
            "again" => Purpose::Again,
            "read" | TODAY => Purpose::Read,
            _ => Purpose::History,
        }
    }

    /// Returns whether the days of a completed job need not be requested again.
    pub(crate) fn covers(self) -> bool {
        self != Purpose::Again
    }
}

/// A series to read, with its progress.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) walk: Walk,
    pub(crate) purpose: Purpose,
    pub(crate) dates: DateRange,
    pub(crate) pages: u64,
    pub(crate) rows: u64,
    /// Stamp of the newest candle that was received since the job began or was resumed.
    pub(crate) newest: Option<Timestamp>,
    /// Whether received adjusted days differ from the stored ones.
    pub(crate) is_adjusted_anew: bool,
}

/// The candles that the user requests for a list of securities.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) periods: Vec<Period>,
    pub(crate) from: Option<Date>,
    pub(crate) through: Option<Date>,
    pub(crate) sessions: Sessions,
    pub(crate) recheck: Option<Recheck>,
}

impl Job {
    pub(crate) fn new(
        series: Series,
        dates: DateRange,
        purpose: Purpose,
        venue: &Venue,
        now: Timestamp,
    ) -> Job {
        let bounds = Bounds::of_dates(venue, series.period(), dates, now);
        Job {
            walk: Walk::new(series, bounds),
            purpose,
            dates,
            pages: 0,
            rows: 0,
            newest: None,
            is_adjusted_anew: false,
        }
    }

    /// Resumes a stored job. Returns `None` if the row is invalid, and the job then starts over.
    fn resumed(stored: &MirrorJob, venue: &Venue, now: Timestamp) -> Option<Job> {
        let series = series_of(stored)?;
        let dates = DateRange { from: stored.first_day, through: stored.last_day };
        let bounds = Bounds::of_dates(venue, series.period(), dates, now);
        let position: Position = stored.position.parse().unwrap_or(Position::START);
        let purpose = Purpose::parse(&stored.purpose);
        let walk = Walk::resumed(series, bounds, position);
        Some(Job {
            walk,
            purpose,
            dates,
            pages: stored.pages,
            rows: stored.rows,
            newest: None,
            is_adjusted_anew: false,
        })
    }

    /// Ends the range of a completed job at the last day that need not be requested again: a day
    /// with received candles, or one that ended more than a day ago. The source may not have newer
    /// days yet.
    pub(crate) fn end_at_settled_day(&mut self, venue: &Venue, now: Timestamp) {
        let received = self.newest.and_then(|at| venue.trading_day(at));
        let settled = last_complete_day(venue, Timestamp(now.0.saturating_sub(SETTLED_AFTER_S)));
        let through = received.max(settled).unwrap_or(Date::MIN);
        self.dates.through = self.dates.through.min(through);
    }

    pub(crate) fn symbol(&self) -> &Symbol {
        &self.walk.series().symbol
    }

    /// Returns whether the job is complete only when the corporate actions are derived.
    pub(crate) fn completes_with_actions(&self) -> bool {
        self.purpose == Purpose::History && !self.walk.series().period().is_clock()
    }

    /// Returns the row to store for this job.
    pub(crate) fn row(&self, outcome: Option<&str>, now: Timestamp) -> MirrorJob {
        let series = self.walk.series();
        MirrorJob {
            symbol: series.symbol.clone(),
            period: series.period().to_string(),
            adjustment: series.adjust.as_str().to_owned(),
            sessions: series.sessions().as_str().to_owned(),
            purpose: self.purpose.as_str().to_owned(),
            first_day: self.dates.from,
            last_day: self.dates.through,
            position: self.walk.position().to_string(),
            outcome: outcome.map(str::to_owned),
            pages: self.pages,
            rows: self.rows,
            updated_at: now,
        }
    }
}

fn series_of(stored: &MirrorJob) -> Option<Series> {
    let (period, adjust) = (stored.period.parse().ok()?, Adjust::parse(&stored.adjustment)?);
    Series::new(stored.symbol.clone(), period, adjust, Sessions::parse(&stored.sessions)?).ok()
}

/// Returns whether a run has begun a job, not a request to the server.
pub fn is_of_run(job: &MirrorJob) -> bool {
    Purpose::parse(&job.purpose) != Purpose::Read
}

/// Returns the date ranges that a mirror has collected completely, by series.
pub fn covered(stored: &[MirrorJob]) -> BTreeMap<Series, Vec<DateRange>> {
    let mut all: BTreeMap<Series, Vec<DateRange>> = BTreeMap::new();
    let is_covered = |job: &&MirrorJob| job.outcome.is_some() && Purpose::parse(&job.purpose).covers();
    for job in stored.iter().filter(is_covered) {
        if let Some(series) = series_of(job) {
            let dates = DateRange { from: job.first_day, through: job.last_day };
            all.entry(series).or_default().push(dates);
        }
    }
    all
}

/// Returns the latest trading day that has ended.
pub fn last_complete_day(venue: &Venue, now: Timestamp) -> Option<Date> {
    let today = venue.zone().date(now);
    let day = venue.calendar().on_or_before(today)?;
    match venue.day_end(day) <= now {
        true => Some(day),
        false => venue.calendar().on_or_before(day.yesterday().ok()?),
    }
}

/// Returns the jobs of a security: unfinished ones first, then days, then minutes. `stored` are the
/// mirror's jobs of this security, and `present` the date ranges that were imported by other means.
pub(crate) fn of_security(
    venue: &Venue,
    symbol: &Symbol,
    wanted: &Wanted,
    stored: &[MirrorJob],
    present: &[(Period, DateRange)],
    now: Timestamp,
) -> Result<Vec<Job>, SeriesError> {
    let mut jobs: Vec<Job> = stored
        .iter()
        // A later request to the server reads the rest of an interrupted `Read`.
        .filter(|job| job.outcome.is_none() && Purpose::parse(&job.purpose) != Purpose::Read)
        .filter_map(|job| Job::resumed(job, venue, now))
        .collect();
    let covered = covered(stored);
    let Some(latest) = last_complete_day(venue, now) else { return Ok(jobs) };
    for period in &wanted.periods {
        let adjustments: &[Adjust] = match period.is_clock() {
            true => &[Adjust::None],
            false => &[Adjust::None, Adjust::Forward],
        };
        let floor = Floors::published(symbol.market()).of(*period);
        let from = wanted.from.into_iter().chain(floor).max().unwrap_or(latest);
        let through = wanted.through.map_or(latest, |date| date.min(latest));
        for adjust in adjustments {
            let series = Series::new(symbol.clone(), *period, *adjust, wanted.sessions)?;
            let begun = jobs.iter().filter(|job| *job.walk.series() == series).map(|job| job.dates);
            let begun: Vec<DateRange> = begun.collect();
            let known = covered.get(&series).into_iter().flatten().copied();
            let present = present.iter().filter(|(of, _)| of == period).map(|(_, dates)| *dates);
            // Imports have no adjusted days.
            let present: Vec<DateRange> = present.filter(|_| *adjust == Adjust::None).collect();
            let stored_days: Vec<DateRange> = known.chain(begun.iter().copied()).chain(present).collect();
            let last_covered = covered.get(&series).and_then(|all| all.iter().map(|of| of.through).max());
            if from <= through {
                // Newest first, like the pages of a series.
                for dates in gaps(DateRange { from, through }, stored_days).into_iter().rev() {
                    let dates = match last_covered {
                        Some(last) if *adjust == Adjust::Forward && dates.from > last => {
                            DateRange { from: overlapping(last).max(from), ..dates }
                        }
                        _ => dates,
                    };
                    if venue.calendar().days(dates.from, dates.through).next().is_some() {
                        jobs.push(Job::new(series.clone(), dates, Purpose::History, venue, now));
                    }
                }
            }
            if let Some(recheck) = wanted.recheck
                && last_covered.is_some()
                && !begun.iter().any(|dates| dates.through >= latest)
                && let Some(dates) = recheck.range(venue, *period, now)
            {
                let dates = DateRange { from: dates.from.max(from), through: dates.through.min(through) };
                if dates.from <= dates.through {
                    jobs.push(Job::new(series.clone(), dates, Purpose::Again, venue, now));
                }
            }
        }
    }
    Ok(jobs)
}

/// Joins ranges that overlap or have no trading day between them. Empty ranges are dropped.
pub(crate) fn merged(venue: &Venue, ranges: impl IntoIterator<Item = DateRange>) -> Vec<DateRange> {
    let mut ranges: Vec<DateRange> = ranges.into_iter().filter(|range| range.from <= range.through).collect();
    ranges.sort_unstable();
    let mut merged: Vec<DateRange> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if venue.calendar().after(last.through).is_some_and(|next| range.from <= next) => {
                last.through = last.through.max(range.through);
            }
            _ => merged.push(range),
        }
    }
    merged
}

pub(crate) fn overlapping(last: Date) -> Date {
    last.checked_sub(DateSpan::new().days(OVERLAP_DAYS)).unwrap_or(last)
}
