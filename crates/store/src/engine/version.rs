//! The version of a database, read again only when something has been committed to it.

use super::home::Home;
use super::{Db, Role};
use crate::StoreError;
use crate::candles::sql;

/// The version that one connection has last seen.
#[derive(Debug, Default)]
pub(crate) struct SeenVersion(Option<(i64, i64)>);

impl SeenVersion {
    /// The newest version, which costs one statement that reads no page as long as nothing has changed.
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

/// A connection that only reads the version of a database, so that polling it does not block other readers.
#[derive(Debug)]
pub struct VersionReader {
    db: Db,
    seen: SeenVersion,
}

impl VersionReader {
    pub(crate) fn open(home: &Home) -> Result<VersionReader, StoreError> {
        Ok(VersionReader { db: home.open(Role::Reader)?, seen: SeenVersion::default() })
    }

    pub fn version(&mut self) -> Result<i64, StoreError> {
        self.seen.current(&self.db)
    }
}
