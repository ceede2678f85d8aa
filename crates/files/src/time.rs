//! Parses the text of time cells, before the format of the whole file is known.

use std::sync::OnceLock;

use jiff::civil::Date;
use market::{Market, Zone};

use crate::time_words::parse_words;

pub(crate) const DAY: i64 = 86_400;

/// A parsed time cell. Resolving it may need the market's time zone (`Wall`, `Date`), the file's
/// date order (`Ordered`) or its unit (`Number`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawTime {
    /// Unix seconds, for a cell with a UTC offset.
    Instant(i64),
    Wall {
        date: Date,
        seconds: i32,
    },
    Date(Date),
    /// A date like `11/5/2019`. Whether the month or the day is first depends on the whole file.
    Ordered {
        first: [u8; 2],
        year: i16,
        seconds: Option<i32>,
        /// Whether it is written with points, as where the day is first: 02.01.2024.
        has_points: bool,
    },
    /// Unix time in an unknown unit, or a date in digits.
    Number(i64),
}

impl std::fmt::Display for RawTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RawTime::Instant(at) => write!(f, "{}", market::Timestamp(*at)),
            RawTime::Date(date) => write!(f, "{date}"),
            RawTime::Number(number) => write!(f, "{number}"),
            RawTime::Ordered { first: [a, b], year, .. } => write!(f, "{a}/{b}/{year}"),
            RawTime::Wall { date, seconds } => {
                write!(f, "{date} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TimeFault {
    #[error("time is empty")]
    Empty,
    #[error("cannot be read as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format")]
    Form,
    #[error("time does not match --time-format")]
    Pattern,
    #[error("time has day and month in the opposite order")]
    Order,
    #[error("time has a fraction of a second")]
    Fraction,
    #[error("time is outside the years 1900 to 2100")]
    Range,
    #[error("no candle of this length ends at this time")]
    End,
}

impl TimeFault {
    /// Describes a cell that is not a time.
    pub(crate) fn of_text(text: &str) -> String {
        let text: String = text.chars().take(40).collect();
        format!(
            "cannot read {text:?} as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format"
        )
    }
}

/// Converts between dates and day numbers. The last conversion is cached, because consecutive rows
/// mostly have the same date.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DayCount {
    date: Date,
    days: i64,
    /// The digits of the last parsed date, and the date.
    read: ([u8; 8], Date),
}

impl DayCount {
    pub(crate) fn new() -> DayCount {
        DayCount { date: EPOCH, days: 0, read: (*b"19700101", EPOCH) }
    }

    /// Returns the number of days since 1970-01-01.
    pub(crate) fn of(&mut self, date: Date) -> i64 {
        if date != self.date {
            let days = EPOCH.until(date).map_or(0, |span| i64::from(span.get_days()));
            (self.date, self.days) = (date, days);
        }
        self.days
    }

    pub(crate) fn date(&mut self, days: i64) -> Result<Date, TimeFault> {
        if days != self.days {
            let span = jiff::Span::new().try_days(days).map_err(|_| TimeFault::Range)?;
            (self.date, self.days) = (EPOCH.checked_add(span).map_err(|_| TimeFault::Range)?, days);
        }
        Ok(self.date)
    }

    fn of_digits(&mut self, digits: [u8; 8]) -> Result<Date, TimeFault> {
        if digits != self.read.0 {
            let number = integer(&digits).filter(|n| *n >= 0).ok_or(TimeFault::Form)?;
            self.read = (digits, date_of_number(number)?);
        }
        Ok(self.read.1)
    }
}

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// Parses a time cell.
pub(crate) fn parse_time(text: &[u8], days: &mut DayCount) -> Result<RawTime, TimeFault> {
    if let [y1, y2, y3, y4, b'-' | b'/' | b'.', m1, m2, b'-' | b'/' | b'.', d1, d2, rest @ ..] = text {
        let date = days.of_digits([*y1, *y2, *y3, *y4, *m1, *m2, *d1, *d2])?;
        return after_date(date, rest, days);
    }
    if text.is_empty() {
        return Err(TimeFault::Empty);
    }
    if let Some(number) = integer(text) {
        return Ok(RawTime::Number(number));
    }
    if let [y1, y2, y3, y4, m1, m2, d1, d2, rest @ ..] = text
        && let [b' ' | b'T' | b't', ..] = rest
        && text.iter().take(8).all(u8::is_ascii_digit)
    {
        let date = days.of_digits([*y1, *y2, *y3, *y4, *m1, *m2, *d1, *d2])?;
        return after_date(date, rest, days);
    }
    loose_date(text, days).or_else(|fault| match fault {
        TimeFault::Form => parse_words(text, days),
        fault => Err(fault),
    })
}

/// Parses a date cell and a time-of-day cell.
pub(crate) fn parse_date_and_time(
    date: &[u8],
    clock: &[u8],
    days: &mut DayCount,
) -> Result<RawTime, TimeFault> {
    let date = match parse_time(date, days)? {
        RawTime::Date(date) => date,
        RawTime::Number(number) => date_of_number(number)?,
        RawTime::Ordered { first, year, seconds: None, has_points } if !clock.is_empty() => {
            return Ok(RawTime::Ordered { first, year, seconds: Some(clock_of(clock)?), has_points });
        }
        whole => return Ok(whole),
    };
    if clock.is_empty() {
        return Ok(RawTime::Date(date));
    }
    Ok(RawTime::Wall { date, seconds: clock_of(clock)? })
}

/// Parses a time of day to seconds after midnight.
fn clock_of(clock: &[u8]) -> Result<i32, TimeFault> {
    Ok(match integer(clock) {
        // If the column was written as a number, leading zeros are missing: 93100 is 09:31:00.
        Some(number) if clock.len() > 4 => clock_of_number(number)?,
        Some(number) => clock_of_number(number * 100)?,
        None => match parse_half_day(parse_clock(clock)?)? {
            (seconds, []) => seconds,
            _ => return Err(TimeFault::Form),
        },
    })
}

/// Parses a date from a number in the form `YYYYMMDD`.
pub(crate) fn date_of_number(number: i64) -> Result<Date, TimeFault> {
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    let year = i16::try_from(year).map_err(|_| TimeFault::Form)?;
    if !(1900..=2100).contains(&year) {
        return Err(TimeFault::Range);
    }
    Date::new(year, month as i8, day as i8).map_err(|_| TimeFault::Form)
}

/// Parses a time of day from a number in the form `HHMMSS`, to seconds after midnight.
pub(crate) fn clock_of_number(number: i64) -> Result<i32, TimeFault> {
    let (hour, minute, second) = (number / 10_000, number / 100 % 100, number % 100);
    if !(0..24).contains(&hour) || minute > 59 || second > 59 {
        return Err(TimeFault::Form);
    }
    i32::try_from(hour * 3600 + minute * 60 + second).map_err(|_| TimeFault::Form)
}

/// Parses the text after a date: nothing, or a time of day with an optional UTC offset.
pub(crate) fn after_date(date: Date, rest: &[u8], days: &mut DayCount) -> Result<RawTime, TimeFault> {
    let clock = match rest {
        [] => return Ok(RawTime::Date(date)),
        // Interactive Brokers writes two spaces between date and time.
        [b' ' | b'T' | b't', clock @ ..] => clock.trim_ascii_start(),
        _ => return Err(TimeFault::Form),
    };
    let (seconds, zone) = parse_half_day(parse_clock(clock)?)?;
    if let Some(zone) = market_zone(zone) {
        return Ok(RawTime::Instant(zone.instant(date, i64::from(seconds)).0));
    }
    match parse_offset(zone)? {
        None => Ok(RawTime::Wall { date, seconds }),
        Some(offset) => Ok(RawTime::Instant(days.of(date) * DAY + i64::from(seconds) - offset)),
    }
}

/// Returns the time zone of a market by its name, as in `20260313  09:30:00 US/Eastern`.
fn market_zone(text: &[u8]) -> Option<&'static Zone> {
    static ZONES: OnceLock<[Zone; 3]> = OnceLock::new();
    let name = text.strip_prefix(b" ").filter(|name| name.first().is_some_and(u8::is_ascii_alphabetic))?;
    let [us, hk, cn] = ZONES.get_or_init(|| [Market::Us, Market::Hk, Market::Cn].map(Zone::of));
    match name {
        b"US/Eastern" | b"America/New_York" => Some(us),
        b"Hongkong" | b"Asia/Hong_Kong" => Some(hk),
        b"PRC" | b"Asia/Shanghai" => Some(cn),
        _ => None,
    }
}

/// Parses `HH:MM[:SS[.fff]]` or `HHMM[SS]` to seconds after midnight, and returns the remaining
/// text.
fn parse_clock(text: &[u8]) -> Result<(i32, &[u8]), TimeFault> {
    let (hour, minute, second, rest) = match text {
        [h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] => {
            (two(*h1, *h2)?, two(*m1, *m2)?, two(*s1, *s2)?, rest)
        }
        [h1, h2, b':', m1, m2, rest @ ..] => (two(*h1, *h2)?, two(*m1, *m2)?, 0, rest),
        [h1, b':', rest @ ..] => {
            // Spreadsheets write 9:31 instead of 09:31.
            let mut padded = vec![b'0', *h1, b':'];
            padded.extend_from_slice(rest);
            let (seconds, left) = parse_clock(&padded)?;
            return Ok((seconds, text.get(text.len() - left.len()..).unwrap_or_default()));
        }
        [h1, h2, m1, m2, s1, s2, rest @ ..] => (two(*h1, *h2)?, two(*m1, *m2)?, two(*s1, *s2)?, rest),
        [h1, h2, m1, m2] => (two(*h1, *h2)?, two(*m1, *m2)?, 0, &[][..]),
        _ => return Err(TimeFault::Form),
    };
    if hour > 23 || minute > 59 || second > 59 {
        return Err(TimeFault::Form);
    }
    let rest = match rest {
        [b'.' | b',', fraction @ ..] => {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            let (fraction, rest) = fraction.split_at_checked(digits).unwrap_or((fraction, &[]));
            if fraction.is_empty() {
                return Err(TimeFault::Form);
            }
            if fraction.iter().any(|b| *b != b'0') {
                return Err(TimeFault::Fraction);
            }
            rest
        }
        _ => rest,
    };
    Ok((hour * 3600 + minute * 60 + second, rest))
}

/// Applies an AM or PM suffix, as in `9:30 AM`, to a parsed time of day.
fn parse_half_day((seconds, rest): (i32, &[u8])) -> Result<(i32, &[u8]), TimeFault> {
    const HALF_DAY: i32 = 12 * 3600;
    let (afternoon, rest) = match rest.trim_ascii_start() {
        [b'a' | b'A', b'm' | b'M', rest @ ..] => (false, rest),
        [b'p' | b'P', b'm' | b'M', rest @ ..] => (true, rest),
        _ => return Ok((seconds, rest)),
    };
    if !(3600..3600 * 13).contains(&seconds) {
        return Err(TimeFault::Form);
    }
    // 12 AM is midnight and 12 PM is noon.
    Ok((seconds % HALF_DAY + if afternoon { HALF_DAY } else { 0 }, rest))
}

/// Parses a UTC offset to seconds east of UTC. Returns `None` if there is no offset.
fn parse_offset(text: &[u8]) -> Result<Option<i64>, TimeFault> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let (sign, digits) = match text {
        [] => return Ok(None),
        b"Z" | b"z" | b"UTC" | b"GMT" => return Ok(Some(0)),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return Err(TimeFault::Form),
    };
    let (hours, minutes) = match digits {
        [h1, h2] => (two(*h1, *h2)?, 0),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => (two(*h1, *h2)?, two(*m1, *m2)?),
        _ => return Err(TimeFault::Form),
    };
    if hours > 18 || minutes > 59 {
        return Err(TimeFault::Form);
    }
    Ok(Some(sign * i64::from(hours * 3600 + minutes * 60)))
}

/// Parses dates without leading zeros, as written by spreadsheets: `2024/1/2`, `2024-1-2 9:31`.
fn loose_date(text: &[u8], days: &mut DayCount) -> Result<RawTime, TimeFault> {
    let at = text.iter().position(|b| matches!(b, b' ' | b'T')).unwrap_or(text.len());
    let (date, rest) = text.split_at_checked(at).ok_or(TimeFault::Form)?;
    let mut parts = date.split(|b| matches!(b, b'-' | b'/'));
    let mut part = |width: std::ops::RangeInclusive<usize>| {
        let part = parts.next().filter(|p| width.contains(&p.len())).ok_or(TimeFault::Form)?;
        integer(part).ok_or(TimeFault::Form)
    };
    let (year, month, day) = (part(4..=4)?, part(1..=2)?, part(1..=2)?);
    if parts.next().is_some() {
        return Err(TimeFault::Form);
    }
    after_date(date_of_number(year * 10_000 + month * 100 + day)?, rest, days)
}

fn two(tens: u8, ones: u8) -> Result<i32, TimeFault> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    if tens > 9 || ones > 9 {
        return Err(TimeFault::Form);
    }
    Ok(i32::from(tens) * 10 + i32::from(ones))
}

/// Parses an integer of up to 19 digits. A trailing `.0` is accepted, because pandas writes integer
/// columns with gaps as floats.
fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let digits = digits.strip_suffix(b".0").unwrap_or(digits);
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let value = digits.iter().try_fold(0i64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(i64::from(digit))
    })?;
    Some(if negative { -value } else { value })
}
