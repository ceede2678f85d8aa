//! Exclusive locks of a store for both engines: the candle writer, and the server that runs
//! background jobs.

use std::path::Path;
use std::sync::Arc;

use super::lease::Lease;
use super::postgres::Server;
use super::{Db, Place, sqlite};
use crate::StoreError;

/// The write lock of a store across processes. It is released when the process ends in any way: a
/// file lock immediately, a lease when it expires. A dead writer therefore needs no cleanup.
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

    /// Verifies that the lock is held. Must be the first call in a write transaction.
    pub(crate) fn fence(&self, db: &Db) -> Result<(), StoreError> {
        match self {
            WriterLock::File(_) => Ok(()),
            WriterLock::Lease(lease) => lease.fence(db),
        }
    }

    /// Renews the lock. Must be the last call in a write transaction.
    pub(crate) fn extend(&self, db: &Db) -> Result<(), StoreError> {
        match self {
            WriterLock::File(_) => Ok(()),
            WriterLock::Lease(lease) => lease.extend(db),
        }
    }
}

/// Held by a server while it has a store open, so that no restore replaces the files. Empty on
/// PostgreSQL, where a server is registered as a node.
#[derive(Debug)]
pub struct ServerLock(#[expect(dead_code, reason = "it is held")] Option<sqlite::ServerLock>);

impl ServerLock {
    pub(crate) fn of_directory(dir: Option<&Path>) -> Result<ServerLock, StoreError> {
        dir.map(sqlite::ServerLock::join).transpose().map(ServerLock)
    }
}

/// Lock for background jobs that change a store, such as removing expired rows. Only one of several
/// servers holds it.
#[derive(Debug)]
pub struct JobLock(Held);

#[derive(Debug)]
enum Held {
    File(#[expect(dead_code, reason = "it is held")] sqlite::JobFile),
    Lease(Lease),
}

impl JobLock {
    /// Takes the lock of a directory. Returns `None` if another process holds it.
    pub(crate) fn of_directory(dir: &Path) -> Result<Option<JobLock>, StoreError> {
        Ok(sqlite::JobFile::try_take(dir)?.map(|file| JobLock(Held::File(file))))
    }

    pub(crate) fn of_server(server: &Arc<Server>) -> Result<Option<JobLock>, StoreError> {
        Ok(Lease::try_take(server, "jobs")?.ok().map(|lease| JobLock(Held::Lease(lease))))
    }

    /// Returns whether this process still holds the lock. If not, drop it and try to take it again.
    pub fn is_held(&self) -> bool {
        match &self.0 {
            Held::File(_) => true,
            Held::Lease(lease) => lease.is_held(),
        }
    }
}
