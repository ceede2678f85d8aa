//! Exclusive locks as rows of the table `lease`: for a database on a server, a file lock is not
//! possible.
//!
//! A lease expires, by the database's clock, if its holder stops renewing it. A slow holder may not
//! notice; so every write transaction under a lease first locks its row ([`Lease::fence`]), and
//! writes nothing if another holder has it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::postgres::Server;
use super::{Db, Role, Sql, Value};
use crate::StoreError;

/// How long a lease is valid after a renewal, and so how long others wait for a dead holder.
const GOOD_FOR_US: i64 = 15_000_000;
const RENEWED_EVERY: Duration = Duration::from_secs(4);

macro_rules! now_us {
    () => {
        "cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint)"
    };
}

// Does not wait for a holder that is writing.
const LOOK: Sql = Sql::new(
    "look who has a lease",
    concat!("select holder from lease where name = $1 and until_us > ", now_us!()),
);
const TAKE: Sql = Sql::new(
    "take a lease",
    concat!(
        "insert into lease (name, holder, until_us) values ($1, $2, ",
        now_us!(),
        " + cast($3 as bigint)) on conflict (name) do update set holder = excluded.holder, until_us = excluded.until_us \
         where lease.until_us <= ",
        now_us!()
    ),
);
// Both also run on connections to other schemas of the database, so they name the schema of the
// table.
const RENEW: &str = "renew a lease";
fn renewal(schema: &str) -> String {
    let now = now_us!();
    format!(
        "update \"{schema}\".lease set until_us = {now} + cast($3 as bigint) where name = $1 and holder = $2"
    )
}
const FENCE: &str = "make sure of a lease";
fn fencing(schema: &str) -> String {
    format!("select name from \"{schema}\".lease where name = $1 and holder = $2 for update")
}
const RELEASE: Sql = Sql::new("give up a lease", "delete from lease where name = $1 and holder = $2");

/// The holder of a lease.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holder {
    /// The process id on its own machine.
    pub(crate) process: Option<u32>,
}

impl Holder {
    fn read(text: &str) -> Holder {
        Holder { process: text.split(' ').next().and_then(|word| word.parse().ok()) }
    }
}

/// Held until it is dropped, or lost.
#[derive(Debug)]
pub(crate) struct Lease {
    /// A dedicated connection: waiting for a pooled one could be too late.
    own: Arc<Server>,
    name: &'static str,
    holder: String,
    is_lost: Arc<AtomicBool>,
    stop: Option<Sender<()>>,
    renewing: Option<JoinHandle<()>>,
}

impl Lease {
    /// Returns the current holder if the lease is taken.
    pub(crate) fn try_take(
        server: &Arc<Server>,
        name: &'static str,
    ) -> Result<Result<Lease, Holder>, StoreError> {
        let holder = holder();
        let db = Db::on_server(server, Role::Writer);
        let look = || db.first(LOOK, [name], |row| Ok(Holder::read(row.text(0)?)));
        if let Some(other) = look()? {
            return Ok(Err(other));
        }
        match db.run(TAKE, (name, &holder, GOOD_FOR_US)) {
            Ok(0) => return Ok(Err(look()?.unwrap_or_default())),
            // The lease has expired, but its holder is in the middle of a transaction.
            Err(StoreError::Locked { .. }) => return Ok(Err(Holder::default())),
            taken => taken?,
        };
        let own = server.alone();
        let is_lost = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = mpsc::channel();
        let renew = {
            let (own, holder, is_lost) = (own.clone(), holder.clone(), is_lost.clone());
            move || {
                while matches!(stopped.recv_timeout(RENEWED_EVERY), Err(RecvTimeoutError::Timeout)) {
                    // A failed renewal may succeed the next time: no other holder can take it
                    // before it expires.
                    let db = Db::on_server(&own, Role::Writer);
                    if matches!(renew(&db, own.schema(), name, &holder), Ok(0)) {
                        is_lost.store(true, Ordering::Release);
                        return;
                    }
                }
            }
        };
        let place = db.place();
        let renewing = thread::Builder::new()
            .name("lease".to_owned())
            .spawn(renew)
            .map_err(|source| StoreError::Io { what: "start a thread for", place: place.clone(), source })?;
        let (stop, renewing) = (Some(stop), Some(renewing));
        Ok(Ok(Lease { own, name, holder, is_lost, stop, renewing }))
    }

    /// Whether the lease is held, as far as known.
    pub(crate) fn is_held(&self) -> bool {
        !self.is_lost.load(Ordering::Acquire)
    }

    /// Must be the first call in a write transaction under this lease: no other holder can take it
    /// before that ends.
    pub(crate) fn fence(&self, db: &Db) -> Result<(), StoreError> {
        let mut is_held = false;
        let values = [Value::Text(self.name), Value::Text(&self.holder)];
        db.each_text(FENCE, &fencing(self.own.schema()), &values, |_| {
            is_held = true;
            Ok(ControlFlow::Continue(()))
        })?;
        if is_held { Ok(()) } else { Err(StoreError::LeaseLost { place: db.place().clone() }) }
    }

    /// Must be the last call in such a transaction. The background renewal waits for it, however
    /// long it takes; without this the lease could have expired when it ends.
    pub(crate) fn extend(&self, db: &Db) -> Result<(), StoreError> {
        renew(db, self.own.schema(), self.name, &self.holder).map(drop)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(renewing) = self.renewing.take() {
            renewing.join().ok();
        }
        // If this fails, the lease expires.
        Db::on_server(&self.own, Role::Writer).run(RELEASE, (self.name, &self.holder)).ok();
    }
}

/// Returns the number of renewed leases: 0 if another holder has it.
fn renew(db: &Db, schema: &str, name: &str, holder: &str) -> Result<usize, StoreError> {
    let values = [Value::Text(name), Value::Text(holder), Value::Int(GOOD_FOR_US)];
    db.run_text(RENEW, &renewal(schema), &values)
}

/// A unique id for each call: a lease belongs to one holder, not to a process.
fn holder() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(std::time::Instant::now());
    format!("{} {random:016x}", std::process::id())
}
