//! Infers the period of a file's candles from the steps (intervals) between its rows.
//!
//! The greatest common divisor of all steps would let one unusual stamp decide: a Friday holiday in
//! a weekly file, or a stray row in a five-minute file. Instead each step between consecutive
//! candles of a symbol is classified by the periods that it fits (`minutes.rs` and `days.rs`, which
//! use the calendar), and `weigh.rs` tests whether the number of fitting steps can be chance. Each
//! symbol is judged separately, but the steps of symbols with few rows are added up. The result is
//! a [`JudgedPeriod`] or an error; [`importable`] decides which periods can be stored.

mod days;
mod minutes;
mod watch;
mod weigh;

use market::{Grain, Market, Minutes, Period, Span, Symbol, Timestamp, Venue, Venues};

use crate::Problem;
use crate::time::DAY;
pub(crate) use watch::Watch;
use weigh::{Candidate, Step, Tally, Verdict};

/// The period of a file's candles, and how it was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedPeriod {
    pub period: Period,
    pub by: JudgedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedBy {
    /// Set by the user; the rows were not checked.
    Option,
    /// Inferred from the steps between rows.
    Steps,
    /// Taken from the file's name, because the rows do not decide.
    FileName,
    /// Assumed, because there are too few rows to infer the period. `perhaps` is the longer period
    /// that these rows suggest, if any.
    Default { perhaps: Option<Period> },
}

/// A row's symbol and local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub symbol: u32,
    /// Local wall-clock time, in seconds since 1970-01-01 00:00 local time.
    pub local: i64,
}

/// Whether stamps are dates or times of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamps {
    Dates,
    Times,
}

/// The venues and symbols that the rows refer to.
#[derive(Clone, Copy)]
pub(crate) struct JudgeContext<'a> {
    pub venues: &'a Venues,
    pub symbols: &'a [Symbol],
}

impl JudgeContext<'_> {
    fn market(&self, symbol: u32) -> Market {
        self.symbols.get(symbol as usize).map_or(Market::Us, Symbol::market)
    }

    fn venue(&self, symbol: u32) -> &Venue {
        self.venues.of(self.market(symbol))
    }

    fn name(&self, symbol: u32) -> String {
        self.symbols.get(symbol as usize).map(Symbol::to_string).unwrap_or_default()
    }

    /// Converts an instant to the local time of a symbol's venue, for [`Stamp::local`].
    pub(crate) fn local(&self, symbol: u32, at: Timestamp) -> i64 {
        at.0.saturating_add(self.venue(symbol).zone().offset(at))
    }
}

/// Returns the grain that stores candles of a period, or an error for periods that are derived from
/// others and cannot be imported.
pub(crate) fn importable(period: Period) -> Result<Grain, Problem> {
    Grain::of_rows(period).ok_or(Problem::OtherPeriod(period))
}

/// Applies the period in a file's name where the rows do not decide: if they are few, if all have
/// the same time of day, or if a longer period is as likely. Rows that contradict a name win.
pub(crate) fn with_name(
    judged: Result<JudgedPeriod, Problem>,
    named: Option<Period>,
    rows: &[Stamp],
    stamps: Stamps,
) -> Result<JudgedPeriod, Problem> {
    let Some(named) = named else { return judged };
    let of_name = Ok(JudgedPeriod { period: named, by: JudgedBy::FileName });
    let is_clock = named.is_clock();
    let date = |row: &Stamp| (row.symbol, row.local.div_euclid(DAY));
    let is_one_a_day = || rows.windows(2).all(|pair| matches!(pair, [a, b] if date(a) != date(b)));
    match judged {
        Ok(JudgedPeriod { by: JudgedBy::Default { .. }, .. }) if is_clock == (stamps == Stamps::Times) => {
            of_name
        }
        Ok(JudgedPeriod { by: JudgedBy::Default { .. }, .. }) if !is_clock && is_one_a_day() => of_name,
        Err(Problem::OneTimeOfDay) if !is_clock => of_name,
        Err(Problem::UnsurePeriod(period)) if period == named => of_name,
        judged => judged,
    }
}

/// Sorts the rows and infers their period.
pub(crate) fn judge(
    rows: &mut [Stamp],
    stamps: Stamps,
    context: JudgeContext<'_>,
) -> Result<JudgedPeriod, Problem> {
    rows.sort_unstable();
    match stamps {
        Stamps::Dates => judge_as(rows, &days::CANDIDATES, Period::DAY, context, days::steps),
        Stamps::Times => {
            let judged = judge_times(rows, context)?;
            if let JudgedBy::Default { .. } = judged.by {
                minutes::refuse_odd_lengths(rows, context)?;
                // If most days have a single row, the dates may show the period.
                if minutes::one_a_day(rows) {
                    return one_a_day(rows, context);
                }
            }
            if let Period::Clock(length) = judged.period
                && length != Minutes::ONE
                && importable(judged.period).is_ok()
            {
                confirm(rows, length, context)?;
            }
            Ok(judged)
        }
    }
}

/// Infers the period of sorted rows with times of day, with one minute as the shortest period.
fn judge_times(rows: &[Stamp], context: JudgeContext<'_>) -> Result<JudgedPeriod, Problem> {
    minutes::refuse_day_rows(rows, context)?;
    minutes::refuse_seconds(rows)?;
    judge_against(rows, Minutes::ONE, context)
}

/// Infers the period of sorted rows: `base` or a multiple of it.
fn judge_against(rows: &[Stamp], base: Minutes, context: JudgeContext<'_>) -> Result<JudgedPeriod, Problem> {
    let steps = |stamps: &[i64], venue: &Venue| minutes::steps(stamps, venue, base);
    judge_as(rows, &minutes::candidates(base), Period::Clock(base), context, steps)
}

/// Returns an error if the period of the rows is not clearly `length`, because hourly steps are
/// also multiples of half an hour, or if some of the rows have a longer period.
fn confirm(rows: &[Stamp], length: Minutes, context: JudgeContext<'_>) -> Result<(), Problem> {
    let period = Period::Clock(length);
    let is_it =
        minutes::are_near(rows, length, context) && judge_against(rows, length, context)?.period == period;
    if is_it { Ok(()) } else { Err(Problem::UnsurePeriod(period)) }
}

/// Returns the error for rows that occur once a day at the same time. These are candles of one day
/// or longer, stamped with a time of day.
fn one_a_day(rows: &[Stamp], context: JudgeContext<'_>) -> Result<JudgedPeriod, Problem> {
    let mut dates: Vec<Stamp> =
        rows.iter().map(|row| Stamp { local: row.local.div_euclid(DAY) * DAY, ..*row }).collect();
    match judge(&mut dates, Stamps::Dates, context)?.period {
        Period::DAY => Err(Problem::OneTimeOfDay),
        period => Err(Problem::OtherPeriod(period)),
    }
}

/// The verdict for one symbol, with its first and last stamp.
struct Finding {
    symbol: u32,
    verdict: Verdict,
    tally: Tally,
    first: i64,
    last: i64,
}

fn judge_as(
    rows: &[Stamp],
    candidates: &[Candidate],
    base: Period,
    context: JudgeContext<'_>,
    // Classifies the steps of one symbol's stamps, which must be ascending and distinct.
    steps_of: impl Fn(&[i64], &Venue) -> Vec<Step>,
) -> Result<JudgedPeriod, Problem> {
    let mut findings = Vec::new();
    let mut all = Tally::new(candidates);
    for of_symbol in rows.chunk_by(|a, b| a.symbol == b.symbol) {
        let Some(symbol) = of_symbol.first().map(|row| row.symbol) else { continue };
        let venue = context.venue(symbol);
        let (distinct, odd) = distinct_and_odd(of_symbol, base);
        let (first, last) =
            (distinct.first().copied().unwrap_or_default(), distinct.last().copied().unwrap_or_default());
        let steps = steps_of(&distinct, venue);
        let tally = Tally::of(candidates, &steps);
        let mut verdict = weigh::weigh(candidates, &steps, &tally);
        // If a file of shorter candles also contains candles of a longer period, these have
        // duplicate stamps, or stamps outside trading days.
        if !matches!(verdict, Verdict::Longer(_)) {
            let steps = steps_of(&odd, venue);
            if let Verdict::Longer(period) = weigh::weigh(candidates, &steps, &Tally::of(candidates, &steps))
            {
                verdict = Verdict::Mixed(period);
            }
        }
        all.add(&tally);
        findings.push(Finding { symbol, verdict, tally, first, last });
    }
    settle(&findings, &all, candidates, base, context)
}

/// Returns the distinct stamps, and separately the duplicate stamps and, in daily files, the
/// weekend stamps.
fn distinct_and_odd(rows: &[Stamp], base: Period) -> (Vec<i64>, Vec<i64>) {
    let mut distinct: Vec<i64> = Vec::with_capacity(rows.len());
    let mut odd: Vec<i64> = Vec::new();
    for row in rows {
        let repeated = distinct.last() == Some(&row.local);
        let closed = base == Period::DAY && days::is_weekend(row.local);
        if (repeated || closed) && odd.last() != Some(&row.local) {
            odd.push(row.local);
        }
        if !repeated {
            distinct.push(row.local);
        }
    }
    (distinct, odd)
}

/// Combines the verdicts of all symbols into one for the file.
fn settle(
    findings: &[Finding],
    all: &Tally,
    candidates: &[Candidate],
    base: Period,
    context: JudgeContext<'_>,
) -> Result<JudgedPeriod, Problem> {
    let mixed = |finding: &Finding, shorter: Period, longer: Period| Problem::MixedPeriods {
        symbol: context.name(finding.symbol),
        first: date_text(finding.first),
        last: date_text(finding.last),
        periods: [shorter, longer],
    };
    for finding in findings {
        if let Verdict::Mixed(period) = finding.verdict {
            return Err(mixed(finding, base, period));
        }
    }
    let says_base = findings.iter().any(|finding| finding.verdict == Verdict::Shortest);
    // If other symbols clearly have the shortest period, a thinly traded symbol needs higher odds
    // to contradict them.
    let longer: Vec<(&Finding, Period)> = findings
        .iter()
        .filter_map(|finding| match finding.verdict {
            Verdict::Longer(period) if !says_base || finding.tally.is_beyond_doubt(candidates, period) => {
                Some((finding, period))
            }
            _ => None,
        })
        .collect();
    match longer.as_slice() {
        [] => {}
        [(finding, period), ..] if says_base => return Err(mixed(finding, base, *period)),
        [(_, period), rest @ ..] => {
            return match rest.iter().find(|(_, other)| other != period) {
                Some((finding, other)) => Err(mixed(finding, *period.min(other), *period.max(other))),
                None => Ok(JudgedPeriod { period: *period, by: JudgedBy::Steps }),
            };
        }
    }
    // Thousands of symbols with a few rows each are conclusive together, although no single symbol
    // is.
    if !says_base && let Some(period) = weigh::likeliest(candidates, all) {
        return Ok(JudgedPeriod { period, by: JudgedBy::Steps });
    }
    let by = if says_base {
        JudgedBy::Steps
    } else {
        JudgedBy::Default { perhaps: weigh::perhaps(candidates, all) }
    };
    Ok(JudgedPeriod { period: base, by })
}

fn date_text(local: i64) -> String {
    Timestamp(local).to_string().chars().take(10).collect()
}

/// Returns a period as an adjective for messages, such as `5-minute`.
pub(crate) fn name(period: Period) -> String {
    match period {
        Period::Clock(minutes) => format!("{}-minute", minutes.get()),
        Period::Calendar(Span::Day) => "daily".to_owned(),
        Period::Calendar(Span::Week) => "weekly".to_owned(),
        Period::Calendar(Span::Month) => "monthly".to_owned(),
        Period::Calendar(Span::Quarter) => "quarterly".to_owned(),
        Period::Calendar(Span::Year) => "yearly".to_owned(),
    }
}
