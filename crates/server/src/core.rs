//! What every request may use, by whichever door it came: the store, the rules, the accounts, the shelf of encoded pages, the
//! threads that may wait, two clocks, and the counters. It knows no door: listeners, long connections and HTTP have state of
//! their own (`site.rs`, `links.rs`).

use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use access::{Access, Account, Moment, Present, Region};
use history::{AsOf, History, HistoryError, Shelf};
use market::{FloorTable, Market, Symbol, Timestamp};
use store::{AccountId, ImportRecord, Reader, Store, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::caller::Caller;
use crate::encoded_page::EncodedPage;
use crate::glance::Glance;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::refusal::{Refusal, WrongRegion};
use crate::unsent::Unsent;
use crate::workers::{self, Share, Who, Workers};

/// A clock that can be asked for the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
/// The market's clock, which says besides whether what is stored has happened by now.
pub type MarketClock = Arc<dyn Fn() -> AsOf + Send + Sync>;

/// Readers that are kept open between requests; more are opened when more are needed at once.
const READERS_KEPT: usize = 64;
/// Symbols remembered at most; a whole market has fewer.
const CATALOG_MAX: usize = 100_000;

const STOPPING: &str = "stopping";
const STORE: &str = "store";
const ACCOUNTS: &str = "accounts";
/// What may keep requests from being answered.
pub(crate) const OBSTACLES: [&str; 3] = [STOPPING, STORE, ACCOUNTS];

/// What was last seen of the databases, by whichever process they were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    /// Grows with candles, securities and corporate actions.
    pub(crate) store: i64,
    /// Grows with accounts, their rights and what ends a sign-in.
    pub(crate) accounts: i64,
}

pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) history: History,
    pub(crate) access: Access,
    pub(crate) shelf: Shelf<EncodedPage>,
    pub(crate) metrics: Metrics,
    readers: Mutex<Vec<Reader>>,
    seen: Glance,
    /// By what looks at the databases are timed. The machine's own clock: a look is about what other processes do.
    began: std::time::Instant,
    /// Symbols that have candles at a version of the store; the market's clock only ever brings more of them.
    catalog: RwLock<(i64, HashSet<Symbol>)>,
    /// The address that is for accounts of every region, as an account of another region is told it.
    pub(crate) serves_all_at: String,
    /// From when on accounts are served that have no floors of their own.
    pub(crate) floors: FloorTable,
    pub(crate) limits: Limits,
    /// The threads for requests that wait.
    pub(crate) workers: Workers,
    pub(crate) backoff: Backoff,
    pub(crate) unsent: Unsent,
    versions: watch::Sender<Option<Versions>>,
    is_stopping: AtomicBool,
    /// When the server began, by the machine's clock.
    pub(crate) started_at: Timestamp,
    /// The market's time, which may stand still or lie in the past; quota months follow it too.
    market: MarketClock,
    /// The machine's time, for whatever proves identity.
    machine: Clock,
    /// Where uptime counts from: rate windows and one-time passwords must not jump with the machine's clock.
    started: Instant,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

impl Core {
    pub(crate) fn new(
        store: Store,
        history: History,
        access: Access,
        shelf_bytes: usize,
        market: MarketClock,
        machine: Clock,
    ) -> Core {
        let limits = Limits::default();
        Core {
            store,
            // Levels follow the calendar that everything else follows.
            access: access.with_calendar(history.venues().of(Market::Hk).calendar().clone()),
            history,
            shelf: Shelf::new(shelf_bytes),
            metrics: Metrics::default(),
            readers: Mutex::new(Vec::new()),
            seen: Glance::default(),
            began: std::time::Instant::now(),
            catalog: RwLock::new((0, HashSet::new())),
            serves_all_at: String::new(),
            floors: FloorTable::PUBLISHED,
            limits,
            workers: Workers::new(limits.threads),
            backoff: Backoff::new(limits.refusals_per_second),
            unsent: Unsent::new(limits.unsent_bytes),
            versions: watch::Sender::new(None),
            is_stopping: AtomicBool::new(false),
            started_at: machine(),
            market,
            machine,
            started: Instant::now(),
        }
    }

    /// The same with other limits.
    pub(crate) fn with_limits(self, limits: Limits) -> Core {
        Core {
            limits,
            workers: Workers::new(limits.threads.min(workers::THREADS_MAX)),
            backoff: Backoff::new(limits.refusals_per_second),
            unsent: Unsent::new(limits.unsent_bytes),
            ..self
        }
    }

    /// What an account may have of the threads.
    pub(crate) fn share(&self, account: &access::Account) -> Share {
        let at_once = match account.terms.rate_rule() {
            access::RateRule::Unlimited => self.workers.most_at_once(),
            access::RateRule::Window { .. } => self.calls_at_once(),
        };
        Share { who: Who::Account(account.id), at_once }
    }

    /// What somebody has of whom only the address is known.
    pub(crate) fn share_of_address(&self, address: IpAddr) -> Share {
        Share { who: Who::address(address), at_once: self.calls_at_once() }
    }

    fn calls_at_once(&self) -> usize {
        usize::try_from(self.limits.calls.at_once).unwrap_or(usize::MAX).min(self.workers.most_at_once())
    }

    pub(crate) fn last_import(&self) -> Result<Option<ImportRecord>, StoreError> {
        self.with_reader(|reader: &mut Reader| reader.view().last_import())
    }

    /// What keeps the service from answering: nothing, or a word for each.
    pub(crate) fn obstacles(&self) -> Vec<&'static str> {
        let mut obstacles = Vec::new();
        if self.is_stopping() {
            obstacles.push(STOPPING);
        }
        // What is in memory says nothing about the files: both are read anew.
        if let Err(error) = self.store.probe() {
            tracing::error!(%error, "cannot look at the store");
            obstacles.push(STORE);
        }
        if let Err(error) = self.access.probe() {
            tracing::error!(%error, "cannot look at the accounts");
            obstacles.push(ACCOUNTS);
        }
        obstacles
    }

    pub(crate) fn market_now(&self) -> Timestamp {
        (self.market)().now()
    }

    /// The market's time, for questions to the store.
    pub(crate) fn as_of(&self) -> AsOf {
        (self.market)()
    }

    pub(crate) fn machine_now(&self) -> Timestamp {
        (self.machine)()
    }

    pub(crate) fn present(&self) -> Present {
        Present { market: self.market_now(), machine: self.machine_now() }
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment { now: self.machine_now(), uptime: self.uptime() }
    }

    /// From when on an account is served.
    pub(crate) fn floors_of(&self, account: &Account) -> FloorTable {
        account.terms.floors.unwrap_or(self.floors)
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// From now on the service says that it is not ready.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// The versions of store and accounts, told about a second after any process has changed one of them, also if nobody asks
    /// for anything (`jobs/changes.rs`); nothing before the first look. An answer goes by [`Core::glance`], which is newer.
    #[cfg_attr(not(test), expect(dead_code, reason = "nothing is pushed yet; tests listen"))]
    pub(crate) fn changes(&self) -> watch::Receiver<Option<Versions>> {
        self.versions.subscribe()
    }

    /// Tells those who listen to [`Core::changes`], if these are others.
    pub(crate) fn tell_versions(&self, versions: Versions) {
        self.versions.send_if_modified(|seen| seen.replace(versions) != Some(versions));
    }

    /// Whether an account of this entrance's region asks; the others have to go to the listener that is for all.
    pub(crate) fn at_home(&self, caller: &Caller) -> Result<(), WrongRegion> {
        self.at_home_of(caller.who.account(), caller.entrance)
    }

    /// The same for somebody who has no caller, as at a page.
    pub(crate) fn at_home_of(&self, account: AccountId, entrance: Option<Region>) -> Result<(), WrongRegion> {
        let Some(entrance) = entrance else { return Ok(()) };
        let account = self.access.account(account).map_err(WrongRegion::Unknown)?;
        match account.map(|account| account.region) {
            Some(region) if region != entrance => {
                let serves_all_at = self.serves_all_at.clone();
                Err(WrongRegion::Elsewhere { region, entrance, serves_all_at })
            }
            // An account that is gone is refused for that.
            _ => Ok(()),
        }
    }

    /// Looks whether the databases have changed, unless somebody has done so a moment ago: the looks cost more than the
    /// rest of an answer out of memory. The version of the store; accounts may be looked at as of now with
    /// [`Look::Recent`](access::Look).
    pub(crate) fn glance(&self) -> Result<i64, Refusal> {
        let look = || {
            let version = self.with_reader(Reader::version).map_err(|error| {
                tracing::error!(%error, "cannot look at the store");
                Refusal::Internal
            })?;
            // Both have been looked at before the others go by it.
            self.access.glance().map_err(access::Refusal::from)?;
            Ok(version)
        };
        self.seen.version(|| self.began.elapsed(), look)
    }

    /// Whether there are candles of a symbol, which is a different refusal from not knowing it.
    pub(crate) fn known(&self, symbol: &Symbol, version: i64) -> Result<(), Refusal> {
        if self.catalog.read().is_ok_and(|known| known.0 == version && known.1.contains(symbol)) {
            return Ok(());
        }
        let checked = self.with_reader(|reader| {
            self.history.has_candles(reader, symbol, self.as_of())?;
            if let Ok(mut known) = self.catalog.write() {
                if known.0 != version || known.1.len() >= CATALOG_MAX {
                    *known = (version, HashSet::new());
                }
                known.1.insert(symbol.clone());
            }
            Ok(())
        });
        checked.map_err(|error: HistoryError| Refusal::from(error))
    }

    /// Lends a reader of the store for one question.
    pub(crate) fn with_reader<T, E: From<StoreError>>(
        &self,
        ask: impl FnOnce(&mut Reader) -> Result<T, E>,
    ) -> Result<T, E> {
        let kept = self.readers.lock().ok().and_then(|mut readers| readers.pop());
        let mut reader = match kept {
            Some(reader) => reader,
            None => self.store.reader()?,
        };
        let answer = ask(&mut reader);
        if let Ok(mut readers) = self.readers.lock()
            && readers.len() < READERS_KEPT
        {
            readers.push(reader);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use access::{Actor, Look, NewAccount, SignedRequest, Terms};
    use market::Venues;

    use super::*;

    const NOW: Timestamp = Timestamp(1_794_708_000);

    #[test]
    fn whoever_goes_by_the_look_of_another_sees_accounts_as_new_as_that_look() {
        let dir = tempfile::tempdir().unwrap();
        Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap();
        let store = Store::open(dir.path(), store::Access::Read).unwrap();
        let (here, elsewhere) =
            (Access::open(dir.path(), NOW).unwrap(), Access::open(dir.path(), NOW).unwrap());
        let created =
            here.create(&NewAccount::named("ann", Terms::default()), &Actor::Operator, NOW).unwrap();
        let history = History::new(Venues::built_in().unwrap());
        let core = Core::new(store, history, here, 0, Arc::new(|| AsOf::Live(NOW)), Arc::new(|| NOW));
        let bearer = format!("Bearer {}", created.access_token.expose());
        let header = |name: &str| (name == "authorization").then_some(bearer.as_str());
        let request = SignedRequest { method: "GET", path: "/", raw_query: "", header: &header, body: b"" };
        let caller = core.access.identify(&request, NOW).unwrap();
        elsewhere.revoke(created.account_id, &Actor::Operator, "", NOW).unwrap();
        core.glance().unwrap();
        // As a second request would, a microsecond later.
        let second = core.access.admit_rate_of(&caller, 1, Look::Recent, core.uptime());
        assert!(matches!(second, Err(access::Refusal::Revoked)), "{second:?}");
    }
}
