//! The schema, step by step. Each step is a file that is never edited again once released; the database remembers
//! the SHA-256 of those it has been through, and a database that has been through others is refused.

use market::Timestamp;
use sha2::{Digest, Sha256};

use crate::StoreError;
use crate::db::{Db, Sql};
use crate::sql;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    version: i64,
    name: &'static str,
    text: &'static str,
}

pub(crate) const ALL: &[Migration] =
    &[Migration { version: 1, name: "candles", text: include_str!("../migrations/sqlite/0001_candles.sql") }];

/// Marks the file as ours in its header (`CHND`), so that another program's database is never touched.
const APPLICATION_ID: i64 = 0x4348_4e44;

// These speak to SQLite alone: the catalogue and the header of the file.
const FILE_ID: Sql = Sql { what: "read the header of the database", text: "pragma application_id" };
const TABLES: Sql = Sql { what: "read the schema", text: "select count(*) from sqlite_schema" };
const APPLIED: Sql =
    Sql { what: "read the migrations", text: "select version, sha256 from migration order by version" };
const NOTE: Sql = Sql {
    what: "note a migration",
    text: "insert into migration (version, name, sha256, applied_at) values ($1, $2, $3, $4)",
};
const LEDGER: &str = "create table if not exists migration (
    version bigint not null primary key, name text not null, sha256 blob not null, applied_at bigint not null)";

pub(crate) fn known(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.version)
}

/// The version a database is at; 0 for one that has nothing in it.
pub(crate) fn schema(db: &Db, migrations: &[Migration]) -> Result<i64, StoreError> {
    let path = || db.path().to_owned();
    let file_id: i64 = db.one(FILE_ID, [], |row| Ok(row.get(0)?))?;
    if file_id != APPLICATION_ID {
        let tables: i64 = db.one(TABLES, [], |row| Ok(row.get(0)?))?;
        return if file_id == 0 && tables == 0 { Ok(0) } else { Err(StoreError::Foreign { path: path() }) };
    }
    let applied: Vec<(i64, Vec<u8>)> = db.all(APPLIED, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some(found) = applied.last().map(|(version, _)| *version) else { return Ok(0) };
    if found > known(migrations) {
        return Err(StoreError::Newer { path: path(), found, known: known(migrations) });
    }
    let expected = migrations.iter().filter(|migration| migration.version <= found);
    let mut applied = applied.into_iter();
    for migration in expected {
        match applied.next() {
            Some((version, hash)) if version == migration.version && hash == migration.hash() => {}
            _ => return Err(StoreError::Changed { path: path(), version: migration.version }),
        }
    }
    match applied.next() {
        Some((version, _)) => Err(StoreError::Changed { path: path(), version }),
        None => Ok(found),
    }
}

/// Brings a database to the newest version, all steps or none.
pub(crate) fn migrate(db: &Db, migrations: &[Migration], now: Timestamp) -> Result<(), StoreError> {
    db.run(sql::BEGIN_WRITE, [])?;
    let done = steps(db, migrations, now).and_then(|()| db.run(sql::COMMIT, []).map(drop));
    if done.is_err() {
        db.run(sql::ROLLBACK, []).ok();
    }
    done
}

fn steps(db: &Db, migrations: &[Migration], now: Timestamp) -> Result<(), StoreError> {
    // Read again inside the transaction: another process may have been quicker.
    let found = schema(db, migrations)?;
    db.script("mark the database", &format!("pragma application_id = {APPLICATION_ID}; {LEDGER}"))?;
    for migration in migrations.iter().filter(|migration| migration.version > found) {
        db.script("migrate the database", migration.text)?;
        db.run(NOTE, (migration.version, migration.name, migration.hash(), now.0))?;
    }
    Ok(())
}

impl Migration {
    /// Of the text with plain line ends, so that a checkout that rewrites them changes nothing.
    fn hash(&self) -> Vec<u8> {
        Sha256::digest(self.text.replace("\r\n", "\n")).to_vec()
    }
}
