//! Quotes: the last price of a security at an instant and the figures of its trading day, computed
//! from the newest candles.
//!
//! [`History::quote`] reads the candles, and `QuoteCandles::quote` evaluates them without I/O.
//! [`History::last_price`] returns only the price, for lists of securities, by the same rule with
//! fewer reads.

use market::{
    Candle, Candles, Date, Floors, Grain, Market, Period, Price, Session, Symbol, Timestamp, Turnover, Venue,
};
use store::Reader;

use crate::as_of::AsOf;
use crate::day_minutes::{DayMinutes, minutes};
use crate::own::has_own;
use crate::query::{Adjust, Anchor, Direction, HistoryError, Query, Select, Sessions};
use crate::read::{Answer, History};

/// Unadjusted prices of a security at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    pub symbol: Symbol,
    /// Number of decimals of the security's prices.
    pub decimals: u32,
    pub trade_status: TradeStatus,
    /// Regular hours of the newest day that has a candle.
    pub regular: SessionQuote,
    /// Pre-market hours of the day after `regular` if that day has pre-market trades, otherwise of
    /// the same day.
    pub pre: Option<SessionQuote>,
    pub post: Option<SessionQuote>,
    /// Overnight session, chosen by the same rule as `pre`.
    pub overnight: Option<SessionQuote>,
}

/// Figures of a session, and the price that they are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionQuote {
    pub state: SessionState,
    pub prev_close: Price,
}

/// Figures of one session of a trading day so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionState {
    pub day: Date,
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub last: Price,
    pub volume: i64,
    pub turnover: Turnover,
    /// Stamp of the last price: its minute, or its day if no one-minute candles are stored.
    pub time: Timestamp,
}

/// Whether a security is trading. Always `Normal`, because candles do not show halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TradeStatus {
    Normal,
}

impl History {
    /// Returns the quote of a security, or `None` if it has no visible candle in regular hours.
    /// `sessions` are the sessions that the caller may read.
    pub fn quote(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        sessions: Sessions,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<Quote>, HistoryError> {
        let found = self.quote_candles(reader, symbol, sessions, floors, as_of);
        let candles = without_missing(found)?;
        Ok(candles.and_then(|candles| candles.quote(symbol, self.venue(symbol), as_of)))
    }

    fn quote_candles(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        sessions: Sessions,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<QuoteCandles, HistoryError> {
        let Answer { decimals, candles: days, .. } =
            self.candles(reader, &newest(symbol, Period::DAY, 2, floors), as_of)?;
        let all = minutes(symbol, sessions, floors);
        let regular = Query { sessions: Sessions::Intraday, ..all.clone() };
        let day = self.newest_day(reader, &regular, as_of)?;
        let has_more = symbol.market() == Market::Us && sessions != Sessions::Intraday;
        let newest = if has_more { self.newest_day(reader, &all, as_of)? } else { None };
        let mut of_day =
            |day: Option<Date>| day.map(|day| self.minutes_of_day(reader, &all, day, as_of)).transpose();
        let ahead = of_day(newest.filter(|newest| day.is_none_or(|day| *newest > day)))?;
        Ok(QuoteCandles { decimals, days, minutes: of_day(day)?, ahead })
    }

    /// Returns the last price in regular hours and its number of decimals, or `None` if there is
    /// none. Equals the last price of a quote, except that coarse candles are used as well.
    pub fn last_price(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<(Price, u32)>, HistoryError> {
        let coarse = has_own(&reader.snapshot_of(symbol)?, symbol)?;
        let mut newest = |period| self.newest_candle(reader, symbol, period, floors, as_of);
        let (day, mut minute) = (newest(Period::DAY)?, newest(Period::MINUTE)?);
        for grain in Grain::OWN.into_iter().filter(|_| coarse) {
            let other = newest(grain.period())?;
            // If two candles have the same stamp, the finer one wins, because it was read first.
            minute = match (minute, other) {
                (Some((one, _)), Some((other, decimals))) if other.time > one.time => Some((other, decimals)),
                (one, other) => one.or(other),
            };
        }
        let venue = self.venue(symbol);
        let date = |candle: &Candle| venue.zone().date(candle.time);
        let last = match (day, minute) {
            (Some((day, _)), Some((minute, decimals)))
                if as_of.prefers_minutes(venue, date(&day), date(&minute)) =>
            {
                Some((minute, decimals))
            }
            (day, minute) => day.or(minute),
        };
        Ok(last.map(|(candle, decimals)| (candle.close, decimals)))
    }

    /// Returns the newest candle of a period with the number of decimals, or `None` if there is
    /// none.
    fn newest_candle(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        period: Period,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<(Candle, u32)>, HistoryError> {
        let found = self.candles(reader, &newest(symbol, period, 1, floors), as_of);
        let answer = without_missing(found)?;
        Ok(answer.and_then(|answer| answer.candles.last().map(|candle| (candle, answer.decimals))))
    }
}

/// Candles from which a quote is computed.
#[derive(Debug)]
struct QuoteCandles {
    decimals: u32,
    /// The newest two daily candles.
    days: Candles,
    /// One-minute candles of the newest day that has any in regular hours.
    minutes: Option<DayMinutes>,
    /// One-minute candles of a later day whose regular hours have not begun.
    ahead: Option<DayMinutes>,
}

impl QuoteCandles {
    fn quote(&self, symbol: &Symbol, venue: &Venue, as_of: AsOf) -> Option<Quote> {
        let dated = |candle: &Candle| venue.zone().date(candle.time);
        let minutes = self.minutes.as_ref();
        let traded = minutes.and_then(|minutes| minutes.state(Session::Intraday));
        let state = match (self.days.last().map(|day| (dated(&day), day)), traded) {
            (Some((date, _)), Some(traded)) if as_of.prefers_minutes(venue, date, traded.day) => traded,
            (Some((date, day)), traded) => {
                let last = traded.filter(|traded| traded.day == date).map(|traded| traded.time);
                SessionState::of_day(date, &day, last)
            }
            (None, traded) => traded?,
        };
        let before = self.days.iter().rfind(|day| dated(day) < state.day);
        let prev_close = before.map_or(state.open, |day| day.close);
        let ahead = self.ahead.as_ref().filter(|ahead| ahead.day > state.day);
        let of = |minutes: Option<&DayMinutes>, session: Session, prev_close: Price| {
            Some(SessionQuote { state: minutes?.state(session)?, prev_close })
        };
        // Sessions before regular hours are compared with the previous regular close.
        let before =
            |session: Session| of(ahead, session, state.last).or_else(|| of(minutes, session, prev_close));
        Some(Quote {
            symbol: symbol.clone(),
            decimals: self.decimals,
            trade_status: TradeStatus::Normal,
            regular: SessionQuote { state, prev_close },
            pre: before(Session::Pre),
            post: of(minutes, Session::Post, state.last),
            overnight: before(Session::Overnight),
        })
    }
}

impl DayMinutes {
    /// Returns the figures of one session, or `None` if it has no trades.
    pub fn state(&self, session: Session) -> Option<SessionState> {
        let mut candles = self.candles.iter().filter(|candle| candle.session == session);
        let first = SessionState::of_candle(self.day, &candles.next()?);
        Some(candles.fold(first, |state, candle| SessionState {
            high: state.high.max(candle.high),
            low: state.low.min(candle.low),
            last: candle.close,
            volume: state.volume.saturating_add(candle.volume),
            turnover: Turnover(state.turnover.0.saturating_add(candle.turnover.0)),
            time: candle.time,
            ..state
        }))
    }
}

impl SessionState {
    fn of_candle(day: Date, candle: &Candle) -> SessionState {
        let Candle { time, open, high, low, close, volume, turnover, .. } = *candle;
        SessionState { day, open, high, low, last: close, volume, turnover, time }
    }

    /// Returns the figures of a daily candle. `last` is the stamp of the day's last one-minute
    /// candle, if stored.
    fn of_day(date: Date, day: &Candle, last: Option<Timestamp>) -> SessionState {
        let state = SessionState::of_candle(date, day);
        SessionState { time: last.unwrap_or(state.time), ..state }
    }
}

/// Builds a query for the newest `count` candles of a period.
fn newest(symbol: &Symbol, period: Period, count: usize, floors: Floors) -> Query {
    Query {
        symbol: symbol.clone(),
        period,
        adjust: Adjust::None,
        sessions: Sessions::Intraday,
        floors,
        select: Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count },
    }
}

/// Turns an error into `None` if the security is unknown, has no candles, or is an option.
fn without_missing<T>(found: Result<T, HistoryError>) -> Result<Option<T>, HistoryError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(HistoryError::UnknownSecurity(_) | HistoryError::NoCandles(_) | HistoryError::Option(_)) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
