//! Events of a server that subtracts dividends: adjusted = A · actual + B. Only splits change A,
//! and only dividends change B.

use market::Price;

use super::causes::{self, Found};
use super::derived::{DayPair, Derived, Event, Method, Problem, Segment};
use super::interval::{Exact, Interval, exact, one, zero};
use super::segments::ROUNDING;

/// Number of days to look ahead when deciding between a split and a dividend.
const AHEAD: usize = 10;

/// A line adjusted = A · actual + B that fits the days `first..=last`. It is extended backward from
/// its newest day.
#[derive(Clone, Debug)]
struct Line {
    a: Exact,
    b: Interval,
    first: usize,
    last: usize,
}

fn units(price: Price) -> Exact {
    exact(i128::from(price.0), i128::from(market::PRICE_UNIT))
}

/// Returns the range of B with which a line fits the four prices of a day.
fn offsets(day: &DayPair, a: &Exact) -> Option<Interval> {
    let rounding = exact(ROUNDING, i128::from(market::PRICE_UNIT));
    let mut prices = day.actual.iter().zip(&day.adjusted).map(|(actual, adjusted)| {
        let middle = units(*adjusted) - a * units(*actual);
        Interval { low: &middle - &rounding, high: middle + &rounding }
    });
    let first = prices.next()?;
    prices.try_fold(first, |joined, next| joined.and(&next))
}

/// Returns how many consecutive days a line fits, counted backward from `at`.
fn length(days: &[DayPair], at: usize, a: &Exact, b: Option<&Interval>) -> usize {
    let mut joined = b.cloned();
    let older = days.get(..=at).unwrap_or_default().iter().rev().take(AHEAD);
    for (count, day) in older.enumerate() {
        let Some(here) = offsets(day, a) else { return count };
        match joined.map_or(Some(here.clone()), |joined| joined.and(&here)) {
            Some(next) => joined = Some(next),
            None => return count,
        }
    }
    AHEAD.min(at + 1)
}

/// Returns the split with which a line with the same B fits a day, or `None` if no fraction does.
fn split_at(day: &DayPair, a: &Exact, b: &Interval) -> Option<(i64, i64)> {
    let rounding = exact(ROUNDING, i128::from(market::PRICE_UNIT));
    let mut slopes =
        day.actual.iter().zip(&day.adjusted).filter(|(actual, _)| actual.0 > 0).map(|(actual, adjusted)| {
            let (actual, adjusted) = (units(*actual), units(*adjusted));
            Interval {
                low: (&adjusted - &rounding - &b.high) / &actual,
                high: (adjusted + &rounding - &b.low) / actual,
            }
        });
    let first = slopes.next()?;
    let slope = slopes.try_fold(first, |joined, next| joined.and(&next))?;
    (slope.low > zero()).then(|| causes::split_in(&slope.times(&(one() / a))))?
}

/// Returns the split that explains the differences of high and low, in which B cancels out, on the
/// days from `at` backward. Returns `None` if no fraction does.
fn slope_at(days: &[DayPair], at: usize, a: &Exact) -> Option<(i64, i64)> {
    let rounding = exact(2 * ROUNDING, i128::from(market::PRICE_UNIT));
    let mut slope: Option<Interval> = None;
    for day in days.get(..=at)?.iter().rev().take(AHEAD) {
        let ([_, high, low, _], [_, adjusted_high, adjusted_low, _]) = (day.actual, day.adjusted);
        if high <= low {
            continue;
        }
        let (actual, adjusted) = (units(high) - units(low), units(adjusted_high) - units(adjusted_low));
        let here = Interval { low: (&adjusted - &rounding) / &actual, high: (adjusted + &rounding) / actual };
        slope = match slope {
            None => Some(here),
            Some(slope) => Some(slope.and(&here)?),
        };
    }
    slope.filter(|slope| slope.low > zero()).and_then(|slope| causes::split_in(&slope.times(&(one() / a))))
}

/// Returns the lines, newest first, and the days that fit no line.
fn lines(days: &[DayPair]) -> (Vec<Line>, Vec<usize>) {
    let (mut lines, mut inconsistent): (Vec<Line>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut line =
        Line { a: one(), b: Interval::point(zero()), first: days.len(), last: days.len().saturating_sub(1) };
    for (index, day) in days.iter().enumerate().rev() {
        let here = offsets(day, &line.a);
        if let Some(joined) = here.as_ref().and_then(|here| line.b.and(here)) {
            line = Line { b: joined, first: index, ..line };
            continue;
        }
        let split = |(numer, denom): (i64, i64)| &line.a * exact(numer.into(), denom.into());
        let by_split = split_at(day, &line.a, &line.b).map(split);
        let split_days = by_split.as_ref().map_or(0, |a| length(days, index, a, Some(&line.b)));
        let cash_days = length(days, index, &line.a, None);
        let next = if split_days > 0 && split_days >= cash_days {
            by_split
                .and_then(|a| Some(Line { b: offsets(day, &a)?.and(&line.b)?, a, first: index, last: index }))
        } else if cash_days > 0 {
            here.map(|b| Line { a: line.a.clone(), b, first: index, last: index })
        } else {
            let a = slope_at(days, index, &line.a).map(split).filter(|a| length(days, index, a, None) > 1);
            a.and_then(|a| Some(Line { b: offsets(day, &a)?, a, first: index, last: index }))
        };
        match next {
            Some(next) => lines.push(std::mem::replace(&mut line, next)),
            None => inconsistent.push(index),
        }
    }
    lines.push(line);
    (lines, inconsistent)
}

pub(super) fn derive(days: &[DayPair]) -> Derived {
    let (lines, inconsistent) = lines(days);
    let date = |index: usize| days.get(index).map(|day| day.date);
    let mut problems: Vec<Problem> =
        inconsistent.into_iter().rev().filter_map(date).map(Problem::Inconsistent).collect();
    let mut offset = zero();
    let (mut events, mut segments) = (Vec::new(), Vec::new());
    for pair in lines.windows(2) {
        let [after, before] = pair else { continue };
        let Some(ex_date) = date(after.first) else { continue };
        let close = days.get(after.first.saturating_sub(1)).map_or(Price(0), |day| day.actual[3]);
        let price = units(close);
        // Factor of the event: both lines give the last close before it the same adjusted price.
        let level = |b: &Exact, later: &Exact| (&before.a * &price + b - later) / (&after.a * &price);
        let wide =
            Interval { low: level(&before.b.low, &after.b.high), high: level(&before.b.high, &after.b.low) };
        let found = found(after, before, &price, &offset, &wide);
        problems.extend(found.problem.map(|problem| problem(ex_date)));
        // B of the older line that follows exactly from the found factor.
        offset = &after.a * &found.factor * &price + &offset - &before.a * &price;
        events.push(Event {
            ex_date,
            latest: ex_date,
            close_before: close,
            cause: found.cause,
            factor: wide,
        });
    }
    for line in lines.iter().rev() {
        if let (Some(from), Some(through)) = (date(line.first), date(line.last)) {
            segments.push(Segment { from, through, factor: Interval::point(line.a.clone()) });
        }
    }
    events.reverse();
    Derived { method: Method::Subtract, segments, events, problems }
}

/// Finds the cause of the event between two lines. `offset` is the B of the later events.
fn found(after: &Line, before: &Line, price: &Exact, offset: &Exact, wide: &Interval) -> Found {
    if before.a == after.a {
        let cash = |b: &Interval, later: &Interval| Interval {
            low: (&later.low - &b.high) / &after.a,
            high: (&later.high - &b.low) / &after.a,
        };
        let wide = cash(&before.b, &after.b);
        let narrow = cash(&before.b, &Interval::point(offset.clone()));
        if let Some((amount, digits)) = causes::cash_in(&wide, &narrow)
            && let Some(cause) = causes::cash_cause(&amount, digits, &wide)
        {
            return Found { cause, factor: one() - amount / price, problem: None };
        }
        return causes::bare(exact_factor(after, before, price, offset), None);
    }
    let factor = &before.a / &after.a;
    let split = i64::try_from(factor.numer()).ok().zip(i64::try_from(factor.denom()).ok());
    match split.and_then(causes::split) {
        Some(cause) if before.b.contains(offset) => Found { cause, factor, problem: None },
        _ => {
            let middle =
                if wide.low > zero() { wide.middle() } else { exact_factor(after, before, price, offset) };
            causes::bare(middle, Some(Problem::Unexplained))
        }
    }
}

fn exact_factor(after: &Line, before: &Line, price: &Exact, offset: &Exact) -> Exact {
    (&before.a * price + before.b.middle() - offset) / (&after.a * price)
}
