use std::fmt;

use jiff::civil::{self, Date};
use jiff::tz::TimeZone;

use crate::Market;

/// An instant, in Unix seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl fmt::Display for Timestamp {
    /// Formats the instant as RFC 3339 in UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(at) => f.pad(&at.to_string()),
            Err(_) => write!(f, "@{}", self.0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseTimeError {
    #[error("{0:?} is not a date: write YYYYMMDD or YYYY-MM-DD")]
    Date(String),
    #[error("{0:?} is not a time of day: write HHMM or HH:MM")]
    TimeOfDay(String),
}

/// Parses exactly eight ASCII digits that form a valid date.
pub fn parse_date(text: &str) -> Result<Date, ParseTimeError> {
    let wrong = || ParseTimeError::Date(text.chars().take(40).collect());
    if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: i32 = text.parse().map_err(|_| wrong())?;
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    Date::new(year as i16, month as i8, day as i8).map_err(|_| wrong())
}

/// Parses `HHMM` or `HH:MM` into minutes after midnight.
pub fn parse_time_of_day(text: &str) -> Result<i32, ParseTimeError> {
    let wrong = || ParseTimeError::TimeOfDay(text.chars().take(40).collect());
    let digits = match text.as_bytes() {
        [a, b, c, d] | [a, b, b':', c, d] => [*a, *b, *c, *d],
        _ => return Err(wrong()),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(wrong());
    }
    let [a, b, c, d] = digits.map(|digit| i32::from(digit - b'0'));
    let (hour, minute) = (a * 10 + b, c * 10 + d);
    if hour > 23 || minute > 59 {
        return Err(wrong());
    }
    Ok(hour * 60 + minute)
}

/// Like [`parse_time_of_day`], but also accepts `HH:MM:SS`. The seconds are dropped, because
/// candles start on the minute. The seconds must still be valid, because a time with a truncated
/// UTC offset may have the same length.
pub fn parse_time_of_day_or_second(text: &str) -> Result<i32, ParseTimeError> {
    match text.as_bytes() {
        [.., b':', b'0'..=b'5', b'0'..=b'9'] if text.len() == 8 => {
            text.get(..5).map_or_else(|| parse_time_of_day(text), parse_time_of_day)
        }
        _ => parse_time_of_day(text),
    }
}

const DAY: i64 = 86_400;
/// Start of the tabulated offsets. The table covers all stored candles, and the nearest offset
/// applies outside of it.
const TABLE_FROM: i64 = 0; // 1970
/// End of the tabulated offsets.
const TABLE_UNTIL: i64 = 4_102_444_800; // 2100

static HONG_KONG: TimeZone = jiff::tz::get!("Asia/Hong_Kong");
static SHANGHAI: TimeZone = jiff::tz::get!("Asia/Shanghai");
static NEW_YORK: TimeZone = jiff::tz::get!("America/New_York");

/// A market's time zone as a table of offsets. Imports convert millions of stamps, and a search in
/// a short table is ten times faster than the general conversion.
#[derive(Clone, Debug)]
pub struct Zone {
    name: &'static str,
    zone: TimeZone,
    /// `(from, offset)` in seconds, ascending. The first entry also applies to all earlier times.
    offsets: Vec<(i64, i64)>,
}

impl Zone {
    pub fn of(market: Market) -> Zone {
        let (name, zone) = match market {
            Market::Hk => ("Asia/Hong_Kong", &HONG_KONG),
            Market::Cn => ("Asia/Shanghai", &SHANGHAI),
            Market::Us => ("America/New_York", &NEW_YORK),
        };
        let offset_at = |at: jiff::Timestamp| i64::from(zone.to_offset(at).seconds());
        let start = jiff::Timestamp::from_second(TABLE_FROM).unwrap_or_default();
        let mut offsets = vec![(TABLE_FROM, offset_at(start))];
        let later = zone.following(start).take_while(|t| t.timestamp().as_second() < TABLE_UNTIL);
        offsets.extend(later.map(|t| (t.timestamp().as_second(), i64::from(t.offset().seconds()))));
        Zone { name, zone: zone.clone(), offsets }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the abbreviation of the zone at an instant, such as `HKT`, `EST` or `EDT`.
    pub fn abbreviation(&self, at: Timestamp) -> String {
        let at = jiff::Timestamp::from_second(at.0).unwrap_or_default();
        self.zone.to_offset_info(at).abbreviation().to_owned()
    }

    /// Returns the UTC offset at an instant, in seconds east of UTC.
    pub fn offset(&self, at: Timestamp) -> i64 {
        // Fast path: Hong Kong and mainland China have had no clock change since 1992.
        if let Some((from, offset)) = self.offsets.last()
            && *from <= at.0
        {
            return *offset;
        }
        let after = self.offsets.partition_point(|(from, _)| *from <= at.0);
        self.offsets.get(after.saturating_sub(1)).map_or(0, |(_, offset)| *offset)
    }

    /// Returns the local date and the seconds after midnight at an instant.
    pub fn local(&self, at: Timestamp) -> (Date, i64) {
        // Stamps come from files, so extreme values must not overflow.
        let wall = at.0.saturating_add(self.offset(at));
        (date_of_days(wall.div_euclid(DAY)), wall.rem_euclid(DAY))
    }

    pub fn date(&self, at: Timestamp) -> Date {
        self.local(at).0
    }

    /// Converts a local time to an instant. A local time that a clock change skips is moved
    /// forward, and a repeated local time resolves to its first occurrence. Clock changes are early
    /// on Sundays, outside every session.
    pub fn instant(&self, date: Date, seconds: i64) -> Timestamp {
        let wall = days_of_date(date) * DAY + seconds;
        let guess = match self.settled(wall) {
            Ok(instant) => return instant,
            Err(guess) => guess,
        };
        let time = civil::Time::midnight();
        let exact = date
            .to_datetime(time)
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .ok()
            .and_then(|wall| self.zone.to_ambiguous_timestamp(wall).compatible().ok());
        exact.map_or(guess, |at| Timestamp(at.as_second()))
    }

    /// Converts a local time that is not near a clock change. Otherwise returns an estimate as the
    /// error.
    fn settled(&self, wall: i64) -> Result<Timestamp, Timestamp> {
        let after = self.offsets.partition_point(|(from, _)| *from <= wall);
        let known = after.checked_sub(1).and_then(|last| self.offsets.get(last));
        // Fast path: more than two days from both ends of an offset's range there is no clock
        // change, so one lookup is enough.
        if let Some((from, offset)) = known
            && from + 2 * DAY <= wall
            && self.offsets.get(after).is_none_or(|(until, _)| wall + 2 * DAY < *until)
        {
            return Ok(Timestamp(wall - offset));
        }
        let guess = Timestamp(wall - self.offset(Timestamp(wall)));
        // Offsets change by a few hours at most, so comparing the offsets one day before and after
        // the estimate detects a change.
        let (before, after) = (self.offset(Timestamp(guess.0 - DAY)), self.offset(Timestamp(guess.0 + DAY)));
        if before == after { Ok(Timestamp(wall - after)) } else { Err(guess) }
    }

    /// Returns the number of days from 1970-01-01 to the local date of an instant.
    pub(crate) fn day_number(&self, at: Timestamp) -> i64 {
        at.0.saturating_add(self.offset(at)).div_euclid(DAY)
    }

    /// Like [`Zone::midnight`], but takes the number of days since 1970-01-01.
    pub(crate) fn midnight_of(&self, day: i64) -> Timestamp {
        self.settled(day * DAY).unwrap_or_else(|_| self.midnight(date_of_days(day)))
    }

    /// Returns the instant of local midnight, which is the stamp of daily and longer candles.
    pub fn midnight(&self, date: Date) -> Timestamp {
        self.instant(date, 0)
    }

    /// Formats an instant as RFC 3339 with the market's UTC offset, for display.
    pub fn rfc3339(&self, at: Timestamp) -> String {
        let (date, seconds) = self.local(at);
        let offset = self.offset(at);
        let sign = if offset < 0 { '-' } else { '+' };
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let ahead = offset.abs() / 60;
        format!("{date}T{hour:02}:{minute:02}:{second:02}{sign}{:02}:{:02}", ahead / 60, ahead % 60)
    }
}

/// Returns the number of days since 1970-01-01, for use in tables and hot loops.
pub(crate) fn days_of_date(date: Date) -> i64 {
    date.duration_since(civil::date(1970, 1, 1)).as_secs() / DAY
}

pub(crate) fn date_of_days(days: i64) -> Date {
    let beyond = if days < 0 { Date::MIN } else { Date::MAX };
    let midnight = days.checked_mul(DAY).and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    midnight.map_or(beyond, |at| jiff::tz::Offset::UTC.to_datetime(at).date())
}
