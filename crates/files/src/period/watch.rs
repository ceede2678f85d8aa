//! Checks the rows after the sample: each window of rows must have the file's period or be
//! inconclusive.

use market::{Minutes, Period, Symbol, Timestamp, Venues};

use super::{JudgeContext, JudgedBy, Stamp, Stamps, date_text, judge, judge_against, judge_times};
use crate::Problem;

/// Minimum number of rows that are judged together; the size of a sample.
const WINDOW_ROWS: usize = 10_000;
/// Maximum number of rows in a window. A file of thousands of symbols that is sorted by time needs
/// longer windows until symbols repeat.
const WINDOW_ROWS_MAX: usize = 200_000;

/// Collects the stamps of rows since the last check.
#[derive(Debug)]
pub(crate) struct Watch {
    period: Period,
    venues: Venues,
    rows: Vec<(u32, Timestamp)>,
}

impl Watch {
    pub(crate) fn new(period: Period, venues: &Venues) -> Watch {
        Watch { period, venues: venues.clone(), rows: Vec::new() }
    }

    #[inline]
    pub(crate) fn see(&mut self, symbol: u32, at: Timestamp) {
        self.rows.push((symbol, at));
    }

    pub(crate) fn is_full(&self, symbols: &[Symbol]) -> bool {
        let rows = self.rows.len();
        rows >= WINDOW_ROWS_MAX || rows >= WINDOW_ROWS && rows >= 3 * symbols.len()
    }

    /// Judges the collected rows and clears them. Returns an error if they have another period.
    pub(crate) fn judge(&mut self, symbols: &[Symbol]) -> Result<(), Problem> {
        let context = JudgeContext { venues: &self.venues, symbols };
        let stamps = if self.period == Period::DAY { Stamps::Dates } else { Stamps::Times };
        let seen = self.rows.drain(..);
        let mut rows: Vec<Stamp> =
            seen.map(|(symbol, at)| Stamp { symbol, local: context.local(symbol, at) }).collect();
        let judged = match self.period {
            Period::Clock(length) if length != Minutes::ONE => judge_coarse(&mut rows, length, context),
            _ => judge(&mut rows, stamps, context).map(|judged| judged.period),
        };
        let period = match judged {
            // A few rows of a thinly traded symbol may share a time of day. The sample has already
            // ruled out daily rows.
            Err(Problem::OneTimeOfDay) => return Ok(()),
            judged => judged?,
        };
        match (rows.first(), rows.iter().map(|row| row.local).max()) {
            (Some(first), Some(last)) if period != self.period => Err(Problem::MixedPeriods {
                symbol: context.name(first.symbol),
                first: date_text(rows.iter().map(|row| row.local).min().unwrap_or(last)),
                last: date_text(last),
                periods: [self.period.min(period), self.period.max(period)],
            }),
            _ => Ok(()),
        }
    }
}

/// Returns the period of a window of rows in a file of `length` candles: `length`, unless the steps
/// show another period. Any candles may be missing, so multiples of `length` are valid steps.
fn judge_coarse(rows: &mut [Stamp], length: Minutes, context: JudgeContext<'_>) -> Result<Period, Problem> {
    rows.sort_unstable();
    let judged = judge_times(rows, context)?;
    if judged.by == JudgedBy::Steps
        && let Period::Clock(other) = judged.period
        && other.get() % length.get() != 0
    {
        return Ok(judged.period);
    }
    Ok(judge_against(rows, length, context)?.period)
}
