//! Parses the query string of the candles endpoint into the query that all transports share, and
//! creates the token of the next page.

use history::{Adjust, Anchor, COUNT_DEFAULT, COUNT_MAX, Direction, Query, Select, Sessions};
use market::{
    Date, FloorTable, Period, Symbol, Timestamp, Venues, Zone, parse_date, parse_time_of_day,
    parse_time_of_day_or_second,
};

use super::format::Format;
use crate::command::{PAGED_MAX, calls, period, symbol};
use crate::kit::fields::{Fields, Names, echo};
use crate::refusal::Refusal;

/// Timestamps allowed in page tokens, in Unix seconds.
const STAMPS: std::ops::Range<i64> = -100_000_000_000..100_000_000_000;

/// Accepted parameter names. Some parameters have two names: a readable name, and the field name of
/// the protocol message.
pub(in crate::http) const KNOWN: [&str; 21] = [
    "symbol",
    "period",
    "adjust",
    "adjust_type",
    "session",
    "trade_session",
    "query_type",
    "start",
    "start_date",
    "end",
    "end_date",
    "before",
    "after",
    "direction",
    "date",
    "minute",
    "count",
    "limit",
    "format",
    "next",
    "charge",
];

/// The raw parameters. Duplicate names are refused.
#[derive(Debug)]
pub(super) struct Parameters {
    fields: Fields,
}

/// A parsed value or its refusal. A query that cannot be parsed is refused immediately. A value
/// that parses but is out of range is an invalid history request, which is refused only after it
/// has been counted.
type Judged<T> = Result<T, Refusal>;

/// The parsed query and the maximum length of the response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub(super) symbol: Symbol,
    period: Judged<Period>,
    adjust: Adjust,
    pub(super) sessions: Sessions,
    span: Judged<Span>,
    pub(super) limit: usize,
    /// Position at which the previous page ended; `None` for the first page.
    pub(super) from: Option<Timestamp>,
    pub(super) format: Option<Format>,
    /// Whether the caller sent `charge=no`, in which case candles that would be charged are
    /// omitted.
    pub(super) keeps_quota: bool,
}

/// The selected candles, in the local time of the security's market.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Span {
    /// A range of dates, both ends inclusive.
    Dates { start: Option<Date>, end: Option<Date> },
    /// A number of candles from an anchor.
    Offset { direction: Direction, anchor: Anchor },
}

impl Parameters {
    pub(super) fn parse(query: &str) -> Result<Parameters, Refusal> {
        let fields = Fields::parse(query.as_bytes(), Names::Known(&KNOWN));
        Ok(Parameters { fields: fields.map_err(|error| malformed(error.to_string()))? })
    }

    pub(super) fn question(&self, venues: &Venues) -> Result<Question, Refusal> {
        let symbol = symbol(self.get("symbol").ok_or_else(|| malformed("symbol is missing".to_owned()))?)?;
        let sessions = self.sessions()?;
        let limit = self.limit()?;
        let period = self.period()?;
        let adjust = self.adjust()?;
        let (span, limit) = match self.by_dates()? {
            true => {
                let start = self.date(self.either(["start", "start_date"])?)?;
                let end = self.date(self.either(["end", "end_date"])?)?;
                (Ok(Span::Dates { start, end }), limit.unwrap_or(COUNT_MAX))
            }
            false => {
                let zone = venues.of(symbol.market()).zone();
                (self.offset(&period, zone)?, limit.unwrap_or(COUNT_DEFAULT))
            }
        };
        let format = self.get("format").map(Format::parse).transpose()?;
        let keeps_quota = match self.get("charge") {
            None | Some("yes") => false,
            Some("no") => true,
            Some(other) => return Err(malformed(format!("charge {}: write yes or no", echo(other)))),
        };
        let question =
            Question { symbol, period, adjust, sessions, span, limit, from: None, format, keeps_quota };
        let from = self.get("next").map(|token| question.resume(token)).transpose()?;
        Ok(Question { from, ..question })
    }

    /// Returns the query string with the token of the next page.
    pub(super) fn with_next(&self, token: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.fields.pairs().filter(|(name, _)| *name != "next") {
            query.append_pair(name, value);
        }
        query.append_pair("next", token).finish()
    }

    /// Returns the value of a parameter. An empty value is treated as absent.
    fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    /// Returns the first of `names` that is present.
    fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().find(|name| self.get(name).is_some()).copied()
    }

    /// Returns the name and value of a parameter that has two names. Returns an error if both names
    /// are present.
    fn either<'a>(&self, names: [&'a str; 2]) -> Result<Option<(&'a str, &str)>, Refusal> {
        let [word, field] = names;
        match (self.get(word), self.get(field)) {
            (Some(_), Some(_)) => Err(contradiction(word, field)),
            (Some(value), None) => Ok(Some((word, value))),
            (None, Some(value)) => Ok(Some((field, value))),
            (None, None) => Ok(None),
        }
    }

    /// Returns whether the query selects a range of dates rather than a number of candles from an
    /// anchor.
    fn by_dates(&self) -> Result<bool, Refusal> {
        let dates = self.first(&["start", "start_date", "end", "end_date"]);
        let point = self.first(&["before", "after", "direction", "date", "minute"]);
        match (self.get("query_type"), dates, point) {
            (_, Some(date), Some(point)) => Err(contradiction(date, point)),
            (Some("1"), Some(date), _) => Err(contradiction("query_type 1 (from a point)", date)),
            (Some("2"), _, Some(point)) => Err(contradiction("query_type 2 (by dates)", point)),
            (Some("1"), ..) => Ok(false),
            (Some("2"), ..) => Ok(true),
            (Some(other), ..) => Err(malformed(format!(
                "query_type {:?} is neither 1 (from a point) nor 2 (by dates)",
                echo(other)
            ))),
            (None, dates, _) => Ok(dates.is_some()),
        }
    }

    /// Parses the period from its name or its protocol number.
    fn period(&self) -> Result<Judged<Period>, Refusal> {
        let text = self.get("period").unwrap_or("day");
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.parse().map_err(|_| malformed(format!("period {} is unknown", echo(text))))?;
            return Ok(period(number));
        }
        let period: Period =
            text.parse().map_err(|error: market::ParsePeriodError| malformed(error.to_string()))?;
        Ok(Ok(period))
    }

    fn adjust(&self) -> Result<Adjust, Refusal> {
        Ok(match self.either(["adjust", "adjust_type"])? {
            None | Some(("adjust", "none") | ("adjust_type", "0")) => Adjust::None,
            Some(("adjust", "forward") | ("adjust_type", "1")) => Adjust::Forward,
            Some(("adjust", other)) => {
                return Err(malformed(format!("adjust {:?} is neither none nor forward", echo(other))));
            }
            Some((name, other)) => {
                return Err(malformed(format!(
                    "{name} {:?} is neither 0 (none) nor 1 (forward)",
                    echo(other)
                )));
            }
        })
    }

    /// Parses the trading sessions. The protocol's `trade_session` cannot request overnight hours;
    /// on a long connection, they are requested at sign-in.
    fn sessions(&self) -> Result<Sessions, Refusal> {
        Ok(match self.either(["session", "trade_session"])? {
            None | Some(("session", "intraday") | ("trade_session", "0")) => Sessions::Intraday,
            Some(("session", "extended") | ("trade_session", "100")) => Sessions::Extended,
            Some(("session", "all")) => Sessions::All,
            Some(("session", other)) => {
                let text = format!(
                    "session {:?} is not one of intraday, extended (with pre and post), all (with overnight \
                     too)",
                    echo(other)
                );
                return Err(malformed(text));
            }
            Some((name, other)) => {
                return Err(malformed(format!(
                    "{name} {:?} is neither 0 (intraday) nor 100 (all)",
                    echo(other)
                )));
            }
        })
    }

    fn limit(&self) -> Result<Option<usize>, Refusal> {
        let Some((name, text)) = self.either(["limit", "count"])? else { return Ok(None) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let limit =
            digits.then(|| text.parse().ok()).flatten().filter(|limit| (1..=PAGED_MAX).contains(limit));
        limit
            .map(Some)
            .ok_or_else(|| malformed(format!("{name} {:?} is outside 1 to {PAGED_MAX}", echo(text))))
    }

    /// Parses a date parameter. Returns `None` if `found` is `None`.
    fn date(&self, found: Option<(&str, &str)>) -> Result<Option<Date>, Refusal> {
        let Some((name, text)) = found else { return Ok(None) };
        date(text).map(Some).ok_or_else(|| {
            malformed(format!("{name} {:?} is not a date: write 2026-11-13 or 20261113", echo(text)))
        })
    }

    /// Parses the anchor from which candles are counted. An invalid period is reported before an
    /// invalid anchor.
    fn offset(&self, period: &Judged<Period>, zone: &Zone) -> Result<Judged<Span>, Refusal> {
        let period = period.as_ref().copied().unwrap_or(Period::DAY);
        let [before, after] = ["before", "after"].map(|name| self.get(name).map(|text| (name, text)));
        if let (Some(_), Some(_)) = (before, after) {
            return Err(contradiction("before", "after"));
        }
        if let Some((name, text)) = before.or(after) {
            if let Some(other) = self.first(&["direction", "date", "minute"]) {
                return Err(contradiction(name, other));
            }
            let (date, minute) = point(text, zone).ok_or_else(|| {
                malformed(format!(
                    "{name} {:?} is not a time: write 2026-11-13, 2026-11-13T09:30 (the market's time) or \
                     2026-11-13T01:30:00Z",
                    echo(text)
                ))
            })?;
            let direction = if after.is_some() { Direction::Present } else { Direction::Past };
            let anchor = Anchor::of(period, Some(date), minute);
            return Ok(Ok(Span::Offset { direction, anchor }));
        }
        let direction = match self.get("direction") {
            None | Some("0") => Direction::Past,
            Some("1") => Direction::Present,
            Some(other) => {
                let text = format!(
                    "direction {:?} is neither 0 (toward the past) nor 1 (toward the present)",
                    echo(other)
                );
                return Err(malformed(text));
            }
        };
        let date = self.date(self.get("date").map(|text| ("date", text)))?;
        // The minute is ignored for daily and longer periods, as in the protocol message.
        let minute = self.get("minute").filter(|_| period.is_clock()).map(parse_time_of_day).transpose();
        let anchor = minute.map(|minute| Anchor::of(period, date, minute));
        Ok(anchor.map(|anchor| Span::Offset { direction, anchor }).map_err(bad))
    }
}

impl Question {
    /// Returns the query for `history`, for an account with these floors.
    pub(super) fn query(&self, floors: FloorTable) -> Result<Query, Refusal> {
        let (symbol, floors) = (self.symbol.clone(), floors.of(self.symbol.market()));
        let period = self.period()?;
        let select = match self.span.clone()? {
            Span::Dates { start, end } => Select::between(period, floors, start, end).map_err(bad)?,
            Span::Offset { direction, anchor } => {
                Select::Offset { direction, anchor, count: self.limit.min(COUNT_MAX) }
            }
        };
        Ok(Query { symbol, period, adjust: self.adjust, sessions: self.sessions, floors, select })
    }

    /// Returns the period or its refusal.
    pub(super) fn period(&self) -> Result<Period, Refusal> {
        self.period.clone()
    }

    /// Returns the number of calls that the response counts as in the rate limit.
    pub(super) fn calls(&self) -> u32 {
        calls(self.limit)
    }

    /// Returns the token of the next page, which is valid only for this query.
    pub(super) fn token(&self, at: Timestamp) -> String {
        format!("{:016x}{:08x}", at.0.cast_unsigned(), self.fingerprint(at))
    }

    fn resume(&self, token: &str) -> Result<Timestamp, Refusal> {
        let at = token.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let at = at.map(|bits| Timestamp(bits.cast_signed())).filter(|at| STAMPS.contains(&at.0));
        at.filter(|at| self.token(*at) == token).ok_or_else(|| {
            malformed("next does not match this query: the other parameters must be unchanged".to_owned())
        })
    }

    /// Returns a checksum of the query's parameters except `limit`. The checksum only catches
    /// mistakes, because a forged token gives the caller no additional access.
    fn fingerprint(&self, at: Timestamp) -> u32 {
        let Question { symbol, period, adjust, sessions, span, .. } = self;
        // The `Debug` format is sufficient, because it differs for different queries.
        let text = format!("{symbol} {period:?} {adjust:?} {sessions:?} {span:?} {}", at.0);
        crc32fast::hash(text.as_bytes())
    }
}

/// Parses a date in the form `2026-11-13` or `20261113`. Returns `None` if the text has another
/// form or is not a date.
fn date(text: &str) -> Option<Date> {
    match text.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _] => parse_date(&text.replace('-', "")).ok(),
        _ => parse_date(text).ok(),
    }
}

/// Parses a point in time into a date and minute. Accepts a date, a date with a time in the
/// market's zone, or an instant with an offset.
fn point(text: &str, zone: &Zone) -> Option<(Date, Option<i32>)> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        let (date, seconds) = zone.local(Timestamp(instant.as_second()));
        let minute = i32::try_from(seconds / 60).ok()?;
        // Negative years are refused, as in the other forms.
        return (date.year() >= 0).then_some((date, Some(minute)));
    }
    let Some((day, time)) = text.split_once(['T', ' ']) else {
        return Some((date(text)?, None));
    };
    let minute = parse_time_of_day_or_second(time).ok()?;
    Some((date(day)?, Some(minute)))
}

fn malformed(text: String) -> Refusal {
    Refusal::Malformed(text)
}

fn bad(error: impl ToString) -> Refusal {
    Refusal::BadQuery(error.to_string())
}

fn contradiction(one: &str, other: &str) -> Refusal {
    malformed(format!("{one} and {other} cannot be combined"))
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
