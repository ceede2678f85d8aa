//! The polling interval of devices that wait for approval. A lost row costs no token.

use std::time::Duration;

use store::{GuardKey, Hash, StoreError};

use super::rows::Guesses;
use crate::Region;
use crate::random::hex;

/// The minimum interval between two polls of a device.
pub const POLL_INTERVAL_S: u64 = 5;
/// Tolerance for the jitter of a client's timer.
const SLACK: Duration = Duration::from_secs(1);
/// How much a device that polls too soon has to wait longer (RFC 8628, 3.5).
const STEP_S: u32 = 5;
const INTERVAL_MAX_S: u32 = 60;
/// A device that has not polled for this long is dropped.
pub(super) const GONE_AFTER: Duration = Duration::from_secs(120);

impl Guesses {
    /// Whether a device polls too soon after the last time. Public clients run two pollers with the
    /// same code, each for one region, at the same time; so each has a separate interval.
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

    /// Drops a device that has its tokens and polls no more.
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
