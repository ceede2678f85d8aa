//! The query string of the candles endpoint: from text to the message that every other door sends, and a word for where
//! the next answer goes on.

use history::{COUNT_DEFAULT, COUNT_MAX};
use market::{Period, Timestamp, Venues, Zone, parse_date, parse_time_of_day_or_second};
use wire::quote;

use super::format::Format;
use crate::command::{PAGED_MAX, calls, period_number, symbol};
use crate::refusal::Refusal;

/// How much of a text that is refused is repeated.
const ECHO_CHARS_MAX: usize = 40;
/// Unknown names that a refusal repeats.
const ECHO_NAMES_MAX: usize = 5;
/// Neither end of any clock here; what lies beyond was not written by us.
const STAMPS: std::ops::Range<i64> = -100_000_000_000..100_000_000_000;

/// Names that are read. Several pairs mean the same: a word for people, and the name of the message's field.
pub(in crate::http) const KNOWN: [&str; 20] = [
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
];

/// Parameters as they came, each at most once.
#[derive(Debug)]
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
}

/// What is asked, and how long the answer may be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub(super) message: quote::SecurityHistoryCandlestickRequest,
    /// Overnight hours are wanted too, which the message cannot say.
    pub(super) overnight: bool,
    pub(super) limit: usize,
    /// Where an earlier answer said to go on.
    pub(super) from: Option<Timestamp>,
    pub(super) format: Option<Format>,
}

impl Parameters {
    pub(super) fn parse(query: &str) -> Result<Parameters, Refusal> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut unknown = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !KNOWN.contains(&&*name) {
                unknown.push(format!("{:?}", echo(&name)));
            } else if pairs.iter().any(|(known, _)| *known == name) {
                return Err(malformed(format!("parameter {name} is there more than once")));
            } else {
                pairs.push((name.into_owned(), value.into_owned()));
            }
        }
        if unknown.is_empty() {
            return Ok(Parameters { pairs });
        }
        unknown.truncate(ECHO_NAMES_MAX);
        Err(malformed(format!("unknown parameter {}: there are {}", unknown.join(", "), KNOWN.join(", "))))
    }

    pub(super) fn question(&self, venues: &Venues) -> Result<Question, Refusal> {
        let symbol = symbol(self.get("symbol").ok_or_else(|| malformed("symbol is missing".to_owned()))?)?;
        let (session, overnight) = self.session()?;
        let limit = self.limit()?;
        let mut message = quote::SecurityHistoryCandlestickRequest {
            symbol: symbol.as_str().to_owned(),
            period: self.period()?,
            adjust_type: self.adjust()?,
            trade_session: session,
            ..Default::default()
        };
        let limit = match self.by_dates()? {
            true => {
                message.query_type = 2;
                message.date_request = Some(quote::DateRequest {
                    start_date: self.date(self.either(["start", "start_date"])?)?,
                    end_date: self.date(self.either(["end", "end_date"])?)?,
                });
                limit.unwrap_or(COUNT_MAX)
            }
            false => {
                let limit = limit.unwrap_or(COUNT_DEFAULT);
                message.query_type = 1;
                let mut offset = self.offset(venues.of(symbol.market()).zone())?;
                offset.count = i32::try_from(limit.min(COUNT_MAX)).unwrap_or(i32::MAX);
                message.offset_request = Some(offset);
                limit
            }
        };
        let format = self.get("format").map(Format::parse).transpose()?;
        let question = Question { message, overnight, limit, from: None, format };
        let from = self.get("next").map(|token| question.resume(token)).transpose()?;
        Ok(Question { from, ..question })
    }

    /// The same query string, going on from a token.
    pub(super) fn with_next(&self, token: &str) -> String {
        let others = self.pairs.iter().filter(|(name, _)| name != "next");
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(others)
            .append_pair("next", token)
            .finish()
    }

    /// A parameter's text; one that is empty is not there.
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Whichever of some names is there.
    fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().find(|name| self.get(name).is_some()).copied()
    }

    /// One parameter with two names.
    fn either<'a>(&self, names: [&'a str; 2]) -> Result<Option<(&'a str, &str)>, Refusal> {
        let [word, field] = names;
        match (self.get(word), self.get(field)) {
            (Some(_), Some(_)) => Err(contradiction(word, field)),
            (Some(value), None) => Ok(Some((word, value))),
            (None, Some(value)) => Ok(Some((field, value))),
            (None, None) => Ok(None),
        }
    }

    /// Whether candles of a range of dates are asked for, rather than so many from a point.
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

    fn period(&self) -> Result<i32, Refusal> {
        let text = self.get("period").unwrap_or("day");
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map_err(|_| malformed(format!("period {} is unknown", echo(text))));
        }
        let period: Period =
            text.parse().map_err(|error: market::ParsePeriodError| malformed(error.to_string()))?;
        Ok(period_number(period))
    }

    fn adjust(&self) -> Result<i32, Refusal> {
        Ok(match self.either(["adjust", "adjust_type"])? {
            None | Some(("adjust", "none") | ("adjust_type", "0")) => 0,
            Some(("adjust", "forward") | ("adjust_type", "1")) => 1,
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

    /// The selector of the message, and whether overnight hours belong to it.
    fn session(&self) -> Result<(i32, bool), Refusal> {
        Ok(match self.either(["session", "trade_session"])? {
            None | Some(("session", "intraday") | ("trade_session", "0")) => (0, false),
            Some(("session", "extended") | ("trade_session", "100")) => (100, false),
            Some(("session", "all")) => (100, true),
            Some(("session", other)) => {
                let text = format!(
                    "session {:?} is none of intraday, extended (with pre and post), all (with overnight too)",
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

    /// A date as the message has it; empty if it is not there.
    fn date(&self, found: Option<(&str, &str)>) -> Result<String, Refusal> {
        let Some((name, text)) = found else { return Ok(String::new()) };
        compact_date(text).ok_or_else(|| {
            malformed(format!("{name} {:?} is not a date: write 2026-11-13 or 20261113", echo(text)))
        })
    }

    fn offset(&self, zone: &Zone) -> Result<quote::OffsetRequest, Refusal> {
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
            return Ok(quote::OffsetRequest {
                direction: i32::from(after.is_some()),
                date,
                minute,
                count: 0,
            });
        }
        let direction = match self.get("direction") {
            None | Some("0") => 0,
            Some("1") => 1,
            Some(other) => {
                let text = format!(
                    "direction {:?} is neither 0 (toward the past) nor 1 (toward the present)",
                    echo(other)
                );
                return Err(malformed(text));
            }
        };
        let date = self.date(self.get("date").map(|text| ("date", text)))?;
        let minute = self.get("minute").unwrap_or_default().to_owned();
        Ok(quote::OffsetRequest { direction, date, minute, count: 0 })
    }
}

impl Question {
    /// Calls of the rate window that the answer is worth.
    pub(super) fn calls(&self) -> u32 {
        calls(self.limit)
    }

    /// Where to go on, as a word that fits this question alone.
    pub(super) fn token(&self, at: Timestamp) -> String {
        format!("{:016x}{:08x}", at.0.cast_unsigned(), self.fingerprint(at))
    }

    fn resume(&self, token: &str) -> Result<Timestamp, Refusal> {
        let at = token.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let at = at.map(|bits| Timestamp(bits.cast_signed())).filter(|at| STAMPS.contains(&at.0));
        at.filter(|at| self.token(*at) == token).ok_or_else(|| {
            malformed(
                "next does not belong to this question: repeat the other parameters as they were".to_owned(),
            )
        })
    }

    /// The question without its length, in four bytes. It guards against mistakes: whoever makes a token up gets
    /// nothing that could not be asked for otherwise.
    fn fingerprint(&self, at: Timestamp) -> u32 {
        let mut message = self.message.clone();
        if let Some(offset) = &mut message.offset_request {
            offset.count = 0;
        }
        let mut bytes = prost::Message::encode_to_vec(&message);
        bytes.push(self.overnight.into());
        bytes.extend_from_slice(&at.0.to_be_bytes());
        crc32fast::hash(&bytes)
    }
}

/// `2026-11-13` or `20261113`, as the latter.
fn compact_date(text: &str) -> Option<String> {
    let digits = match text.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _] => text.replace('-', ""),
        _ => text.to_owned(),
    };
    parse_date(&digits).is_ok().then_some(digits)
}

/// Date and minute of a point in time: a date, a date with a time of day of the market, or an instant with its offset.
fn point(text: &str, zone: &Zone) -> Option<(String, String)> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        let (date, seconds) = zone.local(Timestamp(instant.as_second()));
        let minute = format!("{:02}{:02}", seconds / 3600, seconds / 60 % 60);
        return Some((date.strftime("%Y%m%d").to_string(), minute));
    }
    let Some((date, time)) = text.split_once(['T', ' ']) else {
        return Some((compact_date(text)?, String::new()));
    };
    let minute = parse_time_of_day_or_second(time).ok()?;
    Some((compact_date(date)?, format!("{:02}{:02}", minute / 60, minute % 60)))
}

fn echo(text: &str) -> String {
    text.chars().take(ECHO_CHARS_MAX).collect()
}

fn malformed(text: String) -> Refusal {
    Refusal::Malformed(text)
}

fn contradiction(one: &str, other: &str) -> Refusal {
    malformed(format!("{one} and {other} contradict each other: give one of them"))
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
