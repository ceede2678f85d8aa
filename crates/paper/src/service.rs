//! The service itself: accounts by their number, one request at a time each.

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
use crate::minutes::Minutes;
use crate::opening::{self, Opening, ensure_open};
use crate::operator_words::Exchanged;
use crate::orders::{Made, carry_out, check_texts};
use crate::portion::Portion;
use crate::rates::Rates;
use crate::securities::Securities;

/// Accounts in memory at most; the rest is read again when it is asked for.
const BOOKS_MAX: usize = 10_000;

/// The times of a request: the market's, and the machine's.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub as_of: AsOf,
    pub machine: Timestamp,
}

/// Where the times of a request come from. It is asked with the account in hand: of two requests at once, the one that is served
/// second has the later time, whichever was sent first.
pub trait Clock {
    fn moment(&self) -> Moment;
}

/// A clock that stands.
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

/// How far the machine's clock may be corrected backwards, in seconds, before accounts notice.
const CORRECTED_BY_MAX_S: i64 = 2;

impl Moment {
    /// The same, unless the machine's clock was corrected a little since an account was last at work: then as late as that. A clock
    /// that was set back by its operator stays where it was set.
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

/// Who gives a command that the audit is to know of, and why.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The kind of change, such as `paper.deposited`.
    pub event: &'static str,
    pub actor: String,
    pub reason: String,
}

/// What a command has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The order it was about.
    pub order: Option<OrderId>,
    /// The grid it was about.
    pub grid: Option<GridId>,
    pub exchanged: Option<Exchanged>,
    /// It had been done before, under the same name.
    pub is_repeated: bool,
}

/// What became of accounts that were to be advanced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// Those that have more to catch up with.
    pub behind: Vec<AccountId>,
    /// Those of which the log says why they could not be advanced.
    pub failed: Vec<AccountId>,
}

/// An account that somebody listens to: it stays in memory, and with it what they have heard of.
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
    /// How often an account was asked for.
    requests: AtomicU64,
    /// The exchange rates at a version of the accounts.
    rates: RwLock<(i64, Arc<Rates>)>,
    pub(crate) portion: Portion,
    pub(crate) equity_logs: EquityLogs,
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
        }
    }

    /// The same for a caller who waits however much an account has to catch up with: a command line.
    #[must_use]
    pub fn patient(self) -> Paper {
        let portion = Portion { each_request: u32::MAX, ..self.portion };
        Paper { portion, ..self }
    }

    /// The same with other tables.
    #[must_use]
    pub fn with_tables(self, tables: Tables) -> Paper {
        Paper { tables, ..self }
    }

    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Opens an account with what an operator gives it. Whether it was not open before.
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

    /// Carries a command out. `name` is its idempotency key: the same key again does nothing, and is refused for an order on other terms.
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

    /// The same for several commands: all of them are carried out, or none.
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

    /// Shows an account as of now: in the past if the clock stands before the account's own time.
    pub fn read<T>(
        &self,
        id: AccountId,
        (reader, clock): (&mut Reader, impl Clock),
        look: impl Fn(&Reading<'_>) -> T,
    ) -> Result<T, PaperError> {
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

    /// Lets happen to accounts what the market has brought, of each a portion at most, and keeps when something may happen next. All of
    /// them wait for the disk together. One that cannot be advanced is told to the log, and hinders no other.
    pub fn advance(&self, ids: &[AccountId], (reader, clock): (&mut Reader, impl Clock)) -> Advanced {
        let asked = RequestOptions { is_read: true, keeps_head: true, ..RequestOptions::default() };
        let mut attempts = Vec::new();
        let mut advanced = Advanced::default();
        for id in ids {
            let attempt = self.attempt(*id, (&mut *reader, &clock), &asked, |engine, account, now| {
                // One that has not begun is not begun by the clock.
                let has_begun = account.began().is_some();
                Ok((if has_begun { engine.advance(account, now) } else { Outcome::default() }, ()))
            });
            attempts.push((*id, attempt));
        }
        for (id, attempt) in attempts {
            match attempt.and_then(|attempt| self.finish(id, attempt)) {
                Ok(Some(Finished::Behind(_))) => advanced.behind.push(id),
                // Where another process was quicker, the next look finds whether anything is left to do.
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, account = id.0, "cannot advance a paper account");
                    advanced.failed.push(id);
                }
            }
        }
        advanced
    }

    /// Brings an account that has begun to now, in portions, so that what follows has little left to do.
    pub fn catch_up(
        &self,
        id: AccountId,
        (reader, clock): (&mut Reader, impl Clock),
    ) -> Result<(), PaperError> {
        let asked = RequestOptions { is_read: true, ..RequestOptions::default() };
        self.change(id, (reader, &clock), &asked, |_, _, _| Ok((Outcome::default(), ()))).map(drop)
    }

    /// Accounts to which something may have happened by an instant, at most so many.
    pub fn due(&self, at: Timestamp, limit: u32) -> Result<Vec<AccountId>, PaperError> {
        Ok(self.accounts.due_journals(at, limit)?)
    }

    /// When something may happen to any account.
    pub fn next_wake(&self) -> Result<Option<Timestamp>, PaperError> {
        Ok(self.accounts.next_wake()?)
    }

    /// Has listeners told of everything that happens to an account from now on, also by other processes, as long as this is kept.
    /// One short read, whatever else is done to the account meanwhile: the place's lock is not taken.
    pub fn watch(&self, id: AccountId) -> Result<Watched, PaperError> {
        let place = self.place(id);
        place.last_pushed.watch(&self.accounts, id)?;
        Ok(Watched { place })
    }

    /// Takes in what other processes have written about an account, so that listeners hear of it.
    pub fn follow(&self, id: AccountId) -> Result<(), PaperError> {
        let place = self.place(id);
        let mut kept = place.lock();
        let book = self.current(&mut kept, id)?;
        kept.book = Some(book);
        Ok(())
    }

    /// The same for many accounts: of those of which nothing is new, nothing but the heads of their journals is read. An error is that of one
    /// of them, and hinders no other.
    pub fn follow_all(&self, ids: &[AccountId]) -> Result<(), PaperError> {
        let mut failed = None;
        for (id, head) in self.accounts.journal_heads_of(ids)? {
            if !self.place(id).last_pushed.is_at(&head) {
                failed = self.follow(id).err().or(failed);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Every entry of an account's journal.
    pub fn journal(&self, id: AccountId) -> Result<Vec<Entry>, PaperError> {
        Ok(book::read_all(&self.accounts, id)?.map(|(_, entries)| entries).unwrap_or_default())
    }

    /// Does something to an account in its turn, and returns when what came of it is on the disk.
    pub(crate) fn change<T>(
        &self,
        id: AccountId,
        (reader, clock): (&mut Reader, &dyn Clock),
        asked: &RequestOptions<'_>,
        work: impl Fn(&trading::Engine<'_>, &mut Account, Timestamp) -> Result<(Outcome, T), PaperError>,
    ) -> Result<Changed<T>, PaperError> {
        let (mut tries, mut portions) = (0, 0);
        while tries < TRIES_MAX {
            // Who only looks seldom has anything to write. Without a turn it is tried all the same.
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

    /// The same where the version of the accounts may have been read for this request.
    pub(crate) fn feed_at<'a>(
        &'a self,
        reader: &'a mut Reader,
        moment: Moment,
        version: Option<i64>,
    ) -> Result<StoreFeed<'a>, StoreError> {
        let version = version.map_or_else(|| self.accounts.version(), Ok)?;
        StoreFeed::new(&self.markets, reader, self.rates(version)?, moment.as_of)
    }

    /// HKD for one unit of a currency on a date, and whether that is a built-in rate.
    pub fn rate(&self, currency: Currency, date: Date) -> Result<Option<(Rate, bool)>, PaperError> {
        let rates = self.rates(self.accounts.version()?)?;
        Ok(rates.on(currency, date).map(|rate| (rate, rates.is_builtin(currency, date))))
    }

    /// The exchange rates, as they were at a version of the accounts or are now.
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

/// Forgets so many accounts that were not asked for longest, of those that nobody holds: what they come to is in their journals.
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

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Changed<T> {
    Made(T),
    /// It was made before, under the same name, about this order.
    Repeated(Option<OrderId>),
    /// The account is further than the clock was at this moment, and only the past can be shown.
    Ahead(Moment),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_that_were_not_asked_for_longest_are_forgotten_first_and_none_that_is_held() {
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
