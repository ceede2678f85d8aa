use market::{Date, Floors, Market, Period, Symbol, parse_date, parse_time_of_day};
use store::Lane;

/// Maximum number of candles in an answer.
pub const COUNT_MAX: usize = 1000;
/// The count of an offset query without one.
pub const COUNT_DEFAULT: usize = 10;

/// A history query with validated fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub symbol: Symbol,
    pub period: Period,
    pub adjust: Adjust,
    pub sessions: Sessions,
    /// The start of the history that the caller is served: an account from its floors, the owner of
    /// the store from the beginning.
    pub floors: Floors,
    pub select: Select,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adjust {
    /// Prices as traded.
    #[default]
    None,
    /// Today's prices unchanged, earlier ones adjusted to today's basis.
    Forward,
}

/// Which trading hours are wanted. Only minute candles of US securities have any but the regular
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    #[default]
    Intraday,
    /// Pre and post as well.
    Extended,
    /// Everything, overnight included: the caller has requested it and holds the right.
    All,
}

impl Sessions {
    /// The lanes to read. Day candles have one session; so have Hong Kong and the mainland.
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
    /// `count` candles from an anchor on, the anchor included.
    Offset { direction: Direction, anchor: Anchor, count: usize },
    /// The candles stamped within an inclusive range of local dates, at most [`COUNT_MAX`].
    Dates { start: Option<Date>, end: Option<Date> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Past,
    Present,
}

/// Where an offset query starts, in wall-clock terms of the security's market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The latest trading day.
    Latest,
    Day(Date),
    /// A date and minutes after its midnight; only minute periods have such anchors.
    Minute(Date, i32),
    /// A minute of the latest trading day.
    LatestMinute(i32),
}

impl Anchor {
    /// The anchor of an optional date and optional minutes after midnight. For day candles the time of day is ignored, as the live service
    /// does.
    pub fn of(period: Period, date: Option<Date>, minute: Option<i32>) -> Anchor {
        match (date, minute.filter(|_| period.is_clock())) {
            (Some(date), Some(minute)) => Anchor::Minute(date, minute),
            (Some(date), None) => Anchor::Day(date),
            (None, Some(minute)) => Anchor::LatestMinute(minute),
            (None, None) => Anchor::Latest,
        }
    }
}

/// Why a query is invalid. Every variant is the protocol's "invalid request parameters".
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
    /// The text of the live service: clients match on it.
    #[error("out of minute kline begin date")]
    BelowMinuteFloor,
}

impl Select {
    /// An offset query from the fields of a request: blank text and a zero count mean absent.
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
        // Day-class queries carry a minute whenever the client gave a full time; it is ignored
        // without parsing.
        let minute = if period.is_clock() { blank_or(minute, parse_time_of_day)? } else { None };
        Ok(Select::Offset { direction, anchor: Anchor::of(period, date, minute), count })
    }

    /// A date query from the fields of a request.
    pub fn dates(period: Period, floors: Floors, start: &str, end: &str) -> Result<Select, BadQuery> {
        let (start, end) = (blank_or(start, parse_date)?, blank_or(end, parse_date)?);
        Select::between(period, floors, start, end)
    }

    /// A date query from dates.
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
        // Minutes before their floor are refused, days are clamped: so does the live service.
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
