use std::fmt;
use std::str::FromStr;

use market::{Grain, Symbol, Timestamp};

use crate::engine::{Fault, Row, natural};

/// The trading sessions of a series. Each lane is a separate series, so that a query for regular
/// hours, which is the common case, does not read candles of other sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Intraday candles of regular hours, and all daily candles.
    Regular,
    /// Candles before and after regular hours.
    Extended,
    Overnight,
}

impl Lane {
    pub const ALL: [Lane; 3] = [Lane::Regular, Lane::Extended, Lane::Overnight];

    pub fn as_str(self) -> &'static str {
        match self {
            Lane::Regular => "regular",
            Lane::Extended => "extended",
            Lane::Overnight => "overnight",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Lane::Regular => "",
            Lane::Extended => "+ext",
            Lane::Overnight => "+overnight",
        }
    }
}

/// Key of a sequence of blocks. Displayed as `700.HK/1m`, `AAPL.US/1m+ext` or
/// `AAPL.US/1m+overnight`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    pub symbol: Symbol,
    pub grain: Grain,
    pub lane: Lane,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a series: write symbol/grain, like 700.HK/1m, AAPL.US/1m+ext or AAPL.US/1d")]
pub struct ParseSeriesError(String);

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}{}", self.symbol, self.grain.as_str(), self.lane.suffix()))
    }
}

impl FromStr for Series {
    type Err = ParseSeriesError;

    fn from_str(text: &str) -> Result<Series, ParseSeriesError> {
        let wrong = || ParseSeriesError(text.chars().take(40).collect());
        let (symbol, rest) = text.split_once('/').ok_or_else(wrong)?;
        let symbol = symbol.parse().map_err(|_| wrong())?;
        let (grain, lane) = rest.find('+').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
        let grain = Grain::ALL.into_iter().find(|known| known.as_str() == grain).ok_or_else(wrong)?;
        let lane = Lane::ALL.into_iter().find(|known| known.suffix() == lane).ok_or_else(wrong)?;
        Ok(Series { symbol, grain, lane })
    }
}

/// Totals of a series. A series without blocks does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesInfo {
    pub series: Series,
    pub rows: u64,
    pub blocks: u64,
    pub bytes: u64,
    pub first: Timestamp,
    pub last: Timestamp,
    /// Increases with each commit that changes the series. Never repeats, even if the series is
    /// emptied and filled again.
    pub version: i64,
}

impl SeriesInfo {
    pub(crate) fn read(row: &Row<'_>) -> Result<SeriesInfo, Fault> {
        Ok(SeriesInfo {
            series: Series::read(row, 0)?,
            rows: natural(row, 3)?,
            blocks: natural(row, 4)?,
            bytes: natural(row, 5)?,
            first: Timestamp(row.get(6)?),
            last: Timestamp(row.get(7)?),
            version: row.get(8)?,
        })
    }
}

impl Series {
    /// Reads a series from the columns symbol, grain and lane, starting at `column`.
    pub(crate) fn read(row: &Row<'_>, column: usize) -> Result<Series, Fault> {
        let text = |column: usize| -> Result<&str, Fault> { row.text(column) };
        let (symbol, grain, lane) = (text(column)?, text(column + 1)?, text(column + 2)?);
        Ok(Series {
            symbol: symbol.parse().map_err(|_| Fault::value("symbol", symbol))?,
            grain: Grain::ALL
                .into_iter()
                .find(|known| known.as_str() == grain)
                .ok_or_else(|| Fault::value("grain", grain))?,
            lane: Lane::ALL
                .into_iter()
                .find(|known| known.as_str() == lane)
                .ok_or_else(|| Fault::value("lane", lane))?,
        })
    }
}
