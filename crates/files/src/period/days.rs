//! Steps between dates.

use std::collections::HashMap;

use market::{Calendar, Date, DateSpan, Period, Span, Venue};

use super::weigh::{Candidate, Step};
use crate::time::{DAY, DayCount};

/// Four rows that are weeks apart, or three that are months apart, are not days by chance.
const ODDS: f64 = 140.0;

/// Four consecutive trading days are not strays among weeks.
const JOINED_MIN: usize = 3;

/// The chance that a candle of a thinly traded day is in the very next span, at the usual place.
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

/// Whether a date is a Saturday or Sunday, when no market trades. Looking up holidays for each row
/// would cost more than reading it.
pub(super) fn is_weekend(local: i64) -> bool {
    weekday(local.div_euclid(DAY)) >= 5
}

/// Days since Monday of a day since 1970-01-01, a Thursday.
fn weekday(day: i64) -> i64 {
    (day + 3).rem_euclid(7)
}

pub(super) fn steps(stamps: &[i64], venue: &Venue) -> Vec<Step> {
    let calendar = venue.calendar();
    let mut days = DayCount::new();
    let mut steps = Vec::with_capacity(stamps.len());
    // The pairs that are not clearly of days, and their indexes among the steps.
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

/// Two days of one week, neighbours, or a Friday and its Monday: true of nearly every step in a
/// file of days.
fn is_plainly_shortest(a: i64, b: i64) -> bool {
    let week = |day: i64| (day + 3).div_euclid(7);
    week(a) == week(b) || b - a == 1 || b - a <= 3 && weekday(a) == 4
}

/// Whether there are only closed days between them.
fn is_shortest(a: Date, b: Date, calendar: &Calendar) -> bool {
    let last_open = b.yesterday().ok().and_then(|before| calendar.on_or_before(before));
    last_open.is_some_and(|open| open <= a)
}

/// The distance of two dates in spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    /// In one span.
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

/// The first day of the next span, given the first day of one.
fn next(span: Span, floor: Date) -> Option<Date> {
    // As long as the longest span, which reaches into the next one and not beyond it.
    let longest = i64::try_from(span.days_max()).ok()?;
    floor.checked_add(DateSpan::new().days(longest)).ok().map(|day| span.floor(day))
}

/// Where in its span a candle is stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    FirstTradingDay,
    LastTradingDay,
    LastDay,
    /// This many days after the first: a weekday, a day of the month.
    Day(i32),
}

fn is_at(place: Place, day: Date, span: Span, calendar: &Calendar) -> bool {
    match place {
        Place::Day(days) => days_between(span.floor(day), day) == days,
        Place::LastDay => last_day(span, day) == Some(day),
        // No trading day before it, or after it, in its span; it may be closed itself, as a first
        // of January is.
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

/// The most common place of the candles.
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
