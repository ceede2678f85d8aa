//! The source and the target of a move, opened and locked. The source is not changed, and the
//! target is marked until it is complete.

use market::Timestamp;

use super::error::MoveError;
use super::rows;
use super::tables::{self, SEEDED};
use crate::accounts;
use crate::accounts::Accounts;
use crate::backup::Part;
use crate::candles::sql as common_sql;
use crate::candles::{Access, Store, ingest_file, sweep_all};
use crate::engine::home::{self, Home};
use crate::engine::lock::{JobLock, LockPlace, WriteLocks};
use crate::engine::migrations::{self, Migration};
use crate::engine::postgres::{Need, Pace};
use crate::engine::sqlite::is_emptied;
use crate::engine::{Db, Owner, Role, Sql, StoreError, StoreUrl, migrate, natural};

const STEPS: Sql = Sql::new(
    "read the migrations",
    "select version, applied_at from migration where version > 0 order by version",
);

/// The source of a move.
#[derive(Debug)]
pub(super) struct Source {
    place: StoreUrl,
    pub(super) candles: Db,
    /// `None` if the source has no accounts database.
    pub(super) accounts: Option<Db>,
    mark: Mark,
    versions: Versions,
    log: LogState,
    guard: Guard,
}

/// The key of the log of ingested batches, and the last batch in the candle database. One of them
/// changes when a batch is appended after the log was moved into the candle database.
type LogState = (Option<i64>, i64);

/// The versions of the candle database and of the accounts database, if there is one.
type Versions = (i64, Option<i64>);

/// The target of a move.
#[derive(Debug)]
pub(super) struct Target {
    place: StoreUrl,
    pub(super) candles: Db,
    pub(super) accounts: Db,
    guard: Guard,
}

/// Locks that exclude imports and the background jobs of servers.
#[derive(Debug)]
struct Guard {
    locks: WriteLocks,
    _jobs: JobLock,
}

/// Returns the number of servers that have a PostgreSQL store open, according to their heartbeats.
/// Always 0 for a directory.
pub fn servers(place: &StoreUrl) -> Result<u64, StoreError> {
    if place.path().is_some() || !Accounts::is_there(place)? {
        return Ok(0);
    }
    open(place, Part::Accounts)?.one(SERVERS, [], |row| natural(row, 0))
}

const SERVERS: Sql = Sql::new(
    "find servers",
    "select count(*) from node where seen_us > cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint) - 15000000",
);

impl Guard {
    /// Takes the locks of a store. Fails while a server is running.
    fn take(place: &StoreUrl) -> Result<Guard, MoveError> {
        let home = Home::of(place, home::Part::Candles, Pace::Long)?;
        let in_use = |by: String| MoveError::InUse { place: place.clone(), by };
        let (locks, jobs) = match (&home, place.path()) {
            (Home::Server(server), _) => {
                match servers(place)? {
                    0 => {}
                    1 => return Err(in_use("a server".to_owned())),
                    more => return Err(in_use(format!("{more} servers"))),
                }
                (WriteLocks::take(LockPlace::Server(server))?, JobLock::of_server(server)?)
            }
            (Home::File(_), Some(dir)) => {
                (WriteLocks::take(LockPlace::Directory(dir))?, JobLock::of_directory(dir)?)
            }
            (Home::File(_), None) => return Err(StoreError::Absent { place: place.clone() }.into()),
        };
        match jobs {
            Some(jobs) => Ok(Guard { locks, _jobs: jobs }),
            None => Err(in_use("a server".to_owned())),
        }
    }
}

impl Source {
    pub(super) fn open(place: &StoreUrl) -> Result<Source, MoveError> {
        // Opening the store checks that it exists, was created by this program, and has the current
        // schema.
        Store::open(place, Access::Read)?;
        let has_accounts = Accounts::is_there(place)?;
        if has_accounts {
            Accounts::look(place)?;
        }
        let guard = Guard::take(place)?;
        let candles = open(place, Part::Candles)?;
        let log = fold_log(&candles)?;
        if candles.is_remote() {
            // No server needs the replaced bodies, and at the target they would have no directory
            // entry.
            sweep_all(&candles, &guard.locks)?;
        }
        let accounts = if has_accounts { Some(open(place, Part::Accounts)?) } else { None };
        for db in [Some(&candles), accounts.as_ref()].into_iter().flatten() {
            complete(db)?;
        }
        let versions = versions(&candles, accounts.as_ref())?;
        let mut identity = blake3::Hasher::new();
        for db in [Some(&candles), accounts.as_ref()].into_iter().flatten() {
            for (version, at) in db.all(STEPS, [], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))? {
                identity.update(&version.to_le_bytes());
                identity.update(&at.to_le_bytes());
            }
        }
        identity.update(&versions.0.to_le_bytes());
        identity.update(&versions.1.unwrap_or(-1).to_le_bytes());
        let mark = Mark { of: place.to_string(), identity: identity.finalize().as_bytes().to_vec() };
        Ok(Source { place: place.clone(), candles, accounts, mark, versions, log, guard })
    }

    /// Begins a transaction that reads one of the databases, and blocks changes to that database.
    pub(super) fn hold(&self, part: Part) -> Result<(), StoreError> {
        match (part, &self.accounts) {
            // The writer lock prevents imports and merges. Batches can still be appended to the log.
            (Part::Candles, _) => self.candles.begin_read(),
            // Accounts have many writers, which wait while this transaction is open.
            (Part::Accounts | Part::Key, Some(accounts)) => {
                accounts.begin_write()?;
                accounts::lock_out_writers(accounts)
            }
            (Part::Accounts | Part::Key, None) => Ok(()),
        }
    }

    /// Ends the transaction on the candles after they were compared, because a server aborts idle
    /// transactions and copying the accounts may take longer. [`Source::check_unchanged`] detects
    /// changes made since then. Does nothing for the accounts.
    pub(super) fn let_go(&self, part: Part) -> Result<(), StoreError> {
        match part {
            Part::Candles => self.candles.commit(),
            // The transaction on the accounts blocks writers until the move ends.
            Part::Accounts | Part::Key => Ok(()),
        }
    }

    /// Checks that the source has not changed since the move began. A batch that is appended to the
    /// log after this check remains in the source.
    pub(super) fn check_unchanged(&self, to: &StoreUrl) -> Result<(), MoveError> {
        let locks = &self.guard.locks;
        // A new transaction is used, because the old transaction would read the copied state. The
        // lock is checked first, because it prevents later imports and merges.
        self.candles.begin_write()?;
        let found = locks.fence(&self.candles).and_then(|()| {
            let found = (versions(&self.candles, self.accounts.as_ref())?, log_state(&self.candles)?);
            locks.extend(&self.candles)?;
            Ok(found)
        });
        let found = found.and_then(|found| self.candles.commit().map(|()| found));
        let found = found.inspect_err(|_| drop(self.candles.rollback()))?;
        match found == (self.versions, self.log) {
            true => Ok(()),
            false => Err(MoveError::Changed { from: self.place.clone(), to: to.clone() }),
        }
    }
}

/// Moves the log of ingested batches into the candle database, where the target also stores it.
/// Batches that are appended later create a new log on SQLite.
fn fold_log(candles: &Db) -> Result<LogState, StoreError> {
    // In the same order as when a log is created.
    candles.begin_write()?;
    let folded = fold_and_commit(candles);
    folded.inspect_err(|_| drop(candles.rollback()))
}

fn fold_and_commit(candles: &Db) -> Result<LogState, StoreError> {
    let log = ingest_file::open(candles, Role::Writer)?;
    if let Some(log) = &log {
        // No batch is appended to this file until the candle database is committed.
        log.begin_write()?;
        ingest_file::fold(log, candles)?;
    }
    let state = log_state(candles)?;
    candles.commit()?;
    log.map_or(Ok(()), |log| log.rollback())?;
    Ok(state)
}

fn log_state(candles: &Db) -> Result<LogState, StoreError> {
    Ok((ingest_file::key(candles)?, ingest_file::counter(candles, "ingest")?))
}

/// Compares row counts with the recorded counts, because reading a table does not reveal missing
/// rows.
fn complete(db: &Db) -> Result<(), StoreError> {
    let sealed = db.sealed_tables()?;
    let names: Vec<&str> = sealed.iter().map(|table| table.name.as_str()).collect();
    match db.check_counts(&names).is_empty() {
        true => Ok(()),
        false => Err(StoreError::Damaged { what: "move the store", place: db.url().clone(), source: None }),
    }
}

fn versions(candles: &Db, accounts: Option<&Db>) -> Result<Versions, StoreError> {
    let version = |db: &Db| db.one(common_sql::VERSION, [], |row| row.get(0));
    Ok((version(candles)?, accounts.map(version).transpose()?))
}

/// Opens one of a store's databases for writing, without checking its schema version.
fn open(place: &StoreUrl, part: Part) -> Result<Db, StoreError> {
    Home::of(place, part_of(part), Pace::Long)?.open(Role::Writer)
}

/// Contents of the target of a move.
enum Found {
    Nothing,
    /// All tables exist, but have no rows.
    Empty,
    Marked(Mark),
    Something,
}

fn found(place: &StoreUrl, part: Part) -> Result<Found, StoreError> {
    let home = Home::of(place, part_of(part), Pace::Long)?;
    if home.file().is_some_and(|path| !path.exists() || is_emptied(path)) {
        return Ok(Found::Nothing);
    }
    home.server().map(|server| home::check(server, Need::Write)).transpose()?;
    let db = home.open(Role::Onlooker)?;
    match db.owner()? {
        Owner::Unclaimed => return Ok(Found::Nothing),
        Owner::AnotherProgram => return Err(StoreError::Foreign { place: db.url().clone() }),
        Owner::Ours => {}
    }
    if let Some(mark) = read_mark(&db)? {
        return Ok(Found::Marked(mark));
    }
    match migrate::schema(&db, steps(part))? {
        0 => Ok(Found::Nothing),
        _ => Ok(if is_empty(&db)? { Found::Empty } else { Found::Something }),
    }
}

fn part_of(part: Part) -> home::Part {
    match part {
        Part::Candles => home::Part::Candles,
        Part::Accounts | Part::Key => home::Part::Accounts,
    }
}

fn steps(part: Part) -> &'static [Migration] {
    match part {
        Part::Candles => migrations::ALL,
        Part::Accounts | Part::Key => migrations::ACCOUNTS,
    }
}

fn is_empty(db: &Db) -> Result<bool, StoreError> {
    for table in tables::of(db)? {
        if !SEEDED.contains(&table.name.as_str()) && !rows::is_empty(db, &table)? {
            return Ok(false);
        }
    }
    // The version is higher than 0 if data was added and removed again.
    Ok(versions(db, None)?.0 == 0)
}

impl Target {
    /// Opens and marks the target. Also returns whether the target already contains a part of this
    /// move.
    pub(super) fn open(
        place: &StoreUrl,
        source: &Source,
        now: Timestamp,
    ) -> Result<(Target, bool), MoveError> {
        let found = [found(place, Part::Candles)?, found(place, Part::Accounts)?];
        let mut marks = found.iter().filter_map(|found| match found {
            Found::Marked(mark) => Some(mark),
            _ => None,
        });
        if let Some(mark) = marks.find(|mark| mark.identity != source.mark.identity) {
            return Err(MoveError::Other { place: place.clone(), of: mark.of.clone() });
        }
        let is_marked = found.iter().any(|found| matches!(found, Found::Marked(_)));
        // A full database next to a marked database means that the move was interrupted while the
        // marks were removed. The full database is compared again.
        if !is_marked && found.iter().any(|found| matches!(found, Found::Something)) {
            return Err(MoveError::NotEmpty { place: place.clone() });
        }
        let [candles, accounts] = found;
        if !matches!(candles, Found::Marked(_)) {
            Store::open(place, Access::Write { now })?;
        }
        let guard = Guard::take(place)?;
        if !matches!(accounts, Found::Marked(_)) {
            Accounts::open(place, now)?;
        }
        let target = Target {
            place: place.clone(),
            candles: open(place, Part::Candles)?,
            accounts: open(place, Part::Accounts)?,
            guard,
        };
        for (part, found) in [(Part::Candles, &candles), (Part::Accounts, &accounts)] {
            if matches!(found, Found::Nothing | Found::Empty) {
                target.mark(part, source, now)?;
            }
        }
        Ok((target, is_marked))
    }

    pub(super) fn url(&self) -> &StoreUrl {
        &self.place
    }

    fn db(&self, part: Part) -> &Db {
        match part {
            Part::Candles => &self.candles,
            Part::Accounts | Part::Key => &self.accounts,
        }
    }

    /// Runs `work` in a separate transaction on one of the target's databases.
    pub(super) fn write(
        &self,
        part: Part,
        work: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let db = self.db(part);
        let locks = &self.guard.locks;
        db.begin_write()?;
        // The lock of the candles covers both databases.
        let done = locks.fence(db).and_then(|()| work()).and_then(|()| locks.extend(db));
        let done = done.and_then(|()| db.commit());
        if done.is_err() {
            db.rollback().ok();
        }
        done
    }

    /// Marks a target, so that only a move can open it, and removes the rows that its migrations
    /// created.
    fn mark(&self, part: Part, source: &Source, now: Timestamp) -> Result<(), StoreError> {
        // If the source has no accounts, the accounts of the target are already complete.
        if part == Part::Accounts && source.accounts.is_none() {
            return Ok(());
        }
        let db = self.db(part);
        self.write(part, || {
            write_mark(db, &source.mark, now)?;
            for table in tables::of(db)?.iter().filter(|table| SEEDED.contains(&table.name.as_str())) {
                db.run_text("empty a table", &format!("delete from {}", table.name), &[])?;
            }
            Ok(())
        })
    }

    pub(super) fn note_sealing_key(&self, fingerprint: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut noted = Vec::new();
        self.write(Part::Accounts, || {
            noted = accounts::note_sealing_key(&self.accounts, fingerprint)?;
            Ok(())
        })?;
        Ok(noted)
    }

    /// Removes the marks, which is the last step of a move.
    pub(super) fn unmark(self) -> Result<(), MoveError> {
        for part in [Part::Candles, Part::Accounts] {
            self.write(part, || remove_mark(self.db(part)))?;
            self.db(part).fold_log();
        }
        Ok(())
    }
}

const MARKED: Sql = Sql::new("find a move", "select name, digest from migration where version = $1");
const UNMARK: Sql = Sql::new("mark the end of a move", "delete from migration where version = $1");

/// Mark of an incomplete target: a row in its migration ledger with a version above all migrations.
/// This program reports the interrupted move. Older programs read a newer schema version and also
/// refuse the database.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    /// Location of the source, for messages.
    of: String,
    /// Identity and version of the source.
    identity: Vec<u8>,
}

fn read_mark(db: &Db) -> Result<Option<Mark>, StoreError> {
    db.first(MARKED, [migrate::MOVING], |row| Ok(Mark { of: row.get(0)?, identity: row.get(1)? }))
}

fn write_mark(db: &Db, mark: &Mark, now: Timestamp) -> Result<(), StoreError> {
    db.run(migrate::NOTE, (migrate::MOVING, &mark.of, &mark.identity, now.0, migrate::MOVING)).map(drop)
}

fn remove_mark(db: &Db) -> Result<(), StoreError> {
    db.run(UNMARK, [migrate::MOVING]).map(drop)
}
