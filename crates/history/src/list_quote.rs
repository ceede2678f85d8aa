//! The figures of a security in a list: the last price, the day's change and volume, and recent
//! closes.

use market::{Floors, Period, Price, Symbol};
use store::Reader;

use crate::as_of::AsOf;
use crate::own::has_own;
use crate::query::{Adjust, Anchor, Direction, HistoryError, Query, Select, Sessions};
use crate::quote::without_missing;
use crate::read::History;

/// Number of daily closes of a list's sparkline.
pub const CLOSES_MAX: usize = 30;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuote {
    /// The price of [`History::last_price`].
    pub last: Price,
    pub decimals: u32,
    /// Figures of the newest day in regular hours; `None` if the last price comes from a candle
    /// that quotes do not use.
    pub day: Option<ListDay>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListDay {
    pub prev_close: Price,
    pub volume: i64,
}

impl History {
    /// Returns the figures of a security, or `None` if there is no price. The change and the volume
    /// equal those of a quote, so that pushes can continue them.
    pub fn list_quote(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<ListQuote>, HistoryError> {
        let quote = self.quote(reader, symbol, Sessions::Intraday, floors, as_of)?;
        // A quote reads everything that the last price needs, except coarse candles.
        let last = match &quote {
            Some(quote) if !has_own(&reader.snapshot_of(symbol)?, symbol)? => {
                Some((quote.regular.state.figures.last, quote.decimals))
            }
            _ => self.last_price(reader, symbol, floors, as_of)?,
        };
        let Some((last, decimals)) = last else { return Ok(None) };
        let day = quote.filter(|quote| quote.regular.state.figures.last == last).map(|quote| ListDay {
            prev_close: quote.regular.prev_close,
            volume: quote.regular.state.figures.volume,
        });
        Ok(Some(ListQuote { last, decimals, day }))
    }

    /// Returns the closes of the newest days, oldest first, adjusted for later corporate actions, at
    /// most [`CLOSES_MAX`]. A day that has not ended has the close of its last minute.
    pub fn recent_closes(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Vec<Price>, HistoryError> {
        let query = Query {
            symbol: symbol.clone(),
            period: Period::DAY,
            adjust: Adjust::Forward,
            sessions: Sessions::Intraday,
            floors,
            select: Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: CLOSES_MAX },
        };
        let found = without_missing(self.candles(reader, &query, as_of))?;
        Ok(found.map(|answer| answer.candles.iter().map(|candle| candle.close).collect()).unwrap_or_default())
    }
}
