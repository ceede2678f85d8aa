use std::io;

use store::StoreError;

/// Maximum number of concurrent uploads; each has a buffer in memory.
pub(super) const ARRIVING_MAX: usize = 4;

/// Reason why a file is refused or not imported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IntakeError {
    #[error(
        "name the file in the address, as ?name=AAPL.csv: a plain name of at most 200 bytes, without control characters"
    )]
    Name,
    #[error("the file is empty")]
    Empty,
    #[error(
        "the file is larger than {} MiB, which is the most that this server takes (upload_mb): import it with `chandler import` on the \
         machine of the store", limit >> 20
    )]
    TooLarge { limit: u64 },
    #[error("{ARRIVING_MAX} files are arriving already: send this one when they have arrived")]
    TooManyAtOnce,
    #[error("another file is being looked at: try again when that has ended")]
    Looking,
    #[error("too many files wait to be imported: import or remove some of them first")]
    TooMany,
    #[error("the disk of the store is full")]
    DiskFull,
    #[error("there is no such upload: files are kept for a day")]
    Unknown,
    #[error("{file} is being imported: wait until it has ended, or stop it")]
    Running { file: String },
    #[error("another import into this store is running: wait until it has ended")]
    StoreBusy,
    #[error("the server is about to stop")]
    Stopping,
    #[error("cannot use the folder of uploads: {0}")]
    Io(#[source] io::Error),
    #[error(transparent)]
    Store(StoreError),
    #[error("it ended unexpectedly")]
    Unexpected,
}

impl IntakeError {
    pub(super) fn from_io(error: io::Error) -> IntakeError {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => IntakeError::DiskFull,
            _ => IntakeError::Io(error),
        }
    }

    pub(super) fn of_store(error: StoreError) -> IntakeError {
        match error {
            StoreError::Busy { .. } => IntakeError::StoreBusy,
            error => IntakeError::Store(error),
        }
    }
}
