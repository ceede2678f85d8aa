//! The server's market clock: its time, its speed, and whether it can be moved.

use std::sync::Arc;
use std::time::Duration;

use history::AsOf;
use market::Timestamp;

/// A shared market clock. Its [`AsOf`] also determines which stored data is visible.
pub type MarketClock = Arc<dyn MarketTime>;

/// A source of market time. A closure that returns the time is a clock that cannot be moved.
pub trait MarketTime: Send + Sync {
    fn as_of(&self) -> AsOf;

    fn pace(&self) -> ClockSpeed {
        ClockSpeed::Machine
    }

    /// Returns how long the clock takes from `now` to `at`, or `None` if the clock is stopped
    /// before `at`. `now` must have just been read from this clock.
    fn wait(&self, now: Timestamp, at: Timestamp) -> Option<Duration> {
        self.pace().wait(now, at)
    }

    /// Returns how long the clock takes from now to `at`, or `None` if the clock is stopped before
    /// `at`.
    fn time_until(&self, at: Timestamp) -> Option<Duration> {
        self.wait(self.as_of().now(), at)
    }

    /// Moves a stopped clock forward.
    fn step_to(&self, _to: Timestamp) -> Result<(), CannotStep> {
        Err(CannotStep::NotStanding)
    }
}

impl<F: Fn() -> AsOf + Send + Sync> MarketTime for F {
    fn as_of(&self) -> AsOf {
        self()
    }
}

/// How a market clock advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSpeed {
    /// Follows the machine's clock.
    Machine,
    /// Stopped: the time changes only when the clock is moved.
    Standing,
    /// Runs from the time to which it was set. `thousandths` is the speed in thousandths of market
    /// seconds per second: 1,000 is real time, and 60,000 is one market minute per second.
    Running { thousandths: u64 },
}

impl ClockSpeed {
    /// Returns the name in JSON documents.
    pub fn kind(self) -> &'static str {
        match self {
            ClockSpeed::Machine => "machine",
            ClockSpeed::Standing => "standing",
            ClockSpeed::Running { .. } => "running",
        }
    }

    /// Returns the market seconds per machine second.
    pub fn factor(self) -> f64 {
        match self {
            ClockSpeed::Machine => 1.0,
            ClockSpeed::Standing => 0.0,
            #[expect(
                clippy::cast_precision_loss,
                reason = "it is for people to read, and far below what is exact"
            )]
            ClockSpeed::Running { thousandths } => thousandths as f64 / 1_000.0,
        }
    }

    /// Returns how long a clock that shows `now` takes to reach `at`, or `None` if the clock is
    /// stopped before `at`.
    pub fn wait(self, now: Timestamp, at: Timestamp) -> Option<Duration> {
        let seconds = u64::try_from(at.0.saturating_sub(now.0)).unwrap_or(0);
        match self {
            ClockSpeed::Machine => Some(Duration::from_secs(seconds)),
            ClockSpeed::Standing => (seconds == 0).then_some(Duration::ZERO),
            ClockSpeed::Running { thousandths } => {
                let milliseconds = (u128::from(seconds) * 1_000_000).div_ceil(u128::from(thousandths.max(1)));
                Some(Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX)))
            }
        }
    }
}

/// Why a clock cannot be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotStep {
    #[error("the market clock is running: only a stopped clock can be moved")]
    NotStanding,
    #[error("the market clock can only move forward: it is at {now}")]
    Back { now: Timestamp },
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// A clock that advances by an hour each time it is read.
    #[derive(Debug, Default)]
    pub(crate) struct Ticking(AtomicI64);

    impl Ticking {
        /// Returns how often the clock was read.
        pub(crate) fn reads(&self) -> i64 {
            self.0.load(Ordering::Acquire)
        }
    }

    impl MarketTime for Ticking {
        fn as_of(&self) -> AsOf {
            AsOf::Replay(Timestamp(1_794_708_000 + 3_600 * self.0.fetch_add(1, Ordering::AcqRel)))
        }
    }

    /// A stopped clock that can be moved.
    #[derive(Debug)]
    pub(crate) struct Stepped(AtomicI64);

    impl Stepped {
        pub(crate) fn at(now: Timestamp) -> Stepped {
            Stepped(AtomicI64::new(now.0))
        }
    }

    impl MarketTime for Stepped {
        fn as_of(&self) -> AsOf {
            AsOf::Replay(Timestamp(self.0.load(Ordering::Acquire)))
        }

        fn pace(&self) -> ClockSpeed {
            ClockSpeed::Standing
        }

        fn step_to(&self, to: Timestamp) -> Result<(), CannotStep> {
            let now = Timestamp(self.0.fetch_max(to.0, Ordering::AcqRel));
            if to < now { Err(CannotStep::Back { now }) } else { Ok(()) }
        }
    }

    #[test]
    fn the_wait_depends_on_the_speed_of_the_clock() {
        let (now, at) = (Timestamp(1_000), Timestamp(1_060));
        let cases = [
            (ClockSpeed::Machine, Some(60_000)),
            (ClockSpeed::Running { thousandths: 1_000 }, Some(60_000)),
            (ClockSpeed::Running { thousandths: 60_000 }, Some(1_000)),
            (ClockSpeed::Running { thousandths: 500 }, Some(120_000)),
            (ClockSpeed::Standing, None),
        ];
        for (pace, milliseconds) in cases {
            assert_eq!(pace.wait(now, at), milliseconds.map(Duration::from_millis), "{pace:?}");
            assert_eq!(pace.wait(at, now), Some(Duration::ZERO), "{pace:?}: it has passed");
        }
    }
}
