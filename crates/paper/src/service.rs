//! The service: accounts by id, one request at a time each.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use history::{AsOf, History};
use market::{Date, Timestamp};
use store::{AccountId, Accounts, Reader, StoreError};
use trading::{Account, Command, Currency, Entry, GridId, MarketView, OrderId, Outcome, Rate, Tables};

use crate::PaperError;
use crate::arrivals::Arrivals;
use crate::attempt::{Behind, Finished, RequestOptions};
use crate::book::{self, AccountSlot, TRIES_MAX};
use crate::closes::Closes;
use crate::commit::{Audited, Committer};
use crate::equity_log::EquityLogs;
use crate::feed::{Markets, StoreFeed};
use crate::listener::Listener;
use crate::look::Looked;
use crate::minutes::Minutes;
use crate::opening::{self, Opening, ensure_open};
use crate::operator_words::Exchanged;
use crate::orders::{Made, carry_out, check_texts};
use crate::portion::Portion;
use crate::rates::Rates;
use crate::securities::Securities;

/// Maximum number of accounts in memory. Others are loaded again on request.
const BOOKS_MAX: usize = 10_000;

/// The times of a request: the market's, and the machine's.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub as_of: AsOf,
    pub machine: Timestamp,
}

/// The clock of a request. It is read under the account's lock: of two concurrent requests, the one
/// that is served second has the later time, whichever was sent first.
pub trait Clock {
    fn moment(&self) -> Moment;
}

/// A fixed clock.
impl Clock for Moment {
    fn moment(&self) -> Moment {
        *self
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    fn moment(&self) -> Moment {
        (**self).moment()
    }
}

/// Maximum backward correction of the machine's clock, in seconds, that accounts tolerate.
const CORRECTED_BY_MAX_S: i64 = 2;

impl Moment {
    /// Returns the account's horizon instead, if the machine's clock was corrected backwards by a
    /// small amount. A clock that an operator set back is not changed.
    pub(crate) fn not_before(self, horizon: Option<Timestamp>) -> Moment {
        match (self.as_of, horizon) {
            (AsOf::Live(now), Some(horizon))
                if horizon > now && horizon.0.saturating_sub(now.0) <= CORRECTED_BY_MAX_S =>
            {
                Moment { as_of: AsOf::Live(horizon), ..self }
            }
            _ => self,
        }
    }
}

/// Who gives an audited command, and why.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The kind of change, such as `paper.deposited`.
    pub event: &'static str,
    pub actor: String,
    pub reason: String,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The order that the command concerned.
    pub order: Option<OrderId>,
    /// The grid that the command concerned.
    pub grid: Option<GridId>,
    pub exchanged: Option<Exchanged>,
    /// Whether an earlier request with the same idempotency key did it.
    pub is_repeated: bool,
}

/// The result of advancing accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// Accounts that are still behind.
    pub behind: Vec<AccountId>,
    /// Accounts that could not be advanced; the log has the reasons.
    pub failed: Vec<AccountId>,
}

/// An account with a listener. While this exists, the account and its last pushed entry stay in
/// memory.
#[derive(Debug)]
pub struct Watched {
    place: Arc<AccountSlot>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.place.last_pushed.unwatch();
    }
}

/// An account as of an instant.
#[derive(Debug)]
pub struct Reading<'a> {
    pub account: &'a Account,
    pub view: MarketView<'a>,
}

pub struct Paper {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) markets: Markets,
    tables: Tables,
    pub(crate) committer: Committer,
    places: Mutex<HashMap<AccountId, Arc<AccountSlot>>>,
    /// Sequence number of requests, for eviction.
    requests: AtomicU64,
    /// The exchange rates at a version of the accounts.
    rates: RwLock<(i64, Arc<Rates>)>,
    pub(crate) portion: Portion,
    pub(crate) equity_logs: EquityLogs,
    /// Reads write nothing.
    pub(crate) only_looks: bool,
    pub(crate) looked: Mutex<Option<Looked>>,
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
            only_looks: false,
            looked: Mutex::default(),
        }
    }

    /// For a command line: requests wait however far an account is behind, and a read writes
    /// nothing (`look.rs`).
    #[must_use]
    pub fn for_command_line(self) -> Paper {
        let portion = Portion { each_request: u32::MAX, ..self.portion };
        Paper { portion, only_looks: true, ..self }
    }

    /// Replaces the tables.
    #[must_use]
    pub fn with_tables(self, tables: Tables) -> Paper {
        Paper { tables, ..self }
    }

    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Opens an account with the given balances. Returns whether it was not open before.
    pub fn open(
        &self,
        id: AccountId,
        opening: &Opening,
        (reader, clock): (&mut Reader, impl Clock),
    ) -> Result<bool, PaperError> {
        let opened =
            self.change(id, (reader, &clock), &RequestOptions::default(), |engine, account, now| {
                if account.entries() > 0 {
                    return Ok((Outcome::default(), false));
                }
                Ok((opening::open(engine, account, id, opening, now)?, true))
            })?;
        Ok(matches!(opened, Changed::Made(true)))
    }

    /// Executes a command. `name` is its idempotency key: repeating the key does nothing, and is
    /// refused for an order on other terms.
    pub fn command(
        &self,
        id: AccountId,
        command: &Command,
        name: Option<&str>,
        audit: Option<Audit>,
        at: (&mut Reader, impl Clock),
    ) -> Result<Done, PaperError> {
        self.commands(id, std::slice::from_ref(command), name, audit, at)
    }

    /// Executes several commands: all of them, or none.
    pub fn commands(
        &self,
        id: AccountId,
        commands: &[Command],
        name: Option<&str>,
        audit: Option<Audit>,
        (reader, clock): (&mut Reader, impl Clock),
    ) -> Result<Done, PaperError> {
        let name = name.filter(|name| !name.is_empty());
        check_texts(commands, name)?;
        let audited =
            |Audit { event, actor, reason }| Audited { event, at: clock.moment().machine, actor, reason };
        let audit = audit.map(audited);
        let terms = match commands {
            [Command::Submit(request)] => Some(&request.terms),
            _ => None,
        };
        let asked = RequestOptions { name, terms, audit, ..RequestOptions::default() };
        let changed = self.change(id, (reader, &clock), &asked, |engine, account, now| {
            carry_out(engine, account, (id, commands), now)
        })?;
        match changed {
            Changed::Made(Made { order, grid, exchanged }) => {
                Ok(Done { order, grid, exchanged, is_repeated: false })
            }
            Changed::Repeated(order) => Ok(Done { order, grid: None, exchanged: None, is_repeated: true }),
            Changed::Ahead(_) => Err(PaperError::Contended { account: id.0 }),
        }
    }

    /// Shows an account as of now, or in the past if the clock is before the account's horizon.
    pub fn read<T>(
        &self,
        id: AccountId,
        (reader, clock): (&mut Reader, impl Clock),
        look: impl Fn(&Reading<'_>) -> T,
    ) -> Result<T, PaperError> {
        if self.only_looks {
            return self.look(id, (reader, clock), |seen| look(&seen.reading));
        }
        let asked = RequestOptions { is_read: true, ..RequestOptions::default() };
        let changed = self.change(id, (&mut *reader, &clock), &asked, |engine, account, now| {
            let mut outcome = ensure_open(engine, account, id, now)?;
            let advanced = engine.advance(account, now);
            outcome.entries.extend(advanced.entries);
            outcome.pushes.extend(advanced.pushes);
            let seen = look(&Reading { account, view: engine.view(now) });
            Ok((outcome, seen))
        })?;
        match changed {
            Changed::Made(seen) => Ok(seen),
            Changed::Repeated(_) => Err(PaperError::Contended { account: id.0 }),
            Changed::Ahead(moment) => {
                let now = moment.as_of.now();
                let entries = self.journal(id)?;
                let account = Account::fold_until(&entries, now);
                let feed = self.feed(reader, moment)?;
                let view = MarketView::new(&feed, &self.tables, now);
                let seen = look(&Reading { account: &account, view });
                Ok(feed.checked(seen)?)
            }
        }
    }

    /// Advances accounts by at most one portion each, and stores when each is due next. All of them
    /// share the wait for the disk. A failure is logged, and does not affect other accounts.
    pub fn advance(&self, ids: &[AccountId], (reader, clock): (&mut Reader, impl Clock)) -> Advanced {
        let asked = RequestOptions { is_read: true, keeps_head: true, ..RequestOptions::default() };
        let mut attempts = Vec::new();
        let mut advanced = Advanced::default();
        for id in ids {
            let attempt = self.attempt(*id, (&mut *reader, &clock), &asked, |engine, account, now| {
                // The clock alone does not begin an account.
                let has_begun = account.began().is_some();
                Ok((if has_begun { engine.advance(account, now) } else { Outcome::default() }, ()))
            });
            attempts.push((*id, attempt));
        }
        for (id, attempt) in attempts {
            match attempt.and_then(|attempt| self.finish(id, attempt)) {
                Ok(Some(Finished::Behind(_))) => advanced.behind.push(id),
                // If another process wrote first, the next run finds any work that is left.
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, account = id.0, "cannot advance a paper account");
                    advanced.failed.push(id);
                }
            }
        }
        advanced
    }

    /// Advances an account that has begun to now, in portions, so that the next request has little
    /// left to do.
    pub fn catch_up(
        &self,
        id: AccountId,
        (reader, clock): (&mut Reader, impl Clock),
    ) -> Result<(), PaperError> {
        if self.only_looks {
            return Ok(());
        }
        let asked = RequestOptions { is_read: true, ..RequestOptions::default() };
        self.change(id, (reader, &clock), &asked, |_, _, _| Ok((Outcome::default(), ()))).map(drop)
    }

    /// Accounts that are due by an instant, at most `limit`.
    pub fn due(&self, at: Timestamp, limit: u32) -> Result<Vec<AccountId>, PaperError> {
        Ok(self.accounts.due_journals(at, limit)?)
    }

    /// When the next account is due.
    pub fn next_wake(&self) -> Result<Option<Timestamp>, PaperError> {
        Ok(self.accounts.next_wake()?)
    }

    /// Notifies listeners of all further changes to an account, including those of other processes,
    /// until the returned value is dropped. One short read; the lock of the slot is not taken, so
    /// other work on the account does not delay it.
    pub fn watch(&self, id: AccountId) -> Result<Watched, PaperError> {
        let place = self.place(id);
        place.last_pushed.watch(&self.accounts, id)?;
        Ok(Watched { place })
    }

    /// Applies entries that other processes added to an account, so that listeners receive them.
    pub fn follow(&self, id: AccountId) -> Result<(), PaperError> {
        let place = self.place(id);
        let mut kept = place.lock();
        let book = self.current(&mut kept, id)?;
        kept.book = Some(book);
        Ok(())
    }

    /// Like [`Paper::follow`] for many accounts. For unchanged accounts only the head of the
    /// journal is read. Returns one of the errors; an error does not affect other accounts.
    pub fn follow_all(&self, ids: &[AccountId]) -> Result<(), PaperError> {
        let mut failed = None;
        for (id, head) in self.accounts.journal_heads_of(ids)? {
            if !self.place(id).last_pushed.is_at(&head) {
                failed = self.follow(id).err().or(failed);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// All entries of an account's journal.
    pub fn journal(&self, id: AccountId) -> Result<Vec<Entry>, PaperError> {
        Ok(book::read_all(&self.accounts, id)?.map(|(_, entries)| entries).unwrap_or_default())
    }

    /// Changes an account under its account lock, and returns when the change is on the disk.
    pub(crate) fn change<T>(
        &self,
        id: AccountId,
        (reader, clock): (&mut Reader, &dyn Clock),
        asked: &RequestOptions<'_>,
        work: impl Fn(&trading::Engine<'_>, &mut Account, Timestamp) -> Result<(Outcome, T), PaperError>,
    ) -> Result<Changed<T>, PaperError> {
        let (mut tries, mut portions) = (0, 0);
        while tries < TRIES_MAX {
            // Reads rarely write, so they take the account lock only for a retry. If it cannot be
            // taken, the attempt is made without it.
            let turn = (!asked.is_read || tries > 0).then(|| self.accounts.journal_turn(id).ok());
            let attempt = self.attempt(id, (&mut *reader, clock), asked, &work)?;
            match self.finish(id, attempt)? {
                Some(Finished::Changed(changed)) => return Ok(changed),
                Some(Finished::Behind(Behind { at, to })) => {
                    portions += 1;
                    if portions >= self.portion.each_request {
                        return Err(PaperError::CatchingUp { at, to });
                    }
                }
                None => tries += 1,
            }
            drop(turn);
        }
        Err(PaperError::Contended { account: id.0 })
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

    /// The feed at a version of the accounts, if it was already read for this request.
    pub(crate) fn feed_at<'a>(
        &'a self,
        reader: &'a mut Reader,
        moment: Moment,
        version: Option<i64>,
    ) -> Result<StoreFeed<'a>, StoreError> {
        let version = version.map_or_else(|| self.accounts.version(), Ok)?;
        StoreFeed::new(&self.markets, reader, self.rates(version)?, moment.as_of)
    }

    /// HKD for one unit of a currency on a date, and whether it is a built-in rate.
    pub fn rate(&self, currency: Currency, date: Date) -> Result<Option<(Rate, bool)>, PaperError> {
        let rates = self.rates(self.accounts.version()?)?;
        Ok(rates.on(currency, date).map(|rate| (rate, rates.is_builtin(currency, date))))
    }

    /// The exchange rates, cached for this version of the accounts.
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

/// Evicts the least recently used accounts that no request holds. They can be loaded from their
/// journals.
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

/// The result of a request.
#[derive(Debug)]
pub(crate) enum Changed<T> {
    Made(T),
    /// A request with the same idempotency key concerned this order.
    Repeated(Option<OrderId>),
    /// The account's horizon is later than this moment, so that only the past can be shown.
    Ahead(Moment),
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
