//! Sources of the current time. No other module of this crate reads the system clock. `--clock`
//! replaces the machine's clock with a fixed instant, or with a clock that starts at a given
//! instant. A server publishes its clock in a file, for commands in other shells.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use history::AsOf;
use market::{Timestamp, Venues};
use serde::{Deserialize, Serialize};
use server::{CannotStep, ClockSpeed, MarketTime};

use crate::clock_wish::WishPath;
use crate::open_hours::OpenHours;

/// Maximum speed of a clock, relative to the machine's clock: about eleven days per second.
const SPEED_MAX: u64 = 1_000_000;

/// Source of the current time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Clock {
    #[default]
    Machine,
    /// Always returns this instant.
    Fixed(Timestamp),
    /// Showed `from` at the instant `since`, and advances at `thousandths` / 1000 of the machine's
    /// speed.
    Running { from: Timestamp, since: Instant, thousandths: u64 },
    /// Like `Running`, but skips closed hours.
    Skipping { from: Timestamp, since: Instant, thousandths: u64, hours: &'static OpenHours },
}

impl Clock {
    /// Starts a clock that skips the hours in which all markets are closed. The hours are leaked,
    /// because a clock is `Copy`.
    pub(crate) fn skipping(from: Timestamp, thousandths: u64, venues: &Venues) -> Clock {
        let hours = Box::leak(Box::new(OpenHours::since(venues, from)));
        Clock::Skipping { from, since: Instant::now(), thousandths, hours }
    }

    pub(crate) fn now(&self) -> Timestamp {
        match self {
            #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
            Clock::Machine => Timestamp(jiff::Timestamp::now().as_second()),
            Clock::Fixed(at) => *at,
            Clock::Running { from, since, thousandths } => {
                Timestamp(from.0.saturating_add(passed(since.elapsed(), *thousandths)))
            }
            Clock::Skipping { from, since, thousandths, hours } => {
                hours.after(*from, passed(since.elapsed(), *thousandths))
            }
        }
    }

    /// Returns the current time and which stored data is visible. A clock set with `--clock`, fixed
    /// or running, hides data after the clock's current time.
    pub(crate) fn as_of(&self) -> AsOf {
        match self {
            Clock::Machine => AsOf::Live(self.now()),
            Clock::Fixed(_) | Clock::Running { .. } | Clock::Skipping { .. } => AsOf::Replay(self.now()),
        }
    }
}

impl Clock {
    /// Returns how long after its start a running clock reaches an instant. Returns `None` if the
    /// clock never reaches the instant or is not running.
    fn reaches(&self, at: Timestamp) -> Option<Duration> {
        match self {
            Clock::Machine | Clock::Fixed(_) => None,
            Clock::Running { from, thousandths, .. } => {
                ClockSpeed::Running { thousandths: *thousandths }.wait(*from, at)
            }
            Clock::Skipping { from, thousandths, hours, .. } => {
                let open = hours.between(*from, at);
                // The clock stops at the end of the computed open hours.
                let is_reached = hours.after(*from, open) >= at;
                let due = ClockSpeed::Running { thousandths: *thousandths }
                    .wait(*from, Timestamp(from.0.saturating_add(open)));
                due.filter(|_| is_reached)
            }
        }
    }
}

/// Returns the seconds that a clock advances in `elapsed`.
fn passed(elapsed: Duration, thousandths: u64) -> i64 {
    let seconds = elapsed.as_millis().saturating_mul(u128::from(thousandths)) / 1_000_000;
    i64::try_from(seconds).unwrap_or(i64::MAX)
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
    /// Instant to which a fixed clock has been moved, or `i64::MIN` if the clock has not been
    /// moved.
    moved_to: AtomicI64,
    /// Clock file for commands in other shells. `None` if publishing failed or another server holds
    /// the file's lock.
    notice: Option<HeldNotice>,
}

impl ServedClock {
    pub(crate) fn new(clock: Clock, notice: Option<HeldNotice>) -> ServedClock {
        ServedClock { clock, moved_to: AtomicI64::new(i64::MIN), notice }
    }

    /// Returns whether commands in other shells may move the clock: it is stopped, and published.
    pub(crate) fn takes_wishes(&self) -> bool {
        matches!(self.clock, Clock::Fixed(_)) && self.notice.is_some()
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
            Clock::Running { thousandths, .. } | Clock::Skipping { thousandths, .. } => {
                ClockSpeed::Running { thousandths }
            }
        }
    }

    fn wait(&self, now: Timestamp, at: Timestamp) -> Option<Duration> {
        match self.clock {
            Clock::Fixed(_) => self.pace().wait(now, at),
            // `now` is in whole seconds, but pushes must not be delayed by a fraction of a second.
            Clock::Machine => {
                let wait = at.0.saturating_mul(1_000).saturating_sub(machine_ms());
                Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
            }
            Clock::Running { since, .. } | Clock::Skipping { since, .. } => {
                self.clock.reaches(at).map(|due| due.saturating_sub(since.elapsed()))
            }
        }
    }

    fn step_to(&self, to: Timestamp) -> Result<(), CannotStep> {
        let Clock::Fixed(at) = self.clock else { return Err(CannotStep::NotStanding) };
        // If two moves run concurrently, the later target wins and the other caller gets an error
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

const FILE: &str = "market-clock";
/// Maximum number of retries to lock the clock file. A command holds a shared lock briefly while it
/// reads the file.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);
const NOTE_MAX: usize = 1 << 10;

/// Paths of a store's clock file and its lock file.
#[derive(Clone, Debug)]
pub(crate) struct NoticePath {
    note: PathBuf,
    lock: PathBuf,
}

impl NoticePath {
    /// Returns the paths in the store's folder. `of` is part of the file names and distinguishes
    /// stores that share a folder.
    pub(crate) fn new(folder: &Path, of: Option<&str>) -> NoticePath {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let of: String = of.map(|of| format!("-{of}")).unwrap_or_default();
        let name: String = format!("{FILE}{of}").chars().map(plain).take(200).collect();
        NoticePath { note: folder.join(format!("{name}.json")), lock: folder.join(format!("{name}.lock")) }
    }

    /// Returns the paths with which a command moves the clock of the server.
    pub(crate) fn wishes(&self) -> WishPath {
        WishPath::beside(&self.note)
    }

    /// Returns the published clock and whether a server is currently publishing it. `None` if the
    /// file is missing or cannot be parsed.
    pub(crate) fn read(&self) -> Option<(NotedClock, IsServed)> {
        let is_served = match File::open(&self.lock).ok()?.try_lock_shared() {
            Err(TryLockError::WouldBlock) => IsServed::Yes,
            _ => IsServed::No,
        };
        let text = std::fs::read(&self.note).ok().filter(|text| text.len() <= NOTE_MAX)?;
        Some((serde_json::from_slice(&text).ok()?, is_served))
    }

    /// Publishes a command's clock, unless a running server has published a clock.
    pub(crate) fn leave(&self, clock: &Clock) -> io::Result<()> {
        // The lock is shared, so that other commands do not mistake this command for a server.
        let lock = self.open_lock()?;
        match lock.try_lock_shared() {
            Ok(()) => HeldNotice { _lock: lock, note: self.note.clone() }.write(clock),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Publishes a server's clock. The lock is held until the result is dropped. `None` if another
    /// server holds the lock.
    pub(crate) fn hold(&self, clock: &Clock) -> io::Result<Option<HeldNotice>> {
        let lock = self.open_lock()?;
        let mut tries = 0;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        let held = HeldNotice { _lock: lock, note: self.note.clone() };
        held.write(clock)?;
        Ok(Some(held))
    }

    fn open_lock(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.lock)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsServed {
    Yes,
    No,
}

/// Exclusive or shared lock on a clock file, released on drop.
#[derive(Debug)]
pub(crate) struct HeldNotice {
    _lock: File,
    note: PathBuf,
}

impl HeldNotice {
    /// Replaces the file atomically, so readers see either the old or the new clock.
    pub(crate) fn write(&self, clock: &Clock) -> io::Result<()> {
        // Two commands may write concurrently, so the temporary name includes the process ID.
        let partial = self.note.with_added_extension(format!("{}.partial", std::process::id()));
        std::fs::write(&partial, serde_json::to_vec(&NotedClock::of(clock))?)?;
        std::fs::rename(&partial, &self.note)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "clock", rename_all = "snake_case")]
pub(crate) enum NotedClock {
    Machine,
    Standing {
        at: i64,
    },
    /// The clock was at `from`, in Unix seconds, when the machine's clock was at `since_ms`.
    Running {
        from: i64,
        since_ms: i64,
        thousandths: u64,
    },
    /// Like `Running`, but skips closed hours.
    Skipping {
        from: i64,
        since_ms: i64,
        thousandths: u64,
    },
}

impl NotedClock {
    fn of(clock: &Clock) -> NotedClock {
        match clock {
            Clock::Machine => NotedClock::Machine,
            Clock::Fixed(at) => NotedClock::Standing { at: at.0 },
            Clock::Running { thousandths, .. } => {
                NotedClock::Running { from: clock.now().0, since_ms: machine_ms(), thousandths: *thousandths }
            }
            Clock::Skipping { thousandths, .. } => NotedClock::Skipping {
                from: clock.now().0,
                since_ms: machine_ms(),
                thousandths: *thousandths,
            },
        }
    }

    /// Restores the clock, advanced by the time since it was published.
    pub(crate) fn clock(self, venues: &Venues) -> Clock {
        let since = |since_ms: i64, thousandths| {
            let elapsed = u64::try_from(machine_ms().saturating_sub(since_ms)).unwrap_or(0);
            passed(Duration::from_millis(elapsed), thousandths)
        };
        match self {
            NotedClock::Machine => Clock::Machine,
            NotedClock::Standing { at } => Clock::Fixed(Timestamp(at)),
            NotedClock::Running { from, since_ms, thousandths } => {
                let from = from.saturating_add(since(since_ms, thousandths));
                Clock::Running { from: Timestamp(from), since: Instant::now(), thousandths }
            }
            NotedClock::Skipping { from, since_ms, thousandths } => {
                let hours = OpenHours::since(venues, Timestamp(from));
                let from = hours.after(Timestamp(from), since(since_ms, thousandths));
                Clock::skipping(from, thousandths, venues)
            }
        }
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

    #[test]
    fn a_published_clock_remains_after_its_server_exits() {
        let folder = tempfile::tempdir().unwrap();
        let path = NoticePath::new(folder.path(), Some("postgres://me@host:1/x"));
        assert_eq!(path.read(), None);
        let standing = |at| NotedClock::Standing { at };
        let held = path.hold(&Clock::Fixed(Timestamp(7))).unwrap().unwrap();
        assert_eq!(path.read(), Some((standing(7), IsServed::Yes)));
        held.write(&Clock::Fixed(Timestamp(8))).unwrap();
        assert_eq!(path.read(), Some((standing(8), IsServed::Yes)));
        assert!(path.hold(&Clock::Machine).unwrap().is_none(), "one server has published its clock");
        path.leave(&Clock::Machine).unwrap();
        assert_eq!(path.read(), Some((standing(8), IsServed::Yes)), "a command does not overwrite it");
        drop(held);
        assert_eq!(path.read(), Some((standing(8), IsServed::No)));
        path.leave(&Clock::Machine).unwrap();
        assert_eq!(path.read(), Some((NotedClock::Machine, IsServed::No)));
        let other = NoticePath::new(folder.path(), Some("postgres://me@host:1/y"));
        assert_eq!(other.read(), None);
    }

    #[test]
    fn a_command_that_publishes_a_clock_is_not_reported_as_a_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = NoticePath::new(folder.path(), None);
        path.leave(&Clock::Machine).unwrap();
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| (0..500).for_each(|_| path.leave(&Clock::Machine).unwrap()));
            while !writing.is_finished() {
                assert_eq!(path.read(), Some((NotedClock::Machine, IsServed::No)));
            }
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "the note and its lock");
    }

    #[test]
    fn a_published_clock_advances_after_publication() {
        // The clock was published a minute ago and runs at sixty times the machine's speed.
        let noted = NotedClock::Running { from: 1_000, since_ms: machine_ms() - 60_000, thousandths: 60_000 };
        let venues = Venues::built_in().unwrap();
        let now = noted.clock(&venues).now().0;
        assert!((4_600..5_200).contains(&now), "{now}");
        assert_eq!(NotedClock::of(&Clock::Fixed(Timestamp(7))).clock(&venues).now(), Timestamp(7));
    }

    #[test]
    fn a_running_clock_is_not_late_by_a_fraction_of_a_second() {
        let since = Instant::now().checked_sub(Duration::from_millis(500)).unwrap();
        let (from, at) = (Timestamp(1_000), Timestamp(1_060));
        for (thousandths, latest_ms) in [(1_000, 59_500), (60_000, 500), (500, 119_500), (7_000, 8_072)] {
            let served = ServedClock::new(Clock::Running { from, since, thousandths }, None);
            let wait = served.wait(from, at).unwrap();
            assert!(wait <= Duration::from_millis(latest_ms), "{thousandths}: {wait:?}");
            // The wait is not too short either: afterwards the clock has reached the instant.
            let due = served.clock.reaches(at).unwrap();
            assert_eq!(passed(due, thousandths), 60, "{thousandths}");
            assert_eq!(
                passed(due.saturating_sub(Duration::from_millis(1)), thousandths),
                59,
                "{thousandths}"
            );
        }
    }

    #[test]
    fn a_skipping_clock_waits_only_for_open_hours() {
        let venues = Venues::built_in().unwrap();
        let at = |text: &str| Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_second());
        // Ten seconds before the close of Hong Kong on a Friday. New York opens at 14:30.
        let friday = at("2026-11-13T08:09:50Z");
        let clock = Clock::skipping(friday, 10_000, &venues);
        let served = ServedClock::new(clock, None);
        assert_eq!(served.pace(), ClockSpeed::Running { thousandths: 10_000 });
        assert!(matches!(served.as_of(), AsOf::Replay(now) if now >= friday));
        for (to, milliseconds) in [
            ("2026-11-13T08:09:55Z", 500),
            ("2026-11-13T08:10:00Z", 1_000),
            ("2026-11-13T14:30:00Z", 1_000),
            ("2026-11-13T14:31:00Z", 7_000),
        ] {
            assert_eq!(clock.reaches(at(to)), Some(Duration::from_millis(milliseconds)), "{to}");
            assert!(served.wait(friday, at(to)) <= clock.reaches(at(to)), "{to}");
        }
        assert_eq!(served.wait(friday, at("2029-01-01T00:00:00Z")), None, "after the last hours");
        assert_eq!(served.step_to(at("2026-11-14T00:00:00Z")), Err(CannotStep::NotStanding));
        // Published a second ago.
        let since_ms = machine_ms() - 1_000;
        let noted = NotedClock::Skipping { from: friday.0, since_ms, thousandths: 10_000 };
        let now = noted.clock(&venues).now();
        assert!((at("2026-11-13T14:30:00Z")..at("2026-11-13T20:00:00Z")).contains(&now), "{now}");
    }
}
