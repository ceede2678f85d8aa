//! Failures counted by key, and the delay they cause.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// Maximum number of counters of each kind.
pub(crate) const KEPT_MAX: usize = 20_000;
/// A counter without a failure for this long is dropped.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);

/// How failures turn into delay: some are free, then one second, two, four and so on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope {
    pub(crate) free: u32,
    pub(crate) longest: Duration,
}

impl Slope {
    fn wait(self, failures: u32) -> Duration {
        match failures.checked_sub(self.free) {
            None => Duration::ZERO,
            Some(over) => Duration::from_secs(1 << over.min(16)).min(self.longest),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    failures: u32,
    last: Duration,
}

/// Recent failures of each key.
#[derive(Debug)]
pub(crate) struct FailureTable<K>(HashMap<K, Counter>);

impl<K> Default for FailureTable<K> {
    fn default() -> FailureTable<K> {
        FailureTable(HashMap::new())
    }
}

impl<K: Eq + Hash> FailureTable<K> {
    pub(crate) fn wait(&self, key: &K, slope: Slope, uptime: Duration) -> Duration {
        let Some(counter) = self.0.get(key).filter(|counter| counter.counts(uptime)) else {
            return Duration::ZERO;
        };
        (counter.last + slope.wait(counter.failures)).saturating_sub(uptime)
    }

    pub(crate) fn failures(&self, key: &K, uptime: Duration) -> u32 {
        self.0.get(key).filter(|counter| counter.counts(uptime)).map_or(0, |counter| counter.failures)
    }

    /// Counts a failure; returns the number of failures including this one.
    pub(crate) fn fail(&mut self, key: K, uptime: Duration) -> u32 {
        if self.0.len() >= KEPT_MAX && !self.0.contains_key(&key) {
            self.make_room(uptime);
        }
        let counter = self.0.entry(key).or_insert(Counter { failures: 0, last: uptime });
        if !counter.counts(uptime) {
            counter.failures = 0;
        }
        counter.failures = counter.failures.saturating_add(1);
        counter.last = uptime;
        counter.failures
    }

    /// Restarts the lifetime of a counter.
    pub(crate) fn touch(&mut self, key: &K, uptime: Duration) {
        if let Some(counter) = self.0.get_mut(key).filter(|counter| counter.counts(uptime)) {
            counter.last = uptime;
        }
    }

    pub(crate) fn forgive(&mut self, key: &K) {
        if let Some(counter) = self.0.get_mut(key) {
            counter.failures = counter.failures.saturating_sub(1);
            if counter.failures == 0 {
                self.0.remove(key);
            }
        }
    }

    /// The failures of a key and the time of the last, as stored for all nodes.
    pub(crate) fn get(&self, key: &K) -> Option<(u32, Duration)> {
        self.0.get(key).map(|counter| (counter.failures, counter.last))
    }

    pub(crate) fn put(&mut self, key: K, failures: u32, last: Duration) {
        self.0.insert(key, Counter { failures, last });
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.0.remove(key);
    }

    /// Evicts the old counters first, then those with the fewest failures: a guesser who fills the table with new keys
    /// evicts those keys, and not the counter that delays them.
    fn make_room(&mut self, uptime: Duration) {
        self.0.retain(|_, counter| counter.counts(uptime));
        let mut least = 0;
        while self.0.len() >= KEPT_MAX {
            least += 1;
            self.0.retain(|_, counter| counter.failures > least);
        }
    }
}

impl Counter {
    fn counts(&self, uptime: Duration) -> bool {
        self.last + FORGOTTEN_AFTER > uptime
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(100_000);

    #[test]
    fn memory_is_bounded_and_the_counters_of_guessers_stay() {
        let mut table = FailureTable::default();
        let guesser = u32::MAX;
        for _ in 0..10 {
            table.fail(guesser, START);
        }
        for key in 0..(KEPT_MAX as u32 * 3) {
            table.fail(key, START);
            assert!(table.0.len() <= KEPT_MAX);
        }
        let slope = Slope { free: 5, longest: Duration::from_secs(60) };
        assert_eq!(table.wait(&guesser, slope, START), Duration::from_secs(32));
    }
}
