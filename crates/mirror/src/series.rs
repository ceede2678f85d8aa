use std::fmt;

use market::{Date, Grain, Period, Symbol, Timestamp, Venue};

/// Maximum number of candles in a page. The protocol allows no more.
pub const PAGE_ROWS: u32 = 1000;

/// Price adjustment of a requested series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Adjust {
    /// Prices as traded.
    #[default]
    None,
    /// Prices adjusted to today's price level.
    Forward,
}

/// Requested trading hours. Only minute candles of US securities have other hours than regular
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sessions {
    #[default]
    Intraday,
    All,
}

/// A series of candles on the other server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    pub symbol: Symbol,
    period: Period,
    pub adjust: Adjust,
    sessions: Sessions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// Only stored periods are mirrored, because the others are folded from them.
    #[error("{0} candles are not stored: mirror day or 1m candles")]
    Period(Period),
}

/// A request for one page of a series (command 27): the last `count` candles at or before the
/// anchor, or the newest ones without an anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub series: Series,
    pub anchor: Option<Anchor>,
    pub count: u32,
}

/// End of a requested page, inclusive, in the local time of the security's market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    pub date: Date,
    /// Minutes after midnight. `None` selects the whole date; daily candles always use `None`.
    pub minute: Option<u16>,
}

impl Adjust {
    pub fn as_str(self) -> &'static str {
        match self {
            Adjust::None => "none",
            Adjust::Forward => "forward",
        }
    }

    /// Returns the code of the protocol (`adjust_type`).
    pub fn code(self) -> i32 {
        match self {
            Adjust::None => 0,
            Adjust::Forward => 1,
        }
    }

    pub fn parse(text: &str) -> Option<Adjust> {
        [Adjust::None, Adjust::Forward].into_iter().find(|adjust| adjust.as_str() == text)
    }
}

impl Sessions {
    pub fn as_str(self) -> &'static str {
        match self {
            Sessions::Intraday => "intraday",
            Sessions::All => "all",
        }
    }

    /// Returns the code of the protocol (`trade_session`).
    pub fn code(self) -> i32 {
        match self {
            Sessions::Intraday => 0,
            Sessions::All => 100,
        }
    }

    pub fn parse(text: &str) -> Option<Sessions> {
        [Sessions::Intraday, Sessions::All].into_iter().find(|sessions| sessions.as_str() == text)
    }
}

impl fmt::Display for Adjust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Series {
    /// Returns the series of a stored period. Always uses [`Sessions::Intraday`] if there are no
    /// other sessions, so that series of the same candles are equal.
    pub fn new(
        symbol: Symbol,
        period: Period,
        adjust: Adjust,
        sessions: Sessions,
    ) -> Result<Series, SeriesError> {
        Grain::of_rows(period).ok_or(SeriesError::Period(period))?;
        let has_sessions =
            period.is_clock() && symbol.market() == market::Market::Us && !symbol.is_us_option();
        let sessions = if has_sessions { sessions } else { Sessions::Intraday };
        Ok(Series { symbol, period, adjust, sessions })
    }

    pub fn period(&self) -> Period {
        self.period
    }

    pub fn sessions(&self) -> Sessions {
        self.sessions
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.symbol, self.period)?;
        if self.adjust == Adjust::Forward {
            f.write_str(" adjusted")?;
        }
        if self.sessions == Sessions::All { f.write_str(" all sessions") } else { Ok(()) }
    }
}

impl Anchor {
    /// Returns the earliest anchor that includes a stamp.
    pub(crate) fn including(venue: &Venue, period: Period, at: Timestamp) -> Anchor {
        // The anchor has no seconds, but a stamp off the grid may have some.
        let up = if period.is_clock() { at.0.saturating_add(59) } else { at.0 };
        Anchor::at_or_before(venue, period, Timestamp(up))
    }

    /// Returns the earliest anchor that includes a stamp even if the other server excludes anchors.
    pub(crate) fn after(venue: &Venue, period: Period, at: Timestamp) -> Anchor {
        if period.is_clock() {
            return Anchor::including(venue, period, Timestamp(at.0.saturating_add(60)));
        }
        let date = venue.zone().date(at);
        Anchor { date: date.tomorrow().unwrap_or(date), minute: None }
    }

    /// Returns the anchor of the minute or date that contains an instant.
    pub(crate) fn at_or_before(venue: &Venue, period: Period, at: Timestamp) -> Anchor {
        let (date, seconds) = venue.zone().local(at);
        Anchor { date, minute: u16::try_from(seconds / 60).ok().filter(|_| period.is_clock()) }
    }
}
