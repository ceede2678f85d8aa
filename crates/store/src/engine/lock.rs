//! Who alone may do something with a store, whatever it is on: one writer of candles, one server that does the background work.

use std::path::Path;
use std::sync::Arc;

use super::lease::Lease;
use super::postgres::Server;
use super::{Db, Place, sqlite};
use crate::StoreError;

/// The right to write to a store, held across processes. It is given up with the process, however that ends: a file at once, a lease when it
/// is over. So a dead writer never has to be cleaned up after.
#[derive(Debug)]
pub(crate) enum WriterLock {
    File(#[expect(dead_code, reason = "it is held")] sqlite::Lock),
    Lease(Lease),
}

impl WriterLock {
    pub(crate) fn of_directory(dir: &Path) -> Result<WriterLock, StoreError> {
        sqlite::Lock::take(dir).map(WriterLock::File)
    }

    pub(crate) fn of_server(server: &Arc<Server>) -> Result<WriterLock, StoreError> {
        match Lease::try_take(server, "writer")? {
            Ok(lease) => Ok(WriterLock::Lease(lease)),
            Err(other) => Err(StoreError::Busy { place: Place::from(server.address()), pid: other.process }),
        }
    }

    /// First in a transaction that writes.
    pub(crate) fn fence(&self, db: &Db) -> Result<(), StoreError> {
        match self {
            WriterLock::File(_) => Ok(()),
            WriterLock::Lease(lease) => lease.fence(db),
        }
    }

    /// Last in it.
    pub(crate) fn extend(&self, db: &Db) -> Result<(), StoreError> {
        match self {
            WriterLock::File(_) => Ok(()),
            WriterLock::Lease(lease) => lease.extend(db),
        }
    }
}

/// The right to do the background work that changes a store, such as removing what has expired: of several servers of one store, one has it.
#[derive(Debug)]
pub struct JobLock(Held);

#[derive(Debug)]
enum Held {
    File(#[expect(dead_code, reason = "it is held")] sqlite::JobFile),
    Lease(Lease),
}

impl JobLock {
    /// Nothing if another has it.
    pub(crate) fn of_directory(dir: &Path) -> Result<Option<JobLock>, StoreError> {
        Ok(sqlite::JobFile::try_take(dir)?.map(|file| JobLock(Held::File(file))))
    }

    pub(crate) fn of_server(server: &Arc<Server>) -> Result<Option<JobLock>, StoreError> {
        Ok(Lease::try_take(server, "jobs")?.ok().map(|lease| JobLock(Held::Lease(lease))))
    }

    /// Whether it is still this process's. One that is not is to be dropped, and may be taken again.
    pub fn is_held(&self) -> bool {
        match &self.0 {
            Held::File(_) => true,
            Held::Lease(lease) => lease.is_held(),
        }
    }
}
