//! Events of a server that multiplies prices by factors.

use market::Price;

use super::causes::{self, Found};
use super::derived::{Cause, DayPair, Derived, Event, Method, Problem, Segment};
use super::interval::{Exact, Interval, exact, one};
use super::segments::{Run, Runs};

pub(super) fn derive(days: &[DayPair]) -> Derived {
    let Runs { runs, inconsistent, is_behind } = Runs::of(days);
    let date = |index: usize| days.get(index).map(|day| day.date);
    let mut problems: Vec<Problem> =
        inconsistent.into_iter().filter_map(date).map(Problem::Inconsistent).collect();
    let mut factors: Vec<Interval> = runs.iter().map(|run| run.factor.clone()).collect();
    if let (true, Some(newest)) = (is_behind, factors.last()) {
        problems.push(Problem::NotCurrent(newest.clone()));
    }
    let splits = splits(&mut factors);

    // From the newest event to the oldest. Each factor is measured against the product of the later
    // ones, so the product of all factors stays within the measured interval of each segment.
    let mut product = match factors.last() {
        Some(newest) if is_behind => newest.middle(),
        _ => one(),
    };
    let mut events = Vec::new();
    for (number, pair) in runs.windows(2).enumerate().rev() {
        let [before, after] = pair else { continue };
        let (Some(measured), Some(later)) = (factors.get(number), factors.get(number + 1)) else { continue };
        let wide = measured.over(later);
        let close = days.get(after.first.saturating_sub(1)).map_or(Price(0), |day| day.actual[3]);
        let found = found(splits.get(number).copied().flatten(), close, &wide, measured, &product);
        let (Some(ex_date), Some(latest)) = (date(after.first), date(after.latest_first)) else { continue };
        debug_assert!(before.last < after.first, "runs ascend");
        problems.extend(found.problem.map(|problem| problem(ex_date)));
        if let Cause::Split(_) = found.cause
            && let Some(cash) = causes::also_cash(close, &wide)
        {
            problems.push(Problem::Ambiguous { ex_date, cash });
        }
        product *= found.factor;
        events.push(Event { ex_date, latest, close_before: close, cause: found.cause, factor: wide });
    }
    events.reverse();
    let segment = |(run, factor): (&Run, &Interval)| {
        Some(Segment { from: date(run.first)?, through: date(run.last)?, factor: factor.clone() })
    };
    let segments = runs.iter().zip(&factors).filter_map(segment).collect();
    Derived { method: Method::Ratio, segments, events, problems }
}

fn found(
    split: Option<(i64, i64)>,
    close: Price,
    wide: &Interval,
    measured: &Interval,
    product: &Exact,
) -> Found {
    if let Some((numer, denom)) = split
        && let Some(cause) = causes::split((numer, denom))
    {
        return Found { cause, factor: exact(numer.into(), denom.into()), problem: None };
    }
    let narrow = Interval { low: &measured.low / product, high: &measured.high / product };
    let narrow = narrow.and(wide).unwrap_or(narrow);
    causes::cash_or_bare(close, wide, &narrow)
}

/// Finds the events that are splits. A split is exact, so it narrows the intervals of its two
/// segments.
fn splits(factors: &mut [Interval]) -> Vec<Option<(i64, i64)>> {
    let mut splits: Vec<Option<(i64, i64)>> = vec![None; factors.len().saturating_sub(1)];
    for number in (0..splits.len()).rev() {
        let (Some(before), Some(after)) = (factors.get(number), factors.get(number + 1)) else { continue };
        let Some((numer, denom)) = causes::split_in(&before.over(after)) else { continue };
        let ratio = |(numer, denom): (i64, i64)| exact(numer.into(), denom.into());
        let factor = ratio((numer, denom));
        // Ignore a split that contradicts the later splits.
        let Some(mut joined) = after.and(&before.times(&(one() / &factor))) else { continue };
        if let Some(place) = factors.get_mut(number) {
            *place = joined.times(&factor);
        }
        if let Some(place) = splits.get_mut(number) {
            *place = Some((numer, denom));
        }
        for later in number + 1..factors.len() {
            if let Some(place) = factors.get_mut(later) {
                *place = joined.clone();
            }
            let Some(next) = splits.get(later).copied().flatten() else { break };
            joined = joined.times(&(one() / ratio(next)));
        }
    }
    splits
}
