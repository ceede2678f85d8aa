//! The period of a file's candles, by the majority of their steps.
//!
//! A greatest common divisor of all steps would let one odd stamp decide: a Friday holiday in a
//! weekly file, a stray row in a five-minute one. Here each step between neighbouring candles of a
//! symbol is checked for the periods it fits (`minutes.rs`, `days.rs`, which know the calendar),
//! and `weigh.rs` decides whether that many steps can be chance. Symbols are judged one by one,
//! those with few rows together. The result is a [`JudgedPeriod`] or an error, and only
//! [`importable`] decides which periods can be stored.

mod days;
mod minutes;
mod watch;
mod weigh;

use market::{Grain, Market, Minutes, Period, Span, Symbol, Timestamp, Venue, Venues};

use crate::Problem;
use crate::time::DAY;
pub(crate) use watch::Watch;
use weigh::{Candidate, Step, Tally, Verdict};

/// The period of a file's candles, and the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedPeriod {
    pub period: Period,
    pub by: JudgedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedBy {
    /// Set by the user; the rows were not checked.
    Option,
    /// The steps between the rows.
    Steps,
    /// Too few rows to contradict it. `perhaps` is the period that the few suggest.
    Default { perhaps: Option<Period> },
}

/// One row, by its market's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub symbol: u32,
    /// Seconds since 1970 on the wall clock.
    pub local: i64,
}

/// The kind of stamps: dates, or times of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamps {
    Dates,
    Times,
}

/// The context of a judgement.
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

    /// The wall clock of an instant, for [`Stamp::local`].
    pub(crate) fn local(&self, symbol: u32, at: Timestamp) -> i64 {
        at.0.saturating_add(self.venue(symbol).zone().offset(at))
    }
}

/// The grain that stores candles of a period. Other periods are derived from these, and a file of
/// them is refused.
pub(crate) fn importable(period: Period) -> Result<Grain, Problem> {
    Grain::of_rows(period).ok_or(Problem::OtherPeriod(period))
}

/// Judges rows; sorts them.
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
                // Without a step within a day, the days themselves may show the period.
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

/// Judges sorted rows with times of day against candles of a minute.
fn judge_times(rows: &[Stamp], context: JudgeContext<'_>) -> Result<JudgedPeriod, Problem> {
    minutes::refuse_day_rows(rows, context)?;
    minutes::refuse_seconds(rows)?;
    judge_against(rows, Minutes::ONE, context)
}

/// Judges sorted rows against candles of a length: whether they have it, or a multiple of it.
fn judge_against(rows: &[Stamp], base: Minutes, context: JudgeContext<'_>) -> Result<JudgedPeriod, Problem> {
    let steps = |stamps: &[i64], venue: &Venue| minutes::steps(stamps, venue, base);
    judge_as(rows, &minutes::candidates(base), Period::Clock(base), context, steps)
}

/// A coarse period that can be imported must be that of the rows, not a divisor of their actual
/// period: hours are whole half hours apart as well. Nor may a part of them have a longer one.
fn confirm(rows: &[Stamp], length: Minutes, context: JudgeContext<'_>) -> Result<(), Problem> {
    let period = Period::Clock(length);
    let is_it =
        minutes::are_near(rows, length, context) && judge_against(rows, length, context)?.period == period;
    if is_it { Ok(()) } else { Err(Problem::UnsurePeriod(period)) }
}

/// Rows once a day at the same time are candles of days or longer, stamped with an hour.
fn one_a_day(rows: &[Stamp], context: JudgeContext<'_>) -> Result<JudgedPeriod, Problem> {
    let mut dates: Vec<Stamp> =
        rows.iter().map(|row| Stamp { local: row.local.div_euclid(DAY) * DAY, ..*row }).collect();
    match judge(&mut dates, Stamps::Dates, context)?.period {
        Period::DAY => Err(Problem::OneTimeOfDay),
        period => Err(Problem::OtherPeriod(period)),
    }
}

/// The result for one symbol.
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
    // Of one symbol's stamps, ascending and distinct.
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
        // Candles of a longer period among shorter ones have duplicate stamps, or stamps outside of
        // trading.
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

/// Stamps without duplicates; and those that are duplicates, or on a weekend.
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

/// One result for the file from those of its symbols.
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
    // Among symbols that clearly have the shortest period, a thin one needs higher odds to
    // contradict them.
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
    // Thousands of symbols with a few rows each are conclusive together, although none is alone.
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

/// The usual name for candles of a period.
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
