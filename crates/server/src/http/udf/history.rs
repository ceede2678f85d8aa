//! `history`: candles in a time range, or a number of candles before a point in time.

use std::fmt::Write;

use history::{Anchor, COUNT_MAX, Direction, Paged, Paging, Query, Select, Sessions};
use market::{Candles, FloorTable, Period, Price, Span, Timestamp, Venue, Zone};
use serde_json::{Number, json};

use super::form::{OrError, RESOLUTION, SYMBOL, TOKEN, WORDS, udf};
use super::form::{echo, number, required};
use super::resolution;
use super::ticker::Ticker;
use crate::caller::Caller;
use crate::command::{HistoryCandles, PAGED_MAX, calls};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, described_only};
use crate::kit::envelope::{self, Problem};
use crate::kit::{Admitted, Answer, Call, Site, allowance};
use crate::refusal::Refusal;
use crate::route::{self, Memory};

/// Supported range of times, 1970 to 2100, in Unix seconds. Times outside it are clamped, because
/// charts request negative times when scrolled far back.
const STAMPS: (i64, i64) = (1, 4_102_444_800);
const DAY: i64 = 86_400;

pub(super) const HISTORY: Doc =
    udf("udfHistory", "Candles as columns; counted toward rate limit and quota like any history request")
        .parameters(&[
            SYMBOL,
            RESOLUTION.required(),
            Parameter::query(
                "from",
                Kind::Stamp,
                "Unix seconds: earliest timestamp, inclusive. Required without countback, ignored with it",
            ),
            Parameter::query("to", Kind::Stamp, "Unix seconds: latest timestamp, exclusive").required(),
            Parameter::query(
                "countback",
                Kind::AtLeast(1),
                "Number of candles before to, regardless of age; at most 10000",
            ),
        ])
        .answers(&[
            AnswerDoc::ok(WORDS, &[Media::json::<OrError<UdfHistory>>()]).headers(&allowance::HEADERS)
        ]);
pub(super) const HISTORY_BY_KEY: Doc = HISTORY.also("udfHistoryByKey", &[TOKEN]);

described_only! {
    /// Candles as columns, or no data. Daily and longer candles have midnight UTC of their date as
    /// their timestamp.
    #[schemars(tag = "s", rename_all = "snake_case")]
    enum UdfHistory {
        Ok {
            t: Vec<i64>,
            o: Vec<Number>,
            h: Vec<Number>,
            l: Vec<Number>,
            c: Vec<Number>,
            v: Vec<i64>,
        },
        #[schemars(rename_all = "camelCase")]
        NoData {
            /// Timestamp of the newest candle before the range; absent if there is no older candle.
            #[schemars(with = "i64", skip_serializing_if = "Option::is_none")]
            next_time: Option<i64>,
        },
    }
}

/// A parsed history request.
#[derive(Debug)]
struct Question {
    ticker: Ticker,
    period: Period,
    /// End of the range, exclusive, in Unix seconds.
    to: i64,
    /// Start of the range, inclusive. `None` if a number of candles is requested, regardless of
    /// their age.
    from: Option<i64>,
    limit: usize,
}

pub(super) fn answer(call: &Call<'_>, admitted: &Admitted, site: &Site) -> Result<Answer, Problem> {
    let question = parse(call, site)?;
    let limit = question.limit.min(affordable(&admitted.caller, site)?);
    // `route::admit` checks the overnight right, as it does for a long connection that requested
    // overnight hours.
    let caller = Caller { overnight: question.ticker.sessions == Sessions::All, ..admitted.caller };
    let zone = site.core.history.venue(&question.ticker.symbol).zone();
    let paging = Paging { limit, from: None };
    let memory = &mut Memory::of(&caller, &admitted.permit);
    let work = route::admit(&site.core, &caller, calls(limit), memory, |context| {
        Ok(HistoryCandles::paged(question.query(limit, zone, context.floors), paging))
    })?;
    let Paged { answer, .. } = work.pages(paging, &site.core)?;
    let stamp = |at: i64| match question.period {
        Period::Clock(_) => at,
        Period::Calendar(_) => day_stamp(Timestamp(at), zone).0,
    };
    let stamps: Vec<i64> = answer.candles.time.iter().map(|at| stamp(*at)).collect();
    let first = question.from.map_or(0, |from| stamps.partition_point(|at| *at < from));
    if first == stamps.len() {
        // If the range has no candles, the chart continues at the timestamp of the newest older
        // candle.
        let body = match stamps.last() {
            Some(older) => json!({"s": "no_data", "nextTime": older}),
            None => json!({"s": "no_data"}),
        };
        return Ok(envelope::json(200, body.to_string().into()));
    }
    call.note.candles(stamps.len().saturating_sub(first));
    let body = table(&answer.candles, &stamps, first, answer.decimals).map_err(|_| Problem::internal())?;
    Ok(envelope::json(200, body.into()))
}

/// Converts the timestamp of a daily or longer candle to midnight UTC of its date, which charts
/// expect regardless of the market's time zone.
pub(super) fn day_stamp(midnight: Timestamp, zone: &Zone) -> Timestamp {
    Timestamp(midnight.0.saturating_add(zone.offset(midnight)))
}

fn parse(call: &Call<'_>, site: &Site) -> Result<Question, Refusal> {
    let ticker = Ticker::parse(&required(call, "symbol")?)?;
    let period = resolution::parse(&required(call, "resolution")?)?;
    let clamp = |at: i64| at.clamp(STAMPS.0, STAMPS.1);
    let to = number(call, "to")?.ok_or_else(|| Refusal::Malformed("to is missing".to_owned()))?;
    let to = clamp(to);
    let from = number(call, "from")?.map(clamp);
    let countback = match number(call, "countback")? {
        None | Some(0) => None,
        Some(count) => Some(usize::try_from(count).map_err(|_| {
            Refusal::Malformed(format!("countback {:?} is below 1", echo(&count.to_string())))
        })?),
    };
    let (from, limit) = match (countback, from) {
        // The count takes precedence over the range, because a chart would otherwise repeat the
        // request over weekends.
        (Some(count), _) => (None, count),
        (None, Some(from)) => {
            let venue = site.core.history.venue(&ticker.symbol);
            (Some(from), candles_max(from, to, period, ticker.sessions, venue))
        }
        (None, None) => return Err(Refusal::Malformed("from is missing".to_owned())),
    };
    Ok(Question { ticker, period, to, from, limit: limit.clamp(1, PAGED_MAX) })
}

/// Returns the maximum number of candles that the account's rate limit allows in one response. The
/// chart requests older candles in further requests.
fn affordable(caller: &Caller, site: &Site) -> Result<usize, Problem> {
    let allowance =
        site.core.access.allowance(&caller.who, site.core.uptime()).map_err(Problem::from_access)?;
    let calls = allowance.map_or(usize::MAX, |rule| usize::try_from(rule.limit).unwrap_or(usize::MAX));
    Ok(calls.saturating_mul(COUNT_MAX).max(1))
}

/// Returns an upper bound on the number of candles in a range, which determines how many calls the
/// request is charged as.
fn candles_max(from: i64, to: i64, period: Period, sessions: Sessions, venue: &Venue) -> usize {
    let seconds = to.saturating_sub(from).max(0);
    let days = |length: i64| seconds / (length * DAY) + 2;
    let candles = match period {
        Period::Clock(minutes) => {
            let length = i64::from(minutes.get());
            // Use the hours of a full day, because a range that ends on a half day also contains
            // full days.
            let hours = venue.full_hours(venue.zone().date(Timestamp(to)));
            let open = hours.iter().filter(|segment| {
                let lane = history::lane_of(segment.session);
                sessions.lanes(period, venue.market()).contains(&lane)
            });
            let a_day: i64 = open.map(|segment| i64::from(segment.minutes()) / length + 1).sum();
            (days(1) * a_day).min(seconds / (length * 60) + 2)
        }
        Period::Calendar(Span::Day) => days(1),
        Period::Calendar(Span::Week) => days(7),
        Period::Calendar(Span::Month) => days(28),
        Period::Calendar(Span::Quarter) => days(90),
        Period::Calendar(Span::Year) => days(365),
    };
    usize::try_from(candles).unwrap_or(usize::MAX)
}

impl Question {
    /// Returns the query for `history`: `limit` candles back from the last second of the range,
    /// inclusive.
    fn query(&self, limit: usize, zone: &Zone, floors: FloorTable) -> Query {
        let Ticker { symbol, adjust, sessions } = self.ticker.clone();
        let last = Timestamp(self.to - 1);
        let anchor = match self.period {
            Period::Clock(_) => {
                let (date, seconds) = zone.local(last);
                Anchor::Minute(date, i32::try_from(seconds / 60).unwrap_or_default())
            }
            // UDF timestamps of daily candles are midnight UTC.
            Period::Calendar(_) => {
                let at = jiff::Timestamp::from_second(last.0).unwrap_or_default();
                Anchor::Day(jiff::tz::Offset::UTC.to_datetime(at).date())
            }
        };
        let floors = floors.of(symbol.market());
        let select = Select::Offset { direction: Direction::Past, anchor, count: limit.min(COUNT_MAX) };
        Query { symbol, period: self.period, adjust, sessions, floors, select }
    }
}

/// Encodes candles as JSON columns. Prices are JSON numbers, written from their decimal digits
/// without binary floating point.
fn table(candles: &Candles, stamps: &[i64], first: usize, decimals: u32) -> Result<String, std::fmt::Error> {
    let rows = stamps.len().saturating_sub(first);
    let mut text = String::with_capacity(64 + 60 * rows);
    text.push_str(r#"{"s":"ok""#);
    column(&mut text, 't', stamps.iter().skip(first))?;
    let prices = [('o', &candles.open), ('h', &candles.high), ('l', &candles.low), ('c', &candles.close)];
    for (name, prices) in prices {
        column(&mut text, name, prices.iter().skip(first).map(|price| Price(*price).text(decimals)))?;
    }
    column(&mut text, 'v', candles.volume.iter().skip(first))?;
    text.push('}');
    Ok(text)
}

fn column<T: std::fmt::Display>(
    text: &mut String,
    name: char,
    values: impl Iterator<Item = T>,
) -> std::fmt::Result {
    write!(text, r#","{name}":["#)?;
    for (row, value) in values.enumerate() {
        if row > 0 {
            text.push(',');
        }
        write!(text, "{value}")?;
    }
    text.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use market::{Market, Session};

    use super::*;

    #[test]
    fn the_candle_bound_is_never_too_low() {
        // A week in which every minute has a trade, in each market.
        let (from, to) = (1_794_182_400, 1_794_787_200);
        for market in [Market::Hk, Market::Us, Market::Cn] {
            let venue = Venue::built_in(market).unwrap();
            let dates = venue.zone().date(Timestamp(from))..=venue.zone().date(Timestamp(to));
            let days = venue.calendar().days(*dates.start(), *dates.end());
            let stamps: Vec<i64> = days
                .flat_map(|(date, _)| {
                    venue.day(date).unwrap().minutes().map(|(at, _)| at.0).collect::<Vec<_>>()
                })
                .filter(|at| (from..to).contains(at))
                .collect();
            let max = candles_max(from, to, Period::MINUTE, Sessions::All, &venue);
            assert!(max >= stamps.len(), "{market}: {max} of {}", stamps.len());
            assert!(max <= stamps.len() * 2, "{market}: {max} of {}", stamps.len());
        }
    }

    #[test]
    fn a_range_ending_on_a_half_day_uses_full_day_hours() {
        let venue = Venue::built_in(Market::Us).unwrap();
        let (first, half) = (jiff::civil::date(2025, 11, 3), jiff::civil::date(2025, 11, 28));
        assert_ne!(venue.hours(half), venue.full_hours(half));
        let (from, to) = (venue.zone().midnight(first).0, venue.zone().instant(half, 14 * 3600).0);
        for (sessions, wanted) in [
            (Sessions::Intraday, vec![Session::Intraday]),
            (Sessions::Extended, vec![Session::Intraday, Session::Pre, Session::Post]),
        ] {
            let days = venue.calendar().days(first, half).map(|(date, _)| venue.day(date).unwrap());
            let minutes = days.flat_map(|day| day.minutes().collect::<Vec<_>>());
            let count = minutes
                .filter(|(at, slot)| (from..to).contains(&at.0) && wanted.contains(&slot.segment.session))
                .count();
            let max = candles_max(from, to, Period::MINUTE, sessions, &venue);
            assert!(max >= count, "{sessions:?}: {max} of {count}");
        }
    }
}
