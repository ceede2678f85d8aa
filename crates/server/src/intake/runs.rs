//! Imports run by this server, one at a time, and the results of recent imports.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use history::import::Progress;
use tokio::sync::watch;

use super::engine::Finished;
use super::folder::{Upload, UploadId};

/// Maximum number of imports whose results are stored.
const RUNS_MAX: usize = 64;

/// One import of one upload.
#[derive(Debug)]
pub(crate) struct ImportRun {
    pub(crate) upload: UploadId,
    pub(crate) file: String,
    pub(crate) bytes: u64,
    pub(crate) progress: Progress,
    /// Set to stop the import at its next flush.
    pub(super) stop: AtomicBool,
    finished: OnceLock<Finished>,
}

impl ImportRun {
    /// Returns the result, or `None` while the import is running.
    pub(crate) fn finished(&self) -> Option<&Finished> {
        self.finished.get()
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
}

#[derive(Debug)]
pub(super) struct Runs {
    /// Imports, oldest first. Only the last import can be running.
    all: Mutex<VecDeque<Arc<ImportRun>>>,
    is_busy: watch::Sender<bool>,
}

impl Default for Runs {
    fn default() -> Runs {
        Runs { all: Mutex::default(), is_busy: watch::Sender::new(false) }
    }
}

impl Runs {
    pub(super) fn running(&self) -> Option<Arc<ImportRun>> {
        self.lock().back().filter(|run| run.finished().is_none()).cloned()
    }

    pub(super) fn of(&self, id: &UploadId) -> Option<Arc<ImportRun>> {
        self.lock().iter().rev().find(|run| run.upload == *id).cloned()
    }

    /// Registers a new import, or returns the running import as the error.
    pub(super) fn begin(self: &Arc<Runs>, upload: &Upload) -> Result<Ending, Arc<ImportRun>> {
        let mut all = self.lock();
        if let Some(run) = all.back().filter(|run| run.finished().is_none()) {
            return Err(run.clone());
        }
        all.retain(|run| run.upload != upload.id);
        while all.len() >= RUNS_MAX {
            all.pop_front();
        }
        let run = Arc::new(ImportRun {
            upload: upload.id.clone(),
            file: upload.name.clone(),
            bytes: upload.bytes,
            progress: Progress::default(),
            stop: AtomicBool::new(false),
            finished: OnceLock::new(),
        });
        all.push_back(run.clone());
        self.is_busy.send_replace(true);
        Ok(Ending { run, runs: self.clone() })
    }

    /// Waits until no import is running.
    pub(super) async fn idle(&self) {
        let mut is_busy = self.is_busy.subscribe();
        // Cannot fail: `self` owns the sender.
        is_busy.wait_for(|is_busy| !is_busy).await.map(drop).ok();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<ImportRun>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard that marks the import as finished when dropped, even if its thread panics.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) run: Arc<ImportRun>,
    runs: Arc<Runs>,
}

impl Ending {
    pub(super) fn with(self, finished: Finished) {
        self.run.finished.set(finished).ok();
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.run.finished.get_or_init(Finished::unexpectedly);
        self.runs.is_busy.send_replace(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(id: &str) -> Upload {
        let id = UploadId::parse(id).unwrap();
        Upload { id, name: "AAPL.csv".to_owned(), path: "AAPL.csv".into(), bytes: 5 }
    }

    #[tokio::test]
    async fn only_one_import_runs_at_a_time() {
        let runs = Arc::new(Runs::default());
        let (first, second) = (upload("1-0000000000000001"), upload("1-0000000000000002"));
        let ending = runs.begin(&first).unwrap();
        assert_eq!(runs.begin(&second).unwrap_err().upload, first.id);
        assert_eq!(runs.running().unwrap().upload, first.id);
        // A panicking thread also drops the guard.
        drop(ending);
        runs.idle().await;
        assert!(runs.running().is_none());
        assert!(runs.of(&first.id).unwrap().finished().is_some());
        let ending = runs.begin(&first).unwrap();
        assert!(runs.of(&first.id).unwrap().finished().is_none(), "the same file may be imported again");
        drop(ending);
        drop(runs.begin(&second).unwrap());
        assert!(runs.of(&second.id).is_some());
    }
}
