//! Runs long backup operations with a progress bar on a terminal and stops them on Ctrl-C.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use market::Venues;
use store::{Access, BackupError, Part, Progress, Stage, Store, StoreError, Watch};

use crate::failure::Failure;
use crate::output;
use crate::progress::{Bar, Flags};

/// Stop flag and progress settings of one command. A Ctrl-C between two operations stops the next
/// operation; a second Ctrl-C ends the process immediately.
#[derive(Debug)]
pub(crate) struct Interruptible {
    flags: Flags,
    stop: Arc<AtomicBool>,
}

/// Messages for a check that fails or is stopped.
pub(crate) struct Words<'a> {
    pub(crate) damaged: &'a str,
    pub(crate) stopped: &'a str,
}

/// What a check has verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckDepth {
    AtBlocks,
    /// The candles have an older schema, so only SQLite's own check has run. A restore migrates the
    /// candles and then verifies the blocks.
    AtPages,
}

/// Message for a stopped operation that changed nothing.
pub(crate) const UNCHANGED: &str = "stopped: nothing was changed";

impl Interruptible {
    pub(crate) fn begin(flags: Flags) -> Result<Interruptible, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))?;
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Interruptible { flags, stop })
    }

    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Runs an operation with a progress bar. A stopped operation has changed nothing and returns
    /// [`UNCHANGED`] as the error.
    pub(crate) fn run<T>(
        &self,
        work: impl FnOnce(&mut Watch<'_>) -> Result<T, BackupError>,
    ) -> Result<T, Failure> {
        let mut shown: Option<((Stage, Part), Bar)> = None;
        let mut watch = |progress: Progress| {
            let of = (progress.stage, progress.part);
            if shown.as_ref().is_none_or(|(known, _)| *known != of) {
                // The old bar is removed first, or both bars would be drawn on the same line.
                shown = None;
                let bar = self.flags.bytes(progress.bytes_total);
                bar.say(|| format!("{} {}", word(progress.stage), progress.part.file_name()));
                shown = Some((of, bar));
            }
            if let Some((_, bar)) = &shown {
                bar.set(progress.bytes);
            }
            self.go_on()
        };
        if self.go_on().is_break() {
            return Err(Failure::Interrupted(UNCHANGED.to_owned()));
        }
        work(&mut watch).map_err(|error| match error {
            BackupError::Stopped => Failure::Interrupted(UNCHANGED.to_owned()),
            error => error.into(),
        })
    }

    /// Verifies every page, block and reference in a folder's databases.
    pub(crate) fn check(
        &self,
        dir: &Path,
        venues: &Venues,
        words: &Words<'_>,
    ) -> Result<CheckDepth, Failure> {
        let stopped = || Failure::Interrupted(words.stopped.to_owned());
        if self.go_on().is_break() {
            return Err(stopped());
        }
        store::check_pages(dir, Part::Accounts)?;
        if !dir.join(Part::Candles.file_name()).exists() {
            return Ok(CheckDepth::AtBlocks);
        }
        let store = match Store::open(dir, Access::Read) {
            Err(StoreError::Outdated { .. }) => {
                store::check_pages(dir, Part::Candles)?;
                return Ok(CheckDepth::AtPages);
            }
            opened => opened?,
        };
        // The block count is used only for the progress bar. The check itself reports series that
        // cannot be listed.
        let blocks =
            store.reader()?.snapshot()?.all_series().unwrap_or_default().iter().map(|info| info.blocks).sum();
        let bar = self.flags.count(blocks, "blocks");
        bar.say(|| "checking".to_owned());
        let report = history::check_until(&store, venues, |report| {
            bar.set(report.blocks);
            self.go_on()
        })?;
        drop(bar);
        let report = report.ok_or_else(stopped)?;
        if report.damage.is_empty() {
            return Ok(CheckDepth::AtBlocks);
        }
        for damage in &report.damage {
            output::note(output::printable(&damage.problem));
        }
        output::note(format_args!("chandler: {}", words.damaged));
        Err(Failure::Reported)
    }
}

fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Copy => "copying",
        Stage::Verify => "reading",
        Stage::Replace => "replacing",
    }
}

#[cfg(test)]
mod tests {
    use market::Timestamp;
    use store::{Backup, Existing, KeyFile, Restore, Scope};

    use super::*;

    const NOW: Timestamp = Timestamp(1_763_200_000);
    const WORDS: Words<'_> = Words { damaged: "it is damaged", stopped: "stopped in a check" };

    fn watched() -> Interruptible {
        Interruptible { flags: Flags { quiet: true }, stop: Arc::default() }
    }

    fn said<T>(done: Result<T, Failure>) -> String {
        match done {
            Err(Failure::Interrupted(said)) => said,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("it went on"),
        }
    }

    #[test]
    fn a_stop_applies_to_later_operations() {
        let dir = tempfile::tempdir().unwrap();
        let (live, saved) = (dir.path().join("store"), dir.path().join("saved"));
        Store::open(&live, Access::Write { now: NOW }).unwrap();
        let backup = Backup { store: &live, to: &saved, key: KeyFile::Include, chandler: "1", now: NOW };
        watched().run(|watch| backup.make(watch)).unwrap();
        let restore = Restore {
            from: &saved,
            store: &live,
            scope: Scope::All,
            key: None,
            existing: Existing::Replace,
            chandler: "1",
            now: NOW,
            actor: "operator",
        };
        let version = || Store::open(&live, Access::Read).unwrap().reader().unwrap().version().unwrap();
        let before = version();

        // Stop after the check and before the commit of the restore, where the check can no longer
        // detect the stop.
        let watched = watched();
        let prepared = watched.run(|watch| restore.prepare(watch)).unwrap();
        assert_eq!(
            watched.check(prepared.dir(), &Venues::built_in().unwrap(), &WORDS).unwrap(),
            CheckDepth::AtBlocks
        );
        watched.stop.store(true, Ordering::Relaxed);
        assert_eq!(said(watched.run(|watch| prepared.go_live(watch))), UNCHANGED);
        assert_eq!(version(), before);

        assert_eq!(said(watched.check(&saved, &Venues::built_in().unwrap(), &WORDS)), WORDS.stopped);
        assert_eq!(said(watched.run(|watch| store::verify(&saved, watch))), UNCHANGED);
        assert_eq!(said(watched.run(|watch| restore.run(watch))), UNCHANGED);
        assert_eq!(version(), before);
    }
}
