//! `--fake-time`: shows the world's time as the program's own clock, with the library libfaketime.
//!
//! The library reads a file at every call. The file is replaced atomically after each movement of
//! the clock.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use market::Timestamp;

use crate::failure::{Failure, usage};

/// Variable with the path of the library.
const VARIABLE: &str = "CHANDLER_FAKETIME_LIB";
/// Name of the library for multi-threaded programs.
const LIBRARY: &str = "libfaketime.so.1";
/// Directories of the library in common distributions. `*` matches one directory name.
const FOLDERS: [&str; 5] = [
    "/usr/lib/*/faketime",
    "/usr/lib/faketime",
    "/usr/lib64/faketime",
    "/usr/local/lib/faketime",
    "/usr/lib",
];

/// File with the time of one world, removed when this value is dropped.
#[derive(Debug)]
pub(super) struct FakeTime {
    path: PathBuf,
    written: Option<Timestamp>,
}

/// Finds the library, or returns an error that names its package.
pub(super) fn library() -> Result<PathBuf, Failure> {
    if let Some(path) = env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from) {
        return if path.is_file() {
            Ok(path)
        } else {
            Err(usage(format!("{VARIABLE}: there is no file {}", path.display())))
        };
    }
    let found = FOLDERS.iter().flat_map(|folder| folders(folder)).map(|folder| folder.join(LIBRARY));
    found.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        usage(format!(
            "--fake-time needs libfaketime: install the Debian package libfaketime, or set {VARIABLE} to the path of \
            {LIBRARY}"
        ))
    })
}

fn folders(pattern: &str) -> Vec<PathBuf> {
    let Some((above, below)) = pattern.split_once("/*/") else { return vec![PathBuf::from(pattern)] };
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join(below)).collect()
}

impl FakeTime {
    /// Creates the file for this process and world, with the initial time.
    pub(super) fn start(world: &str, now: Timestamp) -> Result<FakeTime, Failure> {
        let name = format!("chandler-time-{}-{world}", std::process::id());
        let mut fake = FakeTime { path: env::temp_dir().join(name), written: None };
        fake.show(now)?;
        Ok(fake)
    }

    /// Returns the environment variables for the program.
    pub(super) fn environment(&self, library: &Path) -> Vec<(String, String)> {
        let preload = match env::var("LD_PRELOAD") {
            Ok(others) if !others.is_empty() => format!("{}:{others}", library.display()),
            _ => library.display().to_string(),
        };
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![
            text("LD_PRELOAD", &preload),
            text("FAKETIME_TIMESTAMP_FILE", &self.path.display().to_string()),
            // Unix seconds, which do not depend on a time zone. The clock is stopped between
            // movements.
            text("FAKETIME_FMT", "%s"),
            text("FAKETIME_NO_CACHE", "1"),
            // With a faked monotonic clock, locks and sleeps would hang.
            text("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ]
    }

    /// Writes a time, unless it equals the last one.
    pub(super) fn show(&mut self, now: Timestamp) -> Result<(), Failure> {
        if self.written == Some(now) {
            return Ok(());
        }
        let next = self.path.with_extension("next");
        fs::write(&next, format!("{}\n", now.0))
            .and_then(|()| fs::rename(&next, &self.path))
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.written = Some(now);
        Ok(())
    }
}

impl Drop for FakeTime {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_time_in_unix_seconds_and_is_removed() {
        let mut fake = FakeTime::start("test-of-fake-time", Timestamp(1_000)).unwrap();
        let path = fake.path.clone();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1000\n");
        fake.show(Timestamp(2_000)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "2000\n");
        drop(fake);
        assert!(!path.exists());
    }

    #[test]
    fn an_asterisk_matches_one_directory() {
        assert_eq!(folders("/usr/lib64/faketime"), [PathBuf::from("/usr/lib64/faketime")]);
        assert!(folders("/usr/*/faketime").iter().any(|path| path == Path::new("/usr/lib/faketime")));
    }
}
