//! What one process keeps in memory, kept for all nodes of a database: the rate window, paces, one-time passwords, connections, signatures
//! that were used, and failed sign-ins. PostgreSQL alone has it ([`Accounts::shared`]): with SQLite there is one server, and it stays in its memory.
//!
//! Every time in here is the database's, in microseconds, so that the clocks of nodes need not agree. What is decided here is decided by
//! one statement, or by a few under a row lock: two nodes that ask at once are served one after the other.
//!
//! Decisions about rates and paces are committed without waiting for the disk: at ten thousand a second that wait would be most of the
//! work. A crash of the database's server may take the last moments of them (up to 0.6 s with its default settings);
//! `rates.rs` says how they are brought back. What lets somebody in once (passwords, signatures) is on the disk before it is acknowledged.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Accounts;
use super::changes::now_us;
use crate::StoreError;
use crate::engine::trouble::{Kind, Trouble};
use crate::engine::{Db, Fault};

mod arrivals;
mod guards;
mod guards_sql;
mod node;
mod node_sql;
mod paces;
mod paces_sql;
mod passwords;
mod passwords_sql;
mod rates;
mod rates_sql;
mod sessions;
mod signatures;
mod signatures_sql;
mod slots;
mod slots_sql;
mod sweep;
mod withdrawals;

pub use arrivals::Arrival;
pub use guards::{GuardKey, GuardRow, GuardTable};
pub use node::{Heartbeat, NodeId, NodeRow};
pub use paces::{PaceLimit, PaceTake};
pub use passwords::{IssuedPassword, NewPassword};
pub use rates::{RateAsk, RateDecision, RateTimes, TimedRequests};
pub use signatures::{SignatureLimits, SignatureOutcome};
pub use slots::{NewSlot, SlotEnding, SlotOutcome, SlotRequest, SlotRow};

/// What all nodes of a database share.
#[derive(Debug)]
pub struct Shared {
    node: OnceLock<NodeId>,
    pool: Pool,
    left: slots::Left,
}

impl Accounts {
    /// What is shared with other nodes; `None` where there are none, and everything stays in memory.
    pub fn shared(&self) -> Option<&Arc<Shared>> {
        self.shared.as_ref()
    }
}

impl Shared {
    pub(crate) fn new(pool: Pool) -> Shared {
        Shared { node: OnceLock::new(), pool, left: slots::Left::default() }
    }

    /// A number that is another one when a connection was made anew: it may be to another server than the one before.
    pub fn connections_made(&self) -> u64 {
        (self.pool.made)()
    }

    /// A connection whose commits are on the disk when they return.
    fn durable(&self) -> Db {
        (self.pool.open)(Commit::Durable)
    }

    /// A connection whose commits are not waited for.
    fn quick(&self) -> Db {
        (self.pool.open)(Commit::Fleeting)
    }
}

/// What a commit promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// It is on the disk.
    Durable,
    /// It will be in a moment, if the server does not crash.
    Fleeting,
}

/// Where connections come from: one of each kind for whoever asks.
pub(crate) struct Pool {
    pub(crate) open: Box<dyn Fn(Commit) -> Db + Send + Sync>,
    /// How many of those that do not wait for the disk were made so far.
    pub(crate) made: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

/// A decision that others kept from being made, again and again.
fn contended(db: &Db, what: &'static str) -> StoreError {
    let cause = "others changed the same row each time".into();
    db.fail(what)(Fault::Engine(Trouble { kind: Kind::Locked, cause }))
}

/// Does something in one transaction: all of it, or nothing.
fn within<T>(db: &Db, work: impl FnOnce(&Db) -> Result<T, StoreError>) -> Result<T, StoreError> {
    db.begin_write()?;
    match work(db) {
        Ok(done) => {
            db.commit()?;
            Ok(done)
        }
        Err(error) => {
            // The error is what matters; a connection that cannot roll back is closed.
            db.rollback().ok();
            Err(error)
        }
    }
}

/// Microseconds, as the database counts them.
fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn duration(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Times of 8 bytes each.
fn read_times(bytes: &[u8]) -> Result<Vec<i64>, Fault> {
    let (times, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Fault::value("times", &format!("{} bytes", bytes.len())));
    }
    Ok(times.iter().map(|time| i64::from_be_bytes(*time)).collect())
}

fn write_times(times: &[i64]) -> Vec<u8> {
    times.iter().flat_map(|time| time.to_be_bytes()).collect()
}

/// A number as 8 bytes, big-endian: so that bytes are compared as the numbers are.
macro_rules! bytes_of {
    ($number:expr) => {
        concat!("decode(lpad(to_hex(", $number, "), 16, '0'), 'hex')")
    };
}

use bytes_of;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_read() {
        let times = [1_794_708_000_000_000, 1, 0, i64::MAX];
        assert_eq!(read_times(&write_times(&times)).unwrap(), times);
        assert!(read_times(&[0; 9]).is_err());
        assert_eq!(duration(-5), Duration::ZERO);
        assert_eq!(micros(Duration::MAX), i64::MAX);
    }
}
