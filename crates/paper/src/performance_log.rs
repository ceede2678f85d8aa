//! Cache of each account's profit, round trips and capital movements. A journal is read once; later
//! requests read only the new entries.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use market::{Date, Market, Timestamp, Venues};
use quick_cache::sync::Cache;
use store::{AccountId, Accounts, JournalHead};
use trading::performance::{Book, capital};
use trading::{Currency, Entry, Money};

use crate::PaperError;
use crate::account::book::parsed;
use crate::equity_log::EquityDates;
use crate::feed::Markets;

/// Maximum number of cached accounts.
const ACCOUNTS_MAX: usize = 256;
/// Maximum number of closed trips that are stored per account, which take a few hundred bytes each.
pub(crate) const TRIPS_MAX: usize = 1_000;

/// Profit, round trips and capital movements of one account.
#[derive(Clone, Debug)]
pub(crate) struct PerformanceLog {
    era: u64,
    /// Number of the last applied entry.
    folded: u64,
    pub(crate) book: Book,
    /// Capital put in on each equity date. Movements before the first request have the earliest
    /// date.
    capital: BTreeMap<Date, BTreeMap<Currency, Money>>,
}

impl Default for PerformanceLog {
    fn default() -> PerformanceLog {
        PerformanceLog { era: 0, folded: 0, book: Book::with_trips(TRIPS_MAX), capital: BTreeMap::new() }
    }
}

/// Cache of performance logs by account.
#[derive(Debug)]
pub(crate) struct PerformanceLogs(Cache<AccountId, Arc<Mutex<PerformanceLog>>>);

impl Default for PerformanceLogs {
    fn default() -> PerformanceLogs {
        PerformanceLogs(Cache::new(ACCOUNTS_MAX))
    }
}

impl PerformanceLogs {
    pub(crate) fn of_account(&self, id: AccountId) -> Arc<Mutex<PerformanceLog>> {
        if let Some(known) = self.0.get(&id) {
            return known;
        }
        let log = Arc::<Mutex<PerformanceLog>>::default();
        self.0.insert(id, log.clone());
        log
    }
}

impl PerformanceLog {
    /// Returns the number of journal entries that are not applied yet.
    pub(crate) fn left(&self, head: &JournalHead) -> u64 {
        if self.era == head.era() { head.last_number.saturating_sub(self.folded) } else { head.last_number }
    }

    /// Applies the journal entries up to its head. After about `most` entries, stops and returns
    /// the instant of the last applied entry. Returns `None` if all entries are applied.
    pub(crate) fn catch_up(
        &mut self,
        (accounts, id, head): (&Accounts, AccountId, &JournalHead),
        markets: &Markets,
        most: u64,
    ) -> Result<Option<Timestamp>, PaperError> {
        if self.era != head.era() {
            *self = PerformanceLog { era: head.era(), ..PerformanceLog::default() };
        }
        let first = self.folded;
        while self.folded < head.last_number {
            let rows = accounts.journal_entries(id, self.folded)?;
            let Some(last) = rows.last() else { return Ok(None) };
            let at = last.at;
            let entries: Vec<Entry> = rows.iter().map(|row| parsed(id, row)).collect::<Result<_, _>>()?;
            self.take(&entries, markets);
            if self.folded.saturating_sub(first) >= most && self.folded < head.last_number {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Applies new entries, and skips entries that are already applied.
    pub(crate) fn take(&mut self, entries: &[Entry], markets: &Markets) {
        let (venues, dates) = (markets.history.venues(), EquityDates::of(markets));
        for entry in entries {
            if entry.number <= self.folded {
                continue;
            }
            self.folded = entry.number;
            self.book.apply(entry, |market| rolled(venues, market, entry.at));
            if let Some((currency, amount)) = capital(entry) {
                let of_date = self.capital.entry(dates.of_entry(entry)).or_default();
                *of_date.entry(currency).or_default() += amount;
            }
        }
    }

    /// Returns the capital put in after one equity date and up to another.
    pub(crate) fn capital_between(
        &self,
        after: Option<Date>,
        through: Date,
    ) -> impl Iterator<Item = (Currency, Money)> {
        let of_dates = self.capital.range(..=through).filter(move |(date, _)| Some(**date) > after);
        of_dates.flat_map(|(_, amounts)| amounts.iter().map(|(currency, amount)| (*currency, *amount)))
    }
}

fn rolled(venues: &Venues, market: Market, at: Option<Timestamp>) -> Option<Date> {
    venues.of(market).rolled(at?)
}
