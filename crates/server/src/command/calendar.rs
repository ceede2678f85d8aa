//! Commands 8 and 9: the day's trading hours in every market, and a market's trading days.

use access::Permit;
use history::AsOf;
use market::{Date, DateSpan, DayKind, Market, Session, Timestamp, parse_date};
use wire::quote::{
    MarketSessions, SessionHours, TradingDaysRequest, TradingDaysResponse, TradingSessionsResponse,
};

use super::definition::{Command, Context, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::message::Request;
use crate::refusal::Refusal;

/// Markets in the order of the published example.
const MARKETS: [Market; 3] = [Market::Us, Market::Hk, Market::Cn];
/// Published trading hours of Singapore. Chandler has no Singapore calendar, but clients expect all
/// four markets.
const SINGAPORE: [(i32, i32); 2] = [(900, 1200), (1300, 1700)];
/// Close of the mainland session, first in our calendar and then as published. The published hours
/// exclude the closing auction.
const MAINLAND_CLOSE: (i32, i32) = (1500, 1457);
const MINUTES_A_DAY: i32 = 1440;

#[derive(Debug)]
pub(crate) struct TradingSessions;

/// Request without fields. The body is ignored.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct IgnoredBody {}

impl Request for IgnoredBody {
    fn decode(_: &[u8]) -> Result<IgnoredBody, Refusal> {
        Ok(IgnoredBody {})
    }
}

impl Command for TradingSessions {
    const NUMBER: u8 = wire::command::TRADING_SESSIONS;
    const LABEL: &'static str = "trading_sessions";
    type Request = IgnoredBody;
    type Response = TradingSessionsResponse;

    fn parse(_: IgnoredBody, _: &Context<'_>) -> Result<TradingSessions, Refusal> {
        Ok(TradingSessions)
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Open
    }

    fn answer(self, caller: &Caller, _: &Permit, core: &Core) -> Result<TradingSessionsResponse, Refusal> {
        let mut all: Vec<MarketSessions> =
            MARKETS.iter().map(|market| hours(*market, caller, core)).collect();
        all.push(MarketSessions {
            market: "SG".to_owned(),
            trade_session: SINGAPORE
                .iter()
                .map(|(start, end)| span(*start, *end, Session::Intraday))
                .collect(),
        });
        Ok(TradingSessionsResponse { market_trade_session: all })
    }
}

fn hours(market: Market, caller: &Caller, core: &Core) -> MarketSessions {
    let venue = core.history.venues().of(market);
    let today = venue.zone().date(caller.now());
    let wanted = |session: Session| session != Session::Overnight || caller.overnight;
    let mut segments: Vec<_> = venue.hours(today).iter().filter(|segment| wanted(segment.session)).collect();
    // Regular hours come first, because clients show the segments in this order.
    segments.sort_by_key(|segment| segment.session.code());
    let trade_session = segments
        .into_iter()
        .map(|segment| {
            let mut end = closing_clock(segment.end);
            if market == Market::Cn && end == MAINLAND_CLOSE.0 {
                end = MAINLAND_CLOSE.1;
            }
            span(clock(segment.start), end, segment.session)
        })
        .collect();
    MarketSessions { market: market.as_str().to_owned(), trade_session }
}

fn span(beg_time: i32, end_time: i32, session: Session) -> SessionHours {
    SessionHours { beg_time, end_time, trade_session: session.code().into() }
}

/// Converts minutes after midnight to hhmm. Negative values are on the previous evening.
fn clock(minutes: i32) -> i32 {
    let minutes = minutes.rem_euclid(MINUTES_A_DAY);
    minutes / 60 * 100 + minutes % 60
}

/// Converts the end of a session to hhmm. Midnight is sent as 2359, because clients reject 2400,
/// and 0 would precede the session's start.
fn closing_clock(minutes: i32) -> i32 {
    match clock(minutes) {
        0 => 2359,
        hhmm => hhmm,
    }
}

/// Maximum length of the requested range, in days. Clients request 30 days, and published examples
/// request 31.
const DAYS_MAX: i32 = 31;
/// Number of past days for which trading days are served.
const PAST_DAYS_MAX: i64 = 366;

/// Length in days of the range whose half days clients request automatically.
const CLIENT_DAYS: i32 = 30;
/// Number of days from the start of this range to the machine's date in UTC, regardless of the
/// market clock.
const CLIENT_DAYS_BEFORE: i64 = 5;
/// Maximum difference between the client's date and the server's date, in days.
const CLIENT_DAYS_APART: i32 = 2;
/// Number of days before the start of a set clock for which half days are added.
const REPLAYED_BEFORE: i64 = 5;
/// Number of days after the server's set clock for which half days are added.
const REPLAYED_AFTER: i64 = 400;

/// A request for a market's trading days, both dates inclusive. The market is `None` for Singapore,
/// which the protocol defines and Chandler does not support.
#[derive(Debug)]
pub(crate) struct TradingDays {
    market: Option<Market>,
    from: Date,
    through: Date,
    /// Inclusive range whose half days are added. A client needs them in a replay, but cannot
    /// request them.
    replayed: Option<(Date, Date)>,
}

/// Returns whether a request is the one that clients send automatically.
fn is_of_client(from: Date, through: Date, machine_now: Timestamp) -> bool {
    let days = |from: Date, to: Date| from.until(to).map_or(i32::MAX, |span| span.get_days());
    let expected = utc_date(machine_now).and_then(|today| moved(today, -CLIENT_DAYS_BEFORE));
    days(from, through) == CLIENT_DAYS
        && expected.is_some_and(|expected| days(expected, from).abs() <= CLIENT_DAYS_APART)
}

/// Returns the range of dates whose half days are added to the response: the span of the caller's
/// world, or a range around the server's set clock. Returns `None` under the machine clock, and for
/// requests other than those that clients send automatically.
fn replayed(from: Date, through: Date, context: &Context<'_>) -> Result<Option<(Date, Date)>, Refusal> {
    let (core, caller) = (context.core, context.caller);
    let AsOf::Replay(now) = caller.as_of else { return Ok(None) };
    if !is_of_client(from, through, core.machine_now()) {
        return Ok(None);
    }
    let (first, last) = match core.world_span(caller)? {
        Some(span) => (utc_date(span.start()), day_anywhere(span.end())),
        None => {
            let first = utc_date(core.market_start);
            let last = first.max(utc_date(now)).and_then(|last| moved(last, REPLAYED_AFTER));
            (first, last)
        }
    };
    Ok(first.and_then(|first| moved(first, -REPLAYED_BEFORE)).zip(last))
}

fn moved(date: Date, days: i64) -> Option<Date> {
    date.checked_add(DateSpan::new().days(days)).ok()
}

/// Returns the latest date of an instant in any market, which may be one day after the date in UTC.
fn day_anywhere(at: Timestamp) -> Option<Date> {
    const EAST_MAX_S: i64 = 8 * 3_600;
    utc_date(Timestamp(at.0.saturating_add(EAST_MAX_S)))
}

/// Returns the date of an instant in UTC.
fn utc_date(at: Timestamp) -> Option<Date> {
    const DAY: i64 = 86_400;
    Date::constant(1970, 1, 1).checked_add(DateSpan::new().days(at.0.div_euclid(DAY))).ok()
}

impl Command for TradingDays {
    const NUMBER: u8 = wire::command::TRADING_DAYS;
    const LABEL: &'static str = "trading_days";
    type Request = TradingDaysRequest;
    type Response = TradingDaysResponse;

    fn parse(request: TradingDaysRequest, context: &Context<'_>) -> Result<TradingDays, Refusal> {
        let bad = |text: String| Refusal::BadQuery(text);
        let market = match request.market.as_str() {
            "SG" => None,
            text => Some(
                Market::parse(text).ok_or_else(|| bad(format!("{text:?} is not one of US, HK, CN, SG")))?,
            ),
        };
        let date = |text: &str| parse_date(text).map_err(|error| bad(error.to_string()));
        let (from, through) = (date(&request.beg_day)?, date(&request.end_day)?);
        if from > through {
            return Err(bad(format!("beg_day {from} is after end_day {through}")));
        }
        let days = from.until(through).map_or(i32::MAX, |span| span.get_days());
        if days > DAYS_MAX {
            return Err(bad(format!("{days} days in one request: the maximum is {DAYS_MAX}")));
        }
        let venue = context.core.history.venues().of(market.unwrap_or(Market::Hk));
        let today = venue.zone().date(context.caller.now());
        let earliest = today.checked_sub(DateSpan::new().days(PAST_DAYS_MAX)).unwrap_or(Date::MIN);
        let replayed = replayed(from, through, context)?;
        if from < earliest && replayed.is_none() {
            return Err(bad(format!("beg_day {from} is before {earliest}: the past year is known")));
        }
        Ok(TradingDays { market, from, through, replayed })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Open
    }

    fn answer(self, _: &Caller, _: &Permit, core: &Core) -> Result<TradingDaysResponse, Refusal> {
        let mut response = TradingDaysResponse::default();
        let Some(market) = self.market else { return Ok(response) };
        let calendar = core.history.venues().of(market).calendar();
        let text = |date: Date| date.strftime("%Y%m%d").to_string();
        for (date, kind) in calendar.days(self.from, self.through) {
            let days = match kind {
                DayKind::Full => &mut response.trade_day,
                DayKind::Half => &mut response.half_trade_day,
            };
            days.push(text(date));
        }
        if let Some((from, through)) = self.replayed {
            let half = calendar.days(from, through).filter(|(_, kind)| *kind == DayKind::Half);
            response.half_trade_day.extend(half.map(|(date, _)| text(date)));
            response.half_trade_day.sort_unstable();
            response.half_trade_day.dedup();
        }
        Ok(response)
    }
}
