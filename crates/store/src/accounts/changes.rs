//! Write locks for account changes, and the version counter that makes servers reload. Accounts
//! that lost rights are recorded for all nodes.
//!
//! SQLite allows one writer at a time, so the state that a change has read cannot change before it
//! commits. With PostgreSQL, a change first locks rows of the table `gate`, and waits only for
//! changes that could conflict.
//!
//! Servers read the version on every request and must not wait for a network round trip, so they
//! track the version of a PostgreSQL database in memory. It arrives by notification if the database
//! server supports notifications, and is also polled every second.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Accounts;
use crate::candles::sql as common_sql;
use crate::cluster::now_us;
use crate::engine::postgres::{News, Subject, Watch};
use crate::engine::{Db, Sql, StoreError};
use crate::ids::AccountId;

const NOTE: Sql = Sql::new(
    "record a withdrawal",
    concat!(
        "insert into withdrawal (version, account_id, at_us) values ($1, $2, ",
        now_us!(),
        ") on conflict (version, account_id) do nothing"
    ),
);

/// Increments the version, so that servers reload accounts. `taken_from` lists the accounts that
/// lost rights.
pub(crate) fn count_change(db: &Db, taken_from: &[AccountId]) -> Result<(), StoreError> {
    let version: i64 = db.one(common_sql::COUNT_UP, (1, "version"), |row| row.get(0))?;
    if db.has_one_writer() {
        return Ok(());
    }
    taken_from.iter().try_for_each(|account| db.run(NOTE, (version, account.0)).map(drop))
}

/// Number of rows in the table `gate`. More rows reduce contention, but locking all of them takes
/// longer.
const WRITE_LOCKS: i64 = 16;

// PostgreSQL only: the SQLite schema has no table `gate`.
const LOCK: Sql =
    Sql::new("wait for concurrent changes", "select number from gate where number = $1 for update");
const LOCK_ALL: Sql =
    Sql::new("wait for concurrent changes", "select number from gate order by number for update");

/// The accounts that a change locks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WriteLock<'a> {
    /// Locks these accounts. The change may read and write only their rows, and at most one
    /// counter.
    Of(&'a [AccountId]),
    Everything,
}

impl WriteLock<'_> {
    /// Acquires the locks. Must be the first call in a write transaction. Rows are locked in
    /// ascending order to prevent deadlocks.
    pub(crate) fn take(self, db: &Db) -> Result<(), StoreError> {
        if db.has_one_writer() {
            return Ok(());
        }
        match self {
            WriteLock::Everything => db.all(LOCK_ALL, [], |_| Ok(())).map(drop),
            WriteLock::Of(accounts) => {
                let mut rows: Vec<i64> =
                    accounts.iter().map(|account| account.0.rem_euclid(WRITE_LOCKS)).collect();
                rows.sort_unstable();
                rows.dedup();
                rows.into_iter().try_for_each(|row| db.one(LOCK, [row], |_| Ok(())))
            }
        }
    }
}

const ASKED_EVERY: Duration = Duration::from_secs(1);
/// Maximum age of a tracked version. An older version is ignored and the database is queried
/// directly, which returns an error if the database is unreachable.
const GOOD_FOR: Duration = Duration::from_secs(3);

/// The tracked version, which is unset until tracking starts, and the listener.
#[derive(Debug, Default)]
pub(super) struct Following {
    followed: OnceLock<Followed>,
    listener: Arc<Listener>,
}

/// Called after changes that may have ended sign-ins.
#[derive(Default)]
struct Listener(OnceLock<Box<dyn Fn() + Send + Sync>>);

#[derive(Debug)]
struct Followed {
    version: Arc<AtomicI64>,
    watch: Watch,
}

impl Listener {
    fn call(&self) {
        if let Some(listener) = self.0.get() {
            listener();
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl Following {
    /// Calls the listener.
    pub(super) fn changed(&self) {
        self.listener.call();
    }

    /// Returns the tracked version, or `None` if it is too old or tracking has not started.
    pub(super) fn version(&self) -> Option<i64> {
        let followed = self.followed.get()?;
        let is_recent = followed.watch.age().is_some_and(|age| age < GOOD_FOR);
        is_recent.then(|| followed.version.load(Ordering::Acquire))
    }

    /// Raises the tracked version to one that this process has read from the database.
    pub(super) fn saw(&self, version: i64) {
        if let Some(followed) = self.followed.get() {
            followed.version.fetch_max(version, Ordering::AcqRel);
        }
    }
}

impl Accounts {
    /// Calls `listener` immediately after changes by this process that may have incremented the
    /// version, and on PostgreSQL when another process has incremented it. Only the first listener
    /// is used. It must not block.
    pub fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.following.listener.0.set(Box::new(listener)).ok();
    }

    /// Starts tracking the version; does nothing on SQLite. Called by servers, which read the
    /// version before each request.
    pub fn follow(&self) -> Result<(), StoreError> {
        let Some(server) = self.home.server() else { return Ok(()) };
        if self.following.followed.get().is_some() {
            return Ok(());
        }
        let version = Arc::new(AtomicI64::new(i64::MIN));
        let subject = Subject {
            channels: vec![server.schema().to_owned()],
            question: common_sql::VERSION.for_postgres(),
            every: ASKED_EVERY,
        };
        let (heard, listener) = (version.clone(), self.following.listener.clone());
        let watch = Watch::start(server.clone(), subject, move |news| {
            let number = match news {
                News::Number(number) => Some(number),
                News::Notice { payload, .. } => payload.parse().ok(),
                News::Listening | News::Away(_) => None,
            };
            if let Some(number) = number
                && heard.fetch_max(number, Ordering::AcqRel) < number
            {
                listener.call();
            }
        });
        let watch = watch.map_err(|source| StoreError::Io {
            what: "start a thread for",
            place: self.home.url(),
            source,
        })?;
        // If two threads start tracking concurrently, the first thread's watch is kept.
        self.following.followed.set(Followed { version, watch }).ok();
        Ok(())
    }
}
