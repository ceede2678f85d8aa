//! Process statistics from Linux's `/proc`. On other systems these metrics are missing.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory, file descriptors and CPU time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Process {
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) virtual_bytes: Option<u64>,
    pub(crate) open_files: Option<u64>,
    pub(crate) files_max: Option<u64>,
    pub(crate) threads: Option<u64>,
    /// User and system time in hundredths of a second, the unit of `/proc` on every Linux.
    pub(crate) cpu_ticks: Option<u64>,
}

/// Size and free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) bytes: u64,
    /// Space that this process may still use, in bytes.
    pub(crate) free_bytes: u64,
}

/// Number of dropped log lines. The counter is global, because the process has a single log.
static LOG_LINES_LOST: AtomicU64 = AtomicU64::new(0);

/// Adds to the number of dropped log lines in the metrics.
pub fn count_lost_log_lines(lines: u64) {
    LOG_LINES_LOST.fetch_add(lines, Ordering::Relaxed);
}

pub(crate) fn lost_log_lines() -> u64 {
    LOG_LINES_LOST.load(Ordering::Relaxed)
}

/// Maximum number of file descriptors counted.
const FILES_COUNTED_MAX: usize = 1_000_000;

pub(crate) fn process() -> Process {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).ok();
    let status = read("status").unwrap_or_default();
    let kilobytes = |name: &str| field(&status, name).and_then(|number| number.checked_mul(1024));
    let files = std::fs::read_dir("/proc/self/fd").ok();
    let open = files.map(|files| files.take(FILES_COUNTED_MAX).count());
    Process {
        resident_bytes: kilobytes("VmRSS:"),
        virtual_bytes: kilobytes("VmSize:"),
        // Reading the directory itself opens one descriptor, which is subtracted.
        open_files: open.and_then(|open| u64::try_from(open.saturating_sub(1)).ok()),
        files_max: read("limits").as_deref().and_then(|limits| field(limits, "Max open files")),
        threads: field(&status, "Threads:"),
        cpu_ticks: read("stat").as_deref().and_then(ticks),
    }
}

/// Returns the number on the line that begins with `name`, or `None` if there is no such line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the sum of user and system ticks in `/proc/self/stat`. The program name may contain
/// spaces and parentheses, so parsing starts after the last closing parenthesis.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    user.checked_add(system)
}

#[cfg(unix)]
pub(crate) fn disk(path: &Path) -> Option<Disk> {
    let stat = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.checked_mul(stat.f_frsize);
    Some(Disk { bytes: bytes(stat.f_blocks)?, free_bytes: bytes(stat.f_bavail)? })
}

#[cfg(not(unix))]
pub(crate) fn disk(_: &Path) -> Option<Disk> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_from_proc_files() {
        let text = "Name:\tVmRSS: 7\nVmSize:\t  2048 kB\nVmRSS:\t1024 kB\nMax open files            1024                 4096\n";
        assert_eq!(field(text, "VmRSS:"), Some(1024));
        assert_eq!(field(text, "Max open files"), Some(1024));
        assert_eq!(field(text, "Threads:"), None);
        assert_eq!(field("Max open files unlimited", "Max open files"), None);
    }

    #[test]
    fn a_program_name_may_contain_spaces_and_parentheses() {
        let stat = "7 (a b) c) R 1 2 3 4 5 6 7 8 9 10 31 11 13 14 15";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(ticks("7 (x) R 1 2"), None);
        assert_eq!(ticks(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn process_and_disk_statistics_are_read() {
        let process = process();
        assert!(process.resident_bytes.unwrap() > 1 << 20, "{process:?}");
        assert!(process.open_files.unwrap() >= 3 && process.threads.unwrap() >= 1, "{process:?}");
        assert!(process.cpu_ticks.is_some(), "{process:?}");
        let disk = disk(Path::new(".")).unwrap();
        assert!(disk.free_bytes <= disk.bytes && disk.bytes > 0, "{disk:?}");
    }
}
