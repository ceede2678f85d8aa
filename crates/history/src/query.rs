//! Queries with validated fields, and errors of queries.

use block::BlockError;
use market::{Date, Floors, Market, Period, Symbol, Timestamp, fold, parse_date, parse_time_of_day};
use store::{Lane, Series, StoreError};

/// Maximum number of candles in an answer.
pub const COUNT_MAX: usize = 1000;
/// Number of candles in an offset query that gives no count.
pub const COUNT_DEFAULT: usize = 10;

/// A history query with validated fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub symbol: Symbol,
    pub period: Period,
    pub adjust: Adjust,
    pub sessions: Sessions,
    /// Start of the history that the caller may read. Accounts have floors; the owner of the store
    /// has none.
    pub floors: Floors,
    pub select: Select,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adjust {
    /// Unadjusted prices.
    #[default]
    None,
    /// Prices of earlier days are adjusted to today's price level.
    Forward,
}

/// Requested trading hours. Only minute candles of US securities have sessions outside regular
/// hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    #[default]
    Intraday,
    /// Regular, pre-market and post-market hours.
    Extended,
    /// All sessions, including overnight. The caller must hold the right to it.
    All,
}

impl Sessions {
    /// Returns the lanes to read. Daily and longer candles have only the regular lane, as have all
    /// candles of the Hong Kong and mainland markets.
    pub fn lanes(self, period: Period, market: Market) -> &'static [Lane] {
        match (self, period, market) {
            (Sessions::Extended, Period::Clock(_), Market::Us) => &[Lane::Regular, Lane::Extended],
            (Sessions::All, Period::Clock(_), Market::Us) => {
                &[Lane::Regular, Lane::Extended, Lane::Overnight]
            }
            _ => &[Lane::Regular],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// `count` candles starting at an anchor (inclusive).
    Offset { direction: Direction, anchor: Anchor, count: usize },
    /// Candles stamped within an inclusive range of local dates, at most [`COUNT_MAX`].
    Dates { start: Option<Date>, end: Option<Date> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Past,
    Present,
}

/// Start of an offset query, in the local time of the security's market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The latest trading day.
    Latest,
    Day(Date),
    /// A date and the minutes after its midnight. Only used with minute periods.
    Minute(Date, i32),
    /// Minutes after midnight of the latest trading day.
    LatestMinute(i32),
}

impl Anchor {
    /// Builds an anchor from an optional date and optional minutes after midnight. The time of day
    /// is ignored for daily and longer periods, as in the live service.
    pub fn of(period: Period, date: Option<Date>, minute: Option<i32>) -> Anchor {
        match (date, minute.filter(|_| period.is_clock())) {
            (Some(date), Some(minute)) => Anchor::Minute(date, minute),
            (Some(date), None) => Anchor::Day(date),
            (None, Some(minute)) => Anchor::LatestMinute(minute),
            (None, None) => Anchor::Latest,
        }
    }
}

/// Why a query is invalid. Every variant maps to the protocol's "invalid request parameters".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadQuery {
    #[error("count {0} is outside 1 to {COUNT_MAX}")]
    Count(i64),
    #[error("direction {0} is neither 0 (toward the past) nor 1 (toward the present)")]
    Direction(i64),
    #[error("{0}")]
    Time(#[from] market::ParseTimeError),
    #[error("start date {start} is after end date {end}")]
    Backwards { start: Date, end: Date },
    /// Uses the text of the live service, because clients match on it.
    #[error("out of minute kline begin date")]
    BelowMinuteFloor,
}

impl Select {
    /// Parses an offset query from request fields. Blank text and a zero count mean that the field
    /// is absent.
    pub fn offset(
        period: Period,
        direction: i64,
        date: &str,
        minute: &str,
        count: i64,
    ) -> Result<Select, BadQuery> {
        let direction = match direction {
            0 => Direction::Past,
            1 => Direction::Present,
            other => return Err(BadQuery::Direction(other)),
        };
        let count = match usize::try_from(count) {
            Ok(0) => COUNT_DEFAULT,
            Ok(count) if count <= COUNT_MAX => count,
            _ => return Err(BadQuery::Count(count)),
        };
        let date = blank_or(date, parse_date)?;
        // Clients send a minute with daily queries if the user gave a full timestamp, so the minute
        // is ignored without parsing.
        let minute = if period.is_clock() { blank_or(minute, parse_time_of_day)? } else { None };
        Ok(Select::Offset { direction, anchor: Anchor::of(period, date, minute), count })
    }

    /// Parses a date query from request fields.
    pub fn dates(period: Period, floors: Floors, start: &str, end: &str) -> Result<Select, BadQuery> {
        let (start, end) = (blank_or(start, parse_date)?, blank_or(end, parse_date)?);
        Select::between(period, floors, start, end)
    }

    /// Builds a date query, and checks it against the floors.
    pub fn between(
        period: Period,
        floors: Floors,
        start: Option<Date>,
        end: Option<Date>,
    ) -> Result<Select, BadQuery> {
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            return Err(BadQuery::Backwards { start, end });
        }
        // As in the live service, minute queries below the floor are refused, but daily queries are
        // clamped to it.
        let below = |date: Option<Date>| date.zip(floors.minute).is_some_and(|(date, floor)| date < floor);
        if period.is_clock() && (below(start) || below(end)) {
            return Err(BadQuery::BelowMinuteFloor);
        }
        Ok(Select::Dates { start, end })
    }
}

fn blank_or<T, E>(text: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<Option<T>, E> {
    if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("{0} is not known: import its candles, or check the spelling")]
    UnknownSecurity(Symbol),
    #[error("{0} is an option: history for options is unavailable")]
    Option(Symbol),
    #[error("{0} is known, but has no candles")]
    NoCandles(Symbol),
    #[error("{0} has no trades")]
    NoTrades(Symbol),
    #[error("{0} is a warrant: capital flow of warrants is unavailable")]
    Warrant(Symbol),
    #[error("stored trades of {symbol} at {at}: {source}")]
    DamagedTrades { symbol: Symbol, at: Timestamp, source: BlockError },
    #[error("stored block of {series} at {at}: {source}")]
    Damaged { series: Series, at: Timestamp, source: BlockError },
    #[error("folding {symbol}: {source}")]
    Overflow { symbol: Symbol, source: fold::Overflow },
    #[error(transparent)]
    Store(#[from] StoreError),
}
