use std::time::Duration;

use market::Timestamp;

/// A clock that moves at a constant speed, beginning with a market instant at a machine instant.
/// Machine instants are durations since any fixed origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    from: Timestamp,
    since: Duration,
    /// Market seconds per machine second, in thousandths, at least 1.
    thousandths: u64,
}

/// One second in nanoseconds, multiplied by 1,000 because the speed is in thousandths.
const NANOS: u128 = 1_000_000_000_000;

impl Course {
    /// Returns a clock that shows `from` at the machine instant `since`.
    pub fn new(from: Timestamp, since: Duration, thousandths: u64) -> Course {
        Course { from, since, thousandths: thousandths.max(1) }
    }

    /// Returns the market instant at a machine instant. Before `since`, this is `from`.
    pub fn now(&self, machine: Duration) -> Timestamp {
        let elapsed = machine.saturating_sub(self.since).as_nanos();
        let seconds = elapsed.saturating_mul(u128::from(self.thousandths)) / NANOS;
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        Timestamp(self.from.0.saturating_add(seconds))
    }

    /// Returns the earliest machine instant at which the clock shows `at` or later.
    pub fn reaches(&self, at: Timestamp) -> Duration {
        let seconds = u128::try_from(at.0.saturating_sub(self.from.0)).unwrap_or(0);
        let nanos = seconds.saturating_mul(NANOS).div_ceil(u128::from(self.thousandths));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        self.since.saturating_add(Duration::from_nanos(nanos))
    }
}
