//! Checks of this machine: disk space, file descriptors, the statement font, the clock and the
//! trading calendars.

use std::path::Path;
use std::time::UNIX_EPOCH;

use jiff::civil::date;
use market::{CALENDAR_WARNING_DAYS, Market, Timestamp, Zone};
use server::{PdfError, statement_font};

use super::check::{AS_SERVICE, Check};
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::output;

/// Minimum free disk space in bytes. With less free space imports fail, and soon log writes as
/// well.
const FREE_MIN: u64 = 100_000_000;
/// Databases in the folder of a store.
const DATABASES: [&str; 3] = ["candles.db", "ingest.db", "accounts.db"];
/// File descriptors reserved for databases, listeners and the log.
const DESCRIPTORS_OWN: u64 = 64;

/// Checks the free disk space for the store. If the store does not exist yet, its nearest existing
/// parent folder is used. `None` for a store on PostgreSQL.
pub(super) fn disk(context: &CommandContext) -> Option<Check> {
    let store = context.directory()?;
    let there = store.ancestors().find(|path| path.is_dir())?;
    let size: u64 = std::fs::read_dir(store)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.metadata().ok())
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.len())
        .sum();
    let mut space = space(there)?;
    let files = DATABASES.map(|name| store.join(name));
    let files = files.iter().map(|path| path.as_path()).filter(|path| path.exists());
    space.closed = [there].into_iter().chain(files).any(|path| !may_write(path));
    Some(judge(store, size, space))
}

/// Checks the free disk space for a node's cache, which holds the local candle copy and uploaded
/// files that wait to be imported.
pub(super) fn cache(folder: &Path, size: u64) -> Option<Check> {
    let there = folder.ancestors().find(|path| path.is_dir())?;
    let mut space = space(there)?;
    space.closed = !may_write(there);
    Some(judge_cache(folder, size, space))
}

fn judge_cache(folder: &Path, size: u64, space: Space) -> Check {
    const NAME: &str = "disk";
    let shown = folder.display();
    let says = format!(
        "{} free on the disk of the cache {shown}, which may use {}",
        output::size(space.free),
        output::size(size)
    );
    match space {
        Space { read_only: true, .. } => {
            Check::fail(NAME, format!("the disk of {shown} is not writable"), "name another with --cache")
        }
        Space { closed: true, .. } => {
            Check::fail(NAME, format!("this user may not write to {shown}"), AS_SERVICE)
        }
        Space { free, .. } if free < FREE_MIN => {
            Check::fail(NAME, says, "free some space, or name another folder with --cache")
        }
        Space { free, .. } if free < size => {
            Check::warn(NAME, says, "free some space, or lower --cache-size")
        }
        _ => Check::ok(NAME, says),
    }
}

#[derive(Clone, Copy, Debug)]
struct Space {
    free: u64,
    read_only: bool,
    /// Whether the current user lacks write permission.
    closed: bool,
}

#[cfg(unix)]
fn space(path: &Path) -> Option<Space> {
    use rustix::fs::{StatVfsMountFlags, statvfs};
    let found = statvfs(path).ok()?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    Some(Space { free, read_only: found.f_flag.contains(StatVfsMountFlags::RDONLY), closed: false })
}

#[cfg(unix)]
fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(_: &Path) -> bool {
    true
}

#[cfg(not(unix))]
fn space(_: &Path) -> Option<Space> {
    None
}

fn judge(store: &Path, size: u64, space: Space) -> Check {
    const NAME: &str = "disk";
    let (free, held) = (output::size(space.free), output::size(size));
    let says = format!("{free} free on the disk of {}, the store uses {held}", store.display());
    if space.read_only {
        let advice = "make it writable: imports and servers write there";
        return Check::fail(NAME, format!("the disk of {} is not writable", store.display()), advice);
    }
    if space.closed {
        let says = format!("this user may not write to {} or its databases", store.display());
        return Check::fail(NAME, says, AS_SERVICE);
    }
    match space.free {
        free if free < FREE_MIN => {
            Check::fail(NAME, says, "free some space: a full disk stops imports and accounts")
        }
        // A large import rewrites most of the store before it frees the old blocks, and a backup
        // needs the same amount of space.
        free if free < size => {
            Check::warn(NAME, says, "free as much space as the store uses, for backups and large imports")
        }
        _ => Check::ok(NAME, says),
    }
}

/// Checks that the process may open enough files for the configured number of connections. `None`
/// if the limit is unknown.
pub(super) fn descriptors(connections_max: u32) -> Option<Check> {
    Some(judge_descriptors(limit()?, connections_max))
}

#[cfg(unix)]
fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
fn limit() -> Option<u64> {
    None
}

fn judge_descriptors(limit: u64, connections_max: u32) -> Check {
    const NAME: &str = "descriptors";
    let needed = u64::from(connections_max) + DESCRIPTORS_OWN;
    let says = format!("{limit} files may be open concurrently, connections_max is {connections_max}");
    if limit < needed {
        let advice = format!(
            "raise the limit to {needed} (`ulimit -n`, LimitNOFILE of a unit), or lower connections_max to {}",
            limit.saturating_sub(DESCRIPTORS_OWN)
        );
        return Check::warn(NAME, says, advice);
    }
    Check::ok(NAME, says)
}

/// Checks that a font with Chinese characters is installed. Without it, Chinese statements are
/// refused; English statements need no font.
pub(super) fn statements(named: Option<&Path>) -> Check {
    const NAME: &str = "statement font";
    match statement_font(named) {
        Ok(path) => Check::ok(NAME, format!("Chinese statements use {}", path.display())),
        Err(PdfError::NoFont) => Check::warn(
            NAME,
            "no font with Chinese characters was found: PDF statements are available only in English",
            "install fonts-noto-cjk or fonts-wqy-microhei, or name a font file in statement_font (docs/statements.md)",
        ),
        Err(error) => {
            let advice = match &error {
                PdfError::Read { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                    AS_SERVICE
                }
                _ => {
                    "set statement_font to a TrueType or OpenType file with Chinese characters, or leave it empty \
                    (docs/statements.md)"
                }
            };
            Check::fail(NAME, error.to_string(), advice)
        }
    }
}

/// Tolerance in seconds for files written by machines with a different clock.
const SLACK_S: i64 = 300;

/// Checks that the machine's clock is not behind the modification times of existing files.
pub(super) fn clock(context: &CommandContext) -> Check {
    let store = context.directory();
    let program = std::env::current_exe().ok();
    let files = DATABASES.map(|name| store.map(|store| store.join(name)));
    let files = files.iter().flatten().map(|path| path.as_path()).chain(program.as_deref());
    let written = files.filter_map(|path| Some((written_at(path)?, path.display().to_string())));
    judge_clock(Clock::Machine.now(), written.max())
}

fn judge_clock(now: Timestamp, newest: Option<(Timestamp, String)>) -> Check {
    const NAME: &str = "clock";
    const ADVICE: &str = "set the machine's clock: signatures, tokens and levels depend on it";
    // This program did not exist before that date, so an earlier time means that the clock was
    // never set.
    let floor = Zone::of(Market::Hk).midnight(date(2026, 11, 1));
    if now < floor {
        return Check::fail(
            NAME,
            format!("the machine's clock is at {now}, when this program did not exist"),
            ADVICE,
        );
    }
    match newest {
        Some((at, path)) if at.0.saturating_sub(now.0) > SLACK_S => Check::fail(
            NAME,
            format!("the machine's clock is at {now}, but {path} was written at {at}"),
            ADVICE,
        ),
        _ => Check::ok(NAME, format!("{now}, later than all file times")),
    }
}

fn written_at(path: &Path) -> Option<Timestamp> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok().map(Timestamp)
}

pub(super) fn calendars(context: &CommandContext) -> Vec<Check> {
    const NAME: &str = "calendar";
    const ADVICE: &str = "`chandler calendar --write DIR`, add the announced days, then --calendars DIR";
    let each = Market::ALL.into_iter().map(|market| {
        let venue = context.history.venues().of(market);
        let through = venue.calendar().valid_through();
        let left = venue.zone().date(context.now()).until(through).map_or(0, |span| span.get_days());
        let says = format!("{market} is known through {through}, {left} days from now");
        match left {
            left if left < 0 => Check::fail(
                NAME,
                format!("{market} was known through {through}: weekdays count as trading days since then"),
                ADVICE,
            ),
            left if left <= CALENDAR_WARNING_DAYS => Check::warn(NAME, says, ADVICE),
            _ => Check::ok(NAME, says),
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn less_free_space_than_the_store_uses_is_a_warning() {
        let verdict = |free, read_only| {
            judge(Path::new("x"), 5_000_000_000, Space { free, read_only, closed: false }).verdict
        };
        assert_eq!(verdict(5_000_000_000, false), Verdict::Ok);
        assert_eq!(verdict(4_999_999_999, false), Verdict::Warn);
        assert_eq!(verdict(FREE_MIN - 1, false), Verdict::Fail);
        assert_eq!(verdict(5_000_000_000, true), Verdict::Fail);
    }

    #[test]
    fn a_missing_write_permission_is_not_reported_as_a_full_disk() {
        let space = Space { free: u64::MAX, read_only: false, closed: true };
        let check = judge(Path::new("x"), 0, space);
        assert_eq!((check.verdict, check.advice.as_deref()), (Verdict::Fail, Some(AS_SERVICE)));
    }

    #[test]
    fn every_connection_needs_a_file_descriptor() {
        assert_eq!(judge_descriptors(1024, 900).verdict, Verdict::Ok);
        assert_eq!(judge_descriptors(1024, 961).verdict, Verdict::Warn);
        assert!(judge_descriptors(1024, 16_384).advice.unwrap().contains("lower connections_max to 960"));
    }

    #[test]
    fn a_clock_behind_the_newest_file_is_a_failure() {
        let now = Timestamp(1_794_708_000);
        let verdict =
            |at: Option<i64>| judge_clock(now, at.map(|at| (Timestamp(at), "x".to_owned()))).verdict;
        assert_eq!(verdict(None), Verdict::Ok);
        assert_eq!(verdict(Some(now.0 + SLACK_S)), Verdict::Ok);
        assert_eq!(verdict(Some(now.0 + SLACK_S + 1)), Verdict::Fail);
        assert_eq!(judge_clock(Timestamp(0), None).verdict, Verdict::Fail);
    }
}
