use std::fmt;

use crate::calendar::CalendarError;
use crate::{Date, DayKind, Market};

/// A kind of trading hours. The variants are in the order of the protocol's codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Session {
    #[default]
    Intraday,
    Pre,
    Post,
    Overnight,
}

impl Session {
    pub const ALL: [Session; 4] = [Session::Intraday, Session::Pre, Session::Post, Session::Overnight];

    pub fn as_str(self) -> &'static str {
        match self {
            Session::Intraday => "intraday",
            Session::Pre => "pre",
            Session::Post => "post",
            Session::Overnight => "overnight",
        }
    }

    /// Returns the code used in blocks, files and the protocol.
    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<Session> {
        Session::ALL.into_iter().find(|s| s.code() == code)
    }

    /// Parses a name or a code from a file's session column. Returns `None` if the text is unknown.
    pub fn parse(text: &str) -> Option<Session> {
        let named = Session::ALL.into_iter().find(|s| s.as_str().eq_ignore_ascii_case(text));
        named.or_else(|| text.parse().ok().and_then(Session::from_code)).or(match text {
            "regular" | "normal" | "Intraday" | "Normal" => Some(Session::Intraday),
            _ => None,
        })
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A contiguous time range of one session, in minutes after midnight of its **trading day**. The
/// evening part of an overnight session is on the previous day and has negative minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub session: Session,
    pub start: i32,
    pub end: i32,
    /// Number of minutes after `end` whose trades are stamped with `end`, such as those of a
    /// closing auction. Zero if the segment has no tail.
    pub tail: i32,
}

impl Segment {
    /// Returns the last possible stamp of a one-minute candle. Stamps are `start..end`, plus `end`
    /// if the segment has a tail.
    pub fn last_minute(&self) -> i32 {
        if self.tail > 0 { self.end } else { self.end - 1 }
    }

    /// Returns the number of one-minute candles in a fully traded segment.
    pub fn minutes(&self) -> i32 {
        self.last_minute() - self.start + 1
    }
}

/// Trading hours of one market. Hours change over time, so the table has one entry per date from
/// which new hours apply.
#[derive(Clone, Debug)]
pub struct SessionTable {
    /// Ascending by start date.
    eras: Vec<Era>,
}

#[derive(Clone, Debug)]
struct Era {
    from: Date,
    day: DayKind,
    segments: Vec<Segment>,
}

pub(crate) const MINUTES_A_DAY: i32 = 1440;

impl SessionTable {
    /// Parses one market's rows from a table of all markets with the columns
    /// `market,from,day,session,start,end,tail`.
    pub fn parse(text: &str, market: Market) -> Result<SessionTable, CalendarError> {
        let mut eras: Vec<Era> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (number, line) = (index + 1, line.trim());
            let wrong = |what: &str| CalendarError::at(number, what.to_owned());
            if line.is_empty() || line.starts_with('#') || line.starts_with("market,") {
                continue;
            }
            let fields: Vec<&str> = line.split(',').collect();
            let &[row_market, from, day, session, start, end, tail] = fields.as_slice() else {
                return Err(wrong("expected market,from,day,session,start,end,tail"));
            };
            if Market::parse(row_market).ok_or_else(|| wrong("unknown market"))? != market {
                continue;
            }
            let from: Date = from.parse().map_err(|_| wrong("from is not a date"))?;
            let day = match day {
                "full" => DayKind::Full,
                "half" => DayKind::Half,
                _ => return Err(wrong("day is neither full nor half")),
            };
            let session = Session::parse(session).ok_or_else(|| wrong("unknown session"))?;
            let clock = |text: &str| match text {
                "24:00" => Ok(MINUTES_A_DAY),
                _ => crate::parse_time_of_day(text).map_err(|e| wrong(&e.to_string())),
            };
            let (mut start, mut end) = (clock(start)?, clock(end)?);
            let tail: i32 = tail.parse().map_err(|_| wrong("tail is not a number of minutes"))?;
            if start >= end || !(0..=60).contains(&tail) {
                return Err(wrong("a segment must end after it starts, and its tail is at most an hour"));
            }
            if session == Session::Overnight && start >= MINUTES_A_DAY / 2 {
                start -= MINUTES_A_DAY;
                end -= MINUTES_A_DAY;
            }
            let segment = Segment { session, start, end, tail };
            match eras.iter_mut().find(|era| era.from == from && era.day == day) {
                Some(era) => era.segments.push(segment),
                None => eras.push(Era { from, day, segments: vec![segment] }),
            }
        }
        eras.sort_by_key(|era| era.from);
        for era in &mut eras {
            era.segments.sort_by_key(|segment| segment.start);
            let overlaps =
                era.segments.windows(2).any(|pair| matches!(pair, [a, b] if a.end + a.tail > b.start));
            if overlaps {
                return Err(CalendarError::at(0, format!("{market}: segments from {} overlap", era.from)));
            }
        }
        if !eras.iter().any(|era| era.day == DayKind::Full) {
            return Err(CalendarError::at(0, format!("{market}: no session of a full day")));
        }
        Ok(SessionTable { eras })
    }

    /// Returns the segments of a trading day, ascending. Days before the first era use that era's
    /// hours. Half days use full-day hours if the market has no half-day hours.
    pub fn segments(&self, date: Date, kind: DayKind) -> &[Segment] {
        let of_kind = |kind: DayKind| {
            let mut same = self.eras.iter().filter(move |era| era.day == kind);
            let first = same.clone().next();
            same.rfind(|era| era.from <= date).or(first)
        };
        of_kind(kind).or_else(|| of_kind(DayKind::Full)).map_or(&[], |era| era.segments.as_slice())
    }

    /// Returns the minute after midnight from which an evening belongs to the date `next`, or
    /// `None` if `next` has no evening session.
    pub(crate) fn night_start(&self, next: Date, kind: DayKind) -> Option<i32> {
        let first = self.segments(next, kind).first()?;
        (first.start < 0).then_some(first.start + MINUTES_A_DAY)
    }
}
