//! Rate limits over all nodes: exact sliding windows for arbitrary keys, such as addresses or
//! accounts. A request can be subject to several limits.

use std::time::Duration;

use super::{Shared, contended, duration, micros, read_times, within, write_times};
use crate::engine::StoreError;

/// Maximum number of attempts if another node concurrently removes or creates the row.
const TRIES_MAX: u32 = 4;

/// A key and its rate limit: at most `requests` requests in any window of length `within`.
#[derive(Clone, Copy, Debug)]
pub struct PaceLimit<'a> {
    /// Kind of request, such as `registration`.
    pub kind: &'static str,
    /// The key that is limited, such as an address.
    pub key: &'a str,
    pub requests: u32,
    pub within: Duration,
}

/// A counted request: its kinds and keys, and its time. Passed to [`Shared::give_back_paces`] to
/// revert the count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaceTake {
    keys: Vec<(&'static str, String)>,
    at_us: i64,
}

impl Shared {
    /// Counts a request for one key. If the limit is reached, the request is not counted and the
    /// inner `Err` is the time to wait.
    pub fn take_pace(&self, limit: &PaceLimit<'_>) -> Result<Result<(), Duration>, StoreError> {
        let PaceLimit { kind, key, requests, within } = *limit;
        let Some(decisive) = requests.checked_sub(1).map(i64::from) else { return Ok(Err(within)) };
        let db = self.quick();
        let mut full = None;
        for _ in 0..TRIES_MAX {
            if db.run(sql::TAKE, (kind, key, 8 * decisive + 1, micros(within), 8 * decisive))? > 0 {
                return Ok(Ok(()));
            }
            let found = db.first(sql::WINDOW, (kind, key), |row| {
                Ok((read_times(row.bytes(0)?)?, row.get::<i64>(1)?))
            })?;
            match found {
                Some((mut times, now)) => {
                    if let Err(wait) = room(limit, &mut times, now) {
                        return Ok(Err(wait));
                    }
                    full = Some(Err(Duration::ZERO));
                }
                None => drop(db.run(sql::BEGIN, (kind, key))?),
            }
        }
        // At each attempt, concurrent requests had filled the window.
        full.ok_or_else(|| contended(&db, "count a request"))
    }

    /// Counts a request for several keys atomically, each with its own limit. If one of the limits
    /// is reached, nothing is counted and the inner `Err` is the longest time to wait.
    pub fn take_paces(&self, limits: &[PaceLimit<'_>]) -> Result<Result<PaceTake, Duration>, StoreError> {
        // The limits are sorted, so that requests with the same keys cannot deadlock.
        let mut limits = limits.to_vec();
        limits.sort_unstable_by_key(|limit| (limit.kind, limit.key));
        within(&self.quick(), |db| {
            let mut windows = Vec::with_capacity(limits.len());
            for PaceLimit { kind, key, .. } in &limits {
                let locked = || db.first(sql::LOCKED, (kind, key), |row| read_times(row.bytes(0)?));
                let times = match locked()? {
                    Some(times) => times,
                    None => {
                        db.run(sql::BEGIN, (kind, key))?;
                        locked()?.unwrap_or_default()
                    }
                };
                windows.push(times);
            }
            let clock: i64 = db.one(sql::NOW, [], |row| row.get(0))?;
            // The time never precedes the last counted request, even if the clock was set back.
            let now =
                windows.iter().filter_map(|times| times.first()).fold(clock, |now, last| now.max(*last));
            let mut longest = None;
            for (limit, times) in limits.iter().zip(&mut windows) {
                longest = longest.max(room(limit, times, now).err());
            }
            if let Some(wait) = longest {
                return Ok(Err(wait));
            }
            for (limit, times) in limits.iter().zip(&mut windows) {
                times.insert(0, now);
                let until = now.saturating_add(micros(limit.within));
                db.run(sql::SET, (limit.kind, limit.key, write_times(times), until))?;
            }
            let keys = limits.iter().map(|limit| (limit.kind, limit.key.to_owned())).collect();
            Ok(Ok(PaceTake { keys, at_us: now }))
        })
    }

    /// Removes a counted request from the windows of all of its keys.
    pub fn give_back_paces(&self, taken: &PaceTake) -> Result<(), StoreError> {
        within(&self.quick(), |db| {
            for (kind, key) in &taken.keys {
                let times = db.first(sql::LOCKED, (kind, key), |row| read_times(row.bytes(0)?))?;
                let Some(mut times) = times else { continue };
                let Some(place) = times.iter().position(|time| *time == taken.at_us) else { continue };
                times.remove(place);
                let until = times.first().copied().unwrap_or_default().saturating_add(HOUR_US);
                db.run(sql::SET, (kind, key, write_times(&times), until))?;
            }
            Ok(())
        })
    }
}

/// Time for which a row is retained after its last request. Longer than any window.
const HOUR_US: i64 = 3_600_000_000;

/// Returns `Ok` if one more request fits, or the time to wait. Removes times that have left the
/// window.
fn room(limit: &PaceLimit<'_>, times: &mut Vec<i64>, now: i64) -> Result<(), Duration> {
    let since = now.saturating_sub(micros(limit.within));
    times.retain(|time| *time > since);
    let most = limit.requests as usize;
    match most.checked_sub(1).map(|place| times.get(place)) {
        Some(None) => Ok(()),
        Some(Some(leaves)) => Err(duration(leaves.saturating_sub(since))),
        None => Err(limit.within),
    }
}

pub(super) mod sql {
    use super::super::{bytes_of, now_us};
    use crate::engine::Sql;

    /// Checks and counts one request for one key, in the same way as `rates::sql::TAKE`.
    pub(crate) const TAKE: Sql = Sql::new(
        "count a request",
        concat!(
            "update pace set times = greatest(",
            bytes_of!(now_us!()),
            ", substring(times from 1 for 8)) || substring(times from 1 for $5), until_us = ",
            now_us!(),
            " + $4 where kind = $1 and key = $2 and substring(times from $3 for 8) <= ",
            bytes_of!(concat!("greatest(0, ", now_us!(), " - $4)"))
        ),
    );

    pub(crate) const WINDOW: Sql = Sql::new(
        "read a pace",
        concat!("select times, ", now_us!(), " from pace where kind = $1 and key = $2"),
    );

    pub(crate) const BEGIN: Sql = Sql::new(
        "count a request",
        "insert into pace (kind, key, times, until_us) values ($1, $2, decode('', 'hex'), 0) on conflict (kind, key) do nothing",
    );

    pub(crate) const LOCKED: Sql =
        Sql::new("read a pace", "select times from pace where kind = $1 and key = $2 for update");

    /// The time is read while the rows are locked, so that the second of two requests has the later
    /// time.
    pub(crate) const NOW: Sql = Sql::new("read the clock of the database", concat!("select ", now_us!()));

    pub(crate) const SET: Sql =
        Sql::new("count a request", "update pace set times = $3, until_us = $4 where kind = $1 and key = $2");

    pub(crate) const SWEEP: Sql = Sql::new("delete old paces", "delete from pace where until_us < $1");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_admits_a_request_once_its_oldest_request_expires() {
        let limit = PaceLimit { kind: "test", key: "a", requests: 2, within: Duration::from_micros(10) };
        let mut times = vec![100, 95, 80];
        assert_eq!(room(&limit, &mut times, 100), Err(Duration::from_micros(5)));
        assert_eq!(times, [100, 95]);
        assert_eq!(room(&limit, &mut times, 104), Err(Duration::from_micros(1)));
        assert_eq!(room(&limit, &mut times, 105), Ok(()));
        assert_eq!(room(&PaceLimit { requests: 0, ..limit }, &mut times, 105), Err(limit.within));
    }
}
