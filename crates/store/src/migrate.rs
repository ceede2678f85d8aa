//! Brings a database to the newest schema, step by step. The database remembers the digest of the steps it has been
//! through; one that has been through others is refused.

use market::Timestamp;

use crate::db::{Db, TABLES};
use crate::migrations::{Migration, known};
use crate::statements::Sql;
use crate::{StoreError, seal_check, sql};

/// Marks the file as ours in its header (`CHND`), so that another program's database is never touched.
const APPLICATION_ID: i64 = 0x4348_4e44;

// These speak to SQLite alone: the catalogue and the header of the file.
const FILE_ID: Sql = Sql { what: "read the header of the database", text: "pragma application_id" };
const APPLIED: Sql =
    Sql { what: "read the migrations", text: "select version, digest from migration order by version" };
const NOTE: Sql = Sql {
    what: "note a migration",
    text: "insert into migration (version, name, digest, applied_at) values ($1, $2, $3, $4)",
};
const LEDGER: &str = "create table if not exists migration (
    version bigint not null primary key, name text not null, digest blob not null, applied_at bigint not null)";

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
        db.attach_seals().ok();
    }
    done
}

fn steps(db: &Db, migrations: &[Migration], now: Timestamp) -> Result<(), StoreError> {
    // Read again inside the transaction: another process may have been quicker.
    let found = schema(db, migrations)?;
    db.script("mark the database", &format!("pragma application_id = {APPLICATION_ID}; {LEDGER}"))?;
    if found == known(migrations) {
        return Ok(());
    }
    // Rows are sealed again when all steps are done: only such as were whole before.
    seal_check::refuse_broken_seals(db)?;
    db.detach_seals()?;
    for migration in migrations.iter().filter(|migration| migration.version > found) {
        db.script("migrate the database", migration.text)?;
        db.run(NOTE, (migration.version, migration.name, migration.hash(), now.0))?;
    }
    db.seal_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Role;
    use crate::migrations::{ACCOUNTS, ALL};

    const FIRST: Migration = Migration { version: 1, name: "first", text: "create table a (x bigint)" };
    const SECOND: Migration =
        Migration { version: 2, name: "second", text: "alter table a add column y bigint" };
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
    fn a_step_that_fails_leaves_the_database_as_it_was() {
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST], NOW).unwrap();
        let wrong = Migration { text: "create table b (x bigint); create table a (x bigint)", ..SECOND };
        migrate(&db, &[FIRST, wrong], NOW).unwrap_err();
        assert_eq!(schema(&db, &[FIRST, wrong]).unwrap(), 1);
        db.script("look for the half of it", "select * from b").unwrap_err();
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
    }

    #[test]
    fn a_changed_step_is_refused() {
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
        let edited = Migration { text: "create table a (x text)", ..FIRST };
        assert!(matches!(schema(&db, &[edited, SECOND]), Err(StoreError::Changed { version: 1, .. })));
        let rewritten = Migration { text: "create table a (x bigint)\r\n", ..FIRST };
        assert!(matches!(
            migrate(&db, &[rewritten, SECOND], NOW),
            Err(StoreError::Changed { version: 1, .. })
        ));
    }

    #[test]
    fn a_step_the_program_lost_or_gained_in_the_past_is_refused() {
        let (_dir, db) = fresh();
        migrate(&db, &[FIRST, SECOND], NOW).unwrap();
        assert!(matches!(schema(&db, &[SECOND]), Err(StoreError::Changed { version: 2, .. })));
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
    fn another_programs_database_is_refused_and_left_alone() {
        let (_dir, db) = fresh();
        db.script("be another program", "create table theirs (x bigint)").unwrap();
        assert!(matches!(migrate(&db, ALL, NOW), Err(StoreError::Foreign { .. })));
        db.script("look for our ledger", "select * from migration").unwrap_err();
    }

    #[test]
    fn accounts_of_the_first_schema_keep_their_rights_levels_and_usage() {
        let (_dir, db) = fresh();
        migrate(&db, ACCOUNTS.get(..1).unwrap(), NOW).unwrap();
        let accounts = "insert into account (id, name, region, created_at, epoch, markets, overnight, level, connections) values
            (1, 'alice', 'ap', 5, 0, 'HK,US', 1, 1, 10), (2, 'bob', 'ap', 5, 0, 'none', 0, 4, 10), (3, 'carol', 'ap', 5, 0, 'SG', 0, 1, 10);
            insert into usage (account_id, month, symbol, first_at) values (1, '2026-11', '700.HK', 7)";
        db.script("add accounts", accounts).unwrap();
        migrate(&db, ACCOUNTS, NOW).unwrap();
        let texts = |text: &'static str| -> Vec<String> {
            db.all(Sql { what: "look", text }, [], |row| Ok(row.get::<_, String>(0)?)).unwrap()
        };
        let rights = "select account_id || ' ' || package from quote_right order by account_id, package";
        assert_eq!(texts(rights), ["1 HK", "1 US", "1 US_OVERNIGHT", "3 SG"]);
        assert_eq!(
            texts("select id || ' ' || level || ' ' || role from account order by id"),
            ["1 0 user", "2 4 user", "3 0 user"]
        );
        assert_eq!(texts("select symbol from usage"), ["700.HK"]);
        // They are served as the server has it.
        assert_eq!(
            texts("select name from account where floors is null order by id"),
            ["alice", "bob", "carol"]
        );
    }

    #[test]
    fn line_ends_do_not_change_a_step() {
        let unix = Migration { text: "create table a (\n x bigint)", ..FIRST };
        let windows = Migration { text: "create table a (\r\n x bigint)", ..FIRST };
        assert_eq!(unix.hash(), windows.hash());
    }
}
