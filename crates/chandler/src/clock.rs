//! The one place that reads the time. `--clock` makes it stand still, or run on, from any instant.

use std::str::FromStr;
use std::time::Instant;

use history::AsOf;
use market::Timestamp;

/// Where `now` comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Clock {
    #[default]
    Machine,
    /// Stands still.
    Fixed(Timestamp),
    /// Started at an instant of its own and runs on.
    Running { from: Timestamp, since: Instant },
}

impl Clock {
    pub(crate) fn now(&self) -> Timestamp {
        match self {
            #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
            Clock::Machine => Timestamp(jiff::Timestamp::now().as_second()),
            Clock::Fixed(at) => *at,
            Clock::Running { from, since } => {
                let passed = i64::try_from(since.elapsed().as_secs()).unwrap_or(i64::MAX);
                Timestamp(from.0.saturating_add(passed))
            }
        }
    }

    /// Now, and how much of the stored data has happened by then: a clock that was set replays, whether or not it runs.
    pub(crate) fn as_of(&self) -> AsOf {
        match self {
            Clock::Machine => AsOf::Live(self.now()),
            Clock::Fixed(_) | Clock::Running { .. } => AsOf::Replay(self.now()),
        }
    }
}

impl FromStr for Clock {
    type Err = String;

    fn from_str(text: &str) -> Result<Clock, String> {
        let (instant, runs) = match text.strip_suffix(",run") {
            Some(instant) => (instant, true),
            None => (text, false),
        };
        let at: jiff::Timestamp = instant.parse().map_err(|_| {
            format!("{instant:?} is not an instant: write 2026-11-15T02:00:00Z, or add \",run\"")
        })?;
        let from = Timestamp(at.as_second());
        Ok(if runs { Clock::Running { from, since: Instant::now() } } else { Clock::Fixed(from) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_stands_still_where_it_was_set() {
        let clock: Clock = "2026-11-15T02:00:00Z".parse().unwrap();
        assert_eq!((clock.now().0, clock.now().0), (1_794_708_000, 1_794_708_000));
    }

    #[test]
    fn a_running_clock_never_goes_back_before_its_start() {
        let clock: Clock = "2026-11-15T02:00:00+00:00,run".parse().unwrap();
        assert!(clock.now().0 >= 1_794_708_000);
        assert!(matches!(clock, Clock::Running { .. }));
    }

    #[test]
    fn a_clock_needs_an_instant_with_its_offset() {
        for text in ["", "2026-11-15", "2026-11-15T02:00:00", "now", ",run"] {
            assert!(text.parse::<Clock>().is_err(), "{text}");
        }
    }
}
