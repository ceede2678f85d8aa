//! Source candles to longer ones: open of the first, close of the last, extremes between, sums of volume and turnover.

use crate::{Candle, Candles, Minutes, Period, Price, Span, Timestamp, Turnover, Venue};

/// A sum that does not fit is a failure, never a wrapped number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the volume of the candle at {at} does not fit 64 bits")]
pub struct Overflow {
    pub at: Timestamp,
}

/// Folds ascending source candles into candles of `period`. Sources must be of a grain that tiles the period
/// (see [`Period::source`]). Sources outside every session of the venue are in no minute candle and are left out.
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
        // Weeks are many, and a week needs no calendar: day 0 was a Thursday.
        Period::Calendar(Span::Week) => fold_by(sources, sources.len() / 4 + 16, |at| {
            let day = venue.zone().day_number(at);
            let monday = day - (day + 3).rem_euclid(7);
            Some((venue.zone().midnight_of(monday), venue.zone().midnight_of(monday + 7)))
        }),
        Period::Calendar(span) => fold_by(sources, sources.len() / 4 + 16, |at| {
            let first = span.floor(venue.zone().date(at));
            let next = span.floor(first.checked_add(jiff::Span::new().days(span.days_max() as i64)).ok()?);
            Some((venue.zone().midnight(first), venue.zone().midnight(next)))
        }),
    }
}

/// One-minute candles to themselves: the identity fold, spelled out because most questions need no other.
pub fn is_identity(period: Period) -> bool {
    period == period.source().period() || period == Period::Clock(Minutes::ONE)
}

/// `bucket` is asked once per bucket, not once per candle: it says where the bucket of a stamp starts and ends.
fn fold_by(
    sources: &Candles,
    expected: usize,
    mut bucket: impl FnMut(Timestamp) -> Option<(Timestamp, Timestamp)>,
) -> Result<Candles, Overflow> {
    let mut folded = Candles::with_capacity(expected.min(sources.len()));
    let mut current: Option<Candle> = None;
    let mut limit = Timestamp(i64::MIN);
    for source in sources.iter() {
        match &mut current {
            Some(candle) if source.time < limit => {
                candle.high = candle.high.max(source.high);
                candle.low = candle.low.min(source.low);
                candle.close = source.close;
                candle.volume =
                    candle.volume.checked_add(source.volume).ok_or(Overflow { at: candle.time })?;
                candle.turnover = Turnover(
                    candle.turnover.0.checked_add(source.turnover.0).ok_or(Overflow { at: candle.time })?,
                );
            }
            _ => {
                let Some((stamp, end)) = bucket(source.time) else { continue };
                if let Some(done) = current.replace(Candle { time: stamp, ..source }) {
                    folded.push(done);
                }
                limit = end;
            }
        }
    }
    if let Some(done) = current {
        folded.push(done);
    }
    Ok(folded)
}

/// The highest high and the lowest low, for whoever draws candles.
pub fn extremes(candles: &Candles) -> Option<(Price, Price)> {
    Some((Price(*candles.low.iter().min()?), Price(*candles.high.iter().max()?)))
}
