//! Files uploaded for import. They are stored in a directory next to the store (`folder.rs`), can
//! be checked with a dry run, and are imported one at a time (`runs.rs`). Only `engine.rs` calls
//! the importer. This module does not depend on a transport.

mod engine;
mod folder;
mod runs;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use history::import::{Options, Report, Undo, UndoError};
use market::{Timestamp, Venues};
use store::{ImportId, Store};

pub(crate) use engine::FinishedAs;
use engine::{Clock, Ground};
use folder::{ARRIVING_MAX, ArrivingPlace, Folder};
pub(crate) use folder::{Arriving, IntakeError, Upload, UploadId};
pub(crate) use runs::ImportRun;
use runs::Runs;

/// Default maximum file size in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 2 << 30;
/// Maximum number of files waiting for import.
const FILES_MAX: usize = 32;
/// Maximum total size of the files waiting for import, as a multiple of the maximum file size.
const LARGEST_MAX: u64 = 4;
/// Minimum remaining lifetime, in seconds, of an upload that is returned for the same file.
const MERGED_LIFE_S: i64 = 43_200;

pub(crate) struct Intake {
    folder: Folder,
    /// Maximum file size in bytes.
    pub(crate) limit: u64,
    ground: Ground,
    arriving: Arc<AtomicUsize>,
    runs: Arc<Runs>,
    looking: Mutex<()>,
    is_stopping: AtomicBool,
}

impl fmt::Debug for Intake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intake").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Intake {
    pub(crate) fn new(store: Store, venues: Venues, clock: Clock) -> Intake {
        Intake {
            // If the store has no directory, `in_folder` sets one.
            folder: Folder::beside(store.dir().unwrap_or(&std::env::temp_dir())),
            limit: limit(FILE_BYTES_MAX),
            ground: Ground { store, venues, clock },
            arriving: Arc::default(),
            runs: Arc::default(),
            looking: Mutex::default(),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// Replaces the parent directory of uploads.
    pub(crate) fn in_folder(self, folder: &Path) -> Intake {
        Intake { folder: Folder::beside(folder), ..self }
    }

    /// Starts an upload. `declared` is the announced size in bytes, if any.
    pub(crate) fn receive(&self, name: Option<&str>, declared: Option<u64>) -> Result<Arriving, IntakeError> {
        let name = name.and_then(folder::file_name).ok_or(IntakeError::Name)?;
        if declared.is_some_and(|bytes| bytes > self.limit) {
            return Err(IntakeError::TooLarge { limit: self.limit });
        }
        let place = ArrivingPlace::take(&self.arriving, ARRIVING_MAX).ok_or(IntakeError::TooManyAtOnce)?;
        let now = self.now();
        let waiting = self.list()?;
        let bytes: u64 = waiting.iter().map(|upload| upload.bytes).sum();
        let most = self.limit.saturating_mul(LARGEST_MAX);
        if waiting.len() >= FILES_MAX || bytes.saturating_add(declared.unwrap_or_default()) > most {
            return Err(IntakeError::TooMany);
        }
        let placed = self.folder.place(now).map_err(IntakeError::from_io)?;
        Arriving::open(placed, name, self.limit, place).map_err(IntakeError::from_io)
    }

    /// Returns complete uploads, oldest first.
    pub(crate) fn list(&self) -> Result<Vec<Upload>, IntakeError> {
        self.folder.list(self.now()).map_err(IntakeError::from_io)
    }

    pub(crate) fn find(&self, id: &str) -> Result<Upload, IntakeError> {
        let id = UploadId::parse(id).ok_or(IntakeError::Unknown)?;
        self.folder.find(&id, self.now()).map_err(IntakeError::from_io)?.ok_or(IntakeError::Unknown)
    }

    /// Returns the earlier upload of the same file, if there is one, and removes this one. Files are
    /// the same if their names and contents are. An upload that expires soon is not returned.
    pub(crate) fn merged(&self, upload: Upload) -> Result<Upload, IntakeError> {
        let soon = Timestamp(self.now().0.saturating_add(MERGED_LIFE_S));
        for earlier in self.list()?.into_iter().filter(|earlier| earlier.id.expires_at() > soon) {
            let may_be =
                earlier.id != upload.id && earlier.name == upload.name && earlier.bytes == upload.bytes;
            if may_be && folder::are_equal(&earlier.path, &upload.path).map_err(IntakeError::from_io)? {
                self.folder.remove(&upload.id).map_err(IntakeError::from_io)?;
                return Ok(earlier);
            }
        }
        Ok(upload)
    }

    pub(crate) fn remove(&self, upload: &Upload) -> Result<(), IntakeError> {
        if let Some(run) = self.runs.running().filter(|run| run.upload == upload.id) {
            return Err(IntakeError::Running { file: run.file.clone() });
        }
        self.folder.remove(&upload.id).map_err(IntakeError::from_io)
    }

    /// Removes uploads older than a day. Returns the number of uploads removed.
    pub(crate) fn expire(&self) -> io::Result<usize> {
        let running = self.runs.running();
        self.folder.expire(self.now(), running.as_deref().map(|run| &run.upload))
    }

    /// Performs a dry run and returns one report per file in an archive. A check reads the whole
    /// file, so only one check runs at a time; a concurrent check is refused.
    pub(crate) fn check(&self, upload: &Upload, options: &Options) -> Result<Vec<Report>, IntakeError> {
        let _looking = match self.looking.try_lock() {
            Ok(looking) => looking,
            // A panicked check leaves no inconsistent state.
            Err(TryLockError::Poisoned(looking)) => looking.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(IntakeError::Looking),
        };
        self.ground.check(&upload.path, options, &self.is_stopping)
    }

    /// Starts an import in the background. Must be called within a Tokio runtime.
    pub(crate) fn start(&self, upload: &Upload, options: Options) -> Result<Arc<ImportRun>, IntakeError> {
        if self.is_stopping.load(Ordering::Acquire) {
            return Err(IntakeError::Stopping);
        }
        let running = |run: Arc<ImportRun>| IntakeError::Running { file: run.file.clone() };
        if let Some(run) = self.runs.running() {
            return Err(running(run));
        }
        // Returns an error if another process is importing. The import itself acquires the lock
        // again.
        self.ground.store.writer().map(drop).map_err(IntakeError::of_store)?;
        let ending = self.runs.begin(upload).map_err(running)?;
        let (run, ground, path) = (ending.run.clone(), self.ground.clone(), upload.path.clone());
        tokio::task::spawn_blocking(move || {
            let finished = ground.import(&path, &options, &ending.run.stop, &ending.run.progress);
            ending.with(finished);
        });
        Ok(run)
    }

    /// Returns the expected result of undoing an import. Writes nothing.
    pub(crate) fn plan_undo(&self, id: ImportId) -> Result<Undo, UndoError> {
        self.ground.plan_undo(id)
    }

    /// Undoes an import. Returns an error if the result would no longer match the plan, or while an
    /// import holds the store's write lock.
    pub(crate) fn undo(&self, planned: &Undo) -> Result<(), UndoError> {
        self.ground.undo(planned)
    }

    /// Returns this server's last import of a file, or `None` if this server has not imported the
    /// file.
    pub(crate) fn run_of(&self, upload: &Upload) -> Option<Arc<ImportRun>> {
        self.runs.of(&upload.id)
    }

    /// Returns the market rules that imports use.
    pub(crate) fn venues(&self) -> &Venues {
        &self.ground.venues
    }

    /// Stops a running import at its next flush, and refuses new imports.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        if let Some(run) = self.runs.running() {
            run.stop();
        }
    }

    /// Waits until no import is running.
    pub(crate) async fn idle(&self) {
        self.runs.idle().await;
    }

    fn now(&self) -> Timestamp {
        (self.ground.clock)()
    }
}

/// Converts a configured limit to a file size.
pub(crate) fn limit(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
