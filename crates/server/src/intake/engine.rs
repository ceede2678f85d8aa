//! Connects uploads to the importer in `history`: dry run, import, and undo.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use history::import::{
    Context, ImportError, Options, Outcome, Progress, Report, Undo, UndoError, import, plan_undo, preview,
    undo,
};
use market::{Timestamp, Venues};
use store::{ImportId, Store, StoreError};

use super::folder::IntakeError;

/// Number of sample rows returned by a dry run.
const ROWS_SHOWN: usize = 10;

pub(super) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// State that an import needs besides its file.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) store: Store,
    pub(super) venues: Venues,
    pub(super) clock: Clock,
}

/// Outcome of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishedAs {
    Done,
    /// The ledger already has this exact file, imported with the same options.
    Known,
    /// Stopped before the end. Importing the file again resumes after the last checkpoint.
    Stopped,
    Failed,
    /// Refused because the import would replace many stored candles with very different candles.
    /// The request must allow that explicitly.
    NotReplaced,
}

impl FinishedAs {
    fn of(outcome: &Outcome) -> FinishedAs {
        match outcome {
            Outcome::Imported | Outcome::Checked => FinishedAs::Done,
            Outcome::Known { .. } => FinishedAs::Known,
            Outcome::Interrupted => FinishedAs::Stopped,
            Outcome::Failed(_) => FinishedAs::Failed,
            Outcome::NotReplaced(_) => FinishedAs::NotReplaced,
        }
    }

    /// Returns the outcome's priority. The outcome with the highest priority in an archive is
    /// reported for the whole archive.
    fn weight(self) -> u8 {
        match self {
            FinishedAs::Known => 0,
            FinishedAs::Done => 1,
            FinishedAs::NotReplaced => 2,
            FinishedAs::Failed => 3,
            FinishedAs::Stopped => 4,
        }
    }
}

/// The result of an import.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) how: FinishedAs,
    /// Why the import could not start. If a single file failed, the report of that file has the
    /// reason.
    pub(crate) message: Option<&'static str>,
    /// One report, or one report per file in an archive.
    pub(crate) reports: Vec<Report>,
}

impl Finished {
    fn failed(message: &'static str) -> Finished {
        Finished { how: FinishedAs::Failed, message: Some(message), reports: Vec::new() }
    }

    /// Returns the result of an import whose thread ended without a result.
    pub(super) fn unexpectedly() -> Finished {
        Finished::failed("the import ended unexpectedly: see the server log")
    }
}

impl Ground {
    /// Performs a dry run: returns the expected result of an import and writes nothing.
    pub(super) fn check(
        &self,
        path: &Path,
        options: &Options,
        stop: &AtomicBool,
    ) -> Result<Vec<Report>, IntakeError> {
        let paths = [path.to_owned()];
        let reports = preview(Some(&self.store), &self.venues, options, ROWS_SHOWN, stop, &paths);
        reports.map_err(|error| match error {
            ImportError::Store(error) => IntakeError::of_store(error),
            error => {
                tracing::error!(%error, "cannot read an upload");
                IntakeError::Unexpected
            }
        })
    }

    /// Imports a file and blocks until the import has ended.
    pub(super) fn import(
        &self,
        path: &Path,
        options: &Options,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Finished {
        let now = || (self.clock)();
        let (store, venues) = (&self.store, &self.venues);
        let context = Context { store, venues, options, now: &now, stop, progress };
        let reports = match import(&context, &[path.to_owned()]) {
            Ok(reports) => reports,
            Err(error) => return store_failed(&error),
        };
        let how = reports.iter().map(|report| FinishedAs::of(&report.outcome));
        match how.max_by_key(|how| how.weight()) {
            Some(how) => Finished { how, message: None, reports },
            None => Finished::unexpectedly(),
        }
    }

    /// Returns the expected result of undoing an import. Writes nothing.
    pub(super) fn plan_undo(&self, id: ImportId) -> Result<Undo, UndoError> {
        let mut reader = self.store.reader()?;
        let view = reader.snapshot()?;
        plan_undo(&view, id)
    }

    /// Undoes an import. Returns an error if the result would no longer match the plan.
    pub(super) fn undo(&self, planned: &Undo) -> Result<(), UndoError> {
        undo(&self.store, &self.venues, planned)
    }
}

/// Converts a store error to a generic message. The details are only logged.
fn store_failed(error: &ImportError) -> Finished {
    match error {
        ImportError::Store(StoreError::Busy { .. }) => {
            Finished::failed("another import into this store is running: wait until it has ended")
        }
        ImportError::Store(StoreError::Full { .. }) => Finished::failed(
            "the disk of the store is full: free some space and import the file again; it resumes where it \
             stopped",
        ),
        error => {
            tracing::error!(%error, "cannot import an upload");
            Finished::failed("the store cannot be written: see the server log")
        }
    }
}
