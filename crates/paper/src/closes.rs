//! A cache of daily closes, read in bulk: valuing an account on three thousand dates needs every
//! close in the range.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use history::{History, HistoryError};
use market::{Date, Price, Symbol};
use quick_cache::sync::Cache;
use store::Reader;

/// Maximum number of cached securities. Eight years of closes take about 50 KB each.
const SYMBOLS_MAX: usize = 512;

#[derive(Debug)]
pub(crate) struct Closes {
    symbols: Cache<Symbol, Arc<SymbolCloses>>,
    /// Number of store reads.
    reads: AtomicU64,
}

/// Cached closes of one security at one version of the store.
#[derive(Debug)]
struct SymbolCloses {
    version: i64,
    /// First date (inclusive) and end (exclusive).
    range: (Date, Date),
    /// Closes of daily candles, in ascending order.
    days: Vec<(Date, Price)>,
    /// Results for dates without a daily candle on the preceding trading day, filled on demand.
    others: Mutex<HashMap<Date, Option<Price>>>,
}

impl Default for Closes {
    fn default() -> Closes {
        Closes { symbols: Cache::new(SYMBOLS_MAX), reads: AtomicU64::new(0) }
    }
}

impl Closes {
    /// Returns the same close as [`History::close_before`]. Reads all closes of `range` in one pass
    /// on a cache miss.
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
        // No candle can be newer than the last trading day.
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
