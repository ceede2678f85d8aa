use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use market::{Symbol, Timestamp};

use super::version::{SeenVersion, VersionReader};
use crate::candles::batch::Batch;
use crate::candles::copy::{CopyLoad, CopySettings, LocalCopy, StoreNews, sql as copy_sql};
use crate::candles::ledger::ImportState;
use crate::candles::mirrors::MirrorRow;
use crate::candles::nearby::Nearby;
use crate::candles::retired::sweep;
use crate::candles::sql;
use crate::candles::view::View;
use crate::engine::home::{self, Home, Part, prepare_on_server};
use crate::engine::lock::{JobLock, LockPlace, MirrorLock, MirrorTask, ServerLock, WriteLocks};
use crate::engine::postgres::{Need, Pace};
use crate::engine::sqlite::refuse_half_restored;
use crate::engine::{Db, Role, StoreError, StoreUrl, migrate, migrations};

/// Number of batches between two sweeps of replaced blocks.
const TIDY_EVERY: u32 = 16;
/// Maximum number of sweeps before the first batch.
const TIDIED_MAX: usize = 50;
/// Number of versions whose stamp is retained. A local copy of an older version is recreated.
const STAMPS_KEPT: i64 = 100_000;

/// Number of pool connections that are reserved for a writer and its queries.
const NOT_FOR_READERS: usize = 3;

/// Maximum time that a writer waits for the merge lock. A merge, or a write of a mirror, takes a
/// fraction of a second, but on PostgreSQL the lock of a killed process expires after 15 seconds.
const MERGE_LOCK_WITHIN: Duration = Duration::from_secs(20);
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// The purpose of opening a store.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Opens an existing store. Creates and changes nothing.
    Read,
    /// Like `Read`, but leaves no shared-memory file behind. For checks that must not change the
    /// store.
    Look,
    /// Creates the store if it does not exist, and migrates its schema. `now` is recorded with each
    /// migration.
    Write { now: Timestamp },
}

/// A store, from which readers and writers are opened. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    place: StoreUrl,
    home: Home,
    role: Role,
    /// Number of blocks read by this process.
    blocks_read: Arc<AtomicU64>,
    node: Option<Node>,
    /// Whether several servers use the database, so that changes must be recorded for them.
    has_nodes: bool,
}

/// State of one of several servers of a database.
#[derive(Clone, Debug)]
struct Node {
    /// Shared by all readers of the store.
    copy: Arc<LocalCopy>,
    /// The shared database, with short timeouts because clients wait for the queries.
    home: Home,
}

/// Sizes of a store's files on disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSizes {
    pub candles: u64,
    /// Size of the WAL, which holds writes that are not checkpointed yet.
    pub candles_log: u64,
    /// Size of the log of ingested batches.
    pub ingest: u64,
    /// Size of the WAL of the log of ingested batches.
    pub ingest_log: u64,
    pub accounts: u64,
    pub accounts_log: u64,
}

impl Store {
    pub fn open(place: impl Into<StoreUrl>, access: Access) -> Result<Store, StoreError> {
        let place = place.into();
        place.path().map(refuse_half_restored).transpose()?;
        let home = Home::of(&place, Part::Candles, Pace::Usual)?;
        let role = if matches!(access, Access::Look) { Role::Onlooker } else { Role::Reader };
        let has_nodes = home.server().is_some();
        let store = Store { place, home, role, blocks_read: Arc::default(), node: None, has_nodes };
        match access {
            Access::Read | Access::Look => {
                store.home.server().map(|server| home::check(server, Need::Read)).transpose()?;
                store.reader().map(drop)?;
            }
            Access::Write { now } => store.prepare(now)?,
        }
        Ok(store)
    }

    /// Returns the location of the store.
    pub fn url(&self) -> &StoreUrl {
        &self.place
    }

    /// Returns the directory of the store, or `None` on PostgreSQL.
    pub fn dir(&self) -> Option<&Path> {
        self.place.path()
    }

    /// Returns the path of the candle database, or `None` on PostgreSQL.
    pub fn path(&self) -> Option<&Path> {
        self.home.file()
    }

    /// Returns whether the PostgreSQL server detects damaged pages. Returns `None` if the server
    /// does not report this, and for SQLite, where rows have their own checksums.
    pub fn has_page_checksums(&self) -> Result<Option<bool>, StoreError> {
        match self.home.server() {
            Some(server) => Ok(home::check(server, Need::Read)?.checks_pages),
            None => Ok(None),
        }
    }

    /// Returns the schema version that this program reads.
    pub fn schema(&self) -> i64 {
        migrations::known(migrations::ALL)
    }

    /// Returns the number of blocks that readers of this store have read since it was opened.
    pub fn blocks_read(&self) -> u64 {
        self.blocks_read.load(Ordering::Relaxed)
    }

    /// Returns the sizes of the store's files. The size of a missing file is 0. On PostgreSQL all
    /// sizes are 0.
    pub fn file_sizes(&self) -> FileSizes {
        let Some(dir) = self.dir() else { return FileSizes::default() };
        let bytes = |name: &str| std::fs::metadata(dir.join(name)).map_or(0, |file| file.len());
        let log = |name: &str| bytes(&format!("{name}-wal"));
        FileSizes {
            candles: bytes(crate::engine::CANDLES_FILE),
            candles_log: log(crate::engine::CANDLES_FILE),
            ingest: bytes(crate::engine::INGEST_FILE),
            ingest_log: log(crate::engine::INGEST_FILE),
            accounts: bytes(crate::engine::ACCOUNTS_FILE),
            accounts_log: log(crate::engine::ACCOUNTS_FILE),
        }
    }

    /// Returns the same store with a local copy. Readers use the copy for symbols that are in it;
    /// see [`View`].
    pub fn with_copy(self, settings: &CopySettings) -> Result<Store, StoreError> {
        self.connect()?;
        let home = Home::of(&self.place, Part::Candles, Pace::Quick)?;
        let copy = Arc::new(LocalCopy::open(&home, settings)?);
        Ok(Store { node: Some(Node { copy, home }), ..self })
    }

    /// Returns the same store without its local copy, for changes that must start from the newest
    /// state.
    pub fn without_copy(&self) -> Store {
        Store { node: None, ..self.clone() }
    }

    /// Returns the state and counters of the local copy, or `None` if the store has no local copy.
    pub fn copy_load(&self) -> Option<CopyLoad> {
        self.node.as_ref().map(|node| node.copy.load())
    }

    /// Calls `listener` when a node is notified of a change, including its own changes. Without a
    /// local copy it is never called. Only the first listener of the copy is used.
    pub fn on_news(&self, listener: impl Fn(StoreNews) + Send + Sync + 'static) {
        if let Some(node) = &self.node {
            node.copy.listen(Box::new(listener));
        }
    }

    /// Waits until the local copy has all requested symbols and is up to date.
    pub fn settle_copy(&self) {
        self.node.iter().for_each(|node| node.copy.settle());
    }

    /// Opens a reader, which can be used by one thread at a time. Takes no lock and never waits for
    /// a writer.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        let Some(Node { copy, home }) = &self.node else {
            let view = View::new(self.connect()?, self.blocks_read.clone());
            return Ok(Reader { view, seen: SeenVersion::default() });
        };
        // This does not connect yet, because the shared database may be unreachable and may not be
        // needed.
        let view = View::new(home.open(self.role)?, self.blocks_read.clone()).with_copy(copy.clone());
        Ok(Reader { view, seen: SeenVersion::default() })
    }

    /// Opens a reader for consistency checks, without the local copy and without a statement
    /// timeout.
    pub fn checker(&self) -> Result<Reader, StoreError> {
        let home = Home::of(&self.place, Part::Candles, Pace::Long)?;
        Store { home, ..self.without_copy() }.reader()
    }

    /// Opens a read connection and checks the schema version.
    fn connect(&self) -> Result<Db, StoreError> {
        self.must_exist()?;
        let db = match self.home.open(self.role) {
            // Creation of the store was interrupted.
            Err(StoreError::Emptied { .. }) => Err(StoreError::Absent { place: self.place.clone() }),
            opened => opened,
        }?;
        match migrate::schema(&db, migrations::ALL)? {
            found if found == migrations::known(migrations::ALL) => Ok(db),
            // The creation of the store was interrupted before the first migration.
            0 => Err(StoreError::Absent { place: self.place.clone() }),
            found => Err(StoreError::Outdated {
                place: self.home.url(),
                found,
                known: migrations::known(migrations::ALL),
            }),
        }
    }

    /// Checks through a new connection, which bypasses the page cache, that the database exists, is
    /// not truncated, and has the expected schema. On a node it is sufficient that the local copy
    /// is serving, because the shared database has just responded or the offline window has not
    /// ended.
    pub fn probe(&self) -> Result<(), StoreError> {
        if self.node.as_ref().is_some_and(|node| node.copy.is_serving()) {
            return Ok(());
        }
        self.connect()?.one(sql::VERSION, [], |row| row.get::<i64>(0)).map(drop)
    }

    /// Opens the only writer. Imports that the ledger lists as running are marked as interrupted,
    /// because holding the writer lock proves that no import is running.
    pub fn writer(&self) -> Result<Writer, StoreError> {
        self.must_exist()?;
        let mut locks = WriteLocks::default();
        locks.take_writer(self.lock_place()?)?;
        self.take_merge_lock(&mut locks)?;
        let db = self.home.open(Role::Writer)?;
        let (found, known) = (migrate::schema(&db, migrations::ALL)?, migrations::known(migrations::ALL));
        if found != known {
            return Err(StoreError::Outdated { place: self.home.url(), found, known });
        }
        db.begin_write()?;
        let states = (ImportState::Interrupted.as_str(), ImportState::Running.as_str());
        let noted = locks.fence(&db).and_then(|()| db.run(sql::INTERRUPT_IMPORTS, states));
        let noted = noted.and_then(|_| db.commit());
        noted.inspect_err(|_| drop(db.rollback()))?;
        let view = View::new(db, self.blocks_read.clone());
        let writer = Writer { view, store: self.clone(), begun: 0, locks };
        if writer.view.db().is_remote() {
            writer.tidy()?;
        }
        Ok(writer)
    }

    /// Returns the maximum number of concurrent snapshots in this process, in addition to a writer.
    /// Each snapshot uses a pool connection, and snapshots beyond the maximum wait. Returns `None`
    /// for SQLite, which has no pool.
    pub fn readers_max(&self) -> Option<usize> {
        self.home.server().map(|server| server.address().pool().saturating_sub(NOT_FOR_READERS).max(1))
    }

    /// Takes the lock for background jobs that change this store. Returns `None` if another process
    /// holds the lock.
    pub fn job_lock(&self) -> Result<Option<JobLock>, StoreError> {
        match &self.home {
            Home::File(_) => self.dir().map_or(Ok(None), JobLock::of_directory),
            Home::Server(server) => JobLock::of_server(server),
        }
    }

    /// Takes a lock of a mirror. Fails with [`StoreError::MirrorRunning`] if another process has it.
    pub fn mirror_lock(&self, mirror: &MirrorRow, task: MirrorTask) -> Result<MirrorLock, StoreError> {
        let (id, name) = ((mirror.id.0, task), mirror.name.as_str());
        match (&self.home, self.dir()) {
            (Home::Server(server), _) => MirrorLock::of_server(server, id, name),
            (Home::File(_), Some(dir)) => MirrorLock::of_directory(dir, id, name),
            (Home::File(_), None) => Err(StoreError::Absent { place: self.place.clone() }),
        }
    }

    /// Takes the lock that a server holds while it has this store open. Fails during a restore.
    pub fn server_lock(&self) -> Result<ServerLock, StoreError> {
        ServerLock::of_directory(self.dir())
    }

    /// Takes the merge lock, unless it is held. Waits for other writers.
    fn take_merge_lock(&self, locks: &mut WriteLocks) -> Result<(), StoreError> {
        let begun = Instant::now();
        loop {
            match locks.take_merge(self.lock_place()?) {
                Err(StoreError::Busy { .. }) if begun.elapsed() < MERGE_LOCK_WITHIN => {
                    std::thread::sleep(LOCK_RETRY);
                }
                taken => return taken,
            }
        }
    }

    pub(super) fn lock_place(&self) -> Result<LockPlace<'_>, StoreError> {
        match (&self.home, self.dir()) {
            (Home::Server(server), _) => Ok(LockPlace::Server(server)),
            (Home::File(_), Some(dir)) => Ok(LockPlace::Directory(dir)),
            (Home::File(_), None) => Err(StoreError::Absent { place: self.place.clone() }),
        }
    }

    /// Opens a connection that may write, after checking the schema version.
    pub(super) fn open_for_ingest(&self) -> Result<Db, StoreError> {
        drop(self.connect()?);
        self.home.open(Role::Writer)
    }

    pub(super) fn view_of(&self, db: Db) -> View {
        View::new(db, self.blocks_read.clone())
    }

    pub(super) fn has_nodes(&self) -> bool {
        self.has_nodes
    }

    fn must_exist(&self) -> Result<(), StoreError> {
        match self.home.file().map(exists).transpose()? {
            Some(false) => Err(StoreError::Absent { place: self.place.clone() }),
            _ => Ok(()),
        }
    }

    /// Opens a connection for polling [`View::version`].
    pub fn version_reader(&self) -> Result<VersionReader, StoreError> {
        match &self.node {
            Some(node) => Ok(VersionReader::of_copy(node.copy.clone())),
            None => VersionReader::open(&self.home),
        }
    }

    fn prepare(&self, now: Timestamp) -> Result<(), StoreError> {
        self.home.server().map(|server| home::check(server, Need::Write)).transpose()?;
        let current = match self.reader() {
            Ok(_) => true,
            Err(StoreError::Absent { .. } | StoreError::Outdated { .. }) => false,
            Err(error) => return Err(error),
        };
        if current {
            return Ok(());
        }
        let Some(dir) = self.dir() else {
            return prepare_on_server(&self.place, Part::Candles, Pace::Usual, now).map(drop);
        };
        std::fs::create_dir_all(dir).map_err(|source| StoreError::io("create the directory", dir, source))?;
        let _locks = WriteLocks::take(LockPlace::Directory(dir))?;
        migrate::migrate(&self.home.open(Role::Writer)?, migrations::ALL, now)
    }
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    match std::fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::io("open", path, source)),
    }
}

#[derive(Debug)]
pub struct Reader {
    view: View,
    seen: SeenVersion,
}

impl Reader {
    /// Returns a view in which every query sees the newest state.
    pub fn view(&mut self) -> &View {
        self.refresh();
        &self.view
    }

    /// Like [`View::version`], but cheaper while the version has not changed.
    pub fn version(&mut self) -> Result<i64, StoreError> {
        match self.view.near() {
            Some(near) => Ok(near.copy().version()),
            None => self.seen.current(self.view.db()),
        }
    }

    /// Begins a snapshot of the whole store. Must be held only for the duration of a request,
    /// because the WAL cannot be checkpointed past the oldest snapshot. On a node all queries of
    /// the snapshot go to the shared database; use [`Reader::snapshot_of`] for a single symbol.
    pub fn snapshot(&mut self) -> Result<Snapshot<'_>, StoreError> {
        self.refresh();
        let snapshot = self.begin()?;
        if let Some(near) = snapshot.near() {
            near.copy().saw_all(snapshot.version()?);
        }
        Ok(snapshot)
    }

    /// Begins a snapshot of one symbol, with its version. On a node the snapshot is read from the
    /// local copy if the copy has the symbol. Other symbols can also be read: each of them is
    /// consistent, but their versions may differ.
    pub fn snapshot_of(&mut self, symbol: &Symbol) -> Result<Snapshot<'_>, StoreError> {
        self.refresh();
        let Some(near) = self.view.near() else { return self.begin() };
        if near.begin(symbol)? {
            near.copy().count_hit();
            return Ok(Snapshot { view: &self.view });
        }
        near.copy().count_miss();
        let snapshot = self.begin()?;
        if let Some(near) = snapshot.near() {
            near.copy().saw(symbol, snapshot.version()?);
        }
        Ok(snapshot)
    }

    /// Begins a snapshot of the shared database.
    fn begin(&self) -> Result<Snapshot<'_>, StoreError> {
        self.view.db().begin_read()?;
        self.view.near().into_iter().for_each(Nearby::begun_far);
        Ok(Snapshot { view: &self.view })
    }

    fn refresh(&mut self) {
        if let Some(near) = self.view.near_mut() {
            near.refresh();
        }
    }
}

/// A read transaction. The first query fixes its state.
#[derive(Debug)]
pub struct Snapshot<'a> {
    view: &'a View,
}

impl Deref for Snapshot<'_> {
    type Target = View;

    fn deref(&self) -> &View {
        self.view
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        if !self.view.near().is_some_and(Nearby::end) {
            // The snapshot wrote nothing, so an error can be ignored. The next `begin` reports a
            // broken connection.
            self.view.db().commit().ok();
        }
    }
}

#[derive(Debug)]
pub struct Writer {
    view: View,
    store: Store,
    /// Number of batches begun so far.
    begun: u32,
    // Declared after the view, so that the connection is closed before the locks are released.
    locks: WriteLocks,
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The WAL is checkpointed, so that an idle store is a single file. Readers with an open
        // snapshot prevent the checkpoint, and the next writer retries it.
        self.view.db().fold_log();
    }
}

impl Writer {
    /// Returns whether rows were ever ingested into the store.
    pub fn has_ingest(&self) -> Result<bool, StoreError> {
        Ok(self.view.ingest_newest()? > 0)
    }

    /// Permits merges of ingested rows until the next batch begins. Other imports remain excluded.
    pub fn pause(&mut self) {
        self.locks.release_merge();
    }

    /// Excludes merges of ingested rows until the next pause.
    pub fn resume(&mut self) -> Result<(), StoreError> {
        self.store.take_merge_lock(&mut self.locks)
    }

    /// Begins an atomic batch of changes.
    pub fn begin(&mut self) -> Result<Batch<'_>, StoreError> {
        self.resume()?;
        let db = self.view.db();
        db.begin_write()?;
        self.begun = self.begun.wrapping_add(1);
        let sweep = || match db.is_remote() && self.begun.is_multiple_of(TIDY_EVERY) {
            true => sweep(db).map(drop),
            false => Ok(()),
        };
        if let Err(error) = self.locks.fence(db).and_then(|()| sweep()) {
            db.rollback().ok();
            return Err(error);
        }
        Ok(Batch::new(&self.view, &self.locks, self.store.has_nodes))
    }

    /// Removes data whose retention period for other servers has ended.
    fn tidy(&self) -> Result<(), StoreError> {
        let db = self.view.db();
        for _ in 0..TIDIED_MAX {
            db.begin_write()?;
            let tidied = self.locks.fence(db).and_then(|()| {
                let version = self.view.version()?;
                db.run(copy_sql::FORGET_STAMPS, [version.saturating_sub(STAMPS_KEPT)])?;
                let has_more = sweep(db)?;
                self.locks.extend(db)?;
                Ok(has_more)
            });
            let has_more = tidied.inspect_err(|_| drop(db.rollback()))?;
            db.commit()?;
            if !has_more {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl Store {
    /// Returns a store that records changes for nodes, for tests without a PostgreSQL server.
    pub(crate) fn with_nodes(self) -> Store {
        Store { has_nodes: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use market::{Grain, Timestamp};

    use super::*;
    use crate::candles::block::NewBlock;
    use crate::candles::series::{Lane, Series};

    #[test]
    fn a_full_disk_is_reported_and_loses_no_data() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::Write { now: Timestamp(0) }).unwrap();
        let mut writer = store.writer().unwrap();
        let series = Series { symbol: "700.HK".parse().unwrap(), grain: Grain::Day, lane: Lane::Regular };
        let block = |at: i64, len: usize| NewBlock {
            first: Timestamp(at),
            last: Timestamp(at),
            rows: 1,
            bytes: vec![7; len],
        };
        let mut batch = writer.begin().unwrap();
        batch.replace_blocks(&series, &[], &[block(1, 100)]).unwrap();
        batch.commit().unwrap();

        // SQLite returns the same code for a full disk and for `max_page_count`.
        writer.view.db().script("limit the file", "pragma max_page_count = 100").unwrap();
        let mut batch = writer.begin().unwrap();
        let full = batch.replace_blocks(&series, &[], &[block(2, 100), block(3, 1 << 20)]).unwrap_err();
        assert!(matches!(full, StoreError::Full { what: "write a block", .. }), "{full:?}");
        // SQLite may have ended the transaction. In either case no later change may be committed.
        batch.ensure_security(&"5.HK".parse().unwrap()).unwrap_err();
        batch.commit().unwrap_err();

        let mut batch = writer.begin().unwrap();
        assert_eq!(batch.securities().unwrap().len(), 1);
        assert_eq!(batch.blocks(&series, None, None).unwrap().len(), 1);
        batch.replace_blocks(&series, &[], &[block(2, 100)]).unwrap();
        batch.commit().unwrap();
    }
}
