//! The rate window over all nodes, exact: at most so many requests of an account in any window, whichever nodes they come to.
//!
//! A row has the times of the last requests, newest first. With a rule of sixty, a request is admitted if the sixtieth before it has left the window;
//! then its own time is put in front. One `UPDATE` by the primary key decides that, and its row lock puts nodes in order.
//!
//! **After a crash of the database's server** the last moments may be missing, since commits are not waited for. Every node knows what it admitted itself,
//! and brings that back ([`Shared::bring_back`]): what is there already is not counted twice. Another start of the server or another timeline shows in [`Shared::incarnation`]; then nodes wait
//! for each other before they ask it. But when one of PostgreSQL's processes is killed, its parent throws away what was in memory and begins anew, and neither its start nor its timeline
//! changes. All connections end with it; so whenever one was made anew ([`Shared::connections_made`]), what was admitted is brought back, whichever server it is.

use std::time::Duration;

use super::{Shared, contended, duration, micros, rates_sql as sql, read_times, within, write_times};
use crate::engine::Db;
use crate::{AccountId, StoreError};

/// How often a decision begins anew because another node has just removed or begun the row.
const TRIES_MAX: u32 = 4;
/// Accounts whose requests are brought back in one transaction: it holds their rows for a moment.
const BACK_TOGETHER: usize = 100;
/// Accounts that are looked through for old requests in one statement.
const SWEEP_ACCOUNTS: i64 = 10_000;

/// A request, and the rule that it is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateAsk {
    /// At most so many requests in any time `within` long.
    pub requests: u32,
    pub within: Duration,
    /// What this one counts as.
    pub calls: u32,
}

/// When requests of an account were admitted, newest first, and when that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTimes {
    pub now_us: i64,
    pub times_us: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateDecision {
    /// With this request in front, whose time is now.
    Admitted(RateTimes),
    Refused(RateTimes),
}

/// What a node has admitted of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedRequests {
    pub account: AccountId,
    /// The number of the account's rule.
    pub requests: u32,
    pub times_us: Vec<i64>,
}

impl RateTimes {
    /// Requests that are in the window.
    pub fn count(&self, within: Duration) -> u32 {
        u32::try_from(self.live(within)).unwrap_or(u32::MAX)
    }

    /// How long until the oldest request leaves the window; zero if none is in it.
    pub fn until_more(&self, within: Duration) -> Duration {
        let oldest = self.live(within).checked_sub(1).and_then(|place| self.times_us.get(place));
        oldest.map_or(Duration::ZERO, |oldest| self.leaves(*oldest, within))
    }

    /// How long a request waits; zero if it need not.
    pub fn wait(&self, ask: &RateAsk) -> Duration {
        let (live, calls, most) = (self.live(ask.within), ask.calls as usize, ask.requests as usize);
        let above = (live + calls).saturating_sub(most);
        if above == 0 {
            return Duration::ZERO;
        }
        // The one that has to go last, of those that have to go first. Without one, the request counts as more than the rule has.
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
    /// Counts a request, or refuses it. A request that is refused is not counted.
    pub fn take_rate(&self, account: AccountId, ask: &RateAsk) -> Result<RateDecision, StoreError> {
        let db = self.quick();
        // Before which of the requests there must be room.
        let decisive = ask.requests.checked_sub(ask.calls).map(i64::from);
        let mut full = None;
        for _ in 0..TRIES_MAX {
            if let Some(decisive) = decisive {
                let (at, kept, window) = (8 * decisive + 1, 8 * decisive, micros(ask.within));
                let read = |row: &crate::engine::Row<'_>| read_times(row.bytes(0)?);
                let taken = match ask.calls {
                    1 => db.first(sql::TAKE, (account.0, at, window, kept), read)?,
                    calls => db.first(sql::TAKE_SEVERAL, (account.0, at, window, kept, calls), read)?,
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
                // The clock goes on between the two statements: the next try takes what has become free.
                Some(window) => full = Some(window),
                None if decisive.is_none() => {
                    return Ok(RateDecision::Refused(RateTimes { now_us: 0, times_us: Vec::new() }));
                }
                None => drop(db.run(sql::BEGIN, [account.0])?),
            }
        }
        // Other requests took every place that became free: at each try the window was full.
        full.map(RateDecision::Refused).ok_or_else(|| contended(&db, "count a request"))
    }

    /// When the last requests of an account were admitted.
    pub fn rate_times(&self, account: AccountId) -> Result<RateTimes, StoreError> {
        let found = self.quick().first(sql::WINDOW, [account.0], |row| {
            Ok(RateTimes { times_us: read_times(row.bytes(0)?)?, now_us: row.get(1)? })
        })?;
        Ok(found.unwrap_or(RateTimes { now_us: 0, times_us: Vec::new() }))
    }

    /// Takes a call out of the bucket of an account, or says how long to wait until there is one. A call takes `each`, and the bucket holds
    /// what refills within `room`.
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

    /// Brings back what this node has admitted and the database's server may have lost. What is there already is not counted twice.
    ///
    /// It waits for no disk, nor for a standby: a node that has found its database again would not come back while one is gone. If this is lost by a crash, too, that is found as the one
    /// before was. Accounts have to be in the order of their numbers, so that nodes that bring back at once wait for each other and never in a circle.
    pub fn bring_back(&self, admitted: &[TimedRequests]) -> Result<(), StoreError> {
        let db = self.quick();
        admitted.chunks(BACK_TOGETHER).try_for_each(|together| {
            within(&db, |db| together.iter().try_for_each(|requests| bring_back_one(db, requests)))
        })
    }

    /// Forgets requests that are older than any rule looks back, of some accounts after one. The next account to begin with; `None` after
    /// the last.
    pub(super) fn sweep_rates(&self, from: i64, before_us: i64) -> Result<Option<i64>, StoreError> {
        let db = self.quick();
        let last: i64 = db.one(sql::LAST_ACCOUNT, [], |row| row.get(0))?;
        let to = from.saturating_add(SWEEP_ACCOUNTS);
        db.run(sql::SWEEP_WINDOWS, (from, to, before_us.to_be_bytes()))?;
        db.run(sql::SWEEP_BUCKETS, (from, to, before_us))?;
        Ok((to <= last).then_some(to))
    }
}

fn bring_back_one(db: &Db, admitted: &TimedRequests) -> Result<(), StoreError> {
    let TimedRequests { account, requests, times_us } = admitted;
    let with_own = |known: &[i64]| {
        let most = known.len().max(*requests as usize);
        Some(merged(known, times_us, most)).filter(|all| all != known)
    };
    // Mostly nothing was lost: then nobody waits for the row.
    let known = db.first(sql::WINDOW, [account.0], |row| read_times(row.bytes(0)?))?;
    if known.is_some_and(|known| with_own(&known).is_none()) {
        return Ok(());
    }
    db.run(sql::BEGIN, [account.0])?;
    let known = db.first(sql::LOCKED, [account.0], |row| read_times(row.bytes(0)?))?;
    if let Some(all) = with_own(&known.unwrap_or_default()) {
        db.run(sql::SET, (account.0, write_times(&all)))?;
    }
    Ok(())
}

/// Two lists of times as one, newest first, at most so many. A time that is in both is the same request; a request that counted as several has its
/// time as often.
fn merged(known: &[i64], own: &[i64], most: usize) -> Vec<i64> {
    let mut all = known.to_vec();
    let mut own = own.to_vec();
    own.sort_unstable();
    for same in own.chunk_by(|one, other| one == other) {
        let Some(time) = same.first() else { continue };
        let there = known.iter().filter(|known| *known == time).count();
        all.extend(std::iter::repeat_n(*time, same.len().saturating_sub(there)));
    }
    all.sort_unstable_by(|one, other| other.cmp(one));
    all.truncate(most);
    all
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
    fn who_is_refused_waits_until_as_many_have_left_as_the_request_needs() {
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

    #[test]
    fn what_was_lost_comes_back_once() {
        assert_eq!(merged(&[9, 5, 3], &[9, 7, 3], 10), [9, 7, 5, 3]);
        assert_eq!(merged(&[9, 9, 5], &[9, 9, 9, 5], 10), [9, 9, 9, 5], "one that counted as several");
        assert_eq!(merged(&[], &[1, 2, 3], 2), [3, 2]);
        assert_eq!(merged(&[4], &[], 2), [4]);
    }
}
