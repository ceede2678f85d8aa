//! Polling interval of devices that wait for approval. Losing a row loses no token.

use std::time::Duration;

use store::{GuardKey, Hash, StoreError};

use super::rows::Guesses;
use crate::Region;
use crate::random::hex;

/// Minimum interval between two polls of a device, in seconds.
pub const POLL_INTERVAL_S: u64 = 5;
/// Tolerance for timer jitter in clients.
const SLACK: Duration = Duration::from_secs(1);
/// Added to the interval of a device that polls too soon (RFC 8628, section 3.5).
const STEP_S: u32 = 5;
const INTERVAL_MAX_S: u32 = 60;
/// A device that has not polled for this long is dropped.
pub(super) const GONE_AFTER: Duration = Duration::from_secs(120);

impl Guesses {
    /// Returns whether a device polls too soon, and lengthens its interval if so. Public clients
    /// run two concurrent pollers with the same code, one per region, so each region has its own
    /// interval.
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

    /// Drops the poll rows of a device that has received its tokens.
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
