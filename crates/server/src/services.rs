//! What every request may use: the store, the rules, the accounts, the shelf of encoded pages, and two clocks.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, RwLock};

use access::Access;
use history::{History, HistoryError, Shelf};
use market::{Symbol, Timestamp};
use store::{Reader, Store, StoreError};
use tokio::time::Instant;

use crate::command::{self, EncodedPage};
use crate::link::Links;
use crate::refusal::Refusal;

/// A clock that can be asked for the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

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
    readers: Mutex<Vec<Reader>>,
    /// Symbols that have candles at a version of the store.
    catalog: RwLock<(i64, HashSet<Symbol>)>,
    /// The market's time, which may stand still or lie in the past; quota months follow it too.
    market: Clock,
    /// The machine's time, for whatever proves identity.
    machine: Clock,
    /// Where uptime counts from: rate windows and one-time passwords must not jump with the machine's clock.
    started: Instant,
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
            history,
            access,
            shelf: Shelf::new(shelf_bytes),
            links: Links::default(),
            readers: Mutex::new(Vec::new()),
            catalog: RwLock::new((0, HashSet::new())),
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

    pub(crate) fn uptime(&self) -> std::time::Duration {
        self.started.elapsed()
    }

    /// Whether there are candles of a symbol, which is a different refusal from not knowing it.
    pub(crate) fn known(&self, symbol: &Symbol) -> Result<(), Refusal> {
        let checked = self.with_reader(|reader| {
            let version = reader.version()?;
            if self.catalog.read().is_ok_and(|known| known.0 == version && known.1.contains(symbol)) {
                return Ok(());
            }
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
