//! Device codes: the rate limit for codes typed by users, and the polling interval of devices that
//! wait for approval. A lost row only resets a limit, because tokens are stored elsewhere.

use std::net::IpAddr;
use std::time::Duration;

use store::{AccountId, GuardKey, Hash, PaceLimit, PaceTake, StoreError};

use super::rows::Guesses;
use crate::rate_limiter::network_of;
use crate::secret::hex;
use crate::{RateLimit, Region};

/// Limit on wrong codes per address and per account.
const OF_ONE: RateLimit = RateLimit { requests: 5, within: Duration::from_secs(600) };
/// Limit on wrong codes from all clients together.
const OF_ALL: RateLimit = RateLimit { requests: 100, within: Duration::from_secs(60) };

/// A code counted as wrong, with the data needed to undo the count.
#[derive(Debug)]
pub(crate) enum CountedCode {
    Here([String; 3]),
    Shared(PaceTake),
}

/// Minimum interval between two polls of a device, in seconds.
pub const POLL_INTERVAL_S: u64 = 5;
/// Tolerance for timer jitter in clients that poll.
const SLACK: Duration = Duration::from_secs(1);
/// Seconds added to the interval of a device that polls too soon (RFC 8628, section 3.5).
const STEP_S: u32 = 5;
const INTERVAL_MAX_S: u32 = 60;
/// Time without a poll after which a device's poll row is deleted.
pub(super) const GONE_AFTER: Duration = Duration::from_secs(120);

impl Guesses {
    /// Counts a code as wrong before it is checked, or returns the time to wait if a limit is
    /// reached. [`Guesses::code_was_right`] undoes the count.
    pub(crate) fn begin_code(
        &self,
        address: IpAddr,
        account: AccountId,
        uptime: Duration,
    ) -> Result<Result<CountedCode, Duration>, StoreError> {
        let keys = [
            "everybody".to_owned(),
            format!("address {}", network_of(address)),
            format!("account {}", account.0),
        ];
        let [everybody, address, account] = &keys;
        let limits = [(everybody, OF_ALL), (address, OF_ONE), (account, OF_ONE)];
        let Some(shared) = &self.shared else {
            let passed = self.codes.pass_all(limits.map(|(key, limit)| (key.clone(), limit)), uptime);
            return Ok(passed.map(|()| CountedCode::Here(keys)));
        };
        let limits = limits.map(|(key, RateLimit { requests, within })| PaceLimit {
            kind: "code",
            key,
            requests,
            within,
        });
        Ok(shared.take_paces(&limits)?.map(CountedCode::Shared))
    }

    /// Undoes the count of a code that was right or could not be checked.
    pub(crate) fn code_was_right(&self, counted: CountedCode) -> Result<(), StoreError> {
        match (counted, &self.shared) {
            (CountedCode::Shared(taken), Some(shared)) => shared.give_back_paces(&taken),
            (CountedCode::Shared(_), None) => Ok(()),
            (CountedCode::Here(keys), _) => {
                self.codes.take_back(keys, 1);
                Ok(())
            }
        }
    }

    /// Returns whether a device polls too soon, and if so lengthens its interval. Public clients
    /// run two concurrent pollers with the same code, one per region, so the interval is tracked
    /// per region.
    pub(crate) fn polls_too_fast(
        &self,
        code: Hash,
        poller: Option<Region>,
        uptime: Duration,
    ) -> Result<bool, StoreError> {
        let key = key(&code, poller);
        self.judge([&key.key; 2], std::slice::from_ref(&key), uptime, |rows| {
            let now = rows.now();
            let before = rows.get(&key);
            let interval_s = before.map_or(POLL_INTERVAL_S as u32, |(interval_s, _)| interval_s);
            let is_too_fast = before.is_some_and(|(_, last)| {
                now.saturating_sub(last) + SLACK < Duration::from_secs(interval_s.into())
            });
            let interval_s = if is_too_fast { (interval_s + STEP_S).min(INTERVAL_MAX_S) } else { interval_s };
            rows.put(&key, (interval_s, now), now + GONE_AFTER);
            is_too_fast
        })
    }

    /// Deletes the poll rows of a device that has received its tokens.
    pub(crate) fn forget_poller(&self, code: &Hash, uptime: Duration) -> Result<(), StoreError> {
        let keys: Vec<GuardKey> =
            Region::ALL.map(Some).into_iter().chain([None]).map(|poller| key(code, poller)).collect();
        let lock = keys.last().map_or("", |key| key.key.as_str());
        self.judge([lock; 2], &keys, uptime, |rows| keys.iter().for_each(|key| rows.remove(key)))
    }
}

fn key(code: &Hash, poller: Option<Region>) -> GuardKey {
    GuardKey { kind: "poll", key: format!("{} {}", hex(code), poller.map_or("", Region::as_str)) }
}
