//! Clock readings that callers pass in. This crate reads no clock.

use std::time::Duration;

use market::Timestamp;

/// The same moment on the wall clock and as the uptime of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub now: Timestamp,
    pub uptime: Duration,
}

/// The same moment on two wall clocks. The market's clock, which may be stopped or in the past,
/// determines levels, months and rights; the machine's is real time, for the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    pub market: Timestamp,
    pub machine: Timestamp,
}
