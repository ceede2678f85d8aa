//! `GET /v1/quote/market-status`: whether each market is trading, according to its calendar. The
//! opening auction is reported as closed, because no candle covers it.

use market::{Market, Session, Timestamp, Venue};
use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const STATUS: Doc =
    Doc::new(Tag::Candles, "marketStatus", "Current trading status of the markets")
        .answers(&[AnswerDoc::ok("One row per market with a calendar", &[data::<MarketStatus>()])]);

#[derive(Debug, Serialize, JsonSchema)]
struct MarketStatus {
    market_time: Vec<MarketTime>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MarketTime {
    market: &'static str,
    /// 105 trading, 106 midday break, 107 closing auction, 108 closed. US: 201 pre-market, 202
    /// regular hours, 203 post-market, 207 overnight, 204 closed.
    trade_status: i32,
    /// Market time in Unix seconds.
    timestamp: String,
    /// Equal to `trade_status`, because quotes are never delayed.
    delay_trade_status: i32,
    delay_timestamp: String,
    sub_status: i32,
    delay_sub_status: i32,
}

pub(super) fn answer(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let now = admitted.now();
    let row = |market: Market| {
        let trade_status = status(site.core.history.venues().of(market), now);
        MarketTime {
            market: market.as_str(),
            trade_status,
            timestamp: now.0.to_string(),
            delay_trade_status: trade_status,
            delay_timestamp: now.0.to_string(),
            sub_status: 0,
            delay_sub_status: 0,
        }
    };
    Ok(envelope::success(MarketStatus { market_time: Market::ALL.into_iter().map(row).collect() }))
}

/// Returns the SDKs' code for a market's state.
fn status(venue: &Venue, now: Timestamp) -> i32 {
    let is_us = venue.market() == Market::Us;
    // Only Hong Kong has a closing auction. In other markets the closing phase only allows for late
    // timestamps.
    if venue.market() == Market::Hk && venue.closing(now).is_some() {
        return 107;
    }
    let slot = venue.slot(now).filter(|slot| !slot.is_tail(now));
    match slot.map(|slot| slot.segment.session) {
        Some(Session::Intraday) if is_us => 202,
        Some(Session::Intraday) => 105,
        Some(Session::Pre) => 201,
        Some(Session::Post) => 203,
        Some(Session::Overnight) => 207,
        None if is_us => 204,
        None if is_break(venue, now) => 106,
        None => 108,
    }
}

/// Returns whether `now` is in a break after which regular hours resume on the same day.
fn is_break(venue: &Venue, now: Timestamp) -> bool {
    let (date, seconds) = venue.zone().local(now);
    if venue.calendar().kind(date).is_none() {
        return false;
    }
    let hours = venue.hours(date);
    let has_begun = hours.iter().any(|segment| i64::from(segment.start) * 60 <= seconds);
    let goes_on = hours.iter().any(|segment| i64::from(segment.start) * 60 > seconds);
    has_begun && goes_on
}

#[cfg(test)]
mod tests {
    use market::Venues;

    use super::*;

    #[test]
    fn the_status_follows_the_calendar() {
        let venues = Venues::built_in().unwrap();
        // Friday, 13 November 2026, and the following Saturday.
        for (market, clock, wanted) in [
            (Market::Hk, "2026-11-13 09:29", 108),
            (Market::Hk, "2026-11-13 09:30", 105),
            (Market::Hk, "2026-11-13 11:59", 105),
            (Market::Hk, "2026-11-13 12:00", 106),
            (Market::Hk, "2026-11-13 13:00", 105),
            (Market::Hk, "2026-11-13 16:05", 107),
            (Market::Hk, "2026-11-13 16:10", 108),
            (Market::Hk, "2026-11-14 10:00", 108),
            (Market::Cn, "2026-11-13 11:30", 106),
            (Market::Cn, "2026-11-13 14:59", 105),
            (Market::Cn, "2026-11-13 15:00", 108),
            (Market::Us, "2026-11-13 03:00", 207),
            (Market::Us, "2026-11-13 05:00", 201),
            (Market::Us, "2026-11-13 09:30", 202),
            (Market::Us, "2026-11-13 16:00", 203),
            (Market::Us, "2026-11-13 21:00", 204),
            (Market::Us, "2026-11-15 21:00", 207),
        ] {
            let venue = venues.of(market);
            let (date, time) = clock.split_once(' ').unwrap();
            let minutes = market::parse_time_of_day(time).unwrap();
            let now = venue.zone().instant(date.parse().unwrap(), i64::from(minutes) * 60);
            assert_eq!(status(venue, now), wanted, "{} {clock}", market.as_str());
        }
    }
}
