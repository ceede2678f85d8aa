//! What a node knows of the rate windows that the database keeps for all nodes.
//!
//! Who was refused is refused here until the wait is over, without asking again: times only get newer, so nothing becomes free sooner. What this
//! node has admitted itself is remembered as long as it counts: for its share while the database is away, and to be brought back when it is there again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{AccountId, RateAsk, RateDecision, RateTimes, TimedRequests};

/// At this number of accounts, idle ones are evicted.
const ACCOUNTS_SWEEP: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct SharedRates {
    inner: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    accounts: HashMap<AccountId, KnownWindow>,
    /// A time of the database, and the uptime at which it was that.
    clock: Option<(i64, Duration)>,
    sweep_at: usize,
}

#[derive(Debug)]
struct KnownWindow {
    rule: (u32, Duration),
    /// Until then every request that counts as so many is refused.
    refused: Option<(Duration, u32)>,
    /// What was admitted here, oldest first, by both clocks.
    own: VecDeque<(Duration, i64)>,
    /// What the database said last, and when.
    last: Option<(RateTimes, Duration)>,
}

impl SharedRates {
    /// Whether a request is known to be refused, and for how long.
    pub(crate) fn refused(&self, id: AccountId, ask: &RateAsk, uptime: Duration) -> Option<Duration> {
        let known = self.lock();
        let window = known.accounts.get(&id).filter(|window| window.rule == rule(ask))?;
        let (until, calls) = window.refused?;
        (ask.calls >= calls && until > uptime).then(|| until.saturating_sub(uptime))
    }

    /// Takes in what the database has decided.
    pub(crate) fn decided(
        &self,
        id: AccountId,
        ask: &RateAsk,
        decision: RateDecision,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let mut known = self.lock();
        match decision {
            RateDecision::Admitted(times) => {
                known.clock = Some((times.now_us, uptime));
                let window = known.window(id, ask, uptime);
                let own = (uptime, times.now_us);
                window.own.extend(std::iter::repeat_n(own, ask.calls as usize));
                window.refused = None;
                window.last = Some((times, uptime));
                Ok(())
            }
            RateDecision::Refused(times) => {
                let wait = times.wait(ask);
                let window = known.window(id, ask, uptime);
                window.refused = Some((uptime + wait, ask.calls));
                window.last = Some((times, uptime));
                Err(wait)
            }
        }
    }

    /// Decides by itself: at most `share` of what this node admits, in any window.
    pub(crate) fn pass_share(
        &self,
        id: AccountId,
        ask: &RateAsk,
        share: u32,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let mut known = self.lock();
        let now_us = known.at(uptime);
        let window = known.window(id, ask, uptime);
        let own = window.own.len();
        if let Some(above) = (own + ask.calls as usize).checked_sub(share as usize).filter(|above| *above > 0)
        {
            let leaves = window.own.get(above - 1).map_or(uptime, |(at, _)| *at) + ask.within;
            return Err(leaves.saturating_sub(uptime));
        }
        window.own.extend(std::iter::repeat_n((uptime, now_us), ask.calls as usize));
        Ok(())
    }

    /// How many requests would pass and how long until there are more, as far as is known here: from the last decision, with what was
    /// admitted here since. `None` if nothing is known of the last moments.
    pub(crate) fn remaining(
        &self,
        id: AccountId,
        ask: &RateAsk,
        recent: Duration,
        uptime: Duration,
    ) -> Option<(u32, Duration)> {
        let known = self.lock();
        let window = known.accounts.get(&id).filter(|window| window.rule == rule(ask))?;
        let (times, at) = window.last.as_ref().filter(|(_, at)| uptime.saturating_sub(*at) <= recent)?;
        let passed = i64::try_from(uptime.saturating_sub(*at).as_micros()).unwrap_or(i64::MAX);
        let now = RateTimes { now_us: times.now_us.saturating_add(passed), times_us: times.times_us.clone() };
        Some((ask.requests.saturating_sub(now.count(ask.within)), now.until_more(ask.within)))
    }

    /// Everything that this node has admitted and that still counts.
    pub(crate) fn own(&self, uptime: Duration) -> Vec<TimedRequests> {
        let mut known = self.lock();
        let own = known.accounts.iter_mut().filter_map(|(account, window)| {
            window.forget(uptime);
            // Without a time of the database there is none to bring back.
            let times = window.own.iter().map(|(_, at_us)| *at_us).filter(|at_us| *at_us > 0);
            let own = TimedRequests { account: *account, requests: window.rule.0, times_us: times.collect() };
            (!window.own.is_empty()).then_some(own)
        });
        let mut all: Vec<TimedRequests> = own.collect();
        all.sort_unstable_by_key(|one| one.account);
        all
    }

    /// What was refused may be admitted by now: the windows have changed.
    pub(crate) fn forget_refusals(&self) {
        self.lock().accounts.values_mut().for_each(|window| (window.refused, window.last) = (None, None));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing is half done in it when a thread panics.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn window(&mut self, id: AccountId, ask: &RateAsk, uptime: Duration) -> &mut KnownWindow {
        if self.accounts.len() >= self.sweep_at.max(ACCOUNTS_SWEEP) && !self.accounts.contains_key(&id) {
            self.accounts.retain(|_, window| window.is_recent(uptime));
            self.sweep_at = self.accounts.len().saturating_mul(2);
        }
        let new = || KnownWindow { rule: rule(ask), refused: None, own: VecDeque::new(), last: None };
        let window = self.accounts.entry(id).or_insert_with(new);
        if window.rule != rule(ask) {
            (window.rule, window.refused, window.last) = (rule(ask), None, None);
        }
        window.forget(uptime);
        window
    }

    /// The database's time at an uptime, as far as it is known. Without one, nothing was ever decided there that could be brought back.
    fn at(&self, uptime: Duration) -> i64 {
        let Some((at_us, at)) = self.clock else { return 0 };
        let passed = i64::try_from(uptime.saturating_sub(at).as_micros()).unwrap_or(i64::MAX);
        at_us.saturating_add(passed)
    }
}

impl KnownWindow {
    fn forget(&mut self, uptime: Duration) {
        let within = self.rule.1;
        while self.own.front().is_some_and(|(at, _)| *at + within <= uptime) {
            self.own.pop_front();
        }
    }

    fn is_recent(&self, uptime: Duration) -> bool {
        let is_refused = self.refused.is_some_and(|(until, _)| until > uptime);
        is_refused || self.own.back().is_some_and(|(at, _)| *at + self.rule.1 > uptime)
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
    fn who_was_refused_is_not_asked_about_again_until_the_wait_is_over() {
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
        rates.forget_refusals();
        assert_eq!(rates.refused(ANN, &ask(3, 2), S(6)), None);
    }

    #[test]
    fn while_the_database_is_away_a_node_admits_its_share_and_counts_what_it_admitted_before() {
        let rates = SharedRates::default();
        for second in 0..3 {
            let admitted = RateDecision::Admitted(times(1_000 + second, &[1_000 + second]));
            rates.decided(ANN, &ask(10, 1), admitted, S(10 + second.unsigned_abs())).unwrap();
        }
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(20)), Ok(()));
        assert_eq!(rates.pass_share(ANN, &ask(10, 2), 5, S(20)), Err(S(20)), "the first has to leave");
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(21)), Ok(()));
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(22)), Err(S(18)));
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(40)), Ok(()));
        // By the database's clock, which went on as this one did.
        let own = rates.own(S(40));
        assert_eq!(own.len(), 1);
        assert_eq!(own[0].times_us, [1_001, 1_002, 1_010, 1_011, 1_030].map(|time| time * 1_000_000));
    }

    #[test]
    fn what_is_left_is_known_for_a_moment_after_a_decision() {
        let rates = SharedRates::default();
        let admitted = RateDecision::Admitted(times(1_000, &[1_000, 980]));
        rates.decided(ANN, &ask(10, 1), admitted, S(5)).unwrap();
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(1), S(5)), Some((8, S(10))));
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(1), S(6)), Some((8, S(9))));
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(1), S(7)), None);
    }

    #[test]
    fn accounts_that_have_gone_quiet_are_not_kept() {
        let rates = SharedRates::default();
        for number in 0..20_000_u64 {
            let id = AccountId(i64::try_from(number).unwrap());
            rates.pass_share(id, &ask(10, 1), 5, Duration::from_millis(10 * number)).unwrap();
        }
        // Those of thirty seconds, and as many again before they are looked through.
        assert!(rates.lock().accounts.len() <= 2 * ACCOUNTS_SWEEP);
    }
}
