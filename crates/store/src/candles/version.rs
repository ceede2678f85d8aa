//! The version of a database, which is read again only after a commit.

use std::sync::Arc;

use super::{LocalCopy, sql};
use crate::engine::home::Home;
use crate::engine::{Db, Role, StoreError};

/// The last version seen by a connection.
#[derive(Debug, Default)]
pub(crate) struct SeenVersion(Option<(i64, i64)>);

impl SeenVersion {
    /// Returns the newest version. If there was no commit since the last call, this takes one
    /// statement that reads no page.
    pub(crate) fn current(&mut self, db: &Db) -> Result<i64, StoreError> {
        let mark = db.change_mark()?;
        if let Some((_, version)) = self.0.filter(|(seen, _)| Some(*seen) == mark) {
            return Ok(version);
        }
        let version = db.one(sql::VERSION, [], |row| row.get(0))?;
        self.0 = mark.map(|mark| (mark, version));
        Ok(version)
    }
}

/// A connection that only reads the version of a database. A separate connection is used so that
/// polling does not block other readers.
#[derive(Debug)]
pub struct VersionReader(Source);

#[derive(Debug)]
enum Source {
    Database {
        db: Box<Db>,
        seen: SeenVersion,
    },
    /// A node's local copy, which has the version in memory.
    Copy(Arc<LocalCopy>),
}

impl VersionReader {
    pub(crate) fn open(home: &Home) -> Result<VersionReader, StoreError> {
        let (db, seen) = (Box::new(home.open(Role::Reader)?), SeenVersion::default());
        Ok(VersionReader(Source::Database { db, seen }))
    }

    pub(crate) fn of_copy(copy: Arc<LocalCopy>) -> VersionReader {
        VersionReader(Source::Copy(copy))
    }

    pub fn version(&mut self) -> Result<i64, StoreError> {
        match &mut self.0 {
            Source::Database { db, seen } => seen.current(db),
            Source::Copy(copy) => Ok(copy.version()),
        }
    }
}
