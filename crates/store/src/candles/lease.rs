//! The right to do something alone, among all servers of one database: a row that says who has it, and until when by the clock of the
//! database. It is renewed by a thread for as long as it is held, and is free a while after its holder died.
//!
//! A lease can be lost without its holder noticing, as when the holder was stopped for a while. So it is not what keeps two writers apart:
//! each transaction of a holder renews the row itself ([`Lease::fence`]), which locks it, and nothing is committed by one who does not have it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::StoreError;
use crate::candles::nodes_sql as sql;
use crate::engine::Db;

/// For how long a lease is good, and how often it is renewed.
const TERM: Duration = Duration::from_secs(15);
const RENEW_EVERY: Duration = Duration::from_secs(5);
const TERM_US: i64 = 15_000_000;
const _: () = assert!(TERM.as_micros() == TERM_US as u128 && RENEW_EVERY.as_secs() * 2 < TERM.as_secs());

/// What there are leases for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseName {
    /// The one import that writes.
    Writer,
    /// Background work that changes the store.
    Jobs,
}

impl LeaseName {
    fn as_str(self) -> &'static str {
        match self {
            LeaseName::Writer => "writer",
            LeaseName::Jobs => "jobs",
        }
    }
}

/// A lease that this process has.
#[derive(Debug)]
pub(crate) struct Lease {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What came of asking for a lease.
#[derive(Debug)]
pub(crate) enum Taken {
    Mine(Lease),
    /// The process that has it, as far as that is known.
    Others {
        pid: Option<u32>,
    },
}

#[derive(Debug)]
struct Shared {
    name: LeaseName,
    holder: String,
    is_lost: AtomicBool,
    /// A transaction has the row: it renews it by itself, and nobody else could.
    is_fenced: AtomicBool,
    renewed: Mutex<Instant>,
    has_ended: Mutex<bool>,
    end: Condvar,
}

impl Lease {
    /// Takes a lease that is free, over a connection that is then used to renew it.
    pub(crate) fn take(db: Db, name: LeaseName) -> Result<Taken, StoreError> {
        let holder = holder(&db)?;
        let asked = Instant::now();
        if db.run(sql::TAKE_LEASE, (name.as_str(), &holder, TERM_US))? == 0 {
            let other: Option<String> = db.first(sql::HOLDER, [name.as_str()], |row| row.get(0))?;
            return Ok(Taken::Others { pid: other.and_then(|other| pid(&other)) });
        }
        let shared = Arc::new(Shared {
            name,
            holder,
            is_lost: AtomicBool::new(false),
            is_fenced: AtomicBool::new(false),
            renewed: Mutex::new(asked),
            has_ended: Mutex::new(false),
            end: Condvar::new(),
        });
        let renewing = shared.clone();
        let thread = std::thread::Builder::new().name("lease".to_owned()).spawn(move || renewing.renew(&db));
        let thread = thread
            .map_err(|source| StoreError::io("start the thread of a lease for", "the store", source))?;
        Ok(Taken::Mine(Lease { shared, thread: Some(thread) }))
    }

    /// Whether it is still good, as far as is known here.
    pub(crate) fn is_held(&self) -> bool {
        let shared = &self.shared;
        let renewed = *shared.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        !shared.is_lost.load(Ordering::Acquire) && renewed.elapsed() < TERM
    }

    /// The first statement of a transaction that only the holder may commit. Nobody else can take the lease until that ends.
    pub(crate) fn fence(&self, db: &Db) -> Result<(), StoreError> {
        let shared = &self.shared;
        shared.is_fenced.store(true, Ordering::Release);
        let asked = Instant::now();
        if db.run(sql::RENEW_LEASE, (TERM_US, shared.name.as_str(), &shared.holder))? == 0 {
            shared.is_lost.store(true, Ordering::Release);
            return Err(StoreError::LeaseLost { place: db.place().clone() });
        }
        *shared.renewed.lock().unwrap_or_else(PoisonError::into_inner) = asked;
        Ok(())
    }

    /// The last statement of a transaction that took long: the next one needs the lease, too.
    pub(crate) fn fence_again(&self, db: &Db) -> Result<(), StoreError> {
        let renewed = *self.shared.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        if renewed.elapsed() < RENEW_EVERY { Ok(()) } else { self.fence(db) }
    }

    /// A transaction has ended.
    pub(crate) fn unfence(&self) {
        self.shared.is_fenced.store(false, Ordering::Release);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *self.shared.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.end.notify_all();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Shared {
    fn renew(&self, db: &Db) {
        let mut has_ended = self.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*has_ended {
            let waited = self.end.wait_timeout(has_ended, RENEW_EVERY);
            has_ended = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *has_ended || self.is_fenced.load(Ordering::Acquire) {
                continue;
            }
            drop(has_ended);
            let asked = Instant::now();
            match db.run(sql::RENEW_LEASE, (TERM_US, self.name.as_str(), &self.holder)) {
                Ok(0) => self.is_lost.store(true, Ordering::Release),
                Ok(_) => *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = asked,
                // The database is away for a moment. If it is for longer, the lease is not good any more.
                Err(_) => {}
            }
            has_ended = self.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        }
        drop(has_ended);
        // If it cannot be ended, it ends by itself.
        db.run(sql::END_LEASE, (self.name.as_str(), &self.holder)).ok();
    }
}

/// Who takes a lease: the process, for people, and something that nobody else has.
fn holder(db: &Db) -> Result<String, StoreError> {
    let unique: String = db.one(sql::UNIQUE, [], |row| row.get(0))?;
    Ok(format!("{} {unique}", std::process::id()))
}

fn pid(holder: &str) -> Option<u32> {
    holder.split_once(' ')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use market::Timestamp;

    use super::*;
    use crate::candles::copy::SHARED_FOR_TESTS;
    use crate::engine::{Role, Sql};
    use crate::{Access, Store};

    struct Shelter {
        dir: tempfile::TempDir,
    }

    impl Shelter {
        fn new() -> Shelter {
            let dir = tempfile::tempdir().unwrap();
            Store::open(dir.path(), Access::Write { now: Timestamp(0) }).unwrap();
            let shelter = Shelter { dir };
            shelter.db().script("prepare for nodes", SHARED_FOR_TESTS).unwrap();
            shelter
        }

        fn db(&self) -> Db {
            Db::open(&self.dir.path().join("candles.db"), Role::Writer).unwrap()
        }

        fn take(&self) -> Option<Lease> {
            match Lease::take(self.db(), LeaseName::Writer).unwrap() {
                Taken::Mine(lease) => Some(lease),
                Taken::Others { pid } => {
                    assert_eq!(pid, Some(std::process::id()));
                    None
                }
            }
        }

        fn expire(&self) {
            self.db().run(Sql::new("let it expire", "update lease set until_us = 0"), []).unwrap();
        }
    }

    #[test]
    fn a_lease_has_one_holder_and_is_free_when_that_is_gone() {
        let shelter = Shelter::new();
        let lease = shelter.take().unwrap();
        assert!(lease.is_held());
        assert!(shelter.take().is_none());
        let Taken::Mine(_other) = Lease::take(shelter.db(), LeaseName::Jobs).unwrap() else { panic!() };
        drop(lease);
        assert!(shelter.take().is_some());
    }

    #[test]
    fn whoever_has_lost_a_lease_commits_nothing() {
        let shelter = Shelter::new();
        let (slow, db) = (shelter.take().unwrap(), shelter.db());
        db.begin_write().unwrap();
        slow.fence(&db).unwrap();
        db.commit().unwrap();
        slow.unfence();
        shelter.expire();
        let quick = shelter.take().unwrap();
        db.begin_write().unwrap();
        let lost = slow.fence(&db).unwrap_err();
        assert!(matches!(lost, StoreError::LeaseLost { .. }), "{lost}");
        db.rollback().unwrap();
        assert!(!slow.is_held());
        drop(slow);
        // What the first leaves behind does not end the lease of the second.
        let db = shelter.db();
        db.begin_write().unwrap();
        quick.fence(&db).unwrap();
        db.commit().unwrap();
        quick.unfence();
        assert!(shelter.take().is_none());
    }

    #[test]
    fn an_expired_lease_that_nobody_took_is_still_good() {
        let shelter = Shelter::new();
        let (lease, db) = (shelter.take().unwrap(), shelter.db());
        shelter.expire();
        db.begin_write().unwrap();
        lease.fence(&db).unwrap();
        lease.fence_again(&db).unwrap();
        db.commit().unwrap();
        lease.unfence();
        assert!(shelter.take().is_none());
    }
}
