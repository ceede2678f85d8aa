//! A node's cache of the rate windows that the database holds for all nodes.
//!
//! A refused account is refused here until the wait is over, without another query: times only get
//! newer, so no slot frees up sooner. Requests that this node has admitted are remembered as long
//! as they count: for its share while the database is unreachable, and to be written back when it
//! is reachable again.
//!
//! Admissions that the database may lack are *pending*: those admitted here by share, and all of
//! them after a reconnect, since the server may have lost its last transactions. The next heartbeat
//! writes them back; until then they count in addition to the database's times.

use std::collections::{BTreeSet, HashMap, VecDeque};
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
    /// Accounts with pending admissions, in the order of their ids, in which they are written back.
    owed: BTreeSet<AccountId>,
    /// Those of them whose write is in flight.
    on_the_way: BTreeSet<AccountId>,
    /// A reading of the database's clock, and the uptime at which it was taken.
    clock: Option<(i64, Duration)>,
    sweep_at: usize,
}

#[derive(Debug)]
struct KnownWindow {
    rule: (u32, Duration),
    /// Until then every request of this many calls is refused.
    refused: Option<(Duration, u32)>,
    /// Requests admitted here, oldest first, by both clocks.
    own: VecDeque<(Duration, i64)>,
    /// The database's last response, and when it came.
    last: Option<(RateTimes, Duration)>,
}

impl SharedRates {
    /// Whether a request is known to be refused, and how long it has to wait.
    pub(crate) fn refused(&self, id: AccountId, ask: &RateAsk, uptime: Duration) -> Option<Duration> {
        let known = self.lock();
        let window = known.accounts.get(&id).filter(|window| window.rule == rule(ask))?;
        let (until, calls) = window.refused?;
        (ask.calls >= calls && until > uptime).then(|| until.saturating_sub(uptime))
    }

    /// Records a decision of the database.
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
                let is_owed = known.owed.contains(&id) || known.on_the_way.contains(&id);
                let window = known.window(id, ask, uptime);
                let wait = if is_owed { window.wait_beside(&times, ask) } else { Duration::ZERO };
                if !wait.is_zero() {
                    // The database has counted it because it misses our admissions: this errs on
                    // the strict side.
                    window.refused = Some((uptime + wait, ask.calls));
                    window.last = Some((times, uptime));
                    return Err(wait);
                }
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

    /// Decides without the database: at most `share` requests of this node in any window, and never
    /// more than the rule allows together with the database's last response, as long as any of its
    /// times count.
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
        let wait = window.wait_after_last(ask, uptime);
        if !wait.is_zero() {
            return Err(wait);
        }
        // A unique time: it identifies the request when it is written back.
        let newest = window.own.back().map_or(0, |(_, at_us)| *at_us);
        let at_us = if now_us > 0 { now_us.max(newest.saturating_add(1)) } else { 0 };
        window.own.extend(std::iter::repeat_n((uptime, at_us), ask.calls as usize));
        known.owed.insert(id);
        Ok(())
    }

    /// How many requests would pass and how long until there are more, by the database's last
    /// decision. `None` if that is older than `recent`.
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
        let now = RateTimes { now_us: later(times.now_us, *at, uptime), times_us: times.times_us.clone() };
        Some((ask.requests.saturating_sub(now.count(ask.within)), now.until_more(ask.within)))
    }

    /// Writes pending admissions that still count to the database. If the write fails they stay
    /// pending, and so do those that are added meanwhile.
    pub(crate) fn bring_back<E>(
        &self,
        uptime: Duration,
        write: impl FnOnce(&[TimedRequests]) -> Result<(), E>,
    ) -> Result<(), E> {
        let owed = self.lock().take_owed(uptime);
        let written = if owed.is_empty() { Ok(()) } else { write(&owed) };
        let mut known = self.lock();
        let on_the_way = std::mem::take(&mut known.on_the_way);
        if written.is_err() {
            known.owed.extend(on_the_way);
        }
        written
    }

    /// Marks an account's admissions as pending.
    pub(crate) fn owe(&self, id: AccountId) {
        self.lock().owed.insert(id);
    }

    /// Marks the admissions of all accounts as pending.
    pub(crate) fn owe_all(&self) {
        let mut known = self.lock();
        let Known { accounts, owed, .. } = &mut *known;
        let admitted = accounts.iter().filter(|(_, window)| !window.own.is_empty());
        owed.extend(admitted.map(|(account, _)| *account));
    }

    /// Records a reading of the database's clock.
    pub(crate) fn set_clock(&self, now_us: i64, uptime: Duration) {
        self.lock().clock = Some((now_us, uptime));
    }

    /// The database's time in microseconds, if it is known.
    pub(crate) fn clock(&self, uptime: Duration) -> Option<i64> {
        Some(self.lock().at(uptime)).filter(|at_us| *at_us > 0)
    }

    /// Drops cached refusals: the windows have changed.
    pub(crate) fn forget_refusals(&self) {
        self.lock().accounts.values_mut().for_each(|window| (window.refused, window.last) = (None, None));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // A panicking thread leaves no partial update.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn window(&mut self, id: AccountId, ask: &RateAsk, uptime: Duration) -> &mut KnownWindow {
        if self.accounts.len() >= self.sweep_at.max(ACCOUNTS_SWEEP) && !self.accounts.contains_key(&id) {
            self.accounts.retain(|_, window| window.is_recent(uptime));
            self.owed.retain(|account| self.accounts.contains_key(account));
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

    fn take_owed(&mut self, uptime: Duration) -> Vec<TimedRequests> {
        self.on_the_way = std::mem::take(&mut self.owed);
        let owed = self.on_the_way.iter().filter_map(|account| {
            let window = self.accounts.get_mut(account)?;
            window.forget(uptime);
            // Without a database time there is nothing to write back.
            let times = window.own.iter().map(|(_, at_us)| *at_us).filter(|at_us| *at_us > 0);
            let times_us: Vec<i64> = times.collect();
            let is_any = !times_us.is_empty();
            is_any.then_some(TimedRequests { account: *account, requests: window.rule.0, times_us })
        });
        owed.collect()
    }

    /// The database's time at an uptime; 0 if it is unknown. Without one, the database has decided
    /// nothing yet that could be written back.
    fn at(&self, uptime: Duration) -> i64 {
        self.clock.map_or(0, |(at_us, at)| later(at_us, at, uptime))
    }
}

impl KnownWindow {
    fn forget(&mut self, uptime: Duration) {
        let within = self.rule.1;
        while self.own.front().is_some_and(|(at, _)| *at + within <= uptime) {
            self.own.pop_front();
        }
    }

    /// The wait after the database has admitted a request, counting local admissions that it has
    /// not seen.
    fn wait_beside(&self, times: &RateTimes, ask: &RateAsk) -> Duration {
        let before = times.times_us.get(ask.calls as usize..).unwrap_or_default();
        self.wait_with(before, times.now_us, ask)
    }

    /// The wait by the database's last response and local admissions since. Zero if none of its
    /// times count any more.
    fn wait_after_last(&self, ask: &RateAsk, uptime: Duration) -> Duration {
        let last = self.last.as_ref().filter(|(_, at)| uptime.saturating_sub(*at) < ask.within);
        last.map_or(Duration::ZERO, |(times, at)| {
            self.wait_with(&times.times_us, later(times.now_us, *at, uptime), ask)
        })
    }

    /// The wait by the database's times, newest first, merged with local admissions that are not
    /// among them.
    fn wait_with(&self, times_us: &[i64], now_us: i64, ask: &RateAsk) -> Duration {
        let is_among = |at_us: &i64| times_us.binary_search_by(|time| at_us.cmp(time)).is_ok();
        let lacking = self.own.iter().map(|(_, at_us)| *at_us).filter(|at_us| !is_among(at_us));
        let mut all: Vec<i64> = times_us.iter().copied().chain(lacking).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        RateTimes { now_us, times_us: all }.wait(ask)
    }

    fn is_recent(&self, uptime: Duration) -> bool {
        let is_refused = self.refused.is_some_and(|(until, _)| until > uptime);
        is_refused || self.own.back().is_some_and(|(at, _)| *at + self.rule.1 > uptime)
    }
}

/// The database's time at `uptime`, if it was `at_us` at `at`.
fn later(at_us: i64, at: Duration, uptime: Duration) -> i64 {
    let passed = i64::try_from(uptime.saturating_sub(at).as_micros()).unwrap_or(i64::MAX);
    at_us.saturating_add(passed)
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

    fn back(rates: &SharedRates, uptime: Duration) -> Vec<TimedRequests> {
        let mut back = Vec::new();
        let written = rates.bring_back(uptime, |owed| {
            back.extend_from_slice(owed);
            Ok::<_, ()>(())
        });
        written.unwrap();
        back
    }

    /// The times written back, in seconds of the database.
    fn brought(rates: &SharedRates, uptime: Duration) -> Vec<(AccountId, Vec<i64>)> {
        let seconds = |times: &[i64]| times.iter().map(|time| time / 1_000_000).collect();
        back(rates, uptime).iter().map(|one| (one.account, seconds(&one.times_us))).collect()
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
        rates.forget_refusals();
        assert_eq!(rates.refused(ANN, &ask(3, 2), S(6)), None);
    }

    #[test]
    fn offline_a_node_admits_its_share_and_counts_earlier_admissions() {
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
        // By the database's clock, which advanced as this one did.
        assert_eq!(brought(&rates, S(40)), [(ANN, vec![1_001, 1_002, 1_010, 1_011, 1_030])]);
    }

    #[test]
    fn admissions_by_share_are_written_back_once() {
        let rates = SharedRates::default();
        let bob = AccountId(2);
        rates.set_clock(1_000_000_000, S(10));
        for id in [bob, ANN] {
            let admitted = RateDecision::Admitted(times(1_000, &[1_000]));
            rates.decided(id, &ask(10, 1), admitted, S(10)).unwrap();
        }
        assert_eq!(brought(&rates, S(10)), [], "the database has decided that");
        rates.pass_share(bob, &ask(10, 1), 5, S(11)).unwrap();
        assert_eq!(brought(&rates, S(12)), [(bob, vec![1_000, 1_001])]);
        assert_eq!(brought(&rates, S(12)), []);
        // A request during the write, and a write that fails.
        rates.pass_share(bob, &ask(10, 1), 5, S(13)).unwrap();
        let meanwhile = rates.bring_back(S(13), |_| {
            rates.pass_share(ANN, &ask(10, 1), 5, S(14)).unwrap();
            Ok::<_, ()>(())
        });
        assert_eq!(meanwhile, Ok(()));
        assert_eq!(rates.bring_back(S(15), |_| Err("away")), Err("away"));
        assert_eq!(brought(&rates, S(15)), [(ANN, vec![1_000, 1_004])]);
        // All that still count, when the server may have lost its last transactions.
        rates.owe_all();
        assert_eq!(brought(&rates, S(40)), [(ANN, vec![1_004]), (bob, vec![1_001, 1_003])]);
        rates.owe(ANN);
        assert_eq!(brought(&rates, S(41)), [(ANN, vec![1_004])]);
    }

    #[test]
    fn requests_of_the_same_moment_have_distinct_times() {
        let rates = SharedRates::default();
        rates.set_clock(5, S(10));
        (0..3).for_each(|_| rates.pass_share(ANN, &ask(10, 1), 5, S(10)).unwrap());
        assert_eq!(back(&rates, S(10))[0].times_us, [5, 6, 7]);
    }

    #[test]
    fn admissions_the_database_may_have_lost_count_until_written_back() {
        let rates = SharedRates::default();
        for second in 0..3 {
            let admitted = RateDecision::Admitted(times(1_000 + second, &[1_000 + second]));
            rates.decided(ANN, &ask(3, 1), admitted, S(10 + second.unsigned_abs())).unwrap();
        }
        rates.owe_all();
        // It has none of the three, and admits a fourth.
        let forgetful = || RateDecision::Admitted(times(1_005, &[1_005]));
        assert_eq!(rates.decided(ANN, &ask(3, 1), forgetful(), S(15)), Err(S(25)));
        assert_eq!(rates.refused(ANN, &ask(3, 1), S(15)), Some(S(25)));
        let during = rates.bring_back(S(15), |_| rates.decided(ANN, &ask(3, 1), forgetful(), S(15)));
        assert_eq!(during, Err(S(25)), "it is on its way");
        assert_eq!(brought(&rates, S(15)), [(ANN, vec![1_000, 1_001, 1_002])]);
        let whole = RateDecision::Admitted(times(1_030, &[1_030, 1_002, 1_001]));
        assert_eq!(rates.decided(ANN, &ask(3, 1), whole, S(40)), Ok(()));
        rates.owe_all();
        let whole = RateDecision::Admitted(times(1_031, &[1_031, 1_030, 1_002]));
        assert_eq!(rates.decided(ANN, &ask(3, 1), whole, S(41)), Ok(()), "nothing is lacking");
    }

    #[test]
    fn a_share_counts_known_admissions_of_other_nodes() {
        let rates = SharedRates::default();
        // Seven admissions of other nodes, two of which expire soon, and one of this node.
        let others = [999, 998, 997, 996, 995, 975, 974];
        let all: Vec<i64> = [1_000].into_iter().chain(others).collect();
        rates.decided(ANN, &ask(10, 1), RateDecision::Admitted(times(1_000, &all)), S(10)).unwrap();
        assert_eq!(rates.pass_share(ANN, &ask(10, 3), 5, S(11)), Err(S(3)));
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(11)), Ok(()));
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(11)), Ok(()));
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(11)), Err(S(3)), "ten are in the window");
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(14)), Ok(()));
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(15)), Ok(()));
        assert_eq!(rates.pass_share(ANN, &ask(10, 1), 5, S(16)), Err(S(24)), "that was its share");
        // A window later nothing is known of other nodes.
        assert_eq!(rates.pass_share(ANN, &ask(10, 5), 5, S(45)), Ok(()));
    }

    #[test]
    fn remaining_calls_are_known_shortly_after_a_decision() {
        let rates = SharedRates::default();
        let admitted = RateDecision::Admitted(times(1_000, &[1_000, 980]));
        rates.decided(ANN, &ask(10, 1), admitted, S(5)).unwrap();
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(1), S(5)), Some((8, S(10))));
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(1), S(6)), Some((8, S(9))));
        assert_eq!(rates.remaining(ANN, &ask(10, 1), S(1), S(7)), None);
    }

    #[test]
    fn idle_accounts_are_evicted() {
        let rates = SharedRates::default();
        for number in 0..20_000_u64 {
            let id = AccountId(i64::try_from(number).unwrap());
            rates.pass_share(id, &ask(10, 1), 5, Duration::from_millis(10 * number)).unwrap();
        }
        // Those of thirty seconds, and as many again before the sweep.
        assert!(rates.lock().accounts.len() <= 2 * ACCOUNTS_SWEEP);
    }
}
