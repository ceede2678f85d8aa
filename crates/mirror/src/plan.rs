//! Plans the requests of a job, in order.

use std::fmt;
use std::time::Duration;

use market::{Date, Floors, Market, Period, Segment, Session, Symbol, Timestamp, Venue, Venues};

use crate::{Adjust, Order, Quota, RateLimits, Series, SeriesError, Sessions};

/// Number of candles that a page adds: a full page without the candle that it repeats.
pub const NEW_ROWS_A_PAGE: u64 = 999;
/// Maximum number of securities in a request for static information (command 10).
pub const STATICS_MAX: usize = 500;
/// Maximum length of a request for trading days (command 9), in days.
const CALENDAR_DAYS: i64 = 31;
/// Number of months whose trading days are compared with our calendar.
const CALENDAR_MONTHS: i64 = 12;

/// Dates from `from` to `through`, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateRange {
    pub from: Date,
    pub through: Date,
}

/// A security of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Security {
    pub symbol: Symbol,
    /// Dates whose candles are complete, by period and adjustment. They are not requested.
    pub stored: Vec<(Period, Adjust, DateRange)>,
    /// Whether a job of this security has begun.
    pub is_unfinished: bool,
}

/// Options that the user sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    pub periods: Vec<Period>,
    /// First date of the candles. `None` means the published floor.
    pub from: Option<Date>,
    /// Last date of the candles. `None` means the latest trading day that has begun.
    pub through: Option<Date>,
    pub sessions: Sessions,
    /// `--max-new`.
    pub max_new: Option<usize>,
    /// `--today`: also the candles of the current day.
    pub with_today: bool,
}

/// One series to read, and its expected number of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesJob {
    pub series: Series,
    pub dates: DateRange,
    /// Number of candles if every minute and day was traded.
    pub candles: u64,
    pub requests: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Command 4: limits.
    Profile,
    /// Command 9: trading days of a market, to compare with our calendar.
    Calendar { market: Market, dates: DateRange },
    /// Command 10: names, lots, boards.
    Statics { symbols: Vec<Symbol> },
    /// Command 27: pages of a series.
    Series(SeriesJob),
    /// Command 19: today's candles, of which the last may be incomplete.
    Today { symbol: Symbol, period: Period },
}

/// The ordered requests of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub order: Order,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error(transparent)]
    Series(#[from] SeriesError),
    #[error("the range begins on {from}, after its end on {through}")]
    Range { from: Date, through: Date },
}

impl fmt::Display for DateRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..={}", self.from, self.through)
    }
}

impl Plan {
    /// Plans a job: all daily candles before all minutes, and within each the securities in the
    /// order of the quota.
    pub fn of(
        venues: &Venues,
        securities: &[Security],
        options: &PlanOptions,
        quota: &Quota,
        now: Timestamp,
    ) -> Result<Plan, PlanError> {
        let list: Vec<Symbol> = securities.iter().map(|security| security.symbol.clone()).collect();
        let of = |symbol: &Symbol| securities.iter().find(|security| security.symbol == *symbol);
        let order = quota.order(&list, |symbol| of(symbol).is_some_and(|s| s.is_unfinished), options.max_new);
        let chosen: Vec<&Security> = order.now.iter().filter_map(of).collect();

        let mut steps = vec![Step::Profile];
        for market in Market::ALL {
            if chosen.iter().any(|security| security.symbol.market() == market) {
                steps.extend(calendar_steps(venues.of(market), now));
            }
        }
        for symbols in order.now.chunks(STATICS_MAX) {
            steps.push(Step::Statics { symbols: symbols.to_vec() });
        }
        let mut periods = options.periods.clone();
        // Longest period first, so that all days are known after a few requests.
        periods.sort_unstable_by(|a, b| b.cmp(a));
        periods.dedup();
        for period in &periods {
            for security in &chosen {
                steps.extend(series_steps(venues, security, *period, options, now)?);
            }
        }
        if options.with_today {
            for security in &chosen {
                let symbol = &security.symbol;
                steps.extend(
                    periods.iter().map(|period| Step::Today { symbol: symbol.clone(), period: *period }),
                );
            }
        }
        Ok(Plan { steps, order })
    }

    /// Returns the number of requests that count toward the limit of command 27.
    pub fn history_requests(&self) -> u64 {
        self.steps.iter().map(|step| if let Step::Series(job) = step { job.requests } else { 0 }).sum()
    }

    /// Returns the number of all other requests.
    pub fn other_requests(&self) -> u64 {
        self.steps.iter().filter(|step| !matches!(step, Step::Series(_))).count() as u64
    }

    /// Returns the number of candles if every minute and day was traded.
    pub fn candles(&self) -> u64 {
        self.steps.iter().map(|step| if let Step::Series(job) = step { job.candles } else { 0 }).sum()
    }

    /// Returns how long the requests take at a rate, without the response times.
    pub fn time(&self, limits: &RateLimits) -> Duration {
        limits.time_for(self.history_requests(), self.other_requests())
    }

    /// Returns the number of securities that are charged to the month's quota.
    pub fn new_securities(&self) -> usize {
        self.order.new
    }
}

fn calendar_steps(venue: &Venue, now: Timestamp) -> Vec<Step> {
    let today = venue.zone().date(now);
    let year = market::DateSpan::new().months(CALENDAR_MONTHS);
    let mut from = today.checked_sub(year).unwrap_or(today);
    let mut steps = Vec::new();
    while from <= today {
        let through = from.checked_add(market::DateSpan::new().days(CALENDAR_DAYS - 1)).unwrap_or(today);
        let dates = DateRange { from, through: through.min(today) };
        steps.push(Step::Calendar { market: venue.market(), dates });
        let Ok(next) = through.tomorrow() else { break };
        from = next;
    }
    steps
}

fn series_steps(
    venues: &Venues,
    security: &Security,
    period: Period,
    options: &PlanOptions,
    now: Timestamp,
) -> Result<Vec<Step>, PlanError> {
    let symbol = &security.symbol;
    let venue = venues.of(symbol.market());
    let adjustments: &[Adjust] =
        if period.is_clock() { &[Adjust::None] } else { &[Adjust::None, Adjust::Forward] };
    let newest = venue.rolled(now).unwrap_or_else(|| venue.zone().date(now));
    let floor = Floors::published(symbol.market()).of(period);
    let from = options.from.into_iter().chain(floor).max().unwrap_or(newest);
    let through = options.through.map_or(newest, |date| date.min(newest));
    if let (Some(from), Some(through)) = (options.from, options.through)
        && from > through
    {
        return Err(PlanError::Range { from, through });
    }
    if from > through {
        return Ok(Vec::new());
    }
    let mut steps = Vec::new();
    for adjust in adjustments {
        let stored = security.stored.iter().filter(|(of, by, _)| (*of, *by) == (period, *adjust));
        let wanted = gaps(DateRange { from, through }, stored.map(|(_, _, dates)| *dates));
        let series = Series::new(symbol.clone(), period, *adjust, options.sessions)?;
        // Newest first, like the pages of a series.
        for dates in wanted.iter().rev() {
            let candles = candles_in(venue, &series, *dates);
            if candles > 0 {
                let (series, dates, requests) = (series.clone(), *dates, candles.div_ceil(NEW_ROWS_A_PAGE));
                steps.push(Step::Series(SeriesJob { series, dates, candles, requests }));
            }
        }
    }
    Ok(steps)
}

/// Returns the parts of a range that `stored` does not contain, ascending.
pub fn gaps(wanted: DateRange, stored: impl IntoIterator<Item = DateRange>) -> Vec<DateRange> {
    let mut stored: Vec<DateRange> = stored.into_iter().filter(|range| range.from <= range.through).collect();
    stored.sort_unstable();
    let mut gaps = Vec::new();
    let mut from = Some(wanted.from);
    for range in stored {
        let Some(start) = from.filter(|start| *start <= wanted.through) else { break };
        if range.from > wanted.through {
            break;
        }
        if range.from > start
            && let Ok(through) = range.from.yesterday()
        {
            gaps.push(DateRange { from: start, through });
        }
        if range.through >= start {
            from = range.through.tomorrow().ok();
        }
    }
    if let Some(start) = from.filter(|start| *start <= wanted.through) {
        gaps.push(DateRange { from: start, through: wanted.through });
    }
    gaps
}

/// Returns the number of candles of a series in a date range if every minute and day was traded.
fn candles_in(venue: &Venue, series: &Series, dates: DateRange) -> u64 {
    let days = venue.calendar().days(dates.from, dates.through);
    let Period::Clock(minutes) = series.period() else { return days.count() as u64 };
    let length = i32::from(minutes.get());
    let is_read =
        |segment: &&Segment| series.sessions() == Sessions::All || segment.session == Session::Intraday;
    let candles_of = |segment: &Segment| {
        // The closing minute begins a candle only if the segment is a multiple of the period.
        u64::try_from((segment.last_minute() - segment.start) / length + 1).unwrap_or(0)
    };
    days.filter_map(|(date, _)| venue.day(date))
        .map(|day| day.segments.iter().filter(is_read).map(candles_of).sum::<u64>())
        .sum()
}
