//! Migration of a database to the newest schema, starting from its baseline. The database stores
//! the digests of the applied steps. A database with other digests, or older than the baseline, is
//! refused.
//!
//! Several servers on one PostgreSQL database are upgraded one after the other: the first upgraded
//! server migrates the database, while servers of the previous version continue to run. Each step
//! declares `oldest`, the oldest schema version for which a running program may have been built.
//! Steps only add to the schema. Obsolete parts are removed by a later step, once all running
//! programs include the step that made them obsolete.

use std::time::{Duration, Instant};

use market::Timestamp;

use super::migrations::{Migration, known};
use super::{Db, Owner, Sql};
use crate::engine::error::StoreError;

// Only one process at a time uses a SQLite file, so `oldest` is the version itself, and older
// programs are refused.
const APPLIED: Sql = Sql {
    postgres: Some("select version, name, digest, oldest from migration where version > 0 order by version"),
    ..Sql::new("read the migrations", "select version, name, digest, version from migration order by version")
};
pub(crate) const NOTE: Sql = Sql {
    postgres: Some(
        "insert into migration (version, name, digest, applied_at, oldest) values ($1, $2, $3, $4, $5)",
    ),
    ..Sql::new(
        "record a migration",
        "insert into migration (version, name, digest, applied_at) select $1, $2, $3, $4 where $5 is not null",
    )
};

/// Time for which a migration that fails on a lock is retried. PostgreSQL only.
const TRIED_FOR: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// Version of a ledger row that marks the target of a move. No migration uses it, so older programs
/// refuse the database as too new.
pub(crate) const MOVING: i64 = i64::MAX;
const ANY_STEP: Sql = Sql::new("find migrations", "select version from migration where version > 0 limit 1");
const MOVED_FROM: Sql = Sql::new("find an interrupted move", "select name from migration where version = $1");

/// Returns the schema version of a database, or 0 if the database is empty. For a newer database
/// that admits this program, returns the newest version that this program supports.
pub(crate) fn schema(db: &Db, migrations: &[Migration]) -> Result<i64, StoreError> {
    let place = || db.url().clone();
    match db.owner()? {
        Owner::Unclaimed => return Ok(0),
        Owner::AnotherProgram => return Err(StoreError::Foreign { place: place() }),
        Owner::Ours => {}
    }
    let mut applied = db.all(APPLIED, [], |row| {
        Ok(Applied { version: row.get(0)?, name: row.get(1)?, digest: row.get(2)?, oldest: row.get(3)? })
    })?;
    let (Some(first), Some(newest), Some(baseline)) =
        (applied.first(), applied.last().map(|step| step.version), migrations.first())
    else {
        return Ok(0);
    };
    if newest == MOVING {
        let from = db.first(MOVED_FROM, [MOVING], |row| row.get(0))?.unwrap_or_default();
        return Err(StoreError::HalfMoved { place: place(), from });
    }
    // The first step of each database has the name of the database, and so has the baseline that
    // replaced it.
    if first.name != baseline.name {
        return Err(StoreError::Changed { place: place(), version: first.version });
    }
    if newest < baseline.version {
        return Err(StoreError::TooOld { place: place(), found: newest, oldest: baseline.version });
    }
    let (known, dialect) = (known(migrations), db.dialect());
    if applied.iter().any(|step| step.version > known && step.oldest > known) {
        return Err(StoreError::Newer { place: place(), found: newest, known });
    }
    applied.retain(|step| (baseline.version..=known).contains(&step.version));
    let found = newest.min(known);
    let expected = migrations.iter().filter(|migration| migration.version <= found);
    let mut applied = applied.into_iter();
    for migration in expected {
        match applied.next() {
            Some(step) if step.version == migration.version && migration.is(&step.digest, dialect) => {}
            _ => return Err(StoreError::Changed { place: place(), version: migration.version }),
        }
    }
    match applied.next() {
        Some(Applied { version, .. }) => Err(StoreError::Changed { place: place(), version }),
        None => Ok(found),
    }
}

/// A row of the migration ledger.
struct Applied {
    version: i64,
    name: String,
    digest: Vec<u8>,
    oldest: i64,
}

/// Returns whether a step was applied or the database is marked as the target of a move.
pub(crate) fn has_begun(db: &Db) -> Result<bool, StoreError> {
    Ok(db.first(ANY_STEP, [], |_| Ok(()))?.is_some())
}

/// Migrates a database to the newest version, atomically. Does nothing if the database already has
/// that version.
pub(crate) fn migrate(db: &Db, migrations: &[Migration], now: Timestamp) -> Result<(), StoreError> {
    // A database of another program must be refused before anything is written to it.
    schema(db, migrations)?;
    db.make_ledger()?;
    let until = Instant::now() + TRIED_FOR;
    loop {
        match attempt(db, migrations, now) {
            // The attempt changed nothing. During the pause, sessions that are queued behind this
            // session for the same table can proceed.
            Err(StoreError::Locked { .. }) if db.is_remote() && Instant::now() < until => {
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

fn attempt(db: &Db, migrations: &[Migration], now: Timestamp) -> Result<(), StoreError> {
    db.begin_write()?;
    let done = steps(db, migrations, now).and_then(|()| db.commit());
    if done.is_err() {
        db.rollback().ok();
        db.after_migration(false).ok();
    }
    done
}

fn steps(db: &Db, migrations: &[Migration], now: Timestamp) -> Result<(), StoreError> {
    if db.is_remote() {
        // A step that waits for a table lock blocks all other sessions, including those of servers
        // of the previous version, so the wait is limited.
        db.script("set the lock timeout", "set local lock_timeout = '1s'")?;
    }
    schema(db, migrations)?;
    db.mark_as_ours()?;
    // The version is checked again under the lock, because another process may have migrated the
    // database in the meantime.
    let found = schema(db, migrations)?;
    if found == known(migrations) {
        return Ok(());
    }
    db.before_migration()?;
    for migration in migrations.iter().filter(|migration| migration.version > found) {
        let dialect = db.dialect();
        db.script("migrate the database", migration.text(dialect))?;
        let Migration { version, name, oldest, .. } = *migration;
        db.run(NOTE, (version, name, migration.hash(dialect), now.0, oldest))?;
    }
    db.after_migration(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Role;
    use crate::engine::migrations::{ALL, Dialect};

    const FIRST: Migration = Migration {
        version: 1,
        name: "first",
        sqlite: "create table a (x bigint)",
        postgres: "",
        oldest: 1,
        replaces: &[],
    };
    const SECOND: Migration = Migration {
        version: 2,
        name: "second",
        sqlite: "alter table a add column y bigint",
        postgres: "",
        oldest: 2,
        replaces: &[],
    };
    const NOW: Timestamp = Timestamp(1_700_000_000);

    fn fresh() -> (tempfile::TempDir, Db) {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(&dir.path().join("candles.db"), Role::Writer).unwrap();
        (dir, db)
    }

    #[test]
    fn steps_are_applied_once_and_in_order() {
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST], NOW).unwrap();
        assert_eq!(schema(&db, &[FIRST, SECOND]).unwrap(), 1);
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
        assert_eq!(schema(&db, &[FIRST, SECOND]).unwrap(), 2);
        db.script("use the new column", "insert into a (x, y) values (1, 2)").unwrap();
    }

    #[test]
    fn a_failed_step_leaves_the_database_unchanged() {
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST], NOW).unwrap();
        let wrong = Migration { sqlite: "create table b (x bigint); create table a (x bigint)", ..SECOND };
        migrate(&db, &[FIRST, wrong], NOW).unwrap_err();
        assert_eq!(schema(&db, &[FIRST, wrong]).unwrap(), 1);
        db.script("look for the half of it", "select * from b").unwrap_err();
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
    }

    #[test]
    fn a_changed_step_is_refused() {
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
        let edited = Migration { sqlite: "create table a (x text)", ..FIRST };
        assert!(matches!(schema(&db, &[edited, SECOND]), Err(StoreError::Changed { version: 1, .. })));
        let rewritten = Migration { sqlite: "create table a (x bigint)\r\n", ..FIRST };
        assert!(matches!(
            migrate(&db, &[rewritten, SECOND], NOW),
            Err(StoreError::Changed { version: 1, .. })
        ));
    }

    #[test]
    fn a_removed_or_inserted_step_is_refused() {
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
        let lost = [FIRST, Migration { version: 3, ..SECOND }];
        assert!(matches!(schema(&db, &lost), Err(StoreError::Changed { version: 2, .. })));
        assert!(matches!(schema(&db, &[SECOND]), Err(StoreError::Changed { version: 1, .. })));
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST, Migration { version: 3, ..SECOND }], NOW).unwrap();
        let gained = [FIRST, SECOND, Migration { version: 3, ..SECOND }];
        assert!(matches!(schema(&db, &gained), Err(StoreError::Changed { version: 2, .. })));
    }

    #[test]
    fn a_newer_database_is_refused() {
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
        assert!(matches!(schema(&db, &[FIRST]), Err(StoreError::Newer { found: 2, known: 1, .. })));
    }

    #[test]
    fn a_database_of_another_program_is_refused() {
        let (_dir, db) = fresh();
        db.script("be another program", "create table theirs (x bigint)").unwrap();
        assert!(matches!(migrate(&db, ALL, NOW), Err(StoreError::Foreign { .. })));
        db.script("look for our ledger", "select * from migration").unwrap_err();
    }

    #[test]
    fn a_baseline_replaces_the_steps_before_it() {
        const LAST: &str = "5ef5a1e2d3f5a0d3a3a6a3f0c1b5b8a1f4e0c9a5d2b7c6e3f1a0b9c8d7e6f5a4";
        let baseline = Migration {
            version: 2,
            sqlite: "create table a (x bigint, y bigint)",
            oldest: 2,
            replaces: &[LAST],
            ..FIRST
        };
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST], NOW).unwrap();
        assert!(matches!(schema(&db, &[baseline]), Err(StoreError::TooOld { found: 1, oldest: 2, .. })));
        assert!(matches!(migrate(&db, &[baseline], NOW), Err(StoreError::TooOld { .. })));
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
        assert!(matches!(schema(&db, &[baseline]), Err(StoreError::Changed { version: 2, .. })));
        let digest = blake3::Hash::from_hex(LAST).unwrap().as_bytes().to_vec();
        let set = Sql::new("set a digest", "update migration set digest = $1 where version = 2");
        db.run(set, [digest]).unwrap();
        assert_eq!(schema(&db, &[baseline]).unwrap(), 2);
        migrate(&db, &[baseline, Migration { version: 3, sqlite: "select 1", ..SECOND }], NOW).unwrap();
        // A new database has only the baseline.
        let (_dir, db) = fresh();
        migrate(&db, &[baseline], NOW).unwrap();
        assert_eq!(schema(&db, &[baseline]).unwrap(), 2);
    }

    #[test]
    fn line_endings_do_not_change_a_digest() {
        let unix = Migration { sqlite: "create table a (\n x bigint)", ..FIRST };
        let windows = Migration { sqlite: "create table a (\r\n x bigint)", ..FIRST };
        assert_eq!(unix.hash(Dialect::Sqlite), windows.hash(Dialect::Sqlite));
    }
}
