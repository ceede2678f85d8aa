//! A node's local copy of candles: a SQLite file with the regular schema that holds the symbols
//! served by this node, filled on demand from the shared database.
//!
//! The copy has all rows of a symbol except block bodies, which are fetched on first use. The copy
//! has a version, and its contents equal the shared database at that version. A commit in the
//! shared database outdates the symbols listed in `touched` atomically, so no reader sees a partial
//! commit. Symbols that are missing in the copy are read from the shared database, and a background
//! thread ([`worker`]) fetches them for later queries, so that no request waits for writes to the
//! local file.
//!
//! The file is disposable. It is recreated when it is damaged, when it belongs to another database,
//! or when the shared database was rolled back to an earlier state.

mod fetch;
mod file;
mod held;
mod queue;
pub(super) mod sql;
mod table;
#[cfg(test)]
mod tests;
mod worker;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use market::Symbol;

pub(crate) use fetch::{BODIES_MAX, FoundBody, Wanted, bodies as fetch_bodies};
pub(crate) use file::BodyOf;
pub(crate) use held::Mark;

use crate::engine::home::Home;
use crate::engine::postgres::{News, Server, Subject, Watch};
use crate::engine::{Db, Role, StoreError};
use file::{DirectoryLock, LocalFile, make_private};
use held::HeldSymbols;
use queue::{FetchedBody, Queue};
use worker::Worker;

/// Interval at which the shared database's version is polled, in addition to notifications.
const POLL: Duration = Duration::from_millis(500);
/// Time after which a poll without a response is considered failed.
const LOOK_MAX: Duration = Duration::from_secs(5);
const THREAD: &str = "start a thread for the copy in";
/// Subdirectory of the cache directory.
const FOLDER: &str = "candles";

/// Location and limits of a node's local copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySettings {
    /// The cache directory, which only one process may use. The copy is stored in a subdirectory.
    pub dir: PathBuf,
    /// Maximum size of the copy, in bytes. Does not include the WAL, which has up to about 40 MB.
    pub bytes_max: u64,
    /// Time for which symbols are served from the copy while the shared database is unreachable.
    pub offline_window: Duration,
}

/// State and counters of the local copy, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyLoad {
    /// Number of symbols in the copy, including outdated symbols.
    pub symbols: u64,
    /// Number of symbols that can be served from the copy.
    pub current: u64,
    /// Size of the copy, in bytes.
    pub bytes: u64,
    pub bytes_max: u64,
    /// Number of symbols waiting to be fetched.
    pub waiting: u64,
    /// Number of queries served from the copy.
    pub hits: u64,
    pub misses: u64,
    /// Number of block bodies fetched from the shared database.
    pub blocks_fetched: u64,
    pub bytes_fetched: u64,
    /// Number of symbols evicted to free space.
    pub evicted: u64,
    /// Number of times the copy was discarded and recreated.
    pub begun_anew: u64,
    /// Version of the shared database that the copy matches.
    pub version: i64,
    /// Time since the last poll of the shared database.
    pub looked_ago: Duration,
    /// Whether the last poll succeeded.
    pub is_reachable: bool,
    /// Whether symbols are served from the copy; `false` after the offline window.
    pub is_serving: bool,
    /// The last error, if any.
    pub last_error: Option<String>,
}

/// Notification that this or another process has changed the shared database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreNews {
    /// A batch was appended to the log of ingested batches.
    Ingested,
    /// Any other change, or an unknown one.
    Changed,
}

/// Called on the thread that receives notifications, so it must not block.
pub(crate) type NewsListener = Box<dyn Fn(StoreNews) + Send + Sync>;

/// The local copy of one store in this process.
pub(crate) struct LocalCopy {
    shared: Arc<Shared>,
    _watch: Option<Watch>,
    thread: Option<JoinHandle<()>>,
    // Declared after the thread, so that the lock is held until the thread has stopped writing.
    _lock: DirectoryLock,
}

/// State shared by queries and the worker thread.
struct Shared {
    dir: PathBuf,
    bytes_max: u64,
    offline_window: Duration,
    held: HeldSymbols,
    queue: Queue,
    /// Number of the current file. Incremented when the copy is recreated.
    number: AtomicU64,
    /// Number of a damaged file, or 0 if no file is damaged.
    damaged: AtomicU64,
    version: AtomicI64,
    /// The latest version at which a reader has seen a list of symbols.
    seen: AtomicI64,
    /// The last known version of the shared database. Used to detect an import even while the
    /// worker is busy writing.
    announced: AtomicI64,
    /// Number of rounds of the worker. Used as the clock for LRU eviction.
    turn: AtomicU64,
    /// Reference time for `reached`.
    began: Instant,
    /// Time of the last response from the shared database, in milliseconds since `began`.
    reached: AtomicU64,
    is_reachable: AtomicBool,
    hits: AtomicU64,
    misses: AtomicU64,
    blocks_fetched: AtomicU64,
    bytes_fetched: AtomicU64,
    evicted: AtomicU64,
    begun_anew: AtomicU64,
    last_error: Mutex<Option<String>>,
    listener: OnceLock<NewsListener>,
}

impl fmt::Debug for LocalCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalCopy").field("dir", &self.shared.dir).finish_non_exhaustive()
    }
}

impl Drop for LocalCopy {
    fn drop(&mut self) {
        self.shared.queue.end();
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported.
            thread.join().ok();
        }
    }
}

impl LocalCopy {
    /// Opens or creates the local copy of a database, and updates it to the current version.
    pub(crate) fn open(far: &Home, settings: &CopySettings) -> Result<LocalCopy, StoreError> {
        let lock = DirectoryLock::take(&settings.dir)?;
        let dir = settings.dir.join(FOLDER);
        make_private(&dir)?;
        let shared = Arc::new(Shared::new(dir, settings));
        let worker = Worker::open(shared.clone(), far.open(Role::Reader)?)?;
        let watch = far.server().map(|server| watch(server, shared.clone())).transpose();
        let watch = watch.map_err(|source| StoreError::io(THREAD, &settings.dir, source))?;
        let thread = std::thread::Builder::new().name("copy".to_owned()).spawn(|| worker.run());
        let thread = thread.map_err(|source| StoreError::io(THREAD, &settings.dir, source))?;
        Ok(LocalCopy { shared, _watch: watch, thread: Some(thread), _lock: lock })
    }

    /// Returns the number of the current file, which changes when the copy is recreated.
    pub(crate) fn number(&self) -> u64 {
        self.shared.number.load(Ordering::Acquire)
    }

    /// Opens a read connection to the file with this number.
    pub(crate) fn reader(&self, number: u64) -> Result<Db, StoreError> {
        Db::open(&LocalFile::path_of(&self.shared.dir, number), Role::Reader)
    }

    /// Returns the version of the shared database that the copy matches.
    pub(crate) fn version(&self) -> i64 {
        self.shared.version.load(Ordering::Acquire)
    }

    /// Returns a symbol's mark, or `None` if the symbol must not be served from the file with this
    /// number.
    pub(crate) fn mark(&self, symbol: &Symbol, number: u64) -> Option<Mark> {
        let shared = &self.shared;
        let is_damaged = shared.damaged.load(Ordering::Acquire) == number;
        // If the shared database is unreachable, the copy is the newest available state.
        let newest = shared.seen.load(Ordering::Acquire).max(shared.announced.load(Ordering::Acquire));
        let is_behind = newest > self.version() && shared.is_reachable.load(Ordering::Acquire);
        if is_damaged || is_behind || self.number() != number || !shared.is_serving() {
            return None;
        }
        self.shared.held.mark(symbol, self.shared.turn.load(Ordering::Relaxed))
    }

    /// Returns whether a symbol still has this mark. If so, data read in the meantime is from the
    /// marked state or a later state.
    pub(crate) fn is_still(&self, symbol: &Symbol, mark: Mark, number: u64) -> bool {
        self.number() == number && self.shared.held.same(symbol, mark)
    }

    /// Queues a symbol to be fetched.
    pub(crate) fn want(&self, symbol: &Symbol) {
        self.shared.queue.want(symbol);
    }

    /// Records that a symbol was read from the shared database at `version` or earlier.
    pub(crate) fn saw(&self, symbol: &Symbol, version: i64) {
        self.shared.held.saw(symbol, version, self.version());
        self.shared.queue.want(symbol);
    }

    /// Records that a list of symbols was read from the shared database. A later query for one of
    /// the symbols must not return older data, because a client that caches the list and the data
    /// would be inconsistent.
    pub(crate) fn saw_all(&self, version: i64) {
        if self.shared.seen.fetch_max(version, Ordering::AcqRel).max(version) > self.version() {
            self.shared.queue.look();
        }
    }

    /// Queues fetched bodies to be written to the local file.
    pub(crate) fn store_bodies<'b>(&self, of: BodyOf, bodies: impl Iterator<Item = (i64, &'b [u8])>) {
        let (mut count, mut sum) = (0, 0);
        let bodies = bodies.map(|(id, bytes)| {
            count += 1;
            sum += bytes.len() as u64;
            FetchedBody { of, id, bytes: bytes.into() }
        });
        self.shared.queue.store_bodies(bodies);
        self.shared.blocks_fetched.fetch_add(count, Ordering::Relaxed);
        self.shared.bytes_fetched.fetch_add(sum, Ordering::Relaxed);
    }

    /// Reports that a symbol's data is inconsistent. The worker then fetches the whole symbol
    /// again.
    pub(crate) fn doubt(&self, symbol: &Symbol) {
        self.shared.queue.doubt(symbol);
    }

    /// Reports that the file with this number is damaged.
    pub(crate) fn damaged(&self, number: u64) {
        self.shared.damaged.store(number, Ordering::Release);
        self.shared.queue.damaged(number);
    }

    pub(crate) fn count_hit(&self) {
        self.shared.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_miss(&self) {
        self.shared.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until all work queued so far is done and the shared database has been polled.
    pub(crate) fn settle(&self) {
        self.shared.queue.settle();
    }

    /// Calls `listener` when this process is notified of a change. Only the first listener is used.
    pub(crate) fn listen(&self, listener: NewsListener) {
        self.shared.listener.set(listener).ok();
    }

    /// Returns whether symbols are served from the copy.
    pub(crate) fn is_serving(&self) -> bool {
        self.shared.is_serving()
    }

    pub(crate) fn load(&self) -> CopyLoad {
        let (shared, sum) = (&self.shared, self.shared.held.sum());
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CopyLoad {
            symbols: sum.symbols,
            current: sum.current,
            bytes: sum.bytes,
            bytes_max: shared.bytes_max,
            waiting: shared.queue.symbols_waiting(),
            hits: count(&shared.hits),
            misses: count(&shared.misses),
            blocks_fetched: count(&shared.blocks_fetched),
            bytes_fetched: count(&shared.bytes_fetched),
            evicted: count(&shared.evicted),
            begun_anew: count(&shared.begun_anew),
            version: self.version(),
            looked_ago: shared.looked_ago(),
            is_reachable: shared.is_reachable.load(Ordering::Acquire),
            is_serving: shared.is_serving(),
            last_error: shared.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// Subscribes to change notifications of the shared database, if it supports them.
fn watch(server: &Arc<Server>, shared: Arc<Shared>) -> std::io::Result<Watch> {
    let channels = vec![server.schema().to_owned()];
    let subject = Subject { channels, question: crate::candles::sql::VERSION.text, every: POLL };
    Watch::start(server.clone(), subject, move |news| match news {
        News::Number(version) => shared.announce(version),
        // An appended batch does not change the version.
        News::Notice { payload: sql::INGESTED, .. } => shared.notify(StoreNews::Ingested),
        // Any client can send a notification, so its content is not trusted. The version is polled
        // instead.
        News::Notice { .. } | News::Listening => shared.queue.look(),
        News::Away(_) => {}
    })
}

impl Shared {
    fn new(dir: PathBuf, settings: &CopySettings) -> Shared {
        Shared {
            dir,
            bytes_max: settings.bytes_max,
            offline_window: settings.offline_window,
            held: HeldSymbols::default(),
            queue: Queue::default(),
            number: AtomicU64::default(),
            damaged: AtomicU64::default(),
            version: AtomicI64::default(),
            seen: AtomicI64::default(),
            announced: AtomicI64::default(),
            turn: AtomicU64::default(),
            began: Instant::now(),
            reached: AtomicU64::default(),
            is_reachable: AtomicBool::new(true),
            hits: AtomicU64::default(),
            misses: AtomicU64::default(),
            blocks_fetched: AtomicU64::default(),
            bytes_fetched: AtomicU64::default(),
            evicted: AtomicU64::default(),
            begun_anew: AtomicU64::default(),
            last_error: Mutex::default(),
            listener: OnceLock::new(),
        }
    }

    fn notify(&self, news: StoreNews) {
        if let Some(listener) = self.listener.get() {
            listener(news);
        }
    }

    /// Records the version of the shared database. The version decreases if the database was rolled
    /// back to an earlier state.
    fn announce(&self, version: i64) {
        self.announced.store(version, Ordering::Release);
        self.queue.look();
    }

    /// Records a response from the shared database.
    fn reach(&self) {
        let at = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.reached.store(at, Ordering::Release);
        self.is_reachable.store(true, Ordering::Release);
    }

    fn looked_ago(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.reached.load(Ordering::Acquire)))
    }

    /// Returns whether the copy may be used. Returns `false` after the offline window, because the
    /// copy may be outdated.
    fn is_serving(&self) -> bool {
        let allowed = match self.is_reachable.load(Ordering::Acquire) {
            true => self.offline_window.max(LOOK_MAX),
            false => self.offline_window,
        };
        self.looked_ago() <= allowed
    }

    fn fail(&self, error: &StoreError) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
}
