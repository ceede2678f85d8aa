//! So many in a window of time for each account: for what costs no quota and is still not free.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use store::AccountId;

/// Accounts remembered before all are forgotten.
const ACCOUNTS_MAX: usize = 4_096;

#[derive(Debug)]
pub(crate) struct Pace {
    limit: u32,
    each: Duration,
    /// When the window of an account began, and how many came in it.
    seen: Mutex<HashMap<AccountId, (Duration, u32)>>,
}

impl Pace {
    pub(crate) fn new(limit: u32, each: Duration) -> Pace {
        Pace { limit, each, seen: Mutex::default() }
    }

    /// One more, or how long to wait for that.
    pub(crate) fn pass(&self, account: AccountId, uptime: Duration) -> Result<(), Duration> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= ACCOUNTS_MAX && !seen.contains_key(&account) {
            seen.clear();
        }
        let (began, count) = seen.entry(account).or_insert((uptime, 0));
        let since = uptime.saturating_sub(*began);
        if since >= self.each {
            (*began, *count) = (uptime, 0);
        } else if *count >= self.limit {
            return Err(self.each.saturating_sub(since));
        }
        *count += 1;
        Ok(())
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
