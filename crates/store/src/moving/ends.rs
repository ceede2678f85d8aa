//! Both ends of a move, opened and kept from others: the source, of which nothing is changed, and the target, which is marked until all
//! is there.

use market::Timestamp;

use super::error::MoveError;
use super::mark::{self, Mark};
use super::rows;
use super::tables::{self, SEEDED};
use crate::candles::sql as common_sql;
use crate::candles::sweep_all;
use crate::engine::home::{self, Home};
use crate::engine::lock::{JobLock, WriterLock};
use crate::engine::migrations::{self, Migration};
use crate::engine::postgres::{Need, Pace};
use crate::engine::sqlite::is_emptied;
use crate::engine::{Db, Owner, Place, Role, Sql, migrate};
use crate::{Access, Accounts, Part, Store, StoreError, accounts};

const STEPS: Sql = Sql::new(
    "read the migrations",
    "select version, applied_at from migration where version > 0 order by version",
);

/// Where a store comes from.
#[derive(Debug)]
pub(super) struct Source {
    place: Place,
    pub(super) candles: Db,
    /// `None` if it never had any.
    pub(super) accounts: Option<Db>,
    mark: Mark,
    versions: Versions,
    guard: Guard,
}

/// The versions of candles and accounts.
type Versions = (i64, Option<i64>);

/// Where it goes.
#[derive(Debug)]
pub(super) struct Target {
    place: Place,
    pub(super) candles: Db,
    pub(super) accounts: Db,
    guard: Guard,
}

/// Keeps imports and the background work of servers away.
#[derive(Debug)]
struct Guard {
    lock: WriterLock,
    _jobs: JobLock,
}

// Servers are noted where several of them share a database.
const SERVERS: Sql = Sql::new(
    "look for servers",
    "select count(*) from node where seen_us > cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint) - 15000000",
);

impl Guard {
    /// Refused while a server runs there.
    fn take(place: &Place) -> Result<Guard, MoveError> {
        let home = Home::of(place, home::Part::Candles, Pace::Long)?;
        let in_use = |by: String| MoveError::InUse { place: place.clone(), by };
        let (lock, jobs) = match (&home, place.path()) {
            (Home::Server(server), _) => {
                if Accounts::is_there(place)? {
                    let running: i64 = open(place, Part::Accounts)?.one(SERVERS, [], |row| row.get(0))?;
                    match running {
                        0 => {}
                        1 => return Err(in_use("a server".to_owned())),
                        more => return Err(in_use(format!("{more} servers"))),
                    }
                }
                (WriterLock::of_server(server)?, JobLock::of_server(server)?)
            }
            (Home::File(_), Some(dir)) => (WriterLock::of_directory(dir)?, JobLock::of_directory(dir)?),
            (Home::File(_), None) => return Err(StoreError::Absent { place: place.clone() }.into()),
        };
        match jobs {
            Some(jobs) => Ok(Guard { lock, _jobs: jobs }),
            None => Err(in_use("a server".to_owned())),
        }
    }
}

impl Source {
    pub(super) fn open(place: &Place) -> Result<Source, MoveError> {
        // Whether it is there, ours, and of the schema that this program has.
        Store::open(place, Access::Read)?;
        let has_accounts = Accounts::is_there(place)?;
        if has_accounts {
            Accounts::look(place)?;
        }
        let guard = Guard::take(place)?;
        let candles = open(place, Part::Candles)?;
        if candles.is_remote() {
            // No server reads the state before, and elsewhere they would be bodies without an entry.
            sweep_all(&candles, &guard.lock)?;
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
        Ok(Source { place: place.clone(), candles, accounts, mark, versions, guard })
    }

    /// Begins to read one of the databases, as it stays from here on.
    pub(super) fn hold(&self, part: Part) -> Result<(), StoreError> {
        match (part, &self.accounts) {
            // No import runs, and none can begin.
            (Part::Candles, _) => self.candles.begin_read(),
            // Accounts have many writers; as long as this transaction is open, they wait.
            (Part::Accounts | Part::Key, Some(accounts)) => {
                accounts.begin_write()?;
                accounts::lock_out_writers(accounts)
            }
            (Part::Accounts | Part::Key, None) => Ok(()),
        }
    }

    /// To be called when one of the databases has been compared. Candles are not held any longer: a server ends a transaction in which
    /// nothing happens for too long, and accounts may take longer. Whether they have changed since is seen at the end.
    pub(super) fn let_go(&self, part: Part) -> Result<(), StoreError> {
        match part {
            Part::Candles => self.candles.commit(),
            // Theirs holds others back until the end.
            Part::Accounts | Part::Key => Ok(()),
        }
    }

    /// Whether it is still as it was when the move began.
    pub(super) fn check_unchanged(&self, to: &Place) -> Result<(), MoveError> {
        let lock = &self.guard.lock;
        // In a new transaction, or it would be the state that was copied. The lock first: from then on nobody changes anything.
        self.candles.begin_write()?;
        let found = lock.fence(&self.candles).and_then(|()| {
            let found = versions(&self.candles, self.accounts.as_ref())?;
            lock.extend(&self.candles)?;
            Ok(found)
        });
        let found = found.and_then(|found| self.candles.commit().map(|()| found));
        let found = found.inspect_err(|_| drop(self.candles.rollback()))?;
        match found == self.versions {
            true => Ok(()),
            false => Err(MoveError::Changed { from: self.place.clone(), to: to.clone() }),
        }
    }
}

/// Rows that are missing cannot be seen by reading the others.
fn complete(db: &Db) -> Result<(), StoreError> {
    let sealed = db.sealed_tables()?;
    let names: Vec<&str> = sealed.iter().map(|table| table.name.as_str()).collect();
    match db.check_counts(&names).is_empty() {
        true => Ok(()),
        false => Err(StoreError::Damaged { what: "move the store", place: db.place().clone(), source: None }),
    }
}

fn versions(candles: &Db, accounts: Option<&Db>) -> Result<Versions, StoreError> {
    let version = |db: &Db| db.one(common_sql::VERSION, [], |row| row.get(0));
    Ok((version(candles)?, accounts.map(version).transpose()?))
}

/// One of the databases of a store, to write to it, whatever its ledger says.
fn open(place: &Place, part: Part) -> Result<Db, StoreError> {
    Home::of(place, part_of(part), Pace::Long)?.open(Role::Writer)
}

/// What is at the target of a move.
enum Found {
    Nothing,
    /// All tables, and nothing in them.
    Empty,
    Marked(Mark),
    Something,
}

fn found(place: &Place, part: Part) -> Result<Found, StoreError> {
    let home = Home::of(place, part_of(part), Pace::Long)?;
    if home.file().is_some_and(|path| !path.exists() || is_emptied(path)) {
        return Ok(Found::Nothing);
    }
    home.server().map(|server| home::check(server, Need::Write)).transpose()?;
    let db = home.open(Role::Onlooker)?;
    match db.owner()? {
        Owner::Nobody => return Ok(Found::Nothing),
        Owner::AnotherProgram => return Err(StoreError::Foreign { place: db.place().clone() }),
        Owner::Ours => {}
    }
    if let Some(mark) = mark::read(&db)? {
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
    // What was there and was removed again has left its numbers.
    Ok(versions(db, None)?.0 == 0)
}

impl Target {
    /// Opens the target, marked. Whether it has the beginning of this move already.
    pub(super) fn open(place: &Place, source: &Source, now: Timestamp) -> Result<(Target, bool), MoveError> {
        let found = [found(place, Part::Candles)?, found(place, Part::Accounts)?];
        let mut marks = found.iter().filter_map(|found| match found {
            Found::Marked(mark) => Some(mark),
            _ => None,
        });
        if let Some(mark) = marks.find(|mark| mark.identity != source.mark.identity) {
            return Err(MoveError::Other { place: place.clone(), of: mark.of.clone() });
        }
        let is_marked = found.iter().any(|found| matches!(found, Found::Marked(_)));
        // One of the two that is full beside a marked one: its mark was removed, and then the move was interrupted. It is compared again.
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

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    fn db(&self, part: Part) -> &Db {
        match part {
            Part::Candles => &self.candles,
            Part::Accounts | Part::Key => &self.accounts,
        }
    }

    /// Runs something in a transaction of its own.
    pub(super) fn write(
        &self,
        part: Part,
        work: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let db = self.db(part);
        let lock = &self.guard.lock;
        db.begin_write()?;
        // One lock is for both of them.
        let done = lock.fence(db).and_then(|()| work()).and_then(|()| lock.extend(db));
        let done = done.and_then(|()| db.commit());
        if done.is_err() {
            db.rollback().ok();
        }
        done
    }

    /// From here on nothing but a move opens it. What its migrations have put there makes room for what comes.
    fn mark(&self, part: Part, source: &Source, now: Timestamp) -> Result<(), StoreError> {
        // Without accounts at the source, those of the target are complete as they are.
        if part == Part::Accounts && source.accounts.is_none() {
            return Ok(());
        }
        let db = self.db(part);
        self.write(part, || {
            mark::write(db, &source.mark, now)?;
            for table in tables::of(db)?.iter().filter(|table| SEEDED.contains(&table.name.as_str())) {
                db.run_text("empty a table", &format!("delete from {}", table.name), &[])?;
            }
            Ok(())
        })
    }

    pub(super) fn note_sealing_key(&self, fingerprint: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut noted = Vec::new();
        self.write(Part::Accounts, || {
            noted = accounts::sealing_key::note(&self.accounts, fingerprint)?;
            Ok(())
        })?;
        Ok(noted)
    }

    /// The last step.
    pub(super) fn unmark(self) -> Result<(), MoveError> {
        for part in [Part::Candles, Part::Accounts] {
            self.write(part, || mark::remove(self.db(part)))?;
            self.db(part).fold_log();
        }
        Ok(())
    }
}
