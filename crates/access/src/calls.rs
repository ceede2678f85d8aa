//! General rate limit of all quote commands except history: a token bucket per account that holds
//! one second of calls and refills within a second.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use store::AccountId;

const SECOND: Duration = Duration::from_secs(1);
/// Number of buckets at which full buckets are evicted.
const BUCKETS_SWEEP: usize = 4_096;

/// General rate limit of quote commands. Accounts whose rate is `unlimited` are exempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRule {
    /// Calls per second, which is also the burst size; 0 for no limit.
    pub per_second: u32,
    /// Maximum number of concurrent calls. Further calls are queued.
    pub at_once: u32,
}

impl CallRule {
    /// Default limits of quote commands, as published in the interface specification.
    pub const SERVICE: CallRule = CallRule { per_second: 10, at_once: 5 };
}

/// Token buckets of all accounts, shared by all listeners of this process.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Uptime at which each account's bucket will be full. Buckets that are full already may be
    /// evicted.
    full_at: Mutex<HashMap<AccountId, Duration>>,
}

impl Calls {
    /// Takes a token from the account's bucket, or returns the time to wait for a token. A refused
    /// call takes no token.
    pub(crate) fn pass(&self, account: AccountId, per_second: u32, uptime: Duration) -> Result<(), Duration> {
        let Some(each) = SECOND.checked_div(per_second) else { return Ok(()) };
        let mut buckets = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS_SWEEP && !buckets.contains_key(&account) {
            buckets.retain(|_, full_at| *full_at > uptime);
        }
        let full_at = buckets.entry(account).or_insert(uptime);
        let next = (*full_at).max(uptime) + each;
        // A bucket that needs more than a second to refill is empty. Rounding the interval down
        // favours the caller.
        let empty_at = uptime + SECOND.max(each);
        if next > empty_at {
            return Err(next - empty_at);
        }
        *full_at = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANN: AccountId = AccountId(1);
    const BOB: AccountId = AccountId(2);

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_burst_of_ten_passes_then_one_call_per_100_ms() {
        let calls = Calls::default();
        let pass = |who, ms| calls.pass(who, 10, at(ms));
        assert!((0..10).all(|_| pass(ANN, 5_000).is_ok()));
        assert_eq!(pass(ANN, 5_000), Err(at(100)));
        assert_eq!(pass(ANN, 5_060), Err(at(40)));
        assert_eq!(pass(BOB, 5_060), Ok(()), "of one account nothing is taken for another");
        assert_eq!(pass(ANN, 5_100), Ok(()));
        assert_eq!(pass(ANN, 5_100), Err(at(100)), "what was refused has not been counted");
        assert!((0..10).all(|_| pass(ANN, 6_200).is_ok()));
        assert!(pass(ANN, 6_200).is_err(), "a pause does not fill it beyond its size");
        assert_eq!(calls.pass(ANN, 0, at(6_200)), Ok(()), "without a rule everything passes");
        assert_eq!(calls.pass(AccountId(3), 1, at(6_200)), Ok(()));
        assert_eq!(calls.pass(AccountId(3), 1, at(6_300)), Err(at(900)));
    }

    #[test]
    fn buckets_of_idle_accounts_are_evicted() {
        let calls = Calls::default();
        for number in 0..100_000 {
            calls.pass(AccountId(number), 10, at(number.unsigned_abs() * 10)).unwrap();
        }
        assert!(calls.full_at.lock().unwrap().len() <= BUCKETS_SWEEP);
    }

    proptest! {
        #[test]
        fn calls_never_exceed_the_rate_plus_one_burst(
            steps in proptest::collection::vec(0_u64..80, 1..600),
            per_second in 1_u32..40,
        ) {
            let calls = Calls::default();
            let (mut now, mut passed) = (0, Vec::new());
            for step in &steps {
                now += step;
                match calls.pass(ANN, per_second, at(now)) {
                    Ok(()) => passed.push(now),
                    Err(wait) => prop_assert!(wait <= SECOND),
                }
            }
            for (first, began) in passed.iter().enumerate() {
                for (more, ended) in passed[first..].iter().enumerate() {
                    let most = u64::from(per_second) * (1_000 + ended - began) / 1_000 + 1;
                    prop_assert!((more as u64) < most, "{more} more from {began} to {ended}");
                }
            }
        }
    }
}
