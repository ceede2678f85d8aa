//! The market's clock of a server: its time, its speed, and whether it can be moved.

use std::sync::Arc;
use std::time::Duration;

use history::AsOf;
use market::Timestamp;

/// The market's clock. Its [`AsOf`] also determines which stored data is visible.
pub type MarketClock = Arc<dyn MarketTime>;

/// A clock of the market. A closure that returns the time is a clock that cannot be moved.
pub trait MarketTime: Send + Sync {
    fn as_of(&self) -> AsOf;

    fn pace(&self) -> ClockSpeed {
        ClockSpeed::Machine
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

/// The speed of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSpeed {
    /// The machine's clock.
    Machine,
    /// Stopped; it only changes when it is moved.
    Standing,
    /// Runs from where it was set. `thousandths` is the speed: 1,000 is one market second per
    /// second, 60,000 is a minute.
    Running { thousandths: u64 },
}

impl ClockSpeed {
    /// How long until a clock that shows `now` shows `at`; `None` if it does not get there by
    /// itself.
    pub fn wait(self, now: Timestamp, at: Timestamp) -> Option<Duration> {
        let seconds = u64::try_from(at.0.saturating_sub(now.0)).unwrap_or(0);
        match self {
            ClockSpeed::Machine => Some(Duration::from_secs(seconds)),
            ClockSpeed::Standing => (seconds == 0).then_some(Duration::ZERO),
            ClockSpeed::Running { thousandths } => {
                let milliseconds = u128::from(seconds) * 1_000_000 / u128::from(thousandths.max(1));
                Some(Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX)))
            }
        }
    }
}

/// Why a clock cannot be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotStep {
    #[error("the market clock runs by itself: only one that stands can be moved")]
    NotStanding,
    #[error("the market clock only moves forward: it is at {now}")]
    Back { now: Timestamp },
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// A clock that moves on by an hour whenever it is read.
    #[derive(Debug, Default)]
    pub(crate) struct Ticking(AtomicI64);

    impl Ticking {
        /// How often it was read.
        pub(crate) fn reads(&self) -> i64 {
            self.0.load(Ordering::Acquire)
        }
    }

    impl MarketTime for Ticking {
        fn as_of(&self) -> AsOf {
            AsOf::Replay(Timestamp(1_794_708_000 + 3_600 * self.0.fetch_add(1, Ordering::AcqRel)))
        }
    }

    #[test]
    fn the_wait_follows_from_the_speed() {
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
