//! Limiter rows by key, in memory or in the shared database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::{GuardKey, GuardRow, GuardTable, Shared, StoreError};

use crate::RateLimiter;

/// Maximum number of rows of each kind in memory.
pub(super) const ROWS_MAX: usize = 20_000;
/// Lifetime of a counter after its last failure.
pub(super) const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);

/// Brute-force limiter. It uses uptime, so that setting the machine's clock neither ends nor causes
/// a wait; with a shared database, it uses the database's clock.
#[derive(Debug)]
pub(crate) struct Guesses {
    pub(super) shared: Option<Arc<Shared>>,
    pub(super) memory: Memory,
    /// Wrong device codes. Bounded: at most a hundred per minute for ten minutes, with three keys
    /// each.
    pub(super) codes: RateLimiter<String>,
}

impl Guesses {
    pub(crate) fn of(shared: Option<Arc<Shared>>) -> Guesses {
        Guesses { shared, memory: Memory::default(), codes: RateLimiter::of_accounts() }
    }

    /// Passes the rows of these keys to `judge` and writes those that it changed. Concurrent
    /// decisions about the same name or address are serialized.
    pub(super) fn judge<T>(
        &self,
        locks: [&str; 2],
        keys: &[GuardKey],
        uptime: Duration,
        judge: impl FnOnce(&mut Rows<'_>) -> T,
    ) -> Result<T, StoreError> {
        match &self.shared {
            None => Ok(self.memory.judge(keys, uptime, judge)),
            Some(shared) => shared.judge(locks, keys, |table| judge(&mut Rows(table))),
        }
    }
}

/// Exponential backoff: some failures are free, then the wait doubles from one second up to
/// `longest`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    pub(super) free: u32,
    pub(super) longest: Duration,
}

impl Slope {
    fn wait(self, failures: u32) -> Duration {
        match failures.checked_sub(self.free) {
            None => Duration::ZERO,
            Some(over) => Duration::from_secs(1 << over.min(16)).min(self.longest),
        }
    }
}

/// Rows of one decision. Expired rows are absent.
#[derive(Debug)]
pub(super) struct Rows<'a>(pub(super) &'a mut GuardTable);

impl Rows<'_> {
    pub(super) fn now(&self) -> Duration {
        time(self.0.now_us)
    }

    /// Returns the number and the time of a row.
    pub(super) fn get(&self, key: &GuardKey) -> Option<(u32, Duration)> {
        let row = self.0.get(key)?;
        Some((u32::try_from(row.number).unwrap_or(u32::MAX), time(row.at_us)))
    }

    pub(super) fn time_of(&self, key: &GuardKey) -> Option<Duration> {
        self.get(key).map(|(_, at)| at)
    }

    pub(super) fn put(&mut self, key: &GuardKey, (number, at): (u32, Duration), until: Duration) {
        let row = GuardRow { number: number.into(), at_us: micros(at), until_us: micros(until) };
        self.0.put(key.clone(), Some(row));
    }

    pub(super) fn remove(&mut self, key: &GuardKey) {
        self.0.put(key.clone(), None);
    }

    pub(super) fn failures(&self, key: &GuardKey) -> u32 {
        self.get(key).map_or(0, |(failures, _)| failures)
    }

    /// Returns how long a key must wait because of its failures.
    pub(super) fn wait(&self, key: &GuardKey, slope: Slope) -> Duration {
        self.get(key).map_or(Duration::ZERO, |(failures, last)| {
            (last + slope.wait(failures)).saturating_sub(self.now())
        })
    }

    /// Counts a failure and returns the new number of failures.
    pub(super) fn fail(&mut self, key: &GuardKey) -> u32 {
        let (failures, now) = (self.failures(key).saturating_add(1), self.now());
        self.put(key, (failures, now), now + FORGOTTEN_AFTER);
        failures
    }

    /// Restarts the lifetime of a counter.
    pub(super) fn touch(&mut self, key: &GuardKey) {
        if let Some((failures, _)) = self.get(key) {
            let now = self.now();
            self.put(key, (failures, now), now + FORGOTTEN_AFTER);
        }
    }

    /// Uncounts a failure.
    pub(super) fn forgive(&mut self, key: &GuardKey) {
        match self.get(key) {
            Some((2.., last)) => {
                let failures = self.failures(key) - 1;
                self.put(key, (failures, last), last + FORGOTTEN_AFTER);
            }
            Some(_) => self.remove(key),
            None => {}
        }
    }
}

/// In-memory rows by kind and key.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<HashMap<&'static str, HashMap<String, GuardRow>>>);

impl Memory {
    pub(super) fn judge<T>(
        &self,
        keys: &[GuardKey],
        uptime: Duration,
        judge: impl FnOnce(&mut Rows<'_>) -> T,
    ) -> T {
        // A panicking thread leaves no partial update, so a poisoned lock is usable.
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = |key: &GuardKey| Some((key.clone(), *kinds.get(key.kind)?.get(&key.key)?));
        let mut table = GuardTable::new(micros(uptime), keys.iter().filter_map(row));
        let judged = judge(&mut Rows(&mut table));
        for (GuardKey { kind, key }, row) in table.into_changed() {
            let rows = kinds.entry(kind).or_default();
            match row {
                Some(row) => {
                    if rows.len() >= ROWS_MAX && !rows.contains_key(&key) {
                        make_room(kind, rows, micros(uptime));
                    }
                    rows.insert(key, row);
                }
                None => drop(rows.remove(&key)),
            }
        }
        judged
    }

    #[cfg(test)]
    pub(super) fn len(&self, kind: &str) -> usize {
        self.0.lock().unwrap().get(kind).map_or(0, HashMap::len)
    }
}

/// Evicts expired rows and, if the table is still full, at least the least valuable quarter.
fn make_room(kind: &'static str, rows: &mut HashMap<String, GuardRow>, now_us: i64) {
    rows.retain(|_, row| row.until_us > now_us);
    if rows.len() < ROWS_MAX {
        return;
    }
    let worth = |row: &GuardRow| worth(kind, row);
    let mut worths: Vec<i64> = rows.values().map(worth).collect();
    let (_, least, _) = worths.select_nth_unstable(ROWS_MAX / 4);
    let least = *least;
    rows.retain(|_, row| worth(row) > least);
}

/// Returns the eviction priority of a row; higher values are evicted later. An attacker who fills
/// the table with new keys evicts those, not the counter that delays the attack.
fn worth(kind: &str, row: &GuardRow) -> i64 {
    match kind {
        // The most distant places belong to the addresses with the most failures.
        "place" => row.at_us.saturating_neg(),
        "pair" | "address" | "around" => row.number,
        _ => row.at_us,
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn time(us: i64) -> Duration {
    Duration::from_micros(u64::try_from(us).unwrap_or(0))
}
