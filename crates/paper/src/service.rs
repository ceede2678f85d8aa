//! The service: accounts by id, their shared state, their listeners, and the work limit per account
//! ([`Portion`]). `account/mod.rs` handles the requests.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use history::History;
use market::{Date, Timestamp};
use store::{AccountId, Accounts, Reader, StoreError};
use trading::{Account, AdvanceLimit, Currency, Engine, Entry, Outcome, Rate, Tables};

use crate::PaperError;
use crate::account::book::{self, AccountSlot};
use crate::account::commit::Committer;
use crate::arrivals::Arrivals;
use crate::caches::{Closes, Rates, Securities};
use crate::clock::Moment;
use crate::equity_log::EquityLogs;
use crate::feed::{Markets, StoreFeed};
use crate::listener::Listener;
use crate::minutes::Minutes;
use crate::performance_log::PerformanceLogs;

/// Maximum number of accounts in memory. Other accounts are reloaded on demand.
const BOOKS_MAX: usize = 10_000;

/// Limits on the work done for one account at a time: the work per portion, and the number of
/// portions per request. An account that is far behind is advanced in portions, each committed
/// before the next portion starts, so that other accounts do not wait for the whole catch-up.
///
/// A portion is limited by the number of created entries and scanned candles, not by time, so an
/// account without open orders crosses years in one portion. Portion boundaries do not affect the
/// result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portion {
    /// A portion ends after the instant at which one of these limits is reached.
    pub(crate) limit: AdvanceLimit,
    pub(crate) each_request: u32,
    /// Maximum number of journal entries that a request replays to compute an account's
    /// contribution to its level.
    pub(crate) replayed: u64,
}

impl Default for Portion {
    fn default() -> Portion {
        let limit = AdvanceLimit { entries: 1_000, candles: 200_000 };
        Portion { limit, each_request: 5, replayed: 10_000 }
    }
}

impl Portion {
    /// Returns whether requests wait until the account has caught up completely.
    pub(crate) fn is_patient(&self) -> bool {
        self.each_request == u32::MAX
    }

    /// Advances an account to the instant `to`, or until the portion's limit is reached. Does
    /// nothing before the account's first request.
    pub(crate) fn advance(&self, engine: &Engine<'_>, account: &mut Account, to: Timestamp) -> Outcome {
        if account.horizon().is_none_or(|horizon| horizon >= to) {
            return Outcome::default();
        }
        engine.advance_within(account, to, self.limit)
    }
}

/// Subscription of a listener to an account. While the subscription exists, the account's slot and
/// its last pushed entry stay in memory.
#[derive(Debug)]
pub struct Watched {
    place: Arc<AccountSlot>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.place.last_pushed.unwatch();
    }
}

pub struct Paper {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) markets: Markets,
    tables: Tables,
    pub(crate) committer: Committer,
    places: Mutex<HashMap<AccountId, Arc<AccountSlot>>>,
    /// Number of requests so far, used to order slots for LRU eviction.
    requests: AtomicU64,
    /// Exchange rates, and the version of the accounts database at which they were read.
    rates: RwLock<(i64, Arc<Rates>)>,
    pub(crate) portion: Portion,
    pub(crate) equity_logs: EquityLogs,
    pub(crate) performance_logs: PerformanceLogs,
    /// Whether reads never write to the journal (`look.rs`).
    pub(crate) only_looks: bool,
}

impl fmt::Debug for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paper").finish_non_exhaustive()
    }
}

impl Paper {
    pub fn new(
        accounts: Arc<Accounts>,
        history: History,
        tables: Tables,
        listener: Arc<dyn Listener>,
    ) -> Paper {
        let arrivals = Arrivals::of(accounts.shared().cloned());
        let (minutes, securities, closes) = (Minutes::default(), Securities::default(), Closes::default());
        let markets = Markets { history, minutes, arrivals, securities, closes };
        Paper {
            accounts,
            markets,
            tables,
            committer: Committer::new(listener),
            places: Mutex::default(),
            requests: AtomicU64::new(0),
            rates: RwLock::new((i64::MIN, Arc::default())),
            portion: Portion::default(),
            equity_logs: EquityLogs::default(),
            performance_logs: PerformanceLogs::default(),
            only_looks: false,
        }
    }

    /// Configures the service for a command line: requests wait until the account has caught up
    /// completely, and reads write nothing (`look.rs`).
    #[must_use]
    pub fn for_command_line(self) -> Paper {
        let portion = Portion { each_request: u32::MAX, ..self.portion };
        Paper { portion, only_looks: true, ..self }
    }

    /// Replaces the tables of ticks, fees, settlement days and interest.
    #[must_use]
    pub fn with_tables(self, tables: Tables) -> Paper {
        Paper { tables, ..self }
    }

    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Returns up to `limit` accounts that must be advanced by an instant.
    pub fn due(&self, at: Timestamp, limit: u32) -> Result<Vec<AccountId>, PaperError> {
        Ok(self.accounts.due_journals(at, limit)?)
    }

    /// Returns when the next account must be advanced, or `None` if no account is waiting.
    pub fn next_wake(&self) -> Result<Option<Timestamp>, PaperError> {
        Ok(self.accounts.next_wake()?)
    }

    /// Notifies listeners of all further changes to an account, including changes by other
    /// processes, until the returned value is dropped. Costs one short read. Does not take the
    /// slot's lock, so other work on the account does not delay the call.
    pub fn watch(&self, id: AccountId) -> Result<Watched, PaperError> {
        let place = self.place(id);
        place.last_pushed.watch(&self.accounts, id)?;
        Ok(Watched { place })
    }

    /// Applies entries that other processes appended to an account, and pushes them to listeners.
    pub fn follow(&self, id: AccountId) -> Result<(), PaperError> {
        let place = self.place(id);
        let mut state = place.lock();
        let book = self.current(&mut state, id)?;
        state.book = Some(book);
        Ok(())
    }

    /// Like [`Paper::follow`], but for many accounts. Reads only the journal head of unchanged
    /// accounts. If accounts fail, continues with the remaining accounts and returns one of the
    /// errors.
    pub fn follow_all(&self, ids: &[AccountId]) -> Result<(), PaperError> {
        let mut failed = None;
        for (id, head) in self.accounts.journal_heads_of(ids)? {
            if !self.place(id).last_pushed.is_at(&head) {
                failed = self.follow(id).err().or(failed);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Returns all entries of an account's journal.
    pub fn journal(&self, id: AccountId) -> Result<Vec<Entry>, PaperError> {
        Ok(book::read_all(&self.accounts, id)?.map(|(_, entries)| entries).unwrap_or_default())
    }

    /// Returns the next entries of an account's journal after the number `after`. Returns at most one
    /// page.
    pub fn entries_after(&self, id: AccountId, after: u64) -> Result<Vec<Entry>, PaperError> {
        book::read(&self.accounts, id, after)
    }

    pub(crate) fn place(&self, id: AccountId) -> Arc<AccountSlot> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= BOOKS_MAX && !places.contains_key(&id) {
            evict(&mut places, BOOKS_MAX / 10);
        }
        let place = places.entry(id).or_default().clone();
        place.used.store(self.requests.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        place
    }

    pub(crate) fn feed<'a>(
        &'a self,
        reader: &'a mut Reader,
        moment: Moment,
    ) -> Result<StoreFeed<'a>, StoreError> {
        self.feed_at(reader, moment, None)
    }

    /// Returns the market data feed. `version` is the version of the accounts database, if this
    /// request has already read it.
    pub(crate) fn feed_at<'a>(
        &'a self,
        reader: &'a mut Reader,
        moment: Moment,
        version: Option<i64>,
    ) -> Result<StoreFeed<'a>, StoreError> {
        let version = version.map_or_else(|| self.accounts.version(), Ok)?;
        StoreFeed::new(&self.markets, reader, self.rates(version)?, moment.as_of)
    }

    /// Returns HKD per unit of a currency on a date, and whether the rate is built in. Returns
    /// `None` if there is no rate.
    pub fn rate(&self, currency: Currency, date: Date) -> Result<Option<(Rate, bool)>, PaperError> {
        let rates = self.rates(self.accounts.version()?)?;
        Ok(rates.on(currency, date).map(|rate| (rate, rates.is_builtin(currency, date))))
    }

    /// Returns the exchange rates, cached for this version of the accounts database.
    fn rates(&self, version: i64) -> Result<Arc<Rates>, StoreError> {
        let known = self.rates.read().unwrap_or_else(PoisonError::into_inner).clone();
        if known.0 == version {
            return Ok(known.1);
        }
        let rates = Arc::new(Rates::read(&self.accounts)?);
        *self.rates.write().unwrap_or_else(PoisonError::into_inner) = (version, rates.clone());
        Ok(rates)
    }
}

/// Evicts the `count` least recently used accounts that no request holds. Evicted accounts can be
/// reloaded from their journals.
fn evict(places: &mut HashMap<AccountId, Arc<AccountSlot>>, count: usize) {
    let is_idle = |place: &Arc<AccountSlot>| Arc::strong_count(place) == 1;
    let idle = places.iter().filter(|(_, place)| is_idle(place));
    let mut idle: Vec<(u64, AccountId)> =
        idle.map(|(id, place)| (place.used.load(Ordering::Relaxed), *id)).collect();
    idle.sort_unstable();
    for (_, id) in idle.into_iter().take(count) {
        places.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_accounts_are_evicted_unless_held() {
        let mut places: HashMap<AccountId, Arc<AccountSlot>> = HashMap::new();
        for (number, used) in [(1, 30), (2, 10), (3, 20), (4, 5)] {
            let place = places.entry(AccountId(number)).or_default();
            place.used.store(used, Ordering::Relaxed);
        }
        let held = places.get(&AccountId(4)).cloned();
        evict(&mut places, 2);
        let mut left: Vec<i64> = places.keys().map(|id| id.0).collect();
        left.sort_unstable();
        assert_eq!(left, [1, 4]);
        drop(held);
        evict(&mut places, 2);
        assert!(places.is_empty());
    }
}
