//! Folds source candles into longer candles: the first open, the last close, the highest high, the
//! lowest low, and the sums of volume and turnover.

use std::ops::Range;

use crate::period::monday;
use crate::{Candles, Minutes, Period, Price, Span, Timestamp, Venue};

/// Error returned if a sum of volumes or turnovers does not fit its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the volume of the candle at {at} does not fit 64 bits")]
pub struct Overflow {
    pub at: Timestamp,
}

/// Folds ascending source candles into candles of `period`. The sources must have a grain that
/// divides the period (see [`Period::source`]). For minute periods, sources outside all sessions of
/// the venue are skipped.
pub fn fold(venue: &Venue, period: Period, sources: &Candles) -> Result<Candles, Overflow> {
    match period {
        Period::Clock(minutes) => {
            let mut slot = None;
            fold_by(sources, sources.len() / usize::from(minutes.get()).max(1) + 16, |at| {
                let here = slot.filter(|s: &crate::Slot| s.holds(at)).or_else(|| venue.slot(at))?;
                slot = Some(here);
                Some(here.bucket(minutes, at))
            })
        }
        Period::Calendar(Span::Day) => Ok(sources.clone()),
        // A response may have many weeks. Computing with day numbers avoids a date conversion for
        // each week.
        Period::Calendar(Span::Week) => fold_by(sources, sources.len() / 4 + 16, |at| {
            let monday = monday(venue.zone().day_number(at));
            Some((venue.zone().midnight_of(monday), venue.zone().midnight_of(monday + 7)))
        }),
        Period::Calendar(span) => fold_by(sources, sources.len() / 4 + 16, |at| {
            let first = span.floor(venue.zone().date(at));
            let next = span.floor(first.checked_add(jiff::Span::new().days(span.days_max() as i64)).ok()?);
            Some((venue.zone().midnight(first), venue.zone().midnight(next)))
        }),
    }
}

/// Folds all sources into one candle, such as the one-minute candles of an unfinished day. The
/// result is empty if there are no sources.
pub fn fold_whole(stamp: Timestamp, sources: &Candles) -> Result<Candles, Overflow> {
    let mut folded = Candles::default();
    if !sources.is_empty() {
        push_fold(&mut folded, stamp, sources, 0..sources.len())?;
    }
    Ok(folded)
}

/// Returns whether the source candles of a period already have that period, so that folding changes
/// nothing. This is the case in most queries.
pub fn is_identity(period: Period) -> bool {
    period == period.source().period() || period == Period::Clock(Minutes::ONE)
}

/// Folds sources by bucket. `bucket` returns the start and end of a stamp's bucket, and is called
/// once per bucket, not once per candle. Sources without a bucket are skipped.
fn fold_by(
    sources: &Candles,
    expected: usize,
    mut bucket: impl FnMut(Timestamp) -> Option<(Timestamp, Timestamp)>,
) -> Result<Candles, Overflow> {
    let mut folded = Candles::with_capacity(expected.min(sources.len()));
    let mut start = 0;
    while let Some(first) = sources.time.get(start) {
        let Some((stamp, limit)) = bucket(Timestamp(*first)) else {
            start += 1;
            continue;
        };
        let later = sources.time.get(start + 1..).unwrap_or_default();
        let end = start + 1 + later.iter().take_while(|time| **time < limit.0).count();
        push_fold(&mut folded, stamp, sources, start..end)?;
        start = end;
    }
    Ok(folded)
}

/// Appends the fold of `rows`, which must not be empty. Folds one column at a time, because each
/// column is a short contiguous slice.
fn push_fold(
    folded: &mut Candles,
    stamp: Timestamp,
    sources: &Candles,
    rows: Range<usize>,
) -> Result<(), Overflow> {
    let overflow = || Overflow { at: stamp };
    let volume: i128 = cut(&sources.volume, &rows).iter().map(|volume| i128::from(*volume)).sum();
    let volume = i64::try_from(volume).map_err(|_| overflow())?;
    let turnovers = sources.turnover.get(rows.clone()).unwrap_or_default();
    let turnover = turnovers.iter().try_fold(0i128, |sum, turnover| sum.checked_add(*turnover));
    folded.time.push(stamp.0);
    folded.open.extend(cut(&sources.open, &rows).first());
    folded.high.extend(cut(&sources.high, &rows).iter().max());
    folded.low.extend(cut(&sources.low, &rows).iter().min());
    folded.close.extend(cut(&sources.close, &rows).last());
    folded.volume.push(volume);
    folded.turnover.push(turnover.ok_or_else(overflow)?);
    folded.session.extend(sources.session.get(rows.start));
    Ok(())
}

fn cut<'a>(column: &'a [i64], rows: &Range<usize>) -> &'a [i64] {
    column.get(rows.clone()).unwrap_or_default()
}

/// Returns the lowest low and the highest high, or `None` if there are no candles. Used to scale
/// charts.
pub fn extremes(candles: &Candles) -> Option<(Price, Price)> {
    Some((Price(*candles.low.iter().min()?), Price(*candles.high.iter().max()?)))
}
