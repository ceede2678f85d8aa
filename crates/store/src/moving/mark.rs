//! The mark of a target that is not complete: a row in its ledger of migrations, behind every version that there will be. This program
//! says what it means; earlier ones take the database for a newer one, and refuse it too.

use market::Timestamp;

use crate::StoreError;
use crate::engine::{Db, Sql, migrate};

/// The version of the row.
pub(crate) use migrate::MOVING as VERSION;

const MARKED: Sql = Sql::new("look for a move", "select name, digest from migration where version = $1");
const UNMARK: Sql = Sql::new("mark the end of a move", "delete from migration where version = $1");

/// What a target has the beginning of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Where the source was, for people.
    pub(super) of: String,
    /// Which source it was, and at which version.
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
