//! The clocks that callers read for this crate, which reads none.

use std::time::Duration;

use market::Timestamp;

/// One moment on two clocks: what day it is, and how long the process has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub now: Timestamp,
    pub uptime: Duration,
}

/// One moment on the two clocks that say what day it is. The market's may stand still or lie in the past, and decides
/// levels, months and rights; the machine's is when something was really done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    pub market: Timestamp,
    pub machine: Timestamp,
}
