//! A cache of daily closes, read in bulk: valuing an account on three thousand dates needs all of
//! them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use history::{History, HistoryError};
use market::{Date, Price, Symbol};
use quick_cache::sync::Cache;
use store::Reader;

/// Securities of which closes are cached. Eight years of one take some 50 KB.
const SYMBOLS_MAX: usize = 512;

#[derive(Debug)]
pub(crate) struct Closes {
    symbols: Cache<Symbol, Arc<SymbolCloses>>,
    /// How often the store was read for closes.
    reads: AtomicU64,
}

/// The closes of a security at a version of the store.
#[derive(Debug)]
struct SymbolCloses {
    version: i64,
    /// The first date, and the first one after the last.
    range: (Date, Date),
    /// Of daily candles, ascending.
    days: Vec<(Date, Price)>,
    /// Closes before dates without a daily candle, as far as they were looked up.
    others: Mutex<HashMap<Date, Option<Price>>>,
}

impl Default for Closes {
    fn default() -> Closes {
        Closes { symbols: Cache::new(SYMBOLS_MAX), reads: AtomicU64::new(0) }
    }
}

impl Closes {
    /// The answer of [`History::close_before`] for a date. All closes of the range are read in one
    /// pass.
    pub(crate) fn before(
        &self,
        (history, reader): (&History, &mut Reader),
        (symbol, version): (&Symbol, i64),
        date: Date,
        range: (Date, Date),
    ) -> Result<Option<Price>, HistoryError> {
        let known = self.symbols.get(symbol).filter(|known| known.is_of(version, range));
        let known = match known {
            Some(known) => known,
            None => {
                self.reads.fetch_add(1, Ordering::Relaxed);
                let days = history.daily_closes(reader.view(), symbol, range)?;
                let read = Arc::new(SymbolCloses { version, range, days, others: Mutex::default() });
                self.symbols.insert(symbol.clone(), read.clone());
                read
            }
        };
        // The last day on which the market was open: no candle can be newer.
        let last = date
            .yesterday()
            .ok()
            .and_then(|day| history.venues().of(symbol.market()).calendar().on_or_before(day));
        if let Some(close) = last.and_then(|last| known.on(last)) {
            return Ok(Some(close));
        }
        if let Some(close) = known.others.lock().unwrap_or_else(PoisonError::into_inner).get(&date) {
            return Ok(*close);
        }
        self.reads.fetch_add(1, Ordering::Relaxed);
        let close = history.close_before(reader.view(), symbol, date)?;
        known.others.lock().unwrap_or_else(PoisonError::into_inner).insert(date, close);
        Ok(close)
    }

    #[cfg(test)]
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

impl SymbolCloses {
    fn is_of(&self, version: i64, (from, until): (Date, Date)) -> bool {
        self.version == version && self.range.0 <= from && self.range.1 >= until
    }

    fn on(&self, date: Date) -> Option<Price> {
        let found = self.days.binary_search_by_key(&date, |(day, _)| *day).ok()?;
        self.days.get(found).map(|(_, close)| *close)
    }
}
