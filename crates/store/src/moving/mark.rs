//! Marks an incomplete target by a row in its migration ledger, with a version above all others.
//! This program reports the interrupted move; older programs see a newer schema and refuse the
//! database, too.

use market::Timestamp;

use crate::StoreError;
use crate::engine::{Db, Sql, migrate};

/// Version of the row.
pub(crate) use migrate::MOVING as VERSION;

const MARKED: Sql = Sql::new("look for a move", "select name, digest from migration where version = $1");
const UNMARK: Sql = Sql::new("mark the end of a move", "delete from migration where version = $1");

/// The source of an incomplete target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Location of the source, for messages.
    pub(super) of: String,
    /// Identity and version of the source.
    pub(super) identity: Vec<u8>,
}

pub(super) fn read(db: &Db) -> Result<Option<Mark>, StoreError> {
    db.first(MARKED, [VERSION], |row| Ok(Mark { of: row.get(0)?, identity: row.get(1)? }))
}

pub(super) fn write(db: &Db, mark: &Mark, now: Timestamp) -> Result<(), StoreError> {
    db.run(migrate::NOTE, (VERSION, &mark.of, &mark.identity, now.0, VERSION)).map(drop)
}

pub(super) fn remove(db: &Db) -> Result<(), StoreError> {
    db.run(UNMARK, [VERSION]).map(drop)
}
