//! Classifies the intervals ("steps") between consecutive dates of a symbol.

use std::collections::HashMap;

use market::{Calendar, Date, DateSpan, Period, Span, Venue};

use super::weigh::{Candidate, Step};
use crate::time::{DAY, DayCount};

/// Minimum likelihood ratio to accept a period longer than a day. Reached by four rows that are
/// weeks apart, or three rows that are months apart.
const ODDS: f64 = 140.0;

/// Minimum run of one-day steps that shows that a daily file was joined to a file of a longer
/// period: four consecutive trading days are not stray rows among weekly candles.
const JOINED_MIN: usize = 3;

/// Periods longer than a day. The number is the probability that a row of a thinly traded daily
/// file is in the span after the previous row's, and at the usual position within that span, by
/// chance.
pub(super) const CANDIDATES: [Candidate; 4] = [
    candidate(Span::Week, 0.1),
    candidate(Span::Month, 0.05),
    candidate(Span::Quarter, 0.02),
    candidate(Span::Year, 0.01),
];

const SPANS: [Span; 4] = [Span::Week, Span::Month, Span::Quarter, Span::Year];

const fn candidate(span: Span, chance: f64) -> Candidate {
    let period = Period::Calendar(span);
    Candidate { period, chance, chance_of_one: chance, odds: ODDS, steps_min: 2, joined_min: JOINED_MIN }
}

pub(super) fn date(local: i64) -> Option<Date> {
    DayCount::new().date(local.div_euclid(DAY)).ok()
}

/// Returns whether a date is a Saturday or Sunday, when no market trades. Looking up holidays for
/// each row would cost more than parsing it.
pub(super) fn is_weekend(local: i64) -> bool {
    weekday(local.div_euclid(DAY)) >= 5
}

/// Returns the weekday (0 for Monday) of a day number. Day 0, 1970-01-01, was a Thursday.
fn weekday(day: i64) -> i64 {
    (day + 3).rem_euclid(7)
}

pub(super) fn steps(stamps: &[i64], venue: &Venue) -> Vec<Step> {
    let calendar = venue.calendar();
    let mut days = DayCount::new();
    let mut steps = Vec::with_capacity(stamps.len());
    // Pairs that are not clearly one trading day apart, with their indexes in `steps`.
    let mut pairs: Vec<(usize, Date, Date)> = Vec::new();
    for pair in stamps.windows(2) {
        let &[a, b] = pair else { continue };
        let (a, b) = (a.div_euclid(DAY), b.div_euclid(DAY));
        let mut shortest = is_plainly_shortest(a, b);
        if !shortest && let (Ok(a), Ok(b)) = (days.date(a), days.date(b)) {
            shortest = is_shortest(a, b, calendar);
            if !shortest {
                pairs.push((steps.len(), a, b));
            }
        }
        steps.push(Step { shortest, ..Step::default() });
    }
    for (bit, span) in SPANS.into_iter().enumerate() {
        let mask = 1u16 << bit;
        let next = pairs.iter().filter(|(_, a, b)| Apart::of(*a, *b, span) == Apart::Next);
        let place = usual_place(next.map(|(_, _, day)| *day), span, calendar);
        for (at, a, b) in &pairs {
            let Some(step) = steps.get_mut(*at) else { continue };
            let is_at = |day: Date| place.is_some_and(|place| is_at(place, day, span, calendar));
            match Apart::of(*a, *b, span) {
                Apart::Next if is_at(*a) && is_at(*b) => step.one |= mask,
                Apart::Further => step.silent |= mask,
                Apart::Next | Apart::Nearer => {}
            }
        }
    }
    steps
}

/// Returns whether two days are in one week, adjacent, or a Friday and the next Monday. True for
/// nearly every step in a daily file, and cheaper than [`is_shortest`].
fn is_plainly_shortest(a: i64, b: i64) -> bool {
    let week = |day: i64| (day + 3).div_euclid(7);
    week(a) == week(b) || b - a == 1 || b - a <= 3 && weekday(a) == 4
}

/// Returns whether there are no trading days between two dates.
fn is_shortest(a: Date, b: Date, calendar: &Calendar) -> bool {
    let last_open = b.yesterday().ok().and_then(|before| calendar.on_or_before(before));
    last_open.is_some_and(|open| open <= a)
}

/// Whether two dates are in the same span (week, month, quarter or year), in consecutive spans, or
/// further apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    /// In the same span.
    Nearer,
    Next,
    Further,
}

impl Apart {
    fn of(a: Date, b: Date, span: Span) -> Apart {
        let (from, to) = (span.floor(a), span.floor(b));
        match () {
            () if from == to => Apart::Nearer,
            () if next(span, from) == Some(to) => Apart::Next,
            () => Apart::Further,
        }
    }
}

/// Returns the first day of the next span, given the first day of a span.
fn next(span: Span, floor: Date) -> Option<Date> {
    // The maximum span length always reaches into the next span and never past it.
    let longest = i64::try_from(span.days_max()).ok()?;
    floor.checked_add(DateSpan::new().days(longest)).ok().map(|day| span.floor(day))
}

/// The position of a candle's date within its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    FirstTradingDay,
    LastTradingDay,
    LastDay,
    /// Number of days after the span's first day, which gives a weekday or a day of the month.
    Day(i32),
}

fn is_at(place: Place, day: Date, span: Span, calendar: &Calendar) -> bool {
    match place {
        Place::Day(days) => days_between(span.floor(day), day) == days,
        Place::LastDay => last_day(span, day) == Some(day),
        // The first (or last) trading day has no trading day before (or after) it in the span. The
        // date itself may be closed, such as January 1.
        Place::FirstTradingDay => {
            let before = day.yesterday().ok().and_then(|before| calendar.on_or_before(before));
            before.is_none_or(|before| span.floor(before) != span.floor(day))
        }
        Place::LastTradingDay => {
            let last = last_day(span, day).and_then(|last| calendar.on_or_before(last));
            last.is_some_and(|last| last <= day)
        }
    }
}

fn last_day(span: Span, day: Date) -> Option<Date> {
    next(span, span.floor(day)).and_then(|next| next.yesterday().ok())
}

fn days_between(from: Date, to: Date) -> i32 {
    from.until(to).map_or(0, |between| between.get_days())
}

/// Returns the most common position of `days` within their spans, or `None` if `days` is empty.
fn usual_place(days: impl Iterator<Item = Date>, span: Span, calendar: &Calendar) -> Option<Place> {
    let mut counts: HashMap<Place, usize> = HashMap::new();
    for day in days {
        *counts.entry(Place::Day(days_between(span.floor(day), day))).or_default() += 1;
        for place in [Place::FirstTradingDay, Place::LastTradingDay, Place::LastDay] {
            *counts.entry(place).or_default() += usize::from(is_at(place, day, span, calendar));
        }
    }
    let rank = |place: &Place| match place {
        Place::FirstTradingDay => 3,
        Place::LastTradingDay => 2,
        Place::LastDay => 1,
        Place::Day(days) => -days,
    };
    counts.into_iter().max_by_key(|(place, count)| (*count, rank(place))).map(|(place, _)| place)
}
