//! A node's local copy of candles: a SQLite file of the ordinary schema with the symbols that this node is asked for, filled on demand from
//! the database that all nodes share.
//!
//! A symbol is in the copy as a whole, with everything but the bodies of its blocks, which come when they are first asked for. The copy has a
//! version: at all times it is what the shared database was at that version, as far as it goes. A change there makes symbols outdated
//! (`touched` says which), all symbols of a commit in the same instant, so that nobody sees half of it. What the copy does not have is
//! answered by the shared database, and fetched for the next question by a thread of its own ([`worker`]): no request waits for this file
//! to be written.
//!
//! Whatever happens to the file, nothing is lost with it. It is given up and begun anew when it is damaged, when it belongs to another
//! database or another era, or when the shared database has gone back to an earlier state.

mod fetch;
mod file;
mod held;
mod lock;
mod queue;
pub(crate) mod schema;
pub(super) mod sql;
mod table;
#[cfg(test)]
mod tests;
mod worker;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use market::Symbol;

pub(crate) use fetch::{BODIES_MAX, FoundBody, Wanted, bodies as fetch_bodies};
pub(crate) use file::BodyOf;
pub(crate) use held::Mark;

use crate::StoreError;
use crate::engine::home::Home;
use crate::engine::postgres::{News, Server, Subject, Watch};
use crate::engine::{Db, Role};
use file::LocalFile;
use held::HeldSymbols;
use lock::DirectoryLock;
use queue::{FetchedBody, Queue};
use worker::Worker;

/// How often the version of the shared database is looked at, also where it tells of changes by itself.
const POLL: Duration = Duration::from_millis(500);
/// A look that has not come back for so long is one that failed.
const LOOK_MAX: Duration = Duration::from_secs(5);
const THREAD: &str = "start a thread for the copy in";
/// The folder of the copy within that of the cache.
const FOLDER: &str = "candles";

/// Where the local copy of a node is, and how far it may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySettings {
    /// The directory of the cache. It belongs to one process at a time; the copy has a folder in it.
    pub dir: PathBuf,
    /// The most that the copy takes, but for the log beside it, which takes some 40 MB.
    pub bytes_max: u64,
    /// For how long symbols of the copy are answered while the shared database cannot be reached.
    pub grace: Duration,
}

/// What the local copy holds and has done, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyLoad {
    /// Symbols in it, those included that have changed since.
    pub symbols: u64,
    /// Symbols that are answered from it.
    pub current: u64,
    /// What they take, and may take.
    pub bytes: u64,
    pub bytes_max: u64,
    /// Symbols that wait to be fetched.
    pub waiting: u64,
    /// Questions that it answered, and that went to the shared database.
    pub hits: u64,
    pub misses: u64,
    /// Blocks that were fetched, and their bytes.
    pub blocks_fetched: u64,
    pub bytes_fetched: u64,
    /// Symbols that went to make room for others.
    pub evicted: u64,
    /// How often it was given up and begun anew.
    pub begun_anew: u64,
    /// The version of the shared database that it is a copy of.
    pub version: i64,
    /// How long ago the shared database was last looked at.
    pub looked_ago: Duration,
    /// Whether the last look succeeded.
    pub is_reachable: bool,
    /// Whether symbols are answered from it: not when it has been without the shared database for too long.
    pub is_serving: bool,
    /// What last went wrong with it.
    pub last_error: Option<String>,
}

/// The local copy of one store in this process.
pub(crate) struct LocalCopy {
    shared: Arc<Shared>,
    _watch: Option<Watch>,
    thread: Option<JoinHandle<()>>,
    // After the thread, which writes until it has ended.
    _lock: DirectoryLock,
}

/// What questions and the thread that fills the copy have in common.
struct Shared {
    dir: PathBuf,
    bytes_max: u64,
    grace: Duration,
    held: HeldSymbols,
    queue: Queue,
    /// Of the file. Another one begins when it is given up.
    number: AtomicU64,
    /// That of a file which is damaged; 0 for none.
    damaged: AtomicU64,
    version: AtomicI64,
    /// The latest version of which somebody has seen a list of symbols.
    seen: AtomicI64,
    /// The version that the shared database had when it was last watched. The thread that fills the copy may be busy with the file for a
    /// while, and an import is to be seen all the same.
    told: AtomicI64,
    /// Counts what the thread has done, as a clock for what was asked for longest ago.
    turn: AtomicU64,
    /// When the shared database last answered, in milliseconds from here.
    began: Instant,
    reached: AtomicU64,
    is_reachable: AtomicBool,
    hits: AtomicU64,
    misses: AtomicU64,
    blocks_fetched: AtomicU64,
    bytes_fetched: AtomicU64,
    evicted: AtomicU64,
    begun_anew: AtomicU64,
    last_error: Mutex<Option<String>>,
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
            // If it panicked, it has said so.
            thread.join().ok();
        }
    }
}

impl LocalCopy {
    /// Opens the copy of a database, or begins one. On return it is up to date.
    pub(crate) fn open(far: &Home, settings: &CopySettings) -> Result<LocalCopy, StoreError> {
        let lock = DirectoryLock::take(&settings.dir)?;
        let dir = settings.dir.join(FOLDER);
        lock::make_private(&dir)?;
        let shared = Arc::new(Shared::new(dir, settings));
        let worker = Worker::open(shared.clone(), far.open(Role::Reader)?)?;
        let watch = far.server().map(|server| watch(server, shared.clone())).transpose();
        let watch = watch.map_err(|source| StoreError::io(THREAD, &settings.dir, source))?;
        let thread = std::thread::Builder::new().name("copy".to_owned()).spawn(|| worker.run());
        let thread = thread.map_err(|source| StoreError::io(THREAD, &settings.dir, source))?;
        Ok(LocalCopy { shared, _watch: watch, thread: Some(thread), _lock: lock })
    }

    /// The number of the file, which changes when it is begun anew.
    pub(crate) fn number(&self) -> u64 {
        self.shared.number.load(Ordering::Acquire)
    }

    /// A reading connection to the file with a number.
    pub(crate) fn reader(&self, number: u64) -> Result<Db, StoreError> {
        Db::open(&LocalFile::path_of(&self.shared.dir, number), Role::Reader)
    }

    /// The version of the shared database that it is a copy of.
    pub(crate) fn version(&self) -> i64 {
        self.shared.version.load(Ordering::Acquire)
    }

    /// The state of a symbol in it that may be asked for, in the file with a number.
    pub(crate) fn mark(&self, symbol: &Symbol, number: u64) -> Option<Mark> {
        let shared = &self.shared;
        let is_damaged = shared.damaged.load(Ordering::Acquire) == number;
        // If the shared database cannot be reached any more, this is the newest that there is.
        let newest = shared.seen.load(Ordering::Acquire).max(shared.told.load(Ordering::Acquire));
        let is_behind = newest > self.version() && shared.is_reachable.load(Ordering::Acquire);
        if is_damaged || is_behind || self.number() != number || !shared.is_serving() {
            return None;
        }
        self.shared.held.mark(symbol, self.shared.turn.load(Ordering::Relaxed))
    }

    /// Whether a symbol is still in this state: then what was asked meanwhile is about it, or about a later one.
    pub(crate) fn is_still(&self, symbol: &Symbol, mark: Mark, number: u64) -> bool {
        self.number() == number && self.shared.held.same(symbol, mark)
    }

    /// Asks for a symbol to be fetched.
    pub(crate) fn want(&self, symbol: &Symbol) {
        self.shared.queue.want(symbol);
    }

    /// To be called when a symbol was seen in the shared database, at a version or before it.
    pub(crate) fn saw(&self, symbol: &Symbol, version: i64) {
        self.shared.held.saw(symbol, version, self.version());
        self.shared.queue.want(symbol);
    }

    /// To be called when a list of symbols was seen in the shared database. What is then asked about one of them must not be older, or
    /// what is remembered of both together would be wrong.
    pub(crate) fn saw_all(&self, version: i64) {
        if self.shared.seen.fetch_max(version, Ordering::AcqRel).max(version) > self.version() {
            self.shared.queue.look();
        }
    }

    /// Hands over bodies that were fetched, for the next question.
    pub(crate) fn keep<'b>(&self, of: BodyOf, bodies: impl Iterator<Item = (i64, &'b [u8])>) {
        let (mut count, mut sum) = (0, 0);
        let bodies = bodies.map(|(id, bytes)| {
            count += 1;
            sum += bytes.len() as u64;
            FetchedBody { of, id, bytes: bytes.into() }
        });
        self.shared.queue.keep(bodies);
        self.shared.blocks_fetched.fetch_add(count, Ordering::Relaxed);
        self.shared.bytes_fetched.fetch_add(sum, Ordering::Relaxed);
    }

    /// To be called when something of a symbol is not as it should be: it is fetched again as a whole.
    pub(crate) fn doubt(&self, symbol: &Symbol) {
        self.shared.queue.doubt(symbol);
    }

    /// To be called when the file with a number is damaged.
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

    /// Waits until everything is done that was asked for so far, and the shared database has been looked at.
    pub(crate) fn settle(&self) {
        self.shared.queue.settle();
    }

    /// Whether symbols are answered from it, as far as it has them.
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

/// Hears of changes of the shared database, where it tells of them.
fn watch(server: &Arc<Server>, shared: Arc<Shared>) -> std::io::Result<Watch> {
    let channels = vec![server.schema().to_owned()];
    let subject = Subject { channels, question: crate::candles::sql::VERSION.text, every: POLL };
    Watch::start(server.clone(), subject, move |news| match news {
        News::Number(version) => shared.tell(version),
        // Anybody may send one, so what it says is not believed: the watch asks for the number at once.
        News::Notice { .. } | News::Listening => shared.queue.look(),
        News::Away(_) => {}
    })
}

impl Shared {
    fn new(dir: PathBuf, settings: &CopySettings) -> Shared {
        Shared {
            dir,
            bytes_max: settings.bytes_max,
            grace: settings.grace,
            held: HeldSymbols::default(),
            queue: Queue::default(),
            number: AtomicU64::default(),
            damaged: AtomicU64::default(),
            version: AtomicI64::default(),
            seen: AtomicI64::default(),
            told: AtomicI64::default(),
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
        }
    }

    /// The shared database has this version. Also one that is less than before: then it has gone back to an earlier state.
    fn tell(&self, version: i64) {
        self.told.store(version, Ordering::Release);
        self.queue.look();
    }

    /// The shared database has answered.
    fn reach(&self) {
        let at = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.reached.store(at, Ordering::Release);
        self.is_reachable.store(true, Ordering::Release);
    }

    fn looked_ago(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.reached.load(Ordering::Acquire)))
    }

    /// What is in the copy may be outdated when nobody can tell for too long.
    fn is_serving(&self) -> bool {
        let allowed = match self.is_reachable.load(Ordering::Acquire) {
            true => self.grace.max(LOOK_MAX),
            false => self.grace,
        };
        self.looked_ago() <= allowed
    }

    fn fail(&self, error: &StoreError) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
}
