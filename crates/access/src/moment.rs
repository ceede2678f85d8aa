//! The clock readings that callers pass in; this crate reads no clock.

use std::time::Duration;

use market::Timestamp;

/// One moment on two clocks: the wall clock, and the uptime of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub now: Timestamp,
    pub uptime: Duration,
}

/// One moment on two wall clocks. The market's may stand still or lie in the past, and decides
/// levels, months and rights; the machine's is the real time, for the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    pub market: Timestamp,
    pub machine: Timestamp,
}
