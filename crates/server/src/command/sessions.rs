//! Command 8: the day's trading hours in every market.

use access::Permit;
use market::{Market, Session};
use wire::quote::{MarketSessions, SessionHours, TradingSessionsResponse};

use super::definition::{Command, Context, Request, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

/// Markets in the order of the published example.
const MARKETS: [Market; 3] = [Market::Us, Market::Hk, Market::Cn];
/// Published trading hours of Singapore. There is no calendar for it, but clients expect all four
/// markets.
const SINGAPORE: [(i32, i32); 2] = [(900, 1200), (1300, 1700)];
/// Mainland close as in our calendar, and as published: the published hours exclude the closing
/// auction.
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

/// Converts minutes after midnight to hhmm. Negative minutes are on the previous evening.
fn clock(minutes: i32) -> i32 {
    let minutes = minutes.rem_euclid(MINUTES_A_DAY);
    minutes / 60 * 100 + minutes % 60
}

/// Like `clock`, for the end of a session. Midnight is sent as 2359: clients reject 2400, and 0
/// would precede the start.
fn closing_clock(minutes: i32) -> i32 {
    match clock(minutes) {
        0 => 2359,
        hhmm => hhmm,
    }
}
