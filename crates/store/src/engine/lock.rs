//! Exclusive locks of a store, independent of the engine: one writer of candles, one server for
//! background jobs.

use std::path::Path;
use std::sync::Arc;

use super::lease::Lease;
use super::postgres::Server;
use super::{Db, Place, sqlite};
use crate::StoreError;

/// The write lock of a store, held across processes. It is released with the process, however that
/// ends: a file lock immediately, a lease when it expires. So a dead writer needs no cleanup.
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

    /// Must be the first call in a write transaction.
    pub(crate) fn fence(&self, db: &Db) -> Result<(), StoreError> {
        match self {
            WriterLock::File(_) => Ok(()),
            WriterLock::Lease(lease) => lease.fence(db),
        }
    }

    /// Must be the last call in it.
    pub(crate) fn extend(&self, db: &Db) -> Result<(), StoreError> {
        match self {
            WriterLock::File(_) => Ok(()),
            WriterLock::Lease(lease) => lease.extend(db),
        }
    }
}

/// Held by a server while it has a store open, so that no restore replaces the files. On PostgreSQL
/// there is nothing to hold: a server is registered as a node.
#[derive(Debug)]
pub struct ServerLock(#[expect(dead_code, reason = "it is held")] Option<sqlite::ServerLock>);

impl ServerLock {
    pub(crate) fn of_directory(dir: Option<&Path>) -> Result<ServerLock, StoreError> {
        dir.map(sqlite::ServerLock::join).transpose().map(ServerLock)
    }
}

/// The lock for background jobs that change a store, such as removing expired rows: one of several
/// servers of a store holds it.
#[derive(Debug)]
pub struct JobLock(Held);

#[derive(Debug)]
enum Held {
    File(#[expect(dead_code, reason = "it is held")] sqlite::JobFile),
    Lease(Lease),
}

impl JobLock {
    /// `None` if another process holds it.
    pub(crate) fn of_directory(dir: &Path) -> Result<Option<JobLock>, StoreError> {
        Ok(sqlite::JobFile::try_take(dir)?.map(|file| JobLock(Held::File(file))))
    }

    pub(crate) fn of_server(server: &Arc<Server>) -> Result<Option<JobLock>, StoreError> {
        Ok(Lease::try_take(server, "jobs")?.ok().map(|lease| JobLock(Held::Lease(lease))))
    }

    /// Whether this process still holds it. If not, drop it; it may be taken again.
    pub fn is_held(&self) -> bool {
        match &self.0 {
            Held::File(_) => true,
            Held::Lease(lease) => lease.is_held(),
        }
    }
}
