//! Request rate limit of accounts over all nodes: an exact sliding window.
//!
//! A row has the times of the account's last requests, newest first. With a limit of sixty, a
//! request is admitted if the sixtieth request before it has left the window. The time of an
//! admitted request is prepended. A single `UPDATE` by primary key decides, and its row lock
//! serializes the nodes.
//!
//! Commits are asynchronous, so a crash of the database server may lose the last requests.

use std::time::Duration;

use super::{Shared, contended, duration, micros, read_times};
use crate::engine::StoreError;
use crate::ids::AccountId;

/// Maximum number of attempts if another node concurrently removes or creates the row.
const TRIES_MAX: u32 = 4;
/// Number of accounts swept for old requests per statement.
const SWEEP_ACCOUNTS: i64 = 10_000;

/// A request and its rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateAsk {
    /// Maximum number of requests in any window of length `within`.
    pub requests: u32,
    pub within: Duration,
    /// Number of requests that this request is counted as.
    pub calls: u32,
}

/// Times of an account's admitted requests, newest first, and the time at which they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTimes {
    pub now_us: i64,
    pub times_us: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateDecision {
    /// The first time is that of the admitted request.
    Admitted(RateTimes),
    Refused(RateTimes),
}

impl RateTimes {
    /// Returns the number of requests in the window that ends now.
    pub fn count(&self, within: Duration) -> u32 {
        u32::try_from(self.live(within)).unwrap_or(u32::MAX)
    }

    /// Returns the time until the oldest request leaves the window, or zero if the window is empty.
    pub fn until_more(&self, within: Duration) -> Duration {
        let oldest = self.live(within).checked_sub(1).and_then(|place| self.times_us.get(place));
        oldest.map_or(Duration::ZERO, |oldest| self.leaves(*oldest, within))
    }

    /// Returns the time that a request must wait, or zero if it can be admitted now.
    pub fn wait(&self, ask: &RateAsk) -> Duration {
        let (live, calls, most) = (self.live(ask.within), ask.calls as usize, ask.requests as usize);
        let above = (live + calls).saturating_sub(most);
        if above == 0 {
            return Duration::ZERO;
        }
        // Time of the newest request that must leave the window before this request is admitted.
        // `None` if this request alone exceeds the limit.
        let last = live.checked_sub(above).and_then(|place| self.times_us.get(place));
        last.map_or(ask.within, |last| self.leaves(*last, ask.within))
    }

    fn live(&self, within: Duration) -> usize {
        let since = self.now_us.saturating_sub(micros(within));
        self.times_us.iter().take_while(|time| **time > since).count()
    }

    fn leaves(&self, time: i64, within: Duration) -> Duration {
        duration(time.saturating_add(micros(within)).saturating_sub(self.now_us))
    }
}

impl Shared {
    /// Counts a request if it is within the limit. Refused requests are not counted.
    pub fn take_rate(&self, account: AccountId, ask: &RateAsk) -> Result<RateDecision, StoreError> {
        let db = self.quick();
        // Index of the earlier request that must have left the window.
        let decisive = ask.requests.checked_sub(ask.calls).map(i64::from);
        let mut full = None;
        for _ in 0..TRIES_MAX {
            if let Some(decisive) = decisive {
                let (at, stored, window) = (8 * decisive + 1, 8 * decisive, micros(ask.within));
                let read = |row: &crate::engine::Row<'_>| read_times(row.bytes(0)?);
                let taken = match ask.calls {
                    1 => db.first(sql::TAKE, (account.0, at, window, stored), read)?,
                    calls => db.first(sql::TAKE_SEVERAL, (account.0, at, window, stored, calls), read)?,
                };
                if let Some(times_us) = taken {
                    let now_us = times_us.first().copied().unwrap_or_default();
                    return Ok(RateDecision::Admitted(RateTimes { now_us, times_us }));
                }
            }
            let window = db.first(sql::WINDOW, [account.0], |row| {
                Ok(RateTimes { times_us: read_times(row.bytes(0)?)?, now_us: row.get(1)? })
            })?;
            match window {
                Some(window) if !window.wait(ask).is_zero() => return Ok(RateDecision::Refused(window)),
                // An earlier request may have left the window since the first statement, so the
                // decision is repeated.
                Some(window) => full = Some(window),
                None if decisive.is_none() => {
                    return Ok(RateDecision::Refused(RateTimes { now_us: 0, times_us: Vec::new() }));
                }
                None => drop(db.run(sql::BEGIN, [account.0])?),
            }
        }
        // At each attempt, concurrent requests had filled the window.
        full.map(RateDecision::Refused).ok_or_else(|| contended(&db, "count a request"))
    }

    /// Returns the times of an account's last admitted requests. Empty if there are none.
    pub fn rate_times(&self, account: AccountId) -> Result<RateTimes, StoreError> {
        let found = self.quick().first(sql::WINDOW, [account.0], |row| {
            Ok(RateTimes { times_us: read_times(row.bytes(0)?)?, now_us: row.get(1)? })
        })?;
        Ok(found.unwrap_or(RateTimes { now_us: 0, times_us: Vec::new() }))
    }

    /// Takes a call from an account's token bucket. If the bucket is empty, the inner `Err` is the
    /// time to wait. Refilling takes `each` for one call, and `room` for the whole bucket.
    pub fn take_call(
        &self,
        account: AccountId,
        each: Duration,
        room: Duration,
    ) -> Result<Result<(), Duration>, StoreError> {
        let db = self.quick();
        let (each_us, room_us) = (micros(each), micros(room));
        let mut empty = None;
        for _ in 0..TRIES_MAX {
            if db.run(sql::CALL, (account.0, each_us, room_us))? > 0 {
                return Ok(Ok(()));
            }
            let full_in: Option<i64> = db.first(sql::BUCKET, (account.0, room_us), |row| row.get(0))?;
            match full_in.map(|full_in| full_in.saturating_add(each_us).saturating_sub(room_us)) {
                Some(wait) if wait > 0 => return Ok(Err(duration(wait))),
                Some(_) => empty = Some(Err(Duration::ZERO)),
                None if db.run(sql::BEGIN_CALLS, (account.0, each_us))? > 0 => return Ok(Ok(())),
                None => {}
            }
        }
        empty.ok_or_else(|| contended(&db, "count a call"))
    }

    /// Removes rows of accounts without recent requests, for a range of account ids that starts at
    /// `from`. Returns the start of the next range, or `None` after the last range.
    pub(super) fn sweep_rates(&self, from: i64, before_us: i64) -> Result<Option<i64>, StoreError> {
        let db = self.quick();
        let last: i64 = db.one(sql::LAST_ACCOUNT, [], |row| row.get(0))?;
        let to = from.saturating_add(SWEEP_ACCOUNTS);
        db.run(sql::SWEEP_WINDOWS, (from, to, before_us.to_be_bytes()))?;
        db.run(sql::SWEEP_BUCKETS, (from, to, before_us))?;
        Ok((to <= last).then_some(to))
    }
}

pub(super) mod sql {
    use super::super::{bytes_of, now_us};
    use crate::engine::Sql;

    /// Checks and counts one request. `$2` is the one-based position, in bytes, of the request that
    /// must have left the window; `$3` is the length of the window, and `$4` the number of bytes
    /// that are kept after the new time.
    ///
    /// Exact under concurrency: a statement that waited for the row lock evaluates its condition
    /// again on the updated row, with the current clock. Times only increase, so a request that is
    /// refused based on an older row is also refused based on a newer row. `greatest` keeps times
    /// from decreasing if the clock is set back.
    pub(crate) const TAKE: Sql = Sql::new(
        "count a request",
        concat!(
            "update rate_window set times = greatest(",
            bytes_of!(now_us!()),
            ", substring(times from 1 for 8)) || substring(times from 1 for $4) ",
            "where account_id = $1 and substring(times from $2 for 8) <= ",
            bytes_of!(concat!("greatest(0, ", now_us!(), " - $3)")),
            " returning times"
        ),
    );

    /// Like `TAKE`, but for a request that is counted as `$5` requests: its time is written `$5`
    /// times.
    pub(crate) const TAKE_SEVERAL: Sql = Sql::new(
        "count a request",
        concat!(
            "update rate_window set times = decode(repeat(encode(greatest(",
            bytes_of!(now_us!()),
            ", substring(times from 1 for 8)), 'hex'), $5), 'hex') || substring(times from 1 for $4) ",
            "where account_id = $1 and substring(times from $2 for 8) <= ",
            bytes_of!(concat!("greatest(0, ", now_us!(), " - $3)")),
            " returning times"
        ),
    );

    pub(crate) const WINDOW: Sql = Sql::new(
        "read the requests of an account",
        concat!("select times, ", now_us!(), " from rate_window where account_id = $1"),
    );

    /// Creates an empty row for an account.
    pub(crate) const BEGIN: Sql = Sql::new(
        "count a request",
        "insert into rate_window (account_id, times) values ($1, decode('', 'hex')) on conflict (account_id) do nothing",
    );

    /// Takes a call from a token bucket. `$2` is the cost of a call and `$3` the capacity, both as
    /// refill time. `full_us` is the time at which the bucket will be full.
    ///
    /// A `full_us` later than `$3` from now was written before the clock was set back, for example
    /// by a failover. The bucket is then treated as just emptied, and this call is admitted.
    pub(crate) const CALL: Sql = Sql::new(
        "count a call",
        concat!(
            "update call_bucket set full_us = least(greatest(full_us, ",
            now_us!(),
            ") + $2, ",
            now_us!(),
            " + $3) where account_id = $1 and (greatest(full_us, ",
            now_us!(),
            ") + $2 <= ",
            now_us!(),
            " + $3 or full_us > ",
            now_us!(),
            " + $3)"
        ),
    );

    /// Returns the time until the bucket is full, limited to the refill time `$2` in case the clock
    /// was set back.
    pub(crate) const BUCKET: Sql = Sql::new(
        "read the calls of an account",
        concat!("select least(full_us - ", now_us!(), ", $2) from call_bucket where account_id = $1"),
    );

    pub(crate) const BEGIN_CALLS: Sql = Sql::new(
        "count a call",
        concat!(
            "insert into call_bucket (account_id, full_us) values ($1, ",
            now_us!(),
            " + $2) on conflict (account_id) do nothing"
        ),
    );

    /// Removes the windows of idle accounts in a range of account ids.
    pub(crate) const SWEEP_WINDOWS: Sql = Sql::new(
        "delete old requests",
        "delete from rate_window where account_id >= $1 and account_id < $2 and substring(times from 1 for 8) < $3",
    );

    pub(crate) const SWEEP_BUCKETS: Sql = Sql::new(
        "delete old calls",
        "delete from call_bucket where account_id >= $1 and account_id < $2 and full_us < $3",
    );

    pub(crate) const LAST_ACCOUNT: Sql =
        Sql::new("find the last account", "select coalesce(max(account_id), 0) from rate_window");
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000;

    fn times(now_s: i64, times_s: &[i64]) -> RateTimes {
        RateTimes { now_us: now_s * S, times_us: times_s.iter().map(|time| time * S).collect() }
    }

    fn ask(requests: u32, calls: u32) -> RateAsk {
        RateAsk { requests, within: Duration::from_secs(30), calls }
    }

    #[test]
    fn a_refused_request_waits_for_enough_requests_to_expire() {
        let window = times(100, &[99, 95, 90, 80, 60]);
        assert_eq!(window.count(Duration::from_secs(30)), 4, "one has left");
        assert_eq!(window.until_more(Duration::from_secs(30)), Duration::from_secs(10));
        assert_eq!(window.wait(&ask(4, 1)), Duration::from_secs(10));
        assert_eq!(window.wait(&ask(4, 3)), Duration::from_secs(25), "three have to leave");
        assert_eq!(window.wait(&ask(2, 1)), Duration::from_secs(25), "a stricter rule has more to wait for");
        assert_eq!(window.wait(&ask(5, 1)), Duration::ZERO);
        assert_eq!(window.wait(&ask(2, 3)), Duration::from_secs(30), "more than the rule has");
        assert_eq!(times(0, &[]).until_more(Duration::from_secs(30)), Duration::ZERO);
    }
}
