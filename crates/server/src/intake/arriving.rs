//! A file being uploaded. It is removed if the upload ends before [`Arriving::keep`]: by a refusal,
//! a lost connection, or a client that is too slow.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;

use super::error::IntakeError;
use super::folder::{Upload, UploadId};

#[derive(Debug)]
pub(crate) struct Arriving {
    id: UploadId,
    name: String,
    /// Its temporary folder, then its final one.
    folder: PathBuf,
    kept_in: PathBuf,
    file: Arc<File>,
    limit: u64,
    bytes: u64,
    is_kept: AtomicBool,
    _place: ArrivingPlace,
}

/// One of the few slots for concurrent uploads.
#[derive(Debug)]
pub(super) struct ArrivingPlace(Arc<AtomicUsize>);

impl ArrivingPlace {
    pub(super) fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<ArrivingPlace> {
        // Created first, so that dropping it undoes the increment if no slot was free.
        let place = ArrivingPlace(taken.clone());
        (taken.fetch_add(1, Ordering::AcqRel) < most).then_some(place)
    }
}

impl Drop for ArrivingPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Arriving {
    pub(super) fn open(
        (id, folder, kept_in): (UploadId, PathBuf, PathBuf),
        name: &str,
        limit: u64,
        place: ArrivingPlace,
    ) -> io::Result<Arriving> {
        let file = Arc::new(File::create_new(folder.join(name))?);
        let (name, is_kept) = (name.to_owned(), AtomicBool::new(false));
        Ok(Arriving { id, name, folder, kept_in, file, limit, bytes: 0, is_kept, _place: place })
    }

    /// Counts received bytes before they are buffered.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), IntakeError> {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.bytes > self.limit { Err(IntakeError::TooLarge { limit: self.limit }) } else { Ok(()) }
    }

    /// Writes a piece on a blocking thread.
    pub(crate) async fn write(&mut self, piece: Bytes) -> Result<(), IntakeError> {
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || (&*file).write_all(&piece)).await;
        written.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).map_err(IntakeError::from_io)
    }

    /// Completes the upload by moving it to its final folder.
    pub(crate) fn keep(&self) -> Result<Upload, IntakeError> {
        if self.bytes == 0 {
            return Err(IntakeError::Empty);
        }
        fs::rename(&self.folder, &self.kept_in).map_err(IntakeError::from_io)?;
        self.is_kept.store(true, Ordering::Release);
        let path = self.kept_in.join(&self.name);
        Ok(Upload { id: self.id.clone(), name: self.name.clone(), path, bytes: self.bytes })
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if !self.is_kept.load(Ordering::Acquire)
            && let Err(error) = fs::remove_dir_all(&self.folder)
        {
            // The expiry job tries again.
            tracing::warn!(%error, "cannot remove a file that did not arrive");
        }
    }
}
