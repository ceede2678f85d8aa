//! Groups consecutive days that share a factor into runs. The factor of a run is in the intersection
//! of the intervals that its days permit.

use super::derived::DayPair;
use super::interval::{Interval, exact};

/// Half a unit of the last decimal of an adjusted price, in millionths.
pub(super) const ROUNDING: i128 = 500;

/// The range of factors that a day permits, as a lower and an upper fraction. Prices have 63 bits,
/// so `i128` products of two prices do not overflow, and comparisons are exact.
#[derive(Clone, Copy, Debug)]
struct Band {
    low: (i128, i128),
    high: (i128, i128),
}

/// Days `first..=last` that share a factor.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) first: usize,
    pub(super) last: usize,
    /// Latest possible first day.
    pub(super) latest_first: usize,
    pub(super) factor: Interval,
}

/// The runs that explain all days, ascending and as few as possible.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    pub(super) runs: Vec<Run>,
    /// Days whose four prices do not share a factor.
    pub(super) inconsistent: Vec<usize>,
    /// Whether the newest day is adjusted, so that its factor is not 1.
    pub(super) is_behind: bool,
}

fn is_below(a: (i128, i128), b: (i128, i128)) -> bool {
    a.0 * b.1 < b.0 * a.1
}

impl Band {
    const ONE: Band = Band { low: (1, 1), high: (1, 1) };

    fn of(day: &DayPair) -> Option<Band> {
        let mut bands = day.actual.iter().zip(&day.adjusted).map(|(actual, adjusted)| {
            let (actual, adjusted) = (i128::from(actual.0), i128::from(adjusted.0));
            // A factor is positive, even if the adjusted price was rounded to zero.
            let low = (adjusted - ROUNDING).max(1);
            (actual > 0).then_some(Band { low: (low, actual), high: (adjusted + ROUNDING, actual) })
        });
        let first = bands.next()??;
        let band = bands.try_fold(first, |band, next| band.and(&next?))?;
        (!is_below(band.high, band.low)).then_some(band)
    }

    fn and(&self, other: &Band) -> Option<Band> {
        let low = if is_below(self.low, other.low) { other.low } else { self.low };
        let high = if is_below(other.high, self.high) { other.high } else { self.high };
        (!is_below(high, low)).then_some(Band { low, high })
    }

    fn interval(&self) -> Interval {
        Interval { low: exact(self.low.0, self.low.1), high: exact(self.high.0, self.high.1) }
    }
}

/// Returns the indexes at which runs begin if each run is as long as possible, in the order of the
/// iterator.
fn cuts<'a>(bands: impl Iterator<Item = (usize, &'a Band)>) -> Vec<usize> {
    let mut running: Option<Band> = None;
    let mut begins = Vec::new();
    for (index, band) in bands {
        running = match running.and_then(|running| running.and(band)) {
            Some(joined) => Some(joined),
            None => {
                begins.push(index);
                Some(*band)
            }
        };
    }
    begins
}

impl Runs {
    pub(super) fn of(days: &[DayPair]) -> Runs {
        let mut found = Runs::default();
        let mut bands: Vec<(usize, Band)> = Vec::with_capacity(days.len());
        for (index, day) in days.iter().enumerate() {
            match Band::of(day) {
                Some(band) => bands.push((index, band)),
                None => found.inconsistent.push(index),
            }
        }
        if let Some((_, newest)) = bands.last_mut() {
            match newest.and(&Band::ONE) {
                Some(one) => *newest = one,
                None => found.is_behind = true,
            }
        }
        // Built from the newest day back, runs begin as early as possible; built from the oldest
        // day forward, as late as possible. Both have the smallest number of runs, so the true
        // first day of each run is between the two.
        let mut ends = cuts(bands.iter().enumerate().rev().map(|(at, (_, band))| (at, band)));
        ends.reverse();
        let latest = cuts(bands.iter().enumerate().map(|(at, (_, band))| (at, band)));
        let mut first = 0;
        for (number, last) in ends.iter().copied().enumerate() {
            let latest_first = latest.get(number).copied().unwrap_or(first).clamp(first, last);
            // A day that may belong to the adjacent run does not narrow the factor.
            let next_latest = latest.get(number + 1).copied();
            debug_assert!(next_latest.is_none_or(|next| next > last), "runs back are not the earliest");
            let certain = bands.get(latest_first..=last).unwrap_or_default();
            let factor = certain
                .iter()
                .map(|(_, band)| *band)
                .reduce(|joined, band| joined.and(&band).unwrap_or(joined));
            let day = |at: usize| bands.get(at).map_or(0, |(index, _)| *index);
            if let Some(factor) = factor {
                found.runs.push(Run {
                    first: day(first),
                    last: day(last),
                    latest_first: day(latest_first),
                    factor: factor.interval(),
                });
            }
            first = last + 1;
        }
        found
    }
}
