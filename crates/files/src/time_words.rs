//! Parses times written by people and spreadsheets, such as `11/5/2019 9:30`, `Jan 1 2000` or
//! `1-Jan-2000 4:00 PM`, and times in a user-defined format.

use jiff::civil::Date;
use jiff::fmt::strtime;

use crate::options::{ParseOptionError, short};
use crate::time::{
    DAY, DayCount, RawTime, TimeFault, after_date, date_of_number, parse_date_and_time, parse_time,
};

/// Whether the month or the day is first in dates like `11/5/2019`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    MonthFirst,
    DayFirst,
}

/// The user's time format for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeFormat {
    /// The order of month and day: `mdy` or `dmy`.
    Order(DateOrder),
    /// A `strptime` pattern such as `%d.%m.%Y %H:%M`.
    Pattern(String),
}

impl std::str::FromStr for TimeFormat {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<TimeFormat, ParseOptionError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "mdy" => return Ok(TimeFormat::Order(DateOrder::MonthFirst)),
            "dmy" => return Ok(TimeFormat::Order(DateOrder::DayFirst)),
            _ => {}
        }
        // A pattern is invalid if a formatted time cannot be parsed back. This check reports the
        // error before any file is opened.
        let some_time = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
        let written = strtime::format(text, &some_time).ok();
        let is_read_back = |written: String| strtime::parse(text, &written).ok()?.to_date().ok();
        if text.contains('%') && written.and_then(is_read_back).is_some() {
            return Ok(TimeFormat::Pattern(text.to_owned()));
        }
        Err(ParseOptionError::TimeFormat(short(text)))
    }
}

impl std::fmt::Display for TimeFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TimeFormat::Order(DateOrder::MonthFirst) => "mdy",
            TimeFormat::Order(DateOrder::DayFirst) => "dmy",
            TimeFormat::Pattern(pattern) => pattern,
        })
    }
}

/// Parses a file's time cells.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub days: DayCount,
    /// Whether to drop fractions of a second. Trades may have them, but are stored with a precision
    /// of one second.
    pub whole_seconds: bool,
    pattern: Option<String>,
    buffer: Vec<u8>,
}

impl Times {
    pub(crate) fn new(format: Option<&TimeFormat>) -> Times {
        let pattern = match format {
            Some(TimeFormat::Pattern(pattern)) => Some(pattern.clone()),
            _ => None,
        };
        Times { days: DayCount::new(), whole_seconds: false, pattern, buffer: Vec::new() }
    }

    #[inline]
    pub(crate) fn one(&mut self, cell: &[u8]) -> Result<RawTime, TimeFault> {
        let cell = if self.whole_seconds { without_fraction(cell, &mut self.buffer) } else { cell };
        match &self.pattern {
            None => parse_time(cell, &mut self.days),
            Some(_) if cell.is_empty() => Err(TimeFault::Empty),
            Some(pattern) => by_pattern(pattern, cell, &mut self.days),
        }
    }

    /// Parses a date and a time of day from two columns. A pattern covers both, separated by a
    /// space, or only the date.
    pub(crate) fn two(&mut self, date: &[u8], clock: &[u8]) -> Result<RawTime, TimeFault> {
        let clock = if self.whole_seconds { without_fraction(clock, &mut self.buffer) } else { clock };
        let Some(pattern) = &self.pattern else { return parse_date_and_time(date, clock, &mut self.days) };
        match by_pattern(pattern, date, &mut self.days) {
            Ok(RawTime::Date(date)) => {
                let digits = format!("{:04}{:02}{:02}", date.year(), date.month(), date.day());
                parse_date_and_time(digits.as_bytes(), clock, &mut self.days)
            }
            _ => by_pattern(pattern, &[date, b" ", clock].concat(), &mut self.days),
        }
    }
}

/// Removes the fraction of a second: the digits after a point that follows a colon, or after the
/// only point.
fn without_fraction<'a>(cell: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let points = || cell.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
    let point = match cell.iter().position(|byte| *byte == b':') {
        Some(colon) => points().find(|at| *at > colon),
        None if points().count() == 1 => points().next(),
        None => None,
    };
    let Some((whole, fraction)) = point.and_then(|at| cell.split_at_checked(at)) else { return cell };
    let digits = fraction.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    buffer.clear();
    buffer.extend_from_slice(whole);
    buffer.extend(fraction.iter().skip(1 + digits));
    buffer
}

fn by_pattern(pattern: &str, cell: &[u8], days: &mut DayCount) -> Result<RawTime, TimeFault> {
    let parsed = strtime::parse(pattern, cell).map_err(|_| TimeFault::Pattern)?;
    let date = parsed.to_date().map_err(|_| TimeFault::Pattern)?;
    if !(1900..=2100).contains(&date.year()) {
        return Err(TimeFault::Range);
    }
    if parsed.hour().is_none() {
        return Ok(RawTime::Date(date));
    }
    let time = parsed.to_time().map_err(|_| TimeFault::Pattern)?;
    if time.subsec_nanosecond() != 0 {
        return Err(TimeFault::Fraction);
    }
    let seconds = i32::from(time.hour()) * 3600 + i32::from(time.minute()) * 60 + i32::from(time.second());
    Ok(match parsed.offset() {
        None => RawTime::Wall { date, seconds },
        Some(offset) => {
            RawTime::Instant(days.of(date) * DAY + i64::from(seconds) - i64::from(offset.seconds()))
        }
    })
}

/// Returns the date of `11/5/2019` in a known order.
pub(crate) fn in_order(
    [first, second]: [u8; 2],
    year: i16,
    order: Option<DateOrder>,
) -> Result<Date, TimeFault> {
    let (month, day) = match order.ok_or(TimeFault::Order)? {
        DateOrder::MonthFirst => (first, second),
        DateOrder::DayFirst => (second, first),
    };
    let number = i64::from(year) * 10_000 + i64::from(month) * 100 + i64::from(day);
    date_of_number(number).map_err(|_| TimeFault::Order)
}

/// Parses a time that is not a number and does not begin with a year.
pub(crate) fn parse_words(text: &[u8], days: &mut DayCount) -> Result<RawTime, TimeFault> {
    let text = std::str::from_utf8(text).map_err(|_| TimeFault::Form)?;
    let (parts, rest) = date_parts(text).ok_or(TimeFault::Form)?;
    match parts {
        // One of the two numbers must be a month.
        [Part::Number(a), Part::Number(b), Part::Year(year)]
            if (1..=12).contains(&a.min(b)) && a.max(b) <= 31 =>
        {
            let of_day = match after_date(Date::new(year, 1, 1).map_err(|_| TimeFault::Form)?, rest, days)? {
                RawTime::Date(_) => None,
                RawTime::Wall { seconds, .. } => Some(seconds),
                // Converting a time with an offset requires the date, whose order is not known yet.
                // No vendor writes such times.
                RawTime::Instant(_) | RawTime::Number(_) | RawTime::Ordered { .. } => {
                    return Err(TimeFault::Form);
                }
            };
            let has_points = text.split(' ').next().is_some_and(|date| date.contains('.'));
            Ok(RawTime::Ordered { first: [a, b], year, seconds: of_day, has_points })
        }
        [Part::Month(month), Part::Number(day), Part::Year(year)]
        | [Part::Number(day), Part::Month(month), Part::Year(year)]
        | [Part::Year(year), Part::Month(month), Part::Number(day)] => {
            let number = i64::from(year) * 10_000 + i64::from(month) * 100 + i64::from(day);
            after_date(date_of_number(number)?, rest, days)
        }
        _ => Err(TimeFault::Form),
    }
}

#[derive(Clone, Copy, Debug)]
enum Part {
    /// One or two digits.
    Number(u8),
    Year(i16),
    Month(u8),
}

/// Splits a date into its three parts, skipping a leading weekday. Also returns the remaining text,
/// beginning with its space.
fn date_parts(text: &str) -> Option<([Part; 3], &[u8])> {
    let is_between = |c: char| matches!(c, ' ' | ',' | '-' | '/' | '.');
    let mut left = text;
    let mut parts = Vec::with_capacity(3);
    let mut may_be_weekday = true;
    while parts.len() < 3 {
        left = left.trim_start_matches(is_between);
        let end = left.find(|c: char| is_between(c) || c == 'T' && !parts.is_empty()).unwrap_or(left.len());
        let (word, behind) = left.split_at_checked(end)?;
        left = behind;
        if std::mem::take(&mut may_be_weekday) && is_weekday(word) {
            continue;
        }
        parts.push(part(word)?);
    }
    let rest = left.strip_prefix(',').unwrap_or(left);
    Some((parts.try_into().ok()?, rest.as_bytes()))
}

fn part(word: &str) -> Option<Part> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    match word.len() {
        1 | 2 if digits => word.parse().ok().map(Part::Number),
        4 if digits => word.parse().ok().map(Part::Year),
        _ => named(word, &MONTHS).and_then(|month| u8::try_from(month + 1).ok()).map(Part::Month),
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn is_weekday(word: &str) -> bool {
    named(word, &WEEKDAYS).is_some()
}

/// Returns the index of a name that is given in full or as its first three or four letters, or
/// `None` if the name is unknown.
fn named(word: &str, names: &[&str]) -> Option<usize> {
    let lower = word.to_ascii_lowercase();
    let is_short = (3..=4).contains(&lower.len());
    names.iter().position(|name| *name == lower || is_short && name.starts_with(lower.as_str()))
}
