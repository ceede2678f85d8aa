//! What every request may use: the store, the rules, the accounts, the shelf of encoded pages, and two clocks.

use std::collections::HashSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use access::{Access, Look, Region};
use history::{History, HistoryError, Shelf};
use market::{Market, Symbol, Timestamp};
use store::{Reader, Store, StoreError};
use tokio::time::Instant;

use crate::command::{self, EncodedPage};
use crate::link::Links;
use crate::refusal::Refusal;
use crate::route::Caller;

/// A clock that can be asked for the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Readers that are kept open between requests; more are opened when more are needed at once.
const READERS_KEPT: usize = 64;
/// How long a look at the databases counts as the present.
const FRESH_FOR: Duration = Duration::from_micros(500);
/// Symbols remembered at most; a whole market has fewer.
const CATALOG_MAX: usize = 100_000;

pub(crate) struct Services {
    pub(crate) store: Store,
    pub(crate) history: History,
    pub(crate) access: Access,
    pub(crate) shelf: Shelf<EncodedPage>,
    pub(crate) links: Links,
    readers: Mutex<Vec<Reader>>,
    /// When the databases were last looked at, and the version of the store then. By the machine's own clock: a look is
    /// about what other processes do.
    seen: Mutex<Option<(std::time::Instant, i64)>>,
    /// Symbols that have candles at a version of the store.
    catalog: RwLock<(i64, HashSet<Symbol>)>,
    /// The listener that is for accounts of every region.
    pub(crate) serves_all_at: SocketAddr,
    /// How the service is called from outside, if that is set.
    pub(crate) public_url: Option<crate::PublicUrl>,
    /// The market's time, which may stand still or lie in the past; quota months follow it too.
    market: Clock,
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
        market: Clock,
        machine: Clock,
    ) -> Services {
        Services {
            store,
            // Levels follow the calendar that everything else follows.
            access: access.with_calendar(history.venues().of(Market::Hk).calendar().clone()),
            history,
            shelf: Shelf::new(shelf_bytes),
            links: Links::default(),
            readers: Mutex::new(Vec::new()),
            seen: Mutex::new(None),
            catalog: RwLock::new((0, HashSet::new())),
            serves_all_at: crate::Settings::default().listen,
            public_url: None,
            market,
            machine,
            started: Instant::now(),
        }
    }

    pub(crate) fn market_now(&self) -> Timestamp {
        (self.market)()
    }

    pub(crate) fn machine_now(&self) -> Timestamp {
        (self.machine)()
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
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
        let Some(entrance) = caller.entrance else { return Ok(()) };
        let account = self.access.account(caller.who.account()).map_err(Foreign::Unknown)?;
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
    /// rest of an answer out of memory. Says how far the accounts may be trusted, and the version of the store.
    pub(crate) fn glance(&self) -> Result<(Look, i64), Refusal> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, version)) = *seen
            && at.elapsed() < FRESH_FOR
        {
            return Ok((Look::Recent, version));
        }
        let version = self.with_reader(Reader::version).map_err(|error| {
            tracing::error!(%error, "cannot look at the store");
            Refusal::Internal
        })?;
        *seen = Some((std::time::Instant::now(), version));
        Ok((Look::Fresh, version))
    }

    /// Whether there are candles of a symbol, which is a different refusal from not knowing it.
    pub(crate) fn known(&self, symbol: &Symbol, version: i64) -> Result<(), Refusal> {
        if self.catalog.read().is_ok_and(|known| known.0 == version && known.1.contains(symbol)) {
            return Ok(());
        }
        let checked = self.with_reader(|reader| {
            self.history.has_candles(reader, symbol)?;
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
