//! The last price of a security.

use market::{Candle, Floors, Grain, Period, Price, Symbol};
use store::Reader;

use crate::as_of::AsOf;
use crate::error::HistoryError;
use crate::own::has_own;
use crate::query::{Adjust, Anchor, Direction, Query, Select, Sessions};
use crate::read::History;

impl History {
    /// The last known price in regular hours, and the decimals it is printed with; `None` if there
    /// is none. A daily candle takes precedence. On a day that is not over, or has no daily candle,
    /// it is the price of the newest minute, or of the newest candle of a coarse file if that is
    /// newer. So it is the price that a quote would show.
    pub fn last_price(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<(Price, u32)>, HistoryError> {
        let coarse = has_own(&reader.snapshot_of(symbol)?, symbol)?;
        let mut newest = |period| self.newest(reader, symbol, period, floors, as_of);
        let (day, mut minute) = (newest(Period::DAY)?, newest(Period::MINUTE)?);
        for grain in Grain::OWN.into_iter().filter(|_| coarse) {
            let other = newest(grain.period())?;
            // Of two with the same stamp, the finer came first.
            minute = match (minute, other) {
                (Some((one, _)), Some((other, decimals))) if other.time > one.time => Some((other, decimals)),
                (one, other) => one.or(other),
            };
        }
        let venue = self.venue(symbol);
        let date = |candle: &Candle| venue.zone().date(candle.time);
        let last = match (day, minute) {
            (Some((day, _)), Some((minute, decimals)))
                if date(&minute) > date(&day)
                    || (date(&minute) == date(&day) && !as_of.is_over(venue, date(&day))) =>
            {
                Some((minute, decimals))
            }
            (day, minute) => day.or(minute),
        };
        Ok(last.map(|(candle, decimals)| (candle.close, decimals)))
    }

    /// The newest candle of a period.
    fn newest(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        period: Period,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<(Candle, u32)>, HistoryError> {
        let query = Query {
            symbol: symbol.clone(),
            period,
            adjust: Adjust::None,
            sessions: Sessions::Intraday,
            floors,
            select: Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: 1 },
        };
        match self.candles(reader, &query, as_of) {
            Ok(answer) => Ok(answer.candles.last().map(|candle| (candle, answer.decimals))),
            Err(HistoryError::UnknownSecurity(_) | HistoryError::NoCandles(_) | HistoryError::Option(_)) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
