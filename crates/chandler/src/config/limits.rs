//! What one caller may take of a server: the table `[limits]`.

use serde::{Deserialize, Serialize};
use server::Limits;

/// Calls and refusals a second, and calls at once.
pub(crate) const RATE_MAX: u32 = 1_000_000;
pub(crate) const THREADS_MAX: u32 = 24;
const _: () = assert!(THREADS_MAX as usize == server::THREADS_MAX);
/// Sixteen gigabytes of answers for one account are a mistake.
pub(crate) const UNSENT_MB_MAX: u32 = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    pub(crate) calls_per_second: u32,
    pub(crate) calls_at_once: u32,
    pub(crate) refusals_per_second: u32,
    pub(crate) unsent_mb: u32,
    pub(crate) unproven_connections: u32,
    /// 0 for as many as suit the machine.
    pub(crate) threads: u32,
}

impl Default for LimitsConfig {
    fn default() -> LimitsConfig {
        let Limits { calls, threads: _, refusals_per_second, unsent_bytes, unproven_connections } =
            Limits::default();
        LimitsConfig {
            calls_per_second: calls.per_second,
            calls_at_once: calls.at_once,
            refusals_per_second,
            unsent_mb: u32::try_from(unsent_bytes >> 20).unwrap_or(UNSENT_MB_MAX),
            unproven_connections: u32::try_from(unproven_connections).unwrap_or(RATE_MAX),
            threads: 0,
        }
    }
}

impl LimitsConfig {
    /// Every key with its value, the least and the most.
    fn ranges(&self) -> [(&'static str, u32, u32, u32); 6] {
        [
            ("calls_per_second", self.calls_per_second, 0, RATE_MAX),
            ("calls_at_once", self.calls_at_once, 1, RATE_MAX),
            ("refusals_per_second", self.refusals_per_second, 0, RATE_MAX),
            ("unsent_mb", self.unsent_mb, 1, UNSENT_MB_MAX),
            ("unproven_connections", self.unproven_connections, 1, RATE_MAX),
            ("threads", self.threads, 0, THREADS_MAX),
        ]
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        match self.ranges().into_iter().find(|(_, value, least, most)| !(*least..=*most).contains(value)) {
            Some((key, _, least, most)) => Err(format!("{key} is a number from {least} to {most}")),
            None => Ok(()),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        let number = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
        let calls = access::CallRule { per_second: self.calls_per_second, at_once: self.calls_at_once };
        let threads = if self.threads == 0 { Limits::default().threads } else { number(self.threads) };
        let unsent_bytes = number(self.unsent_mb).saturating_mul(1 << 20);
        Limits {
            calls,
            threads,
            refusals_per_second: self.refusals_per_second,
            unsent_bytes,
            unproven_connections: number(self.unproven_connections),
        }
    }
}
