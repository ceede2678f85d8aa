//! Brute-force limiter rows by key, in memory or in the shared database, and the row keys of
//! sign-in attempts.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use store::{GuardKey, GuardRow, GuardTable, Shared, StoreError};

use crate::RateLimiter;
use crate::secret::hex;

/// Maximum number of in-memory rows of each kind.
pub(super) const ROWS_MAX: usize = 20_000;
/// Time after its last failure at which a counter expires.
pub(super) const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);

/// Brute-force limiter. Times are uptime, so that setting the machine's clock neither ends nor
/// causes a wait. With a shared database, times are by the database's clock.
#[derive(Debug)]
pub(crate) struct Guesses {
    pub(super) shared: Option<Arc<Shared>>,
    pub(super) memory: Memory,
    /// Wrong device codes. The number of keys is bounded, because at most a hundred codes per
    /// minute are counted for ten minutes, each under three keys.
    pub(super) codes: RateLimiter<String>,
}

impl Guesses {
    pub(crate) fn of(shared: Option<Arc<Shared>>) -> Guesses {
        Guesses { shared, memory: Memory::default(), codes: RateLimiter::of_accounts() }
    }

    /// Passes the rows of `keys` to `judge` and writes the rows that `judge` changed. Concurrent
    /// decisions about the same name or address are serialized by `locks`.
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

/// Exponential backoff: the first `free` failures cause no wait, then the wait doubles from one
/// second up to `longest`.
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

/// Rows that one decision may read and change. Expired rows are absent.
#[derive(Debug)]
pub(super) struct Rows<'a>(pub(super) &'a mut GuardTable);

impl Rows<'_> {
    pub(super) fn now(&self) -> Duration {
        time(self.0.now_us)
    }

    /// Returns the number and the time of a row, or `None` if the row does not exist.
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

    /// Returns how long a key must still wait because of its failures, or zero if no wait is left.
    pub(super) fn wait(&self, key: &GuardKey, slope: Slope) -> Duration {
        self.get(key).map_or(Duration::ZERO, |(failures, last)| {
            (last + slope.wait(failures)).saturating_sub(self.now())
        })
    }

    /// Counts a failure of a key and returns the key's new number of failures.
    pub(super) fn fail(&mut self, key: &GuardKey) -> u32 {
        let (failures, now) = (self.failures(key).saturating_add(1), self.now());
        self.put(key, (failures, now), now + FORGOTTEN_AFTER);
        failures
    }

    /// Restarts the lifetime of a counter without counting a failure.
    pub(super) fn touch(&mut self, key: &GuardKey) {
        if let Some((failures, _)) = self.get(key) {
            let now = self.now();
            self.put(key, (failures, now), now + FORGOTTEN_AFTER);
        }
    }

    /// Undoes the count of one failure.
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
        // A panicking thread leaves no partial update, so a poisoned mutex is usable.
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

/// Evicts expired rows and, if the table is still full, at least the quarter of the rows with the
/// lowest eviction priority.
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

/// Returns the eviction priority of a row; rows with higher values are evicted later. An attacker
/// who fills the table with new keys therefore evicts those keys, not the counter that delays the
/// attack.
fn worth(kind: &str, row: &GuardRow) -> i64 {
    match kind {
        // The places furthest in the future belong to the addresses with the most failures.
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

/// Row keys of a sign-in attempt, for a name with an address or a known browser.
#[derive(Clone, Debug)]
pub(super) struct SignInKeys {
    pub(super) pair: GuardKey,
    pub(super) address: GuardKey,
    pub(super) known: GuardKey,
    pub(super) queue: GuardKey,
    pub(super) place: GuardKey,
    /// Wider networks that contain the address, narrowest first.
    pub(super) around: [WiderNetwork; 2],
}

/// A network that contains an address, with the failures that its addresses share for one name.
#[derive(Clone, Debug)]
pub(super) struct WiderNetwork {
    pub(super) key: GuardKey,
    /// Divisor of the network's counter: this many counted attempts count as one failure.
    pub(super) worth: u32,
}

impl SignInKeys {
    pub(super) fn of(name: &str, network: IpAddr, device: Option<[u8; 16]>) -> SignInKeys {
        let name = digest(name);
        let from = device.map_or_else(|| network.to_string(), |device| hex(&device));
        let key = |kind, key| GuardKey { kind, key };
        SignInKeys {
            pair: key("pair", format!("{name} {from}")),
            address: key("address", network.to_string()),
            known: key("known", format!("{name} {network}")),
            queue: key("queue", name.clone()),
            place: key("place", format!("{name} {network}")),
            around: wider(network).map(|(network, worth)| WiderNetwork {
                key: key("around", format!("{name} {network}/{worth}")),
                worth,
            }),
        }
    }

    pub(super) fn all(&self) -> [GuardKey; 7] {
        let SignInKeys { pair, address, known, queue, place, around: [narrow, wide] } = self;
        [pair, address, known, queue, place, &narrow.key, &wide.key].map(GuardKey::clone)
    }
}

/// Returns the networks that contain `network`, with their divisors: a customer's network (/24 or
/// /48) and a provider's network (/16 or /32).
fn wider(network: IpAddr) -> [(IpAddr, u32); 2] {
    let within = |keep_v4: u32, keep_v6: u32| -> IpAddr {
        match network {
            IpAddr::V4(address) => {
                Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - keep_v4))).into()
            }
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - keep_v6))).into()
            }
        }
    };
    [(within(24, 48), 4), (within(16, 32), 32)]
}

fn digest(name: &str) -> String {
    let whole: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    hex(whole.first_chunk::<16>().unwrap_or(&[0; 16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_keys_contain_only_digests_of_names() {
        let of = |name| SignInKeys::of(name, [192, 0, 2, 1].into(), Some([7; 16]));
        let keys = of("my password");
        assert!(keys.all().iter().all(|key| !key.key.contains("password")));
        assert_ne!(keys.queue, of("ann").queue);
    }
}
