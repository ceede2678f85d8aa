//! State shared by all nodes of a database: rate limits, one-time passwords, connections and their
//! subscriptions, used signatures, and failed sign-ins. PostgreSQL only
//! ([`Accounts::shared`](crate::Accounts::shared)): with SQLite there is one server, which holds
//! this state in memory.
//!
//! All times are taken from the database's clock, in microseconds, so the nodes' clocks may differ.
//! Each decision is one statement, or a few statements under a row lock, so concurrent requests on
//! two nodes are serialized.
//!
//! Rate limit decisions use asynchronous commits, because at ten thousand decisions per second,
//! waiting for the disk would dominate. A crash of the database server may lose the most recent
//! decisions (up to 0.6 s with default settings); see [`Shared::connection_losses`]. The use of
//! single-use credentials (passwords, signatures) is durable before it is acknowledged.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use crate::engine::error::{Kind, Trouble};
use crate::engine::{Db, Fault, StoreError};

mod arrivals;
mod guards;
mod lock_rows;
mod node;
mod paces;
mod rates;
mod single_use;
mod slots;
mod subscriptions;
mod sweep;

pub use arrivals::Arrival;
pub use guards::{GuardKey, GuardRow, GuardTable};
pub use node::{Heartbeat, NodeId, NodeRow};
pub use paces::{PaceLimit, PaceTake};
pub use rates::{RateAsk, RateDecision, RateTimes};
pub use single_use::{IssuedPassword, NewPassword, SignatureLimits, SignatureOutcome};
pub use slots::{
    ListedSlot, MissedTrades, NewSlot, RUNNING_WORLD, RunSlotOutcome, STREAM, SlotEnding, SlotOutcome,
    SlotRequest, SlotRow,
};
pub use subscriptions::{Fit, Reserved, SubscriptionRequest};

/// State shared by all nodes of a database.
#[derive(Debug)]
pub struct Shared {
    node: OnceLock<NodeId>,
    pool: Pool,
    left: slots::Left,
}

impl Shared {
    pub(crate) fn new(pool: Pool) -> Shared {
        Shared { node: OnceLock::new(), pool, left: slots::Left::default() }
    }

    /// Returns a number that changes when a broken connection is detected. The database may then
    /// have crashed and lost its last asynchronous commits, or failed over to another server.
    pub fn connection_losses(&self) -> u64 {
        (self.pool.losses)()
    }

    /// Takes a connection with durable commits.
    fn durable(&self) -> Db {
        (self.pool.open)(Commit::Durable)
    }

    /// Takes a connection with asynchronous commits.
    fn quick(&self) -> Db {
        (self.pool.open)(Commit::Fleeting)
    }
}

/// Durability of a commit when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// Durable on return.
    Durable,
    /// Durable shortly after the return, but lost if the database server crashes before then.
    Fleeting,
}

/// Functions that open pooled connections and count broken connections.
pub(crate) struct Pool {
    pub(crate) open: Box<dyn Fn(Commit) -> Db + Send + Sync>,
    /// Returns the number of connections with asynchronous commits that were found broken so far.
    pub(crate) losses: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

/// Returns the error for a decision that failed in every attempt because of concurrent changes.
fn contended(db: &Db, what: &'static str) -> StoreError {
    let cause = "too many concurrent changes of the same row".into();
    db.fail(what)(Fault::Engine(Trouble { kind: Kind::Locked, cause }))
}

/// Runs `work` in a transaction, and rolls back on an error.
fn within<T>(db: &Db, work: impl FnOnce(&Db) -> Result<T, StoreError>) -> Result<T, StoreError> {
    db.begin_write()?;
    match work(db) {
        Ok(done) => {
            db.commit()?;
            Ok(done)
        }
        Err(error) => {
            // The error of `work` is returned. A connection that cannot roll back is closed.
            db.rollback().ok();
            Err(error)
        }
    }
}

/// Converts a duration to microseconds, the unit used in the database.
fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn duration(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Decodes a list of times of 8 bytes each. Fails if the length is not a multiple of 8.
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

/// Current time by the database's clock. `date_part` returns a double, which holds microseconds
/// exactly until the year 2255; `extract` returns a numeric, which costs more than all other parts
/// of a decision.
macro_rules! now_us {
    () => {
        "cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint)"
    };
}
pub(crate) use now_us;

/// A number as 8 big-endian bytes, so that the order of the bytes equals the numeric order.
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
    fn request_times_round_trip() {
        let times = [1_794_708_000_000_000, 1, 0, i64::MAX];
        assert_eq!(read_times(&write_times(&times)).unwrap(), times);
        assert!(read_times(&[0; 9]).is_err());
        assert_eq!(duration(-5), Duration::ZERO);
        assert_eq!(micros(Duration::MAX), i64::MAX);
    }
}
