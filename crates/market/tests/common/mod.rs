//! Helpers for the tables in `rules_*.rs`, with text as input and output. Local times are converted
//! by jiff, so that the expected values do not depend on the code under test.
#![allow(dead_code, unreachable_pub, reason = "every test file takes its own part of this module")]

use std::sync::OnceLock;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use market::{
    Candle, Candles, Date, Market, Minutes, Period, Price, Session, Slot, Span, Timestamp, Turnover, Venue,
    Venues, fold,
};

pub fn venue(market: Market) -> &'static Venue {
    static VENUES: OnceLock<Venues> = OnceLock::new();
    VENUES.get_or_init(|| Venues::built_in().expect("the compiled-in tables parse")).of(market)
}

pub fn market(name: &str) -> Market {
    Market::parse(name).unwrap_or_else(|| panic!("{name:?} is no market"))
}

pub fn date(text: &str) -> Date {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no date"))
}

pub fn minutes(length: u16) -> Minutes {
    Minutes::new(length).unwrap_or_else(|| panic!("{length} minutes are not served"))
}

pub fn every_length() -> impl Iterator<Item = Minutes> {
    [1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240].into_iter().map(minutes)
}

pub fn span(name: &str) -> Span {
    match name.parse() {
        Ok(Period::Calendar(span)) => span,
        _ => panic!("{name:?} is no day-class period"),
    }
}

pub fn zone(market: Market) -> TimeZone {
    static ZONES: OnceLock<[TimeZone; 3]> = OnceLock::new();
    let names = ["Asia/Hong_Kong", "America/New_York", "Asia/Shanghai"];
    let zones =
        ZONES.get_or_init(|| names.map(|name| TimeZone::get(name).expect("the zones are compiled in")));
    match market {
        Market::Hk => zones[0].clone(),
        Market::Us => zones[1].clone(),
        Market::Cn => zones[2].clone(),
    }
}

/// Parses `2026-03-18 09:30`, `2026-03-18 16:08:37` or a bare date (midnight) in the market's local
/// time.
pub fn at(market: Market, local: &str) -> Timestamp {
    let text = if local.len() == 10 { format!("{local} 00:00") } else { local.to_owned() };
    let wall: DateTime = text.parse().unwrap_or_else(|_| panic!("{local:?} is no wall clock reading"));
    Timestamp(wall.to_zoned(zone(market)).expect("inside jiff's range").timestamp().as_second())
}

fn format(market: Market, at: Timestamp, form: &str) -> String {
    let instant = jiff::Timestamp::from_second(at.0).expect("inside jiff's range");
    instant.to_zoned(zone(market)).strftime(form).to_string()
}

/// Formats the local time at an instant: `2026-03-18 09:30`.
pub fn local(market: Market, at: Timestamp) -> String {
    format(market, at, "%Y-%m-%d %H:%M")
}

/// Formats the local time of day: `09:30`.
pub fn clock(market: Market, at: Timestamp) -> String {
    format(market, at, "%H:%M")
}

/// Returns the slot of a trade and the stamp of its one-minute candle by rules A3 and A4: the
/// minute of the trade, or the closing minute for a trade in the closing tail. Returns `None` if
/// the trade has no one-minute candle.
pub fn print(market: Market, when: Timestamp) -> Option<(Slot, Timestamp)> {
    let venue = venue(market);
    if let Some(slot) = venue.slot(when) {
        return Some((slot, Timestamp(when.0.div_euclid(60) * 60)));
    }
    let (today, seconds) = venue.zone().local(when);
    let last = venue.day(today)?.segments.last()?;
    let after = seconds - i64::from(last.end) * 60;
    if !(0..i64::from(last.tail) * 60).contains(&after) {
        return None;
    }
    let closing = Timestamp(when.0 - after);
    Some((venue.slot(closing)?, closing))
}

/// Returns the stamp of the `period` candle that contains a trade (minute periods) or a trading day
/// (daily and longer periods), or `None` if there is no such candle.
pub fn stamp(market: Market, period: Period, when: &str) -> Option<Timestamp> {
    let when = at(market, when);
    match period {
        Period::Clock(minutes) => print(market, when).map(|(slot, minute)| slot.bucket(minutes, minute).0),
        Period::Calendar(_) => {
            let day: Candles = [flat(when, Session::Intraday)].into_iter().collect();
            fold::fold(venue(market), period, &day)
                .expect("one candle cannot overflow")
                .last()
                .map(|c| c.time)
        }
    }
}

/// Returns a candle with arbitrary prices and amounts.
pub fn flat(time: Timestamp, session: Session) -> Candle {
    let price = Price(10_000_000);
    Candle {
        time,
        open: price,
        high: price,
        low: price,
        close: price,
        volume: 1,
        turnover: Turnover(0),
        session,
    }
}

/// Returns all one-minute candles of a trading day, for all sessions. A closing minute has turnover
/// but no volume, so that tests can recognize it in a fold.
pub fn full_day(market: Market, day: &str) -> Candles {
    let day = venue(market).day(date(day)).expect("a trading day");
    let mut candles = Candles::default();
    for segment in day.segments {
        for (time, slot) in day.minutes().filter(|(_, slot)| slot.segment == *segment) {
            let closing = segment.tail > 0 && clock(market, time) == wall(segment.end);
            let mut candle = flat(time, slot.segment.session);
            (candle.volume, candle.turnover) = if closing { (0, Turnover(1)) } else { (1, Turnover(0)) };
            candles.push(candle);
        }
    }
    candles
}

pub fn only(candles: &Candles, session: Session) -> Candles {
    candles.iter().filter(|candle| candle.session == session).collect()
}

/// Formats minutes after midnight as `HH:MM`. Negative minutes are shown as the local time of the
/// previous evening.
pub fn wall(minute: i32) -> String {
    let shown = if minute <= 0 { minute + 1440 } else { minute };
    let shown = if minute == 0 { 0 } else { shown };
    format!("{:02}:{:02}", shown / 60, shown % 60)
}

/// Formats `O H L C` with three decimals.
pub fn prices(candle: &Candle) -> String {
    let Candle { open, high, low, close, .. } = candle;
    format!("{} {} {} {}", open.text(3), high.text(3), low.text(3), close.text(3))
}

/// Parses a candle from `O H L C`.
pub fn candle(time: Timestamp, prices: &str, volume: i64, turnover: &str) -> Candle {
    let mut column = prices.split_whitespace().map(|text| Price::parse(text).expect("a price"));
    let mut next = || column.next().expect("four prices");
    let turnover = Turnover::parse(turnover).expect("a turnover");
    Candle {
        time,
        open: next(),
        high: next(),
        low: next(),
        close: next(),
        volume,
        turnover,
        session: Session::Intraday,
    }
}
