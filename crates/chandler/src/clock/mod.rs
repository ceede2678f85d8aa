//! The only module that reads the current time. `--clock` replaces it with a fixed instant, or with
//! a clock that starts at a given instant.

mod notice;

use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use history::AsOf;
use market::Timestamp;
use server::{CannotStep, ClockSpeed, MarketTime};

use notice::HeldNotice;
pub(crate) use notice::{IsServed, NoticePath};

/// Maximum speed of a clock, relative to the machine's clock: about eleven days per second.
const SPEED_MAX: u64 = 1_000_000;

/// Source of the current time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Clock {
    #[default]
    Machine,
    /// Does not advance.
    Fixed(Timestamp),
    /// Started at `from` and advances at `thousandths` / 1000 of the machine's speed.
    Running { from: Timestamp, since: Instant, thousandths: u64 },
}

impl Clock {
    pub(crate) fn now(&self) -> Timestamp {
        match self {
            #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
            Clock::Machine => Timestamp(jiff::Timestamp::now().as_second()),
            Clock::Fixed(at) => *at,
            Clock::Running { from, since, thousandths } => {
                let passed = since.elapsed().as_millis().saturating_mul(u128::from(*thousandths)) / 1_000_000;
                Timestamp(from.0.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX)))
            }
        }
    }

    /// Returns the current time and which stored data is visible. A clock set with `--clock` hides
    /// data after its current time, whether it is fixed or running.
    pub(crate) fn as_of(&self) -> AsOf {
        match self {
            Clock::Machine => AsOf::Live(self.now()),
            Clock::Fixed(_) | Clock::Running { .. } => AsOf::Replay(self.now()),
        }
    }
}

/// Returns the machine's time in milliseconds since 1970.
pub(crate) fn machine_ms() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
    jiff::Timestamp::now().as_millisecond()
}

impl FromStr for Clock {
    type Err = String;

    fn from_str(text: &str) -> Result<Clock, String> {
        if text == "now" {
            return Ok(Clock::Machine);
        }
        let (instant, speed) = match text.split_once(",run") {
            Some((instant, "")) => (instant, Some(1_000)),
            Some((instant, speed)) => (instant, Some(thousandths(speed)?)),
            None => (text, None),
        };
        let at: jiff::Timestamp = instant.parse().map_err(|_| {
            format!(
                "{instant:?} is not an instant: write 2026-11-15T02:00:00Z, or add \",run\" or \",run@60\"; or write now"
            )
        })?;
        let from = Timestamp(at.as_second());
        Ok(match speed {
            Some(thousandths) => Clock::Running { from, since: Instant::now(), thousandths },
            None => Clock::Fixed(from),
        })
    }
}

/// Parses a speed such as `@60` or `@0.5` into thousandths.
fn thousandths(text: &str) -> Result<u64, String> {
    let speed = text.strip_prefix('@').and_then(|speed| market::parse_scaled(speed.as_bytes(), 3).ok());
    let thousandths = speed.and_then(|(speed, is_exact)| u64::try_from(speed).ok().filter(|_| is_exact));
    thousandths.filter(|speed| (1..=SPEED_MAX * 1_000).contains(speed)).ok_or_else(|| {
        format!("\",run{text}\" is not a speed: write \",run\", or \",run@60\" for a minute per second, at most {SPEED_MAX}")
    })
}

/// Market clock of a server. A fixed clock can be moved forward.
#[derive(Debug)]
pub(crate) struct ServedClock {
    clock: Clock,
    /// Instant to which a fixed clock has been moved, or `i64::MIN`.
    moved_to: AtomicI64,
    /// Clock file for commands in other shells.
    notice: Option<HeldNotice>,
}

impl ServedClock {
    pub(crate) fn new(clock: Clock, notice: Option<HeldNotice>) -> ServedClock {
        ServedClock { clock, moved_to: AtomicI64::new(i64::MIN), notice }
    }

    /// Creates the clock and publishes it to commands in other shells. If publishing fails, the
    /// error is logged and the server continues.
    pub(crate) fn noted(clock: Clock, notice: &NoticePath) -> ServedClock {
        let held = notice.hold(&clock);
        match &held {
            Ok(Some(_)) => {}
            Ok(None) => tracing::warn!(
                "another server of this store has published its clock, which commands in other shells use: give them --clock"
            ),
            Err(error) => {
                tracing::warn!(%error, "cannot publish the clock for commands in other shells: give them --clock");
            }
        }
        let held = held.ok().flatten();
        ServedClock::new(clock, held)
    }
}

impl MarketTime for ServedClock {
    fn as_of(&self) -> AsOf {
        match self.clock {
            Clock::Fixed(at) => AsOf::Replay(at.max(Timestamp(self.moved_to.load(Ordering::Acquire)))),
            clock => clock.as_of(),
        }
    }

    fn pace(&self) -> ClockSpeed {
        match self.clock {
            Clock::Machine => ClockSpeed::Machine,
            Clock::Fixed(_) => ClockSpeed::Standing,
            Clock::Running { thousandths, .. } => ClockSpeed::Running { thousandths },
        }
    }

    fn step_to(&self, to: Timestamp) -> Result<(), CannotStep> {
        let Clock::Fixed(at) = self.clock else { return Err(CannotStep::NotStanding) };
        // If two moves run concurrently, the later instant wins and the other caller gets an error
        // with the current time.
        let before = self.moved_to.fetch_max(to.0, Ordering::AcqRel);
        let now = at.max(Timestamp(before));
        if to < now {
            return Err(CannotStep::Back { now });
        }
        if let Some(Err(error)) = self.notice.as_ref().map(|notice| notice.write(&Clock::Fixed(to))) {
            tracing::warn!(%error, "cannot publish the clock for commands in other shells");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_794_708_000;

    #[test]
    fn a_fixed_clock_does_not_advance() {
        let clock: Clock = "2026-11-15T02:00:00Z".parse().unwrap();
        assert_eq!((clock.now().0, clock.now().0), (NOON, NOON));
    }

    #[test]
    fn a_running_clock_starts_at_its_instant() {
        let clock: Clock = "2026-11-15T02:00:00+00:00,run".parse().unwrap();
        assert!(clock.now().0 >= NOON);
        assert!(matches!(clock, Clock::Running { thousandths: 1_000, .. }));
    }

    #[test]
    fn the_speed_of_a_running_clock_is_parsed() {
        for (text, expected) in [(",run@60", 60_000), (",run@0.5", 500), (",run@1000000", 1_000_000_000)] {
            let clock: Clock = format!("2026-11-15T02:00:00Z{text}").parse().unwrap();
            assert!(
                matches!(clock, Clock::Running { thousandths, .. } if thousandths == expected),
                "{text}: {clock:?}"
            );
        }
        for text in
            [",run@", ",run@0", ",run@-1", ",run@fast", ",run@1000001", ",run@0.0001", ",runs", ",run60"]
        {
            assert!(format!("2026-11-15T02:00:00Z{text}").parse::<Clock>().is_err(), "{text}");
        }
        // Sixty hours pass in one hour at sixty times the machine's speed.
        let since = Instant::now().checked_sub(std::time::Duration::from_secs(3_600)).unwrap();
        let clock = Clock::Running { from: Timestamp(0), since, thousandths: 60_000 };
        assert!((216_000..216_600).contains(&clock.now().0), "{:?}", clock.now());
    }

    #[test]
    fn a_clock_without_a_utc_offset_is_rejected() {
        assert!(matches!("now".parse(), Ok(Clock::Machine)));
        for text in ["", "2026-11-15", "2026-11-15T02:00:00", "now,run", ",run"] {
            assert!(text.parse::<Clock>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_fixed_clock_can_be_moved_forward() {
        let served = ServedClock::new("2026-11-15T02:00:00Z".parse().unwrap(), None);
        assert_eq!((served.as_of(), served.pace()), (AsOf::Replay(Timestamp(NOON)), ClockSpeed::Standing));
        assert_eq!(served.step_to(Timestamp(NOON + 15)), Ok(()));
        assert_eq!(served.as_of(), AsOf::Replay(Timestamp(NOON + 15)));
        assert_eq!(served.step_to(Timestamp(NOON + 15)), Ok(()), "where it is already");
        let now = Timestamp(NOON + 15);
        assert_eq!(served.step_to(Timestamp(NOON + 14)), Err(CannotStep::Back { now }));
        assert_eq!(served.step_to(Timestamp(NOON - 1)), Err(CannotStep::Back { now }));
        for clock in [Clock::Machine, "2026-11-15T02:00:00Z,run".parse().unwrap()] {
            assert_eq!(
                ServedClock::new(clock, None).step_to(Timestamp(i64::MAX)),
                Err(CannotStep::NotStanding)
            );
        }
    }
}
