//! A rate limiter by account, for requests that cost no quota but still cost work.

use std::time::Duration;

use access::{RateLimit, RateLimiter};
use store::AccountId;

#[derive(Debug)]
pub(crate) struct Pace {
    limit: RateLimit,
    limiter: RateLimiter<AccountId>,
}

impl Pace {
    /// At most `requests` in any stretch of time of length `within`.
    pub(crate) fn new(requests: u32, within: Duration) -> Pace {
        Pace { limit: RateLimit { requests, within }, limiter: RateLimiter::of_accounts() }
    }

    /// Counts one more request, or says how long to wait.
    pub(crate) fn pass(&self, account: AccountId, uptime: Duration) -> Result<(), Duration> {
        self.limiter.pass(account, self.limit, 1, uptime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_room_for_so_many_of_one_account() {
        let pace = Pace::new(2, Duration::from_secs(1));
        let at = |ms: u64| Duration::from_millis(ms);
        let (one, other) = (AccountId(1), AccountId(2));
        assert_eq!([pace.pass(one, at(100)), pace.pass(one, at(200))], [Ok(()), Ok(())]);
        assert_eq!(pace.pass(one, at(700)), Err(at(400)));
        assert_eq!(pace.pass(other, at(700)), Ok(()));
        assert_eq!(pace.pass(one, at(1_100)), Ok(()));
    }
}
