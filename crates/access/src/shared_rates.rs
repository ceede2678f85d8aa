//! This node's cache of the rate windows in the shared database.
//!
//! After a refusal, further requests are refused without a query until the wait is over. Other
//! nodes can only add requests, so no request could pass sooner.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{AccountId, RateAsk, RateDecision, RateTimes};

/// Number of accounts at which idle accounts are evicted.
const ACCOUNTS_SWEEP: usize = 4_096;
/// Time for which a decision of the database is considered current.
const RECENT: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub(crate) struct SharedRates {
    inner: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    accounts: HashMap<AccountId, KnownWindow>,
    sweep_at: usize,
}

#[derive(Debug)]
struct KnownWindow {
    rule: (u32, Duration),
    /// Uptime until which requests of at least this many calls are refused.
    refused: Option<(Duration, u32)>,
    /// The database's last response and the uptime at which it arrived.
    last: (RateTimes, Duration),
}

impl SharedRates {
    /// Returns the remaining wait of a request that is known to be refused, or `None` if the
    /// database must be queried.
    pub(crate) fn refused(&self, id: AccountId, ask: &RateAsk, uptime: Duration) -> Option<Duration> {
        let known = self.lock();
        let window = known.accounts.get(&id).filter(|window| window.rule == rule(ask))?;
        let (until, calls) = window.refused?;
        (ask.calls >= calls && until > uptime).then(|| until.saturating_sub(uptime))
    }

    /// Caches a decision of the database. Returns the wait if the request was refused.
    pub(crate) fn decided(
        &self,
        id: AccountId,
        ask: &RateAsk,
        decision: RateDecision,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let (times, wait) = match decision {
            RateDecision::Admitted(times) => (times, None),
            RateDecision::Refused(times) => {
                let wait = times.wait(ask);
                (times, Some(wait))
            }
        };
        let refused = wait.map(|wait| (uptime + wait, ask.calls));
        self.lock().put(id, KnownWindow { rule: rule(ask), refused, last: (times, uptime) }, uptime);
        wait.map_or(Ok(()), Err)
    }

    /// Returns the number of requests that would pass and the time until there are more, based on
    /// the last decision of the database. Returns `None` if that decision is not recent.
    pub(crate) fn remaining(
        &self,
        id: AccountId,
        ask: &RateAsk,
        uptime: Duration,
    ) -> Option<(u32, Duration)> {
        let known = self.lock();
        let window = known.accounts.get(&id).filter(|window| window.rule == rule(ask))?;
        let (times, at) = &window.last;
        let age = uptime.saturating_sub(*at);
        if age > RECENT {
            return None;
        }
        let passed = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        let now = RateTimes { now_us: times.now_us.saturating_add(passed), times_us: times.times_us.clone() };
        Some((ask.requests.saturating_sub(now.count(ask.within)), now.until_more(ask.within)))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // A panicking thread leaves no partial update, so a poisoned mutex is usable.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn put(&mut self, id: AccountId, window: KnownWindow, uptime: Duration) {
        if self.accounts.len() >= self.sweep_at.max(ACCOUNTS_SWEEP) && !self.accounts.contains_key(&id) {
            self.accounts.retain(|_, window| window.is_useful(uptime));
            self.sweep_at = self.accounts.len().saturating_mul(2);
        }
        self.accounts.insert(id, window);
    }
}

impl KnownWindow {
    fn is_useful(&self, uptime: Duration) -> bool {
        let is_refused = self.refused.is_some_and(|(until, _)| until > uptime);
        is_refused || uptime.saturating_sub(self.last.1) <= RECENT
    }
}

fn rule(ask: &RateAsk) -> (u32, Duration) {
    (ask.requests, ask.within)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: AccountId = AccountId(1);
    const S: fn(u64) -> Duration = Duration::from_secs;

    fn ask(requests: u32, calls: u32) -> RateAsk {
        RateAsk { requests, within: S(30), calls }
    }

    fn times(now_s: i64, times_s: &[i64]) -> RateTimes {
        let us = |time: &i64| time * 1_000_000;
        RateTimes { now_us: us(&now_s), times_us: times_s.iter().map(us).collect() }
    }

    #[test]
    fn a_refusal_is_cached_until_the_wait_is_over() {
        let rates = SharedRates::default();
        let refused = RateDecision::Refused(times(1_000, &[999, 990]));
        assert_eq!(rates.decided(ANN, &ask(2, 1), refused, S(5)), Err(S(20)));
        assert_eq!(rates.refused(ANN, &ask(2, 1), S(5)), Some(S(20)));
        assert_eq!(rates.refused(ANN, &ask(2, 1), S(24)), Some(S(1)));
        assert_eq!(rates.refused(ANN, &ask(2, 1), S(25)), None);
        assert_eq!(rates.refused(ANN, &ask(3, 1), S(5)), None, "another rule");
        assert_eq!(rates.refused(AccountId(2), &ask(2, 1), S(5)), None);
        let several = RateDecision::Refused(times(1_000, &[999, 990]));
        assert_eq!(rates.decided(ANN, &ask(3, 2), several, S(6)), Err(S(20)));
        assert_eq!(rates.refused(ANN, &ask(3, 1), S(6)), None, "one that counts as less may pass");
        assert_eq!(rates.refused(ANN, &ask(3, 2), S(6)), Some(S(20)));
        let admitted = RateDecision::Admitted(times(1_020, &[1_020, 999]));
        assert_eq!(rates.decided(ANN, &ask(3, 1), admitted, S(25)), Ok(()));
        assert_eq!(rates.refused(ANN, &ask(3, 2), S(25)), None);
    }

    #[test]
    fn remaining_calls_are_cached_shortly_after_a_decision() {
        let rates = SharedRates::default();
        let admitted = RateDecision::Admitted(times(1_000, &[1_000, 980]));
        rates.decided(ANN, &ask(10, 1), admitted, S(5)).unwrap();
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(5)), Some((8, S(10))));
        let left = Some((8, S(10) - RECENT));
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(5) + RECENT), left);
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(6)), None);
    }

    #[test]
    fn idle_accounts_are_evicted() {
        let rates = SharedRates::default();
        for number in 0..20_000_u64 {
            let id = AccountId(i64::try_from(number).unwrap());
            let refused = RateDecision::Refused(times(1_000, &[1_000]));
            rates.decided(id, &ask(1, 1), refused, Duration::from_millis(10 * number)).unwrap_err();
        }
        // The table holds the accounts active in the last thirty seconds, and at most as many idle
        // accounts until the next sweep.
        assert!(rates.lock().accounts.len() <= 2 * ACCOUNTS_SWEEP);
    }
}
