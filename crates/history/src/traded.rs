//! Minutes that have single trades and no stored candle. Clients build a candle from these trades,
//! so their fold is shown as the candle of the minute, from its first trade until a candle is
//! stored. Only the newest two days with trades have such candles, to limit how much a query reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use feed::{Board, Minute};
use market::{Candles, Date, Symbol, Timestamp, TradeCandles, Venue};
use store::{TradeDay, View};

use crate::as_of::AsOf;
use crate::query::HistoryError;
use crate::trade_blocks::{TradedMinute, read_trades};

/// Number of newest days with trades whose minutes are folded.
const DAYS: u8 = 2;
/// Maximum number of cached days. All are dropped when the limit is reached. A day takes at most
/// about a hundred kilobytes.
const CACHED_MAX: usize = 256;

/// Folds of all minutes with trades, by day. They are valid for one version of the day.
#[derive(Debug, Default)]
pub(crate) struct FoldCache(Mutex<Folds>);

type Folds = HashMap<(Symbol, Date), (DayVersion, Arc<Candles>)>;

/// Version, number and last second of a day's trades.
type DayVersion = (i64, u64, Timestamp);

impl FoldCache {
    /// Returns the folds of trades that are visible at an instant, for each minute in the newest
    /// days with trades, ascending. Includes minutes with a stored candle.
    pub(crate) fn at(
        &self,
        view: &View,
        venue: &Venue,
        symbol: &Symbol,
        as_of: AsOf,
    ) -> Result<Candles, HistoryError> {
        let (mut folds, now) = (Candles::default(), as_of.now());
        // An evening session belongs to the next trading day.
        let Ok(through) = venue.zone().date(now).tomorrow() else { return Ok(folds) };
        let mut days = view.trade_days_back(symbol, through, u32::from(DAYS) + 1)?;
        days.retain(|day| day.first <= now);
        days.truncate(usize::from(DAYS));
        if days.is_empty() {
            return Ok(folds);
        }
        // Clients build the candles of an index from quotes.
        let board = view.security(symbol)?.and_then(|security| security.board);
        if board.is_some_and(|name| Board::of_name(&name) == Board::Index) {
            return Ok(folds);
        }
        for day in days.iter().rev() {
            let of_day = self.of_day(view, venue, day)?;
            let begun = of_day.time.partition_point(|stamp| *stamp <= now.0);
            let mut known = Candles::clone(&of_day);
            known.truncate(begun);
            let running = known.last().filter(|fold| {
                let minute = Minute::of(venue, fold.time);
                matches!(as_of, AsOf::Replay(_)) && minute.is_some_and(|minute| minute.acts_at() > now)
            });
            if let Some(fold) = running {
                known.truncate(begun.saturating_sub(1));
                let until = Timestamp(now.0.saturating_add(1));
                if let TradedMinute::Traded(traded) =
                    TradedMinute::read(view, venue, symbol, fold.time, until)?
                {
                    traded.published.into_iter().for_each(|published| known.push(published.candle));
                }
            }
            folds.append(&known);
        }
        Ok(folds)
    }

    /// Returns the folds of all minutes of a day with trades.
    fn of_day(&self, view: &View, venue: &Venue, day: &TradeDay) -> Result<Arc<Candles>, HistoryError> {
        let key = (day.symbol.clone(), day.day);
        let version = (day.version, day.rows, day.last);
        let cache = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, folds)) = cache().get(&key).filter(|(known, _)| *known == version) {
            return Ok(folds.clone());
        }
        let trades = read_trades(view, &day.symbol, &view.trade_blocks(day)?)?;
        let overflow = |source| HistoryError::Overflow { symbol: day.symbol.clone(), source };
        let folds = Arc::new(TradeCandles::of(venue, day.day, &trades).map_err(overflow)?.minutes);
        let mut cached = cache();
        if cached.len() >= CACHED_MAX {
            cached.clear();
        }
        cached.insert(key, (version, folds.clone()));
        Ok(folds)
    }
}
