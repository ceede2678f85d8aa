//! The polling interval of devices that wait for approval. In memory and bounded: a lost entry
//! costs no token. Where several nodes share a database, that stores it (`shared_sign_ins.rs`).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use store::Hash;

use crate::Region;

/// The minimum interval between two polls of a device.
pub const POLL_INTERVAL_S: u64 = 5;
const KEYS_MAX: usize = 20_000;

/// Devices that poll. Public clients run two pollers with the same code, each for one region, at
/// the same time; so each has a separate interval.
#[derive(Debug, Default)]
pub(crate) struct Pollers(Mutex<HashMap<(Hash, Option<Region>), Poll>>);

/// The last poll of a device, and its minimum interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    pub(crate) last: Duration,
    pub(crate) interval: Duration,
}

/// Tolerance for the jitter of a client's timer.
const SLACK: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_secs(5);
const INTERVAL_MAX: Duration = Duration::from_secs(60);
/// A device that has not polled for this long is dropped.
pub(crate) const GONE_AFTER: Duration = Duration::from_secs(120);

/// Whether a poll comes too soon after the last, and its new state. If so, the interval grows by
/// five seconds (RFC 8628, 3.5).
pub(crate) fn judged(poll: Option<Poll>, now: Duration) -> (bool, Poll) {
    let Some(Poll { last, interval }) = poll else {
        return (false, Poll { last: now, interval: Duration::from_secs(POLL_INTERVAL_S) });
    };
    let too_fast = now.saturating_sub(last) + SLACK < interval;
    let interval = if too_fast { (interval + STEP).min(INTERVAL_MAX) } else { interval };
    (too_fast, Poll { last: now, interval })
}

impl Pollers {
    pub(crate) fn is_too_fast(&self, code: Hash, poller: Option<Region>, uptime: Duration) -> bool {
        let mut polls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (code, poller);
        if polls.len() >= KEYS_MAX && !polls.contains_key(&key) {
            polls.retain(|_, poll| poll.last + GONE_AFTER > uptime);
            if polls.len() >= KEYS_MAX {
                return false;
            }
        }
        let (too_fast, poll) = judged(polls.get(&key).copied(), uptime);
        polls.insert(key, poll);
        too_fast
    }

    pub(crate) fn forget(&self, code: &Hash) {
        let mut polls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for poller in Region::ALL.map(Some).into_iter().chain([None]) {
            polls.remove(&(*code, poller));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1_000);

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn two_pollers_that_respect_the_interval_are_never_too_fast() {
        let pollers = Pollers::default();
        for tick in 1..100 {
            for region in [Some(Region::Ap), Some(Region::Us)] {
                assert!(!pollers.is_too_fast([1; 32], region, START + seconds(5 * tick)));
            }
        }
    }

    #[test]
    fn a_poller_that_is_too_fast_must_wait_longer_and_the_others_need_not() {
        let pollers = Pollers::default();
        let poll = |region, at| pollers.is_too_fast([1; 32], region, START + seconds(at));
        assert!(!poll(None, 0) && !poll(Some(Region::Us), 0));
        assert!(poll(None, 1));
        assert!(poll(None, 6), "ten seconds from now on");
        assert!(!poll(None, 21), "fifteen seconds after that");
        assert!(!poll(Some(Region::Us), 5));
        assert!(!pollers.is_too_fast([2; 32], None, START + seconds(21)), "another code");
        for _ in 0..100 {
            poll(None, 22);
        }
        assert!(!poll(None, 22 + 60), "there is a longest interval");
    }

    #[test]
    fn pollers_are_remembered_within_bounds() {
        let pollers = Pollers::default();
        let code = |number: usize| {
            let mut code = [0; 32];
            code[..8].copy_from_slice(&number.to_be_bytes());
            code
        };
        for number in 0..KEYS_MAX + 10 {
            assert!(!pollers.is_too_fast(code(number), None, START));
        }
        assert_eq!(pollers.0.lock().unwrap().len(), KEYS_MAX);
        pollers.is_too_fast(code(KEYS_MAX + 10), None, START + GONE_AFTER);
        assert_eq!(pollers.0.lock().unwrap().len(), 1);
        pollers.forget(&code(KEYS_MAX + 10));
        assert!(pollers.0.lock().unwrap().is_empty());
    }
}
