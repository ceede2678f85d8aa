//! Exclusive locks of a store for both engines: the locks of the candle writers, the lock of the
//! server that runs background jobs, and the locks of mirrors.
//!
//! On PostgreSQL, where file locks are not possible, a lock is a row of the table `lease`. A lease
//! expires by the database's clock if its holder stops renewing it. A slow holder may not notice
//! the expiry, so every write transaction under a lease first locks the row ([`Lease::fence`]), and
//! fails if the lease has another holder.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::postgres::Server;
use super::{Db, Role, Sql, StoreUrl, Value, sqlite};
use crate::engine::error::StoreError;

/// A write lock of a store across processes. The lock is released when the process ends in any way:
/// a file lock immediately, and a lease when it expires. A dead writer therefore needs no cleanup.
#[derive(Debug)]
enum WriteLock {
    File(#[expect(dead_code, reason = "it is held")] sqlite::Lock),
    Lease(Lease),
    Transaction(TransactionLease),
}

/// The write locks of a store that a writer holds. Every writer holds the merge lock during a
/// transaction. An import also holds the writer lock from beginning to end, so that no other import
/// runs, but it can release the merge lock between transactions, so that ingested rows are merged.
#[derive(Debug, Default)]
pub(crate) struct WriteLocks {
    merge: Option<WriteLock>,
    writer: Option<WriteLock>,
}

/// Name of the lock that permits transactions.
const MERGE: &str = "merge";

/// Where the locks of a store are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LockPlace<'a> {
    Directory(&'a Path),
    Server(&'a Arc<Server>),
}

impl LockPlace<'_> {
    fn take(self, name: &'static str) -> Result<WriteLock, StoreError> {
        let server = match self {
            LockPlace::Directory(dir) => return sqlite::Lock::take(dir, name).map(WriteLock::File),
            LockPlace::Server(server) => server,
        };
        match Lease::try_take(server, name)? {
            Ok(lease) => Ok(WriteLock::Lease(lease)),
            Err(other) => {
                Err(StoreError::Busy { place: StoreUrl::from(server.address()), pid: other.process })
            }
        }
    }
}

impl WriteLocks {
    /// Takes both locks.
    pub(crate) fn take(place: LockPlace<'_>) -> Result<WriteLocks, StoreError> {
        let mut locks = WriteLocks::default();
        locks.take_writer(place)?;
        locks.take_merge(place)?;
        Ok(locks)
    }

    /// Takes the writer lock, unless it is held.
    pub(crate) fn take_writer(&mut self, place: LockPlace<'_>) -> Result<(), StoreError> {
        if self.writer.is_none() {
            self.writer = Some(place.take("writer")?);
        }
        Ok(())
    }

    /// Takes the merge lock, unless it is held.
    pub(crate) fn take_merge(&mut self, place: LockPlace<'_>) -> Result<(), StoreError> {
        if self.merge.is_none() {
            self.merge = Some(place.take(MERGE)?);
        }
        Ok(())
    }

    /// Takes the merge lock for single transactions, unless it is held. On PostgreSQL each
    /// transaction takes and releases the lease itself, which needs neither further commits nor a
    /// connection. The transaction must verify that what it depends on has not changed before.
    pub(crate) fn take_merge_for_transactions(&mut self, place: LockPlace<'_>) -> Result<(), StoreError> {
        match place {
            LockPlace::Directory(_) => self.take_merge(place),
            LockPlace::Server(_) => {
                let lease = || WriteLock::Transaction(TransactionLease { name: MERGE, holder: holder() });
                self.merge.get_or_insert_with(lease);
                Ok(())
            }
        }
    }

    pub(crate) fn release_merge(&mut self) {
        self.merge = None;
    }

    /// Returns whether transactions are permitted.
    pub(crate) fn has_merge(&self) -> bool {
        self.merge.is_some()
    }

    /// Verifies that the locks are held, and takes a lock that is taken for each transaction. Must be
    /// the first call in a write transaction.
    pub(crate) fn fence(&self, db: &Db) -> Result<(), StoreError> {
        self.transaction_lease().map_or(Ok(()), |lease| lease.take(db))?;
        self.leases().try_for_each(|lease| lease.fence(db))
    }

    /// Renews the locks, and releases a lock that is taken for each transaction. Must be the last
    /// call in a write transaction.
    pub(crate) fn extend(&self, db: &Db) -> Result<(), StoreError> {
        self.leases().try_for_each(|lease| lease.extend(db))?;
        self.transaction_lease().map_or(Ok(()), |lease| lease.release(db))
    }

    fn transaction_lease(&self) -> Option<&TransactionLease> {
        match &self.merge {
            Some(WriteLock::Transaction(lease)) => Some(lease),
            Some(WriteLock::File(_) | WriteLock::Lease(_)) | None => None,
        }
    }

    fn leases(&self) -> impl Iterator<Item = &Lease> {
        [&self.writer, &self.merge].into_iter().filter_map(|lock| match lock {
            Some(WriteLock::Lease(lease)) => Some(lease),
            Some(WriteLock::File(_) | WriteLock::Transaction(_)) | None => None,
        })
    }
}

/// A lock that a server holds while it has a store open, so that no restore replaces the files.
/// Empty on PostgreSQL, where a server is registered as a node.
#[derive(Debug)]
pub struct ServerLock(#[expect(dead_code, reason = "it is held")] Option<sqlite::ServerLock>);

impl ServerLock {
    pub(crate) fn of_directory(dir: Option<&Path>) -> Result<ServerLock, StoreError> {
        dir.map(sqlite::ServerLock::join).transpose().map(ServerLock)
    }
}

/// Lock for background jobs that change a store, such as removing expired rows. Only one of several
/// servers holds the lock.
#[derive(Debug)]
pub struct JobLock(Held);

#[derive(Debug)]
enum Held {
    File(#[expect(dead_code, reason = "it is held")] sqlite::JobFile),
    Lease(Lease),
}

impl JobLock {
    /// Takes the lock of a directory. Returns `None` if another process holds the lock.
    pub(crate) fn of_directory(dir: &Path) -> Result<Option<JobLock>, StoreError> {
        Ok(sqlite::JobFile::try_take(dir)?.map(|file| JobLock(Held::File(file))))
    }

    pub(crate) fn of_server(server: &Arc<Server>) -> Result<Option<JobLock>, StoreError> {
        Ok(Lease::try_take(server, "jobs")?.ok().map(|lease| JobLock(Held::Lease(lease))))
    }

    /// Returns whether this process still holds the lock. If it returns `false`, the caller should
    /// drop the lock and try to take it again.
    pub fn is_held(&self) -> bool {
        match &self.0 {
            Held::File(_) => true,
            Held::Lease(lease) => lease.is_held(),
        }
    }
}

/// A lock of one mirror, for a [`MirrorTask`].
#[derive(Debug)]
pub struct MirrorLock(HeldMirror);

/// A task of a mirror that only one process at a time executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorTask {
    /// Reading history. Two processes that send requests for the same mirror would exceed the limits
    /// of its source together.
    Read,
    /// Following pushes, at the same time as reading.
    Follow,
}

impl MirrorTask {
    /// Returns the name of the lock of a mirror.
    fn lock(self, id: i64) -> String {
        match self {
            MirrorTask::Read => format!("{MIRROR_PREFIX}{id}"),
            MirrorTask::Follow => format!("{MIRROR_PREFIX}{id}-follow"),
        }
    }
}

#[derive(Debug)]
enum HeldMirror {
    File(#[expect(dead_code, reason = "it is held")] sqlite::LockFile),
    Lease(Lease),
}

impl MirrorLock {
    pub(crate) fn of_directory(
        dir: &Path,
        (id, task): (i64, MirrorTask),
        name: &str,
    ) -> Result<MirrorLock, StoreError> {
        let held = |pid| StoreError::MirrorRunning { name: name.to_owned(), place: dir.into(), pid };
        let path = dir.join(format!("{}.lock", task.lock(id)));
        sqlite::LockFile::take(&path, File::try_lock, held).map(|file| MirrorLock(HeldMirror::File(file)))
    }

    pub(crate) fn of_server(
        server: &Arc<Server>,
        (id, task): (i64, MirrorTask),
        name: &str,
    ) -> Result<MirrorLock, StoreError> {
        match Lease::try_take(server, &task.lock(id))? {
            Ok(lease) => Ok(MirrorLock(HeldMirror::Lease(lease))),
            Err(other) => Err(StoreError::MirrorRunning {
                name: name.to_owned(),
                place: StoreUrl::from(server.address()),
                pid: other.process,
            }),
        }
    }

    /// Returns whether this process still holds the lock. If it returns `false`, another process
    /// may send requests.
    pub fn is_held(&self) -> bool {
        match &self.0 {
            HeldMirror::File(_) => true,
            HeldMirror::Lease(lease) => lease.is_held(),
        }
    }
}

/// How the names of the locks of mirrors begin, and of their files.
pub(crate) const MIRROR_PREFIX: &str = "mirror-";

/// Time for which a lease is valid after a renewal, in microseconds. Other processes wait this long
/// if the holder dies.
const GOOD_FOR_US: i64 = 15_000_000;
const RENEWED_EVERY: Duration = Duration::from_secs(4);

macro_rules! now_us {
    () => {
        "cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint)"
    };
}

// This statement takes no row lock, so it does not wait for a holder that is writing.
const LOOK: Sql = Sql::new(
    "read the lease holder",
    concat!("select holder from lease where name = $1 and until_us > ", now_us!()),
);
const TAKE: Sql = Sql::new(
    "acquire a lease",
    concat!(
        "insert into lease (name, holder, until_us) values ($1, $2, ",
        now_us!(),
        " + cast($3 as bigint)) on conflict (name) do update set holder = excluded.holder, until_us = excluded.until_us \
         where lease.until_us <= ",
        now_us!()
    ),
);
// `RENEW` and `FENCE` also run on connections with another schema, so they name the schema
// explicitly.
const RENEW: &str = "renew a lease";
fn renewal(schema: &str) -> String {
    let now = now_us!();
    format!(
        "update \"{schema}\".lease set until_us = {now} + cast($3 as bigint) where name = $1 and holder = $2"
    )
}
const FENCE: &str = "check a lease";
fn fencing(schema: &str) -> String {
    format!("select name from \"{schema}\".lease where name = $1 and holder = $2 for update")
}
const RELEASE: Sql = Sql::new("release a lease", "delete from lease where name = $1 and holder = $2");

/// The holder of a lease.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holder {
    /// Process id of the holder on its own machine; `None` if unknown.
    pub(crate) process: Option<u32>,
}

impl Holder {
    fn read(text: &str) -> Holder {
        Holder { process: text.split(' ').next().and_then(|word| word.parse().ok()) }
    }
}

/// A lease that is held until it is dropped or lost.
#[derive(Debug)]
pub(crate) struct Lease {
    /// A dedicated connection, because waiting for a pooled connection could take too long.
    own: Arc<Server>,
    name: String,
    holder: String,
    is_lost: Arc<AtomicBool>,
    stop: Option<Sender<()>>,
    renewing: Option<JoinHandle<()>>,
}

impl Lease {
    /// Takes a lease and starts a thread that renews it. Returns `Err` with the current holder if
    /// the lease is taken.
    pub(crate) fn try_take(server: &Arc<Server>, name: &str) -> Result<Result<Lease, Holder>, StoreError> {
        let holder = holder();
        let db = Db::on_server(server, Role::Writer);
        let look = || db.first(LOOK, [name], |row| Ok(Holder::read(row.text(0)?)));
        if let Some(other) = look()? {
            return Ok(Err(other));
        }
        match db.run(TAKE, (name, &holder, GOOD_FOR_US)) {
            Ok(0) => return Ok(Err(look()?.unwrap_or_default())),
            // The lease has expired, but its holder is in a transaction that locks the row.
            Err(StoreError::Locked { .. }) => return Ok(Err(Holder::default())),
            taken => taken?,
        };
        let own = server.alone();
        let is_lost = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = mpsc::channel();
        let renew = {
            let (own, holder, is_lost) = (own.clone(), holder.clone(), is_lost.clone());
            let name = name.to_owned();
            move || {
                while matches!(stopped.recv_timeout(RENEWED_EVERY), Err(RecvTimeoutError::Timeout)) {
                    // A failed renewal is retried, because no other holder can take the lease
                    // before it expires.
                    let db = Db::on_server(&own, Role::Writer);
                    if matches!(renew(&db, own.schema(), &name, &holder), Ok(0)) {
                        is_lost.store(true, Ordering::Release);
                        return;
                    }
                }
            }
        };
        let place = db.url();
        let renewing = thread::Builder::new()
            .name("lease".to_owned())
            .spawn(renew)
            .map_err(|source| StoreError::Io { what: "start a thread for", place: place.clone(), source })?;
        let (name, stop, renewing) = (name.to_owned(), Some(stop), Some(renewing));
        Ok(Ok(Lease { own, name, holder, is_lost, stop, renewing }))
    }

    /// Returns whether the lease is still held. A loss is detected at the next renewal, so the
    /// result may be outdated.
    pub(crate) fn is_held(&self) -> bool {
        !self.is_lost.load(Ordering::Acquire)
    }

    /// Locks the lease row, so that no other holder can take the lease before the transaction ends.
    /// Must be the first call in a write transaction under this lease.
    pub(crate) fn fence(&self, db: &Db) -> Result<(), StoreError> {
        let mut is_held = false;
        let values = [Value::Text(&self.name), Value::Text(&self.holder)];
        db.each_text(FENCE, &fencing(self.own.schema()), &values, |_| {
            is_held = true;
            Ok(ControlFlow::Continue(()))
        })?;
        if is_held { Ok(()) } else { Err(StoreError::LeaseLost { place: db.url().clone() }) }
    }

    /// Renews the lease. Must be the last call in a write transaction under this lease: the row
    /// lock blocks the background renewal until the transaction ends, and the lease may have
    /// expired by then.
    pub(crate) fn extend(&self, db: &Db) -> Result<(), StoreError> {
        renew(db, self.own.schema(), &self.name, &self.holder).map(drop)
    }
}

/// A lease that is held only within a transaction. Other processes never see its row: who takes the
/// lease at the same time waits until the transaction has ended.
#[derive(Debug)]
struct TransactionLease {
    name: &'static str,
    holder: String,
}

impl TransactionLease {
    /// Fails with [`StoreError::Busy`] if the lease has another holder.
    fn take(&self, db: &Db) -> Result<(), StoreError> {
        let busy = |process| Err(StoreError::Busy { place: db.url().clone(), pid: process });
        // `TAKE` would wait for the transactions of a holder.
        if let Some(other) = db.first(LOOK, [self.name], |row| Ok(Holder::read(row.text(0)?)))? {
            return busy(other.process);
        }
        match db.run(TAKE, (self.name, &self.holder, GOOD_FOR_US))? {
            0 => busy(None),
            _ => Ok(()),
        }
    }

    fn release(&self, db: &Db) -> Result<(), StoreError> {
        db.run(RELEASE, (self.name, &self.holder)).map(drop)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(renewing) = self.renewing.take() {
            renewing.join().ok();
        }
        // If the release fails, the lease expires.
        Db::on_server(&self.own, Role::Writer).run(RELEASE, (&self.name, &self.holder)).ok();
    }
}

/// Renews a lease. Returns 0 if the lease has another holder, otherwise 1.
fn renew(db: &Db, schema: &str, name: &str, holder: &str) -> Result<usize, StoreError> {
    let values = [Value::Text(name), Value::Text(holder), Value::Int(GOOD_FOR_US)];
    db.run_text(RENEW, &renewal(schema), &values)
}

/// Returns a unique id for each call, because a lease belongs to a holder, not to a process.
fn holder() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(std::time::Instant::now());
    format!("{} {random:016x}", std::process::id())
}
