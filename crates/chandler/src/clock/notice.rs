//! Publishes a server's market clock in a file of the store's folder. Commands in other shells read
//! the file, so that they do not advance a paper account to a different time. The server holds an
//! exclusive lock, which the operating system releases when the process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use market::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Clock, machine_ms};

const FILE: &str = "market-clock";
/// Attempts to take the lock. A command holds a shared lock briefly while it reads the file.
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
    /// Returns the paths in the store's folder. `of` distinguishes stores that share a folder.
    pub(crate) fn new(folder: &Path, of: Option<&str>) -> NoticePath {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let of: String = of.map(|of| format!("-{of}")).unwrap_or_default();
        let name: String = format!("{FILE}{of}").chars().map(plain).take(200).collect();
        NoticePath { note: folder.join(format!("{name}.json")), lock: folder.join(format!("{name}.lock")) }
    }

    /// Returns the published clock and whether the server that wrote it is still running. `None` if
    /// the file is missing or cannot be parsed.
    pub(crate) fn read(&self) -> Option<(NotedClock, IsServed)> {
        let is_served = match File::open(&self.lock).ok()?.try_lock_shared() {
            Err(TryLockError::WouldBlock) => IsServed::Yes,
            _ => IsServed::No,
        };
        let text = std::fs::read(&self.note).ok().filter(|text| text.len() <= NOTE_MAX)?;
        Some((serde_json::from_slice(&text).ok()?, is_served))
    }

    /// Publishes a command's clock, unless a server has published its own.
    pub(crate) fn leave(&self, clock: &Clock) -> io::Result<()> {
        // A shared lock, so that other commands do not mistake this command for a server.
        let lock = self.open_lock()?;
        match lock.try_lock_shared() {
            Ok(()) => HeldNotice { _lock: lock, note: self.note.clone() }.write(clock),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Publishes a server's clock and holds the lock until the result is dropped. `None` if another
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

/// The lock on a clock file. It is released when the file is closed.
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
    /// The clock was at `from` (seconds) when the machine's clock was at `since_ms`.
    Running {
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
        }
    }

    /// Restores the clock, advanced by the time since it was published.
    pub(crate) fn clock(self) -> Clock {
        match self {
            NotedClock::Machine => Clock::Machine,
            NotedClock::Standing { at } => Clock::Fixed(Timestamp(at)),
            NotedClock::Running { from, since_ms, thousandths } => {
                let passed = u64::try_from(machine_ms().saturating_sub(since_ms)).unwrap_or(0);
                let passed = passed.saturating_mul(thousandths) / 1_000_000;
                let from = from.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
                Clock::Running { from: Timestamp(from), since: Instant::now(), thousandths }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_clock_outlives_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = NoticePath::new(folder.path(), Some("postgres://me@host:1/x"));
        assert_eq!(path.read(), None);
        let standing = |at| NotedClock::Standing { at };
        let held = path.hold(&Clock::Fixed(Timestamp(7))).unwrap().unwrap();
        assert_eq!(path.read(), Some((standing(7), IsServed::Yes)));
        held.write(&Clock::Fixed(Timestamp(8))).unwrap();
        assert_eq!(path.read(), Some((standing(8), IsServed::Yes)));
        assert!(path.hold(&Clock::Machine).unwrap().is_none(), "one server has noted its clock");
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
    fn a_command_does_not_count_as_a_running_server() {
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
    fn a_published_running_clock_keeps_running() {
        // Published a minute ago, at sixty times the machine's speed.
        let noted = NotedClock::Running { from: 1_000, since_ms: machine_ms() - 60_000, thousandths: 60_000 };
        let now = noted.clock().now().0;
        assert!((4_600..5_200).contains(&now), "{now}");
        assert_eq!(NotedClock::of(&Clock::Fixed(Timestamp(7))).clock().now(), Timestamp(7));
    }
}
