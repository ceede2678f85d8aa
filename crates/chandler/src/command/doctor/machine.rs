//! Checks disk space and file descriptors.

use std::path::Path;

use super::check::{AS_SERVICE, Check};
use crate::context::CommandContext;
use crate::output;

/// Minimum free disk space in bytes. Below it imports fail, and soon log writes as well.
const FREE_MIN: u64 = 100_000_000;
/// File descriptors that are not connections: databases, listeners, the log.
const DESCRIPTORS_OWN: u64 = 64;

/// Checks the disk of the store, or of its future directory.
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
    let files = ["candles.db", "accounts.db"].map(|name| store.join(name));
    let files = files.iter().map(|path| path.as_path()).filter(|path| path.exists());
    space.closed = [there].into_iter().chain(files).any(|path| !may_write(path));
    Some(judge(store, size, space))
}

/// Checks the disk of a node's cache, which holds the local candle copy and uploaded files waiting
/// to be imported.
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
    /// Whether this user lacks write permission.
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

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn the_disk_needs_as_much_free_space_as_the_store() {
        let verdict = |free, read_only| {
            judge(Path::new("x"), 5_000_000_000, Space { free, read_only, closed: false }).verdict
        };
        assert_eq!(verdict(5_000_000_000, false), Verdict::Ok);
        assert_eq!(verdict(4_999_999_999, false), Verdict::Warn);
        assert_eq!(verdict(FREE_MIN - 1, false), Verdict::Fail);
        assert_eq!(verdict(5_000_000_000, true), Verdict::Fail);
    }

    #[test]
    fn a_missing_write_permission_is_not_a_full_disk() {
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
}
