//! Caches of the feed's market data: securities, daily closes and exchange rates. `minutes.rs`
//! caches candles.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use history::{History, HistoryError};
use market::{Date, Price, Symbol, builtin_rate, stand_in_currency};
use quick_cache::sync::Cache;
use store::{Accounts, Reader, Security, StoreError};
use trading::{Currency, Rate};

/// Maximum number of cached securities. Each entry takes less than a kilobyte.
const SECURITIES_MAX: usize = 4_096;

/// Cache of securities, each with the store version at which it was read. Every command reads its
/// security, which rarely changes. Unknown symbols are not cached, because clients could fill the
/// cache with them.
#[derive(Debug)]
pub(crate) struct Securities(Cache<Symbol, (i64, Arc<Security>)>);

impl Default for Securities {
    fn default() -> Securities {
        Securities(Cache::new(SECURITIES_MAX))
    }
}

impl Securities {
    /// Returns a security as of the given store version or a newer version, or `None` if the symbol
    /// is unknown.
    pub(crate) fn get(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        version: i64,
    ) -> Result<Option<Arc<Security>>, StoreError> {
        if let Some((_, known)) = self.0.get(symbol).filter(|(of, _)| *of >= version) {
            return Ok(Some(known));
        }
        // Read both from one snapshot, so that the version matches the row.
        let snapshot = reader.snapshot_of(symbol)?;
        let version = snapshot.version()?;
        let stored = snapshot.security(symbol)?.map(Arc::new);
        drop(snapshot);
        if let Some(stored) = &stored {
            // The insert may overwrite a newer version from another request. In that case, the next
            // request reads the security again.
            self.0.insert(symbol.clone(), (version, stored.clone()));
        }
        Ok(stored)
    }
}

/// Maximum number of securities with cached closes. Eight years of closes take about 50 KB.
const SYMBOLS_MAX: usize = 512;

/// Cache of daily closes, which are read in bulk: valuing an account on three thousand dates needs
/// every close in that range.
#[derive(Debug)]
pub(crate) struct Closes {
    symbols: Cache<Symbol, Arc<SymbolCloses>>,
    /// Number of store reads.
    reads: AtomicU64,
}

/// Cached closes of one security at one store version.
#[derive(Debug)]
struct SymbolCloses {
    version: i64,
    /// Cached dates: the first date (inclusive) and the end (exclusive).
    range: (Date, Date),
    /// Closes of daily candles, in ascending order of date.
    days: Vec<(Date, Price)>,
    /// Results for dates without a daily candle on the preceding trading day, added on demand.
    others: Mutex<HashMap<Date, Option<Price>>>,
}

impl Default for Closes {
    fn default() -> Closes {
        Closes { symbols: Cache::new(SYMBOLS_MAX), reads: AtomicU64::new(0) }
    }
}

impl Closes {
    /// Returns the same close as [`History::close_before`]. On a cache miss, reads all closes in
    /// `range` at once.
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
        // No earlier candle can be newer than the last trading day before `date`.
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

/// Reported exchange rates: HKD per unit of a currency, each valid starting on its day. Read at one
/// version of the accounts database.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rates(BTreeMap<(Currency, Date), Rate>);

impl Rates {
    pub(crate) fn read(accounts: &Accounts) -> Result<Rates, StoreError> {
        let mut rates = BTreeMap::new();
        for row in accounts.all_rates()? {
            // Skip invalid rows, which another program must have written.
            let Ok(currency) = row.currency.parse::<Currency>() else { continue };
            if let Some(rate) = Rate::from_hundred_millionths(row.rate) {
                rates.insert((currency, row.day), rate);
            }
        }
        Ok(Rates(rates))
    }

    /// Returns the latest rate reported on or before a day. Falls back to the rate of the stand-in
    /// currency, then to the built-in rate, and returns `None` if there is none.
    pub(crate) fn on(&self, currency: Currency, date: Date) -> Option<Rate> {
        let stand_in = || stand_in_currency(currency.as_str())?.parse().ok();
        let builtin = || builtin_rate(currency.as_str(), date).and_then(Rate::from_hundred_millionths);
        self.reported(currency, date).or_else(|| self.reported(stand_in()?, date)).or_else(builtin)
    }

    /// Returns whether a currency has no reported rate on a day, in which case only a built-in rate
    /// can apply.
    pub(crate) fn is_builtin(&self, currency: Currency, date: Date) -> bool {
        let stand_in = stand_in_currency(currency.as_str()).and_then(|other| other.parse().ok());
        let has_reported = |currency| self.reported(currency, date).is_some();
        !has_reported(currency) && !stand_in.is_some_and(has_reported)
    }

    fn reported(&self, currency: Currency, date: Date) -> Option<Rate> {
        self.0.range((currency, Date::MIN)..=(currency, date)).next_back().map(|(_, rate)| *rate)
    }
}
