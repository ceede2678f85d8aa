//! What every request may use: the store, the rules, the accounts, the shelf of encoded pages, and two clocks.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use access::{Access, Account, Moment, Present, Region};
use history::{AsOf, History, HistoryError, Shelf};
use market::{FloorTable, Market, Symbol, Timestamp};
use store::{AccountId, Reader, Store, StoreError};
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::command::{self, EncodedPage};
use crate::doorstep::Doorstep;
use crate::facts::Kept;
use crate::glance::Glance;
use crate::link::Links;
use crate::listen::Listening;
use crate::metrics::Metrics;
use crate::pace::Pace;
use crate::places::Places;
use crate::refusal::Refusal;
use crate::route::Caller;
use crate::tls::Tls;
use crate::unsent::Unsent;
use crate::workers::{Share, Who, Workers};
use crate::{Limits, directory, http, pages};

/// A clock that can be asked for the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
/// The market's clock, which says besides whether what is stored has happened by now.
pub type MarketClock = Arc<dyn Fn() -> AsOf + Send + Sync>;

/// Readers that are kept open between requests; more are opened when more are needed at once.
const READERS_KEPT: usize = 64;
/// Symbols remembered at most; a whole market has fewer.
const CATALOG_MAX: usize = 100_000;

pub(crate) struct Services {
    pub(crate) store: Store,
    pub(crate) history: History,
    pub(crate) access: Access,
    pub(crate) shelf: Shelf<EncodedPage>,
    pub(crate) links: Links,
    pub(crate) metrics: Metrics,
    /// Sums over the store that are not reckoned twice.
    pub(crate) kept: Kept,
    readers: Mutex<Vec<Reader>>,
    seen: Glance,
    /// By what looks at the databases are timed. The machine's own clock: a look is about what other processes do.
    began: std::time::Instant,
    /// Symbols that have candles at a version of the store; the market's clock only ever brings more of them.
    catalog: RwLock<(i64, HashSet<Symbol>)>,
    /// The listener that is for accounts of every region.
    pub(crate) serves_all_at: SocketAddr,
    /// How the service is called from outside, if that is set.
    pub(crate) public_url: Option<crate::PublicUrl>,
    /// With what the listeners of HTTP speak TLS, if they do.
    pub(crate) tls: Option<Arc<Tls>>,
    /// Where it can be reached, in the order of the settings.
    pub(crate) listeners: Vec<Listening>,
    pub(crate) connections_max: usize,
    /// From when on accounts are served that have no floors of their own.
    pub(crate) floors: FloorTable,
    pub(crate) limits: Limits,
    /// The threads for requests that wait.
    pub(crate) workers: Workers,
    pub(crate) backoff: Backoff,
    pub(crate) unsent: Unsent,
    /// Requests that are being read.
    pub(crate) bodies: http::Bodies,
    pub(crate) doorstep: Doorstep,
    /// Connections over HTTP that stay open after somebody has proved who they are.
    pub(crate) http_places: Places<AccountId>,
    /// Who has shown which proof lately.
    pub(crate) claims: http::Claims,
    /// What there is to say about listening for other machines in clear text.
    pub(crate) exposure: Option<String>,
    /// Whether no request counts as one of this machine: clients may reach us through a proxy that we cannot tell from one of
    /// its own programs, or programs have a listener of their own.
    pub(crate) nobody_is_local: bool,
    /// Who somebody on this machine is without signing in, in a demonstration.
    pub(crate) guest: Option<AccountId>,
    pub(crate) guests: Pace,
    pub(crate) directory: directory::Kept,
    pub(crate) searches: Pace,
    /// Answers that somebody is taking apart.
    pub(crate) pieces: http::Pieces,
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

/// Somebody is at a listener that is not for them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Foreign {
    #[error(
        "this account is of region {region} and this address is for region {entrance} alone: use the one for all, \
         {serves_all_at}"
    )]
    Elsewhere { region: Region, entrance: Region, serves_all_at: String },
    #[error("cannot look the account up")]
    Unknown(#[source] access::AccessError),
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}

impl Services {
    pub(crate) fn new(
        store: Store,
        history: History,
        access: Access,
        shelf_bytes: usize,
        market: MarketClock,
        machine: Clock,
    ) -> Services {
        Services {
            store,
            // Levels follow the calendar that everything else follows.
            access: access.with_calendar(history.venues().of(Market::Hk).calendar().clone()),
            history,
            shelf: Shelf::new(shelf_bytes),
            links: Links::default(),
            metrics: Metrics::default(),
            kept: Kept::default(),
            readers: Mutex::new(Vec::new()),
            seen: Glance::default(),
            began: std::time::Instant::now(),
            catalog: RwLock::new((0, HashSet::new())),
            serves_all_at: crate::Settings::default().listen,
            public_url: None,
            tls: None,
            listeners: Vec::new(),
            connections_max: crate::Settings::default().connections_max,
            floors: crate::Settings::default().floors,
            limits: Limits::default(),
            workers: Workers::new(Limits::default().threads),
            backoff: Backoff::new(Limits::default().refusals_per_second),
            unsent: Unsent::new(Limits::default().unsent_bytes),
            bodies: http::Bodies::default(),
            doorstep: Doorstep::new(
                Limits::default().unproven_connections,
                crate::Settings::default().connections_max,
            ),
            http_places: Places::new(http::CONNECTIONS_EACH, 0),
            claims: http::Claims::default(),
            exposure: None,
            nobody_is_local: false,
            guest: None,
            guests: Pace::new(pages::GUESTS_MAX, pages::GUESTS_EACH),
            directory: directory::Kept::default(),
            searches: Pace::new(http::SEARCHES_MAX, http::SEARCHES_EACH),
            pieces: http::Pieces::default(),
            is_stopping: AtomicBool::new(false),
            started_at: machine(),
            market,
            machine,
            started: Instant::now(),
        }
    }

    /// The same with other limits.
    pub(crate) fn with_limits(self, limits: Limits) -> Services {
        Services {
            limits,
            workers: Workers::new(limits.threads.min(crate::THREADS_MAX)),
            backoff: Backoff::new(limits.refusals_per_second),
            unsent: Unsent::new(limits.unsent_bytes),
            doorstep: Doorstep::new(limits.unproven_connections, self.connections_max),
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

    /// Whether browsers reach the service over https: as the operator says, else as it listens.
    /// The path that a proxy has the service under; empty if it has it alone.
    pub(crate) fn base(&self) -> &str {
        self.public_url.as_ref().map_or("", |url| url.parts().1)
    }

    pub(crate) fn is_https(&self) -> bool {
        self.public_url.as_ref().map_or(self.tls.is_some(), crate::PublicUrl::is_https)
    }

    /// Connections of an account, open and allowed. When all are taken, those that do not answer are given up first.
    pub(crate) fn seats(&self, caller: &access::Caller) -> Result<access::Seats, access::Denial> {
        let seats = self.access.seats(caller)?;
        if seats.online < seats.limit || !self.links.give_up_overdue(self.uptime()) {
            return Ok(seats);
        }
        self.access.seats(caller)
    }

    /// Whether an account of this entrance's region asks; the others have to go to the listener that is for all.
    pub(crate) fn at_home(&self, caller: &Caller) -> Result<(), Foreign> {
        self.at_home_of(caller.who.account(), caller.entrance)
    }

    /// The same for somebody who has no caller, as at a page.
    pub(crate) fn at_home_of(&self, account: AccountId, entrance: Option<Region>) -> Result<(), Foreign> {
        let Some(entrance) = entrance else { return Ok(()) };
        let account = self.access.account(account).map_err(Foreign::Unknown)?;
        match account.map(|account| account.region) {
            Some(region) if region != entrance => {
                let public = self.public_url.as_ref().map(|url| url.as_str().to_owned());
                let serves_all_at = public.unwrap_or_else(|| self.serves_all_at.to_string());
                Err(Foreign::Elsewhere { region, entrance, serves_all_at })
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
        checked.map_err(|error: HistoryError| command::refusal(&error))
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
        let services = Services::new(store, history, here, 0, Arc::new(|| AsOf::Live(NOW)), Arc::new(|| NOW));
        let bearer = format!("Bearer {}", created.access_token.expose());
        let header = |name: &str| (name == "authorization").then_some(bearer.as_str());
        let request = SignedRequest { method: "GET", path: "/", raw_query: "", header: &header, body: b"" };
        let caller = services.access.identify(&request, NOW).unwrap();
        elsewhere.revoke(created.account_id, &Actor::Operator, "", NOW).unwrap();
        services.glance().unwrap();
        // As a second request would, a microsecond later.
        let second = services.access.admit_rate_of(&caller, 1, Look::Recent, services.uptime());
        assert!(matches!(second, Err(access::Refusal::Revoked)), "{second:?}");
    }
}
