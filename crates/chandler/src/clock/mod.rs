//! The only module that reads the time. `--clock` fixes it at any instant, or starts it there.

mod notice;

use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use history::AsOf;
use market::Timestamp;
use server::{CannotStep, ClockSpeed, MarketTime};

use notice::HeldNotice;
pub(crate) use notice::{IsServed, NoticePath};

/// The highest speed of a clock: ten days per second.
const SPEED_MAX: u64 = 1_000_000;

/// Where `now` comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Clock {
    #[default]
    Machine,
    /// Does not advance.
    Fixed(Timestamp),
    /// Started at a given instant and advances at `thousandths` / 1000 of the machine's speed.
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

    /// The current time, and how much of the stored data is visible: a clock that was set replays,
    /// fixed or running.
    pub(crate) fn as_of(&self) -> AsOf {
        match self {
            Clock::Machine => AsOf::Live(self.now()),
            Clock::Fixed(_) | Clock::Running { .. } => AsOf::Replay(self.now()),
        }
    }
}

/// The machine's clock in milliseconds since 1970, to compare with others.
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

/// `@60` or `@0.5`, in thousandths.
fn thousandths(text: &str) -> Result<u64, String> {
    let speed = text.strip_prefix('@').and_then(|speed| market::parse_scaled(speed.as_bytes(), 3).ok());
    let thousandths = speed.and_then(|(speed, is_exact)| u64::try_from(speed).ok().filter(|_| is_exact));
    thousandths.filter(|speed| (1..=SPEED_MAX * 1_000).contains(speed)).ok_or_else(|| {
        format!("\",run{text}\" is not a speed: write \",run\", or \",run@60\" for a minute in a second, at most {SPEED_MAX}")
    })
}

/// The market clock of a server. A fixed clock can be moved forward.
#[derive(Debug)]
pub(crate) struct ServedClock {
    clock: Clock,
    /// The instant to which a fixed clock has been moved.
    moved_to: AtomicI64,
    /// The file that commands in other shells read.
    notice: Option<HeldNotice>,
}

impl ServedClock {
    pub(crate) fn new(clock: Clock, notice: Option<HeldNotice>) -> ServedClock {
        ServedClock { clock, moved_to: AtomicI64::new(i64::MIN), notice }
    }

    /// Publishes the clock of a server to commands in other shells. A failure to publish is logged,
    /// and the server runs on.
    pub(crate) fn noted(clock: Clock, notice: &NoticePath) -> ServedClock {
        let held = notice.hold(&clock);
        match &held {
            Ok(Some(_)) => {}
            Ok(None) => tracing::warn!(
                "another server of this store has noted its clock, and commands in other shells follow that one: give them --clock"
            ),
            Err(error) => {
                tracing::warn!(%error, "cannot note the clock for commands in other shells: give them --clock");
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
        // Of two concurrent moves the later instant wins; the other caller gets the current time as
        // an error.
        let before = self.moved_to.fetch_max(to.0, Ordering::AcqRel);
        let now = at.max(Timestamp(before));
        if to < now {
            return Err(CannotStep::Back { now });
        }
        if let Some(Err(error)) = self.notice.as_ref().map(|notice| notice.write(&Clock::Fixed(to))) {
            tracing::warn!(%error, "cannot note the clock for commands in other shells");
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
    fn a_running_clock_never_goes_back_before_its_start() {
        let clock: Clock = "2026-11-15T02:00:00+00:00,run".parse().unwrap();
        assert!(clock.now().0 >= NOON);
        assert!(matches!(clock, Clock::Running { thousandths: 1_000, .. }));
    }

    #[test]
    fn a_running_clock_has_a_speed() {
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
        // An hour ago at sixty times the speed is sixty hours.
        let since = Instant::now().checked_sub(std::time::Duration::from_secs(3_600)).unwrap();
        let clock = Clock::Running { from: Timestamp(0), since, thousandths: 60_000 };
        assert!((216_000..216_600).contains(&clock.now().0), "{:?}", clock.now());
    }

    #[test]
    fn a_clock_needs_an_instant_with_its_offset() {
        assert!(matches!("now".parse(), Ok(Clock::Machine)));
        for text in ["", "2026-11-15", "2026-11-15T02:00:00", "now,run", ",run"] {
            assert!(text.parse::<Clock>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_fixed_served_clock_only_moves_forward() {
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
