//! Resource limits of one caller.

use crate::workers;

/// Resource limits of one account across all transports, or of one address before sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Quote commands other than history.
    pub calls: access::CallRule,
    /// Threads for requests that wait for the disk, for all callers together; at most
    /// [`THREADS_MAX`](crate::THREADS_MAX).
    pub threads: usize,
    /// Refusals per second beyond which a caller's connections are read more slowly; 0 for no
    /// limit.
    pub refusals_per_second: u32,
    /// Unsent answers of one caller, in bytes.
    pub unsent_bytes: usize,
    /// Unauthenticated connections of one address; further ones wait for a slot.
    pub unproven_connections: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            calls: access::CallRule::SERVICE,
            threads: workers::threads_of_this_machine(),
            refusals_per_second: 200,
            unsent_bytes: 32 << 20,
            unproven_connections: 128,
        }
    }
}
