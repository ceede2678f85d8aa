//! How often: at most so many requests in any so many seconds, counted exactly.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use store::AccountId;

const REQUESTS_MAX: u32 = 10_000;
const SECONDS_MAX: u32 = 3_600;
/// Accounts whose windows are kept before those that have gone quiet are looked for.
const WINDOWS_SWEEP: usize = 4_096;

/// How often an account may ask for history: `60/30` is sixty in any thirty seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateRule {
    Unlimited,
    Window { requests: u32, seconds: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a rate: write requests/seconds like 60/30 (at most 10000/3600), or unlimited")]
pub struct ParseRateRuleError(String);

impl RateRule {
    /// The rule of the service, for accounts that have none of their own.
    pub const SERVICE: RateRule = RateRule::Window { requests: 60, seconds: 30 };
}

impl FromStr for RateRule {
    type Err = ParseRateRuleError;

    fn from_str(text: &str) -> Result<RateRule, ParseRateRuleError> {
        if text.eq_ignore_ascii_case("unlimited") {
            return Ok(RateRule::Unlimited);
        }
        let number = |text: &str, max: u32| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten().filter(|number| (1..=max).contains(number))
        };
        text.split_once('/')
            .and_then(|(requests, seconds)| {
                let requests = number(requests, REQUESTS_MAX)?;
                Some(RateRule::Window { requests, seconds: number(seconds, SECONDS_MAX)? })
            })
            .ok_or_else(|| ParseRateRuleError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for RateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateRule::Unlimited => f.pad("unlimited"),
            RateRule::Window { requests, seconds } => f.pad(&format!("{requests}/{seconds}")),
        }
    }
}

/// The windows of all accounts, over all doors of this process.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    windows: Mutex<HashMap<AccountId, Window>>,
}

impl Rates {
    /// Counts a request that is worth so many `calls`, or says how long to wait until it will be counted. More calls than
    /// the rule has never pass; whoever asks sees to that.
    pub(crate) fn pass(
        &self,
        account: AccountId,
        requests: u32,
        seconds: u32,
        calls: u32,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= WINDOWS_SWEEP && !windows.contains_key(&account) {
            windows.retain(|_, window| window.is_recent(uptime));
        }
        let length = Duration::from_secs(seconds.into());
        windows.entry(account).or_default().pass(requests, length, calls, uptime)
    }

    /// How many calls would pass now, and how long until there are more of them; counts nothing.
    pub(crate) fn remaining(
        &self,
        account: AccountId,
        requests: u32,
        seconds: u32,
        uptime: Duration,
    ) -> (u32, Duration) {
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let length = Duration::from_secs(seconds.into());
        let window = windows.get(&account);
        let live = |passed: &&Duration| **passed + length > uptime;
        let (mut count, mut oldest) = (0_u32, None);
        for passed in window.iter().flat_map(|window| window.passed.iter()).filter(live) {
            count = count.saturating_add(1);
            oldest = oldest.or(Some(*passed + length));
        }
        let wait = oldest.map_or(Duration::ZERO, |leaves| leaves.saturating_sub(uptime));
        (requests.saturating_sub(count), wait)
    }
}

/// When the last requests were let through. Never longer than the rule's number, and of a request that was refused it
/// knows nothing: refusing costs no memory and extends no wait.
#[derive(Debug, Default)]
struct Window {
    passed: VecDeque<Duration>,
}

impl Window {
    fn pass(
        &mut self,
        requests: u32,
        length: Duration,
        calls: u32,
        uptime: Duration,
    ) -> Result<(), Duration> {
        // Two threads may read the clock in one order and come here in the other.
        let now = self.passed.back().map_or(uptime, |last| uptime.max(*last));
        while self.passed.front().is_some_and(|first| *first + length <= now) {
            self.passed.pop_front();
        }
        // Only a rule that has just become stricter leaves more than its number; those above it have to go first.
        let (requests, calls) = (requests as usize, calls as usize);
        match (self.passed.len() + calls).checked_sub(requests) {
            None | Some(0) => {
                self.passed.extend(std::iter::repeat_n(now, calls));
                Ok(())
            }
            Some(above) => {
                let leaves = self.passed.get(above - 1).map_or(now + length, |passed| *passed + length);
                Err(leaves.saturating_sub(now))
            }
        }
    }

    fn is_recent(&self, uptime: Duration) -> bool {
        let longest = Duration::from_secs(SECONDS_MAX.into());
        self.passed.back().is_some_and(|last| *last + longest > uptime)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALICE: AccountId = AccountId(1);
    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for text in ["60/30", "1/1", "10000/3600", "unlimited"] {
            assert_eq!(text.parse::<RateRule>().unwrap().to_string(), text);
        }
        assert_eq!("UNLIMITED".parse(), Ok(RateRule::Unlimited));
        assert_eq!("60/30".parse(), Ok(RateRule::SERVICE));
        for text in
            ["", "60", "0/30", "60/0", "10001/1", "1/3601", "-1/30", "+1/30", "6 0/30", "60/30/1", "1.5/1"]
        {
            let error = text.parse::<RateRule>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is not a rate")), "{error}");
        }
    }

    #[test]
    fn the_sixty_first_request_waits_until_the_first_is_thirty_seconds_old() {
        let rates = Rates::default();
        let pass = |at| rates.pass(ALICE, 60, 30, 1, MS(at));
        assert!((0..60).all(|at| pass(at * 100).is_ok()));
        assert_eq!(pass(6_000), Err(MS(24_000)));
        assert_eq!(pass(29_999), Err(MS(1)));
        assert_eq!(pass(30_000), Ok(()));
        assert_eq!(pass(30_000), Err(MS(100)));
        assert_eq!(pass(30_100), Ok(()));
    }

    #[test]
    fn accounts_do_not_share_a_window() {
        let rates = Rates::default();
        rates.pass(ALICE, 1, 1, 1, MS(0)).unwrap();
        rates.pass(AccountId(2), 1, 1, 1, MS(0)).unwrap();
        rates.pass(ALICE, 1, 1, 1, MS(1)).unwrap_err();
    }

    #[test]
    fn a_stricter_rule_holds_at_once() {
        let rates = Rates::default();
        let pass = |requests, at| rates.pass(ALICE, requests, 10, 1, MS(at));
        assert!((0..5).all(|at| pass(5, at * 1_000).is_ok()));
        // Passed at 0, 1, 2, 3 and 4 s; with two allowed, the next may come when the one of 3 s has left.
        assert_eq!(pass(2, 5_000), Err(MS(8_000)));
        assert_eq!(pass(2, 12_999), Err(MS(1)));
        assert_eq!(pass(2, 13_000), Ok(()));
    }

    #[test]
    fn a_clock_read_in_another_order_neither_loses_nor_frees_a_request() {
        let rates = Rates::default();
        let pass = |at| rates.pass(ALICE, 2, 1, 1, MS(at));
        pass(1_000).unwrap();
        pass(999).unwrap();
        assert_eq!(pass(1_500), Err(MS(500)));
        assert_eq!(pass(2_000), Ok(()));
    }

    #[test]
    fn a_request_of_several_calls_passes_whole_or_not_at_all() {
        let rates = Rates::default();
        let pass = |calls, at| rates.pass(ALICE, 5, 10, calls, MS(at));
        assert_eq!(pass(2, 0), Ok(()));
        assert_eq!(pass(1, 4_000), Ok(()));
        // Three of five are taken: three more have to wait for the first two to leave, four more for the third.
        assert_eq!(pass(3, 5_000), Err(MS(5_000)));
        assert_eq!(pass(5, 5_000), Err(MS(9_000)));
        assert_eq!(pass(2, 5_000), Ok(()), "what was refused has left nothing behind");
        assert_eq!(pass(6, 60_000), Err(MS(10_000)), "more than the rule has never pass");
    }

    #[test]
    fn what_remains_is_told_without_counting() {
        let rates = Rates::default();
        let remaining = |at| rates.remaining(ALICE, 3, 10, MS(at));
        assert_eq!(remaining(0), (3, MS(0)));
        rates.pass(ALICE, 3, 10, 1, MS(1_000)).unwrap();
        rates.pass(ALICE, 3, 10, 2, MS(4_000)).unwrap();
        assert_eq!(remaining(4_000), (0, MS(7_000)));
        assert_eq!(remaining(4_000), (0, MS(7_000)));
        assert_eq!(remaining(11_000), (1, MS(3_000)));
        assert_eq!(remaining(14_000), (3, MS(0)));
        assert_eq!(rates.remaining(ALICE, 2, 10, MS(4_000)), (0, MS(7_000)), "a rule that became stricter");
        assert_eq!(rates.remaining(AccountId(2), 3, 10, MS(4_000)), (3, MS(0)));
    }

    #[test]
    fn quiet_accounts_are_forgotten_before_memory_grows() {
        let rates = Rates::default();
        let later = Duration::from_secs(SECONDS_MAX.into());
        for id in 0..WINDOWS_SWEEP as i64 {
            rates.pass(AccountId(id), 60, 30, 1, MS(0)).unwrap();
        }
        rates.pass(ALICE, 60, 30, 1, later).unwrap();
        rates.pass(AccountId(-1), 60, 30, 1, later).unwrap();
        assert_eq!(rates.windows.lock().unwrap().len(), 2);
    }

    #[test]
    fn threads_share_the_window_exactly() {
        let rates = Rates::default();
        let passed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| (0..50).filter(|at| rates.pass(ALICE, 60, 30, 1, MS(*at)).is_ok()).count())
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(passed, 60);
    }

    proptest! {
        /// The plainest thing that is right: remember every request let through, count those of the last `length`.
        #[test]
        fn the_window_agrees_with_counting_everything(
            requests in 1_u32..8,
            seconds in 1_u32..4,
            steps in prop::collection::vec(0_u64..1_500, 1..200),
        ) {
            let rates = Rates::default();
            let length = MS(u64::from(seconds) * 1_000);
            let (mut passed, mut now) = (Vec::<Duration>::new(), MS(0));
            for step in steps {
                now += MS(step);
                let live = |at: Duration, passed: &[Duration]| passed.iter().filter(|p| **p + length > at).count();
                let room = live(now, &passed) < requests as usize;
                match rates.pass(ALICE, requests, seconds, 1, now) {
                    Ok(()) => {
                        prop_assert!(room);
                        passed.push(now);
                    }
                    Err(wait) => {
                        prop_assert!(!room);
                        // There is room when the wait is over, and not a moment before.
                        prop_assert!(live(now + wait, &passed) < requests as usize);
                        prop_assert!(live(now + wait - Duration::from_nanos(1), &passed) >= requests as usize);
                    }
                }
            }
        }
    }
}
