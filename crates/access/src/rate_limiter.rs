//! Rate limiter with an exact sliding window for each key.
//!
//! The windows are in memory, so a restart resets them. Times are uptime, so setting the machine's
//! clock neither ends nor causes a wait. A [`Pace`] is a limit that all nodes share. [`network_of`]
//! returns the key under which an address is counted.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Number of accounts at which idle accounts are evicted.
const ACCOUNTS_SWEEP: usize = 4_096;
/// Maximum number of addresses in a limiter.
const ADDRESSES_MAX: usize = 20_000;

/// A limit of at most `requests` requests in any window of length `within`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    pub requests: u32,
    pub within: Duration,
}

impl RateLimit {
    pub fn of_seconds(requests: u32, seconds: u32) -> RateLimit {
        RateLimit { requests, within: Duration::from_secs(seconds.into()) }
    }
}

/// Rate limiter with a sliding window for each key.
#[derive(Debug)]
pub struct RateLimiter<K> {
    windows: Mutex<Windows<K>>,
    when_full: WhenFull,
}

#[derive(Debug)]
struct Windows<K> {
    of: HashMap<K, Window>,
    /// Number of keys at which idle keys are evicted.
    sweep_at: usize,
}

/// How a new key is treated if the table is full and no key is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenFull {
    Remember,
    /// Requests of the key pass uncounted, so that a flood of keys does not lock out all other
    /// callers.
    LetThrough,
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// Creates a limiter for accounts or another bounded set of keys. Every key is counted.
    pub fn of_accounts() -> RateLimiter<K> {
        RateLimiter::of(ACCOUNTS_SWEEP, WhenFull::Remember)
    }

    /// Creates a limiter for addresses or other keys that a client can choose. The number of keys
    /// is bounded, and requests of further keys pass uncounted.
    pub fn of_addresses() -> RateLimiter<K> {
        RateLimiter::of(ADDRESSES_MAX, WhenFull::LetThrough)
    }

    fn of(sweep_at: usize, when_full: WhenFull) -> RateLimiter<K> {
        RateLimiter { windows: Mutex::new(Windows { of: HashMap::new(), sweep_at }), when_full }
    }

    /// Counts a request as `calls` calls, or returns the time to wait. A request with more calls
    /// than the limit never passes.
    pub fn pass(&self, key: K, limit: RateLimit, calls: u32, uptime: Duration) -> Result<(), Duration> {
        let mut windows = self.lock();
        match self.remember(&mut windows, key, uptime) {
            Some(window) => window.room(limit, calls, uptime).map(|()| window.count(calls, uptime)),
            None => Ok(()),
        }
    }

    /// Counts a request under several keys, each with its own limit. If any limit is reached,
    /// counts nothing and returns the longest wait.
    pub(crate) fn pass_all<const N: usize>(
        &self,
        keys: [(K, RateLimit); N],
        uptime: Duration,
    ) -> Result<(), Duration> {
        let mut windows = self.lock();
        let mut longest = None;
        for (key, limit) in &keys {
            let wait = windows.of.get_mut(key).and_then(|window| window.room(*limit, 1, uptime).err());
            longest = longest.max(wait);
        }
        if let Some(wait) = longest {
            return Err(wait);
        }
        for (key, limit) in keys {
            if let Some(window) = self.remember(&mut windows, key, uptime) {
                window.within = limit.within;
                window.count(1, uptime);
            }
        }
        Ok(())
    }

    /// Removes the last `calls` calls of each key from its window.
    pub(crate) fn take_back<const N: usize>(&self, keys: [K; N], calls: u32) {
        let mut windows = self.lock();
        for key in keys {
            if let Some(window) = windows.of.get_mut(&key) {
                window.passed.truncate(window.passed.len().saturating_sub(calls as usize));
            }
        }
    }

    /// Returns the number of calls that would pass now, and the time until the oldest call expires.
    /// Counts nothing.
    pub(crate) fn remaining(&self, key: &K, limit: RateLimit, uptime: Duration) -> (u32, Duration) {
        let windows = self.lock();
        let live = |passed: &&Duration| **passed + limit.within > uptime;
        let (mut count, mut oldest) = (0_u32, None);
        for passed in windows.of.get(key).into_iter().flat_map(|window| &window.passed).filter(live) {
            count = count.saturating_add(1);
            oldest = oldest.or(Some(*passed + limit.within));
        }
        let wait = oldest.map_or(Duration::ZERO, |leaves| leaves.saturating_sub(uptime));
        (limit.requests.saturating_sub(count), wait)
    }

    fn lock(&self) -> MutexGuard<'_, Windows<K>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the window of a key, which is created if necessary, or `None` if the table is full.
    fn remember<'a>(&self, windows: &'a mut Windows<K>, key: K, uptime: Duration) -> Option<&'a mut Window> {
        let Windows { of, sweep_at } = windows;
        if of.len() >= *sweep_at && !of.contains_key(&key) {
            of.retain(|_, window| window.is_recent(uptime));
            match self.when_full {
                WhenFull::LetThrough if of.len() >= *sweep_at => return None,
                WhenFull::LetThrough => {}
                // Many keys are active, so the next sweep is worthwhile only after their number has
                // doubled.
                WhenFull::Remember => *sweep_at = ACCOUNTS_SWEEP.max(2 * of.len()),
            }
        }
        Some(of.entry(key).or_default())
    }
}

/// Times of admitted calls, at most as many as the limit. Refused requests are not recorded, so
/// they use no memory and do not extend the wait.
#[derive(Debug, Default)]
struct Window {
    passed: VecDeque<Duration>,
    /// Length of the window at its last use.
    within: Duration,
}

impl Window {
    /// Removes expired calls. Returns `Ok` if `calls` more calls would pass now, or the time until
    /// they would pass.
    fn room(&mut self, limit: RateLimit, calls: u32, uptime: Duration) -> Result<(), Duration> {
        let now = self.now(uptime);
        self.within = limit.within;
        while self.passed.front().is_some_and(|first| *first + limit.within <= now) {
            self.passed.pop_front();
        }
        // The window exceeds the limit only if the limit was lowered. The excess must expire first.
        match (self.passed.len() + calls as usize).checked_sub(limit.requests as usize) {
            None | Some(0) => Ok(()),
            Some(above) => {
                let leaves = self.passed.get(above - 1).copied().unwrap_or(now) + limit.within;
                Err(leaves.saturating_sub(now))
            }
        }
    }

    fn count(&mut self, calls: u32, uptime: Duration) {
        let now = self.now(uptime);
        self.passed.extend(std::iter::repeat_n(now, calls as usize));
    }

    /// Returns the current time, but never a time before the last call, because threads may not
    /// reach this point in the order in which they read the clock.
    fn now(&self, uptime: Duration) -> Duration {
        self.passed.back().map_or(uptime, |last| uptime.max(*last))
    }

    fn is_recent(&self, uptime: Duration) -> bool {
        self.passed.back().is_some_and(|last| *last + self.within > uptime)
    }
}

/// Returns the network under which an address is counted. An IPv6 address is counted under its /64
/// network, because one host usually controls the whole network.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address => address,
    }
}

/// A rate limit by key that is enforced across all nodes.
#[derive(Debug)]
pub struct Pace<K> {
    pub(crate) kind: &'static str,
    pub(crate) limit: RateLimit,
    pub(crate) here: RateLimiter<K>,
}

impl<K: Eq + Hash + fmt::Display> Pace<K> {
    /// Creates a limit for accounts or another bounded set of keys. `kind` names the limit in the
    /// shared database.
    pub fn of_accounts(kind: &'static str, limit: RateLimit) -> Pace<K> {
        Pace { kind, limit, here: RateLimiter::of_accounts() }
    }

    /// Creates a limit for addresses or other keys that a client can choose. `kind` names the limit
    /// in the shared database.
    pub fn of_addresses(kind: &'static str, limit: RateLimit) -> Pace<K> {
        Pace { kind, limit, here: RateLimiter::of_addresses() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use store::AccountId;

    use super::*;

    const ALICE: AccountId = AccountId(1);
    const MS: fn(u64) -> Duration = Duration::from_millis;
    const START: Duration = Duration::from_secs(1_000);

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn limit(requests: u32, seconds: u32) -> RateLimit {
        RateLimit::of_seconds(requests, seconds)
    }

    #[test]
    fn addresses_are_limited_in_every_window() {
        let (limiter, limit) = (RateLimiter::of_addresses(), limit(2, 60));
        let pass = |address: &str, at| {
            limiter.pass(network_of(address.parse().unwrap()), limit, 1, START + seconds(at))
        };
        assert_eq!(pass("192.0.2.1", 0), Ok(()));
        assert_eq!(pass("::ffff:192.0.2.1", 10), Ok(()));
        assert_eq!(pass("192.0.2.1", 20), Err(seconds(40)));
        assert_eq!(pass("192.0.2.2", 20), Ok(()));
        assert_eq!(pass("192.0.2.1", 59), Err(seconds(1)));
        assert_eq!(pass("192.0.2.1", 60), Ok(()));
        assert_eq!(pass("192.0.2.1", 61), Err(seconds(9)));
        assert_eq!(pass("2001:db8::1", 0), Ok(()));
        assert_eq!(pass("2001:db8::2", 0), Ok(()));
        assert!(pass("2001:db8::ffff:1", 0).is_err(), "one network counts as one");
        assert_eq!(pass("2001:db8:0:1::1", 0), Ok(()));
    }

    #[test]
    fn addresses_are_bounded_and_idle_ones_are_evicted() {
        let (limiter, limit) = (RateLimiter::of_addresses(), limit(1, 60));
        for key in 0..ADDRESSES_MAX + 10 {
            assert_eq!(limiter.pass(key, limit, 1, START), Ok(()));
        }
        assert_eq!(limiter.lock().of.len(), ADDRESSES_MAX);
        limiter.pass(ADDRESSES_MAX, limit, 1, START + seconds(60)).unwrap();
        assert_eq!(limiter.lock().of.len(), 1);
    }

    #[test]
    fn the_61st_request_waits_until_the_first_expires() {
        let rates = RateLimiter::of_accounts();
        let pass = |at| rates.pass(ALICE, limit(60, 30), 1, MS(at));
        assert!((0..60).all(|at| pass(at * 100).is_ok()));
        assert_eq!(pass(6_000), Err(MS(24_000)));
        assert_eq!(pass(29_999), Err(MS(1)));
        assert_eq!(pass(30_000), Ok(()));
        assert_eq!(pass(30_000), Err(MS(100)));
        assert_eq!(pass(30_100), Ok(()));
    }

    #[test]
    fn accounts_do_not_share_a_window() {
        let rates = RateLimiter::of_accounts();
        rates.pass(ALICE, limit(1, 1), 1, MS(0)).unwrap();
        rates.pass(AccountId(2), limit(1, 1), 1, MS(0)).unwrap();
        rates.pass(ALICE, limit(1, 1), 1, MS(1)).unwrap_err();
    }

    #[test]
    fn a_lowered_limit_applies_immediately() {
        let rates = RateLimiter::of_accounts();
        let pass = |requests, at| rates.pass(ALICE, limit(requests, 10), 1, MS(at));
        assert!((0..5).all(|at| pass(5, at * 1_000).is_ok()));
        // Five requests passed, at 0 to 4 s. With a limit of two, the next request passes when the
        // request at 3 s expires.
        assert_eq!(pass(2, 5_000), Err(MS(8_000)));
        assert_eq!(pass(2, 12_999), Err(MS(1)));
        assert_eq!(pass(2, 13_000), Ok(()));
    }

    #[test]
    fn out_of_order_clock_readings_do_not_change_the_count() {
        let rates = RateLimiter::of_accounts();
        let pass = |at| rates.pass(ALICE, limit(2, 1), 1, MS(at));
        pass(1_000).unwrap();
        pass(999).unwrap();
        assert_eq!(pass(1_500), Err(MS(500)));
        assert_eq!(pass(2_000), Ok(()));
    }

    #[test]
    fn all_or_none_of_the_calls_of_a_request_are_counted() {
        let rates = RateLimiter::of_accounts();
        let pass = |calls, at| rates.pass(ALICE, limit(5, 10), calls, MS(at));
        assert_eq!(pass(2, 0), Ok(()));
        assert_eq!(pass(1, 4_000), Ok(()));
        // Three of five calls are used. Three more calls must wait for the first two to expire, and
        // five more for all three.
        assert_eq!(pass(3, 5_000), Err(MS(5_000)));
        assert_eq!(pass(5, 5_000), Err(MS(9_000)));
        assert_eq!(pass(2, 5_000), Ok(()), "what was refused has left nothing behind");
        assert_eq!(pass(6, 60_000), Err(MS(10_000)), "more than the rule has never pass");
    }

    #[test]
    fn reading_the_remaining_calls_counts_nothing() {
        let rates = RateLimiter::of_accounts();
        let remaining = |at| rates.remaining(&ALICE, limit(3, 10), MS(at));
        assert_eq!(remaining(0), (3, MS(0)));
        rates.pass(ALICE, limit(3, 10), 1, MS(1_000)).unwrap();
        rates.pass(ALICE, limit(3, 10), 2, MS(4_000)).unwrap();
        assert_eq!(remaining(4_000), (0, MS(7_000)));
        assert_eq!(remaining(4_000), (0, MS(7_000)));
        assert_eq!(remaining(11_000), (1, MS(3_000)));
        assert_eq!(remaining(14_000), (3, MS(0)));
        assert_eq!(
            rates.remaining(&ALICE, limit(2, 10), MS(4_000)),
            (0, MS(7_000)),
            "a rule that became stricter"
        );
        assert_eq!(rates.remaining(&AccountId(2), limit(3, 10), MS(4_000)), (3, MS(0)));
    }

    #[test]
    fn idle_accounts_are_evicted_before_memory_grows() {
        let rates = RateLimiter::of_accounts();
        let later = Duration::from_secs(30);
        for id in 0..ACCOUNTS_SWEEP as i64 {
            rates.pass(AccountId(id), limit(60, 30), 1, MS(0)).unwrap();
        }
        rates.pass(ALICE, limit(60, 30), 1, later).unwrap();
        rates.pass(AccountId(-1), limit(60, 30), 1, later).unwrap();
        assert_eq!(rates.lock().of.len(), 2);
    }

    #[test]
    fn concurrent_threads_do_not_exceed_the_limit() {
        let rates = RateLimiter::of_accounts();
        let passed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..50).filter(|at| rates.pass(ALICE, limit(60, 30), 1, MS(*at)).is_ok()).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(passed, 60);
    }

    proptest! {
        /// Compares the limiter with a reference model that counts all requests admitted within the
        /// last `length`.
        #[test]
        fn the_window_matches_the_reference_model(
            requests in 1_u32..8,
            seconds in 1_u32..4,
            steps in prop::collection::vec(0_u64..1_500, 1..200),
        ) {
            let rates = RateLimiter::of_accounts();
            let length = MS(u64::from(seconds) * 1_000);
            let (mut passed, mut now) = (Vec::<Duration>::new(), MS(0));
            for step in steps {
                now += MS(step);
                let live = |at: Duration, passed: &[Duration]| passed.iter().filter(|p| **p + length > at).count();
                let room = live(now, &passed) < requests as usize;
                match rates.pass(ALICE, limit(requests, seconds), 1, now) {
                    Ok(()) => {
                        prop_assert!(room);
                        passed.push(now);
                    }
                    Err(wait) => {
                        prop_assert!(!room);
                        // A request passes when the wait is over and not earlier.
                        prop_assert!(live(now + wait, &passed) < requests as usize);
                        prop_assert!(live(now + wait - Duration::from_nanos(1), &passed) >= requests as usize);
                    }
                }
            }
        }
    }

    #[test]
    fn ipv6_addresses_are_counted_by_64_network() {
        for (address, counts_for) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::"),
            ("2001:db8::ffff:1", "2001:db8::"),
            ("2001:db8:0:1:ffff::1", "2001:db8:0:1::"),
        ] {
            let parse = |text: &str| text.parse::<IpAddr>().unwrap();
            assert_eq!(network_of(parse(address)), parse(counts_for), "{address}");
        }
    }
}
