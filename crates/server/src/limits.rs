//! How much of the server one caller may use.

use crate::workers;

/// How much of the server one account may use over all doors, or one address where nobody has signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Quote commands other than history.
    pub calls: access::CallRule,
    /// Threads for requests that wait for the disk, for all callers together; at most [`THREADS_MAX`](crate::THREADS_MAX).
    pub threads: usize,
    /// Refusals a second beyond which a caller's connections are read more slowly; 0 for no limit.
    pub refusals_per_second: u32,
    /// Answers of one caller that wait to be sent, in bytes.
    pub unsent_bytes: usize,
    /// Connections of one address on which nobody has signed in; more wait for a place.
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
