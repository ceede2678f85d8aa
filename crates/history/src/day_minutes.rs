//! Reads the one-minute candles of the newest trading day, for the intraday line and for quotes.

use market::{Candle, Candles, Date, Floors, Period, Price, Symbol, Timestamp, Turnover};
use store::Reader;

use crate::as_of::AsOf;
use crate::plan::{Plan, Take};
use crate::query::{Adjust, HistoryError, Query, Select, Sessions};
use crate::read::{Answer, History};

/// Upper bound for the number of minutes in a trading day, including overnight hours.
const MINUTES_MAX: usize = 2000;

/// Visible one-minute candles of a trading day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayMinutes {
    pub day: Date,
    /// Number of decimals of the security's prices.
    pub decimals: u32,
    pub candles: Candles,
}

/// One minute of the intraday line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePoint {
    pub time: Timestamp,
    pub price: Price,
    pub volume: i64,
    pub turnover: Turnover,
    /// Average price of the day up to this minute.
    pub average: Price,
}

impl History {
    /// Returns the one-minute candles of the newest trading day that has candles in these sessions,
    /// or `None` if there is no such day. Before regular hours, pre-market or overnight candles may
    /// already belong to the next trading day.
    pub fn newest_day_minutes(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        sessions: Sessions,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<DayMinutes>, HistoryError> {
        let query = minutes(symbol, sessions, floors);
        match self.newest_day(reader, &query, as_of)? {
            Some(day) => self.minutes_of_day(reader, &query, day, as_of).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the trading day of the newest one-minute candle that a query selects, or `None` if
    /// the query selects none.
    pub(crate) fn newest_day(
        &self,
        reader: &mut Reader,
        query: &Query,
        as_of: AsOf,
    ) -> Result<Option<Date>, HistoryError> {
        let venue = self.venue(&query.symbol);
        let plan = Plan::over(query, venue, as_of, Timestamp(i64::MIN)..Timestamp(i64::MAX), Take::Last(1));
        let answer = self.answer(reader, query, &plan, as_of)?;
        Ok(answer.candles.time.last().and_then(|time| venue.trading_day(Timestamp(*time))))
    }

    /// Returns the one-minute candles of a trading day, which may begin on the previous evening.
    pub(crate) fn minutes_of_day(
        &self,
        reader: &mut Reader,
        query: &Query,
        day: Date,
        as_of: AsOf,
    ) -> Result<DayMinutes, HistoryError> {
        let venue = self.venue(&query.symbol);
        let stamps: Vec<Timestamp> =
            venue.day(day).map(|day| day.minutes().map(|(at, _)| at).collect()).unwrap_or_default();
        let window = match (stamps.first(), stamps.last()) {
            (Some(first), Some(last)) => *first..Timestamp(last.0.saturating_add(1)),
            _ => as_of.now()..as_of.now(),
        };
        let plan = Plan::over(query, venue, as_of, window, Take::Last(MINUTES_MAX));
        let Answer { decimals, candles, .. } = self.answer(reader, query, &plan, as_of)?;
        Ok(DayMinutes { day, decimals, candles })
    }
}

impl DayMinutes {
    /// Returns one point per minute, with the average price up to that minute.
    pub fn line(&self) -> impl Iterator<Item = LinePoint> + '_ {
        let (mut volume, mut turnover) = (0i128, 0i128);
        self.candles.iter().map(move |candle: Candle| {
            volume += i128::from(candle.volume);
            turnover += candle.turnover.0;
            LinePoint {
                time: candle.time,
                price: candle.close,
                volume: candle.volume,
                turnover: candle.turnover,
                average: average(turnover, volume).unwrap_or(candle.close),
            }
        })
    }

    /// Returns the close of the newest minute that began at or before `at`, or `None` if there is
    /// none.
    pub fn price_at(&self, at: Timestamp) -> Option<Price> {
        self.candles.iter().rfind(|candle| candle.time <= at).map(|candle| candle.close)
    }
}

/// Builds a query for all one-minute candles of a security.
pub(crate) fn minutes(symbol: &Symbol, sessions: Sessions, floors: Floors) -> Query {
    let select = Select::Dates { start: None, end: None };
    Query { symbol: symbol.clone(), period: Period::MINUTE, adjust: Adjust::None, sessions, floors, select }
}

/// Divides turnover by volume, rounding half up. Returns `None` if the turnover is unknown or
/// nothing was traded.
fn average(turnover: i128, volume: i128) -> Option<Price> {
    if turnover <= 0 || volume <= 0 {
        return None;
    }
    i64::try_from((turnover + volume / 2) / volume).ok().map(Price)
}
