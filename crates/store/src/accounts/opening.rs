//! Opening of the accounts database: creation, migration, read-only access and consistency checks.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use market::Timestamp;

use super::changes::Following;
use super::connections::Connections;
use super::{Accounts, FILE, sql};
use crate::candles::Finding;
use crate::candles::check::{Findings, engine};
use crate::cluster::{Commit, Pool, Shared};
use crate::engine::home::{self, Home, prepare_on_server};
use crate::engine::postgres::{Need, Pace, Schema, Server};
use crate::engine::sqlite::{is_emptied, refuse_half_restored};
use crate::engine::{
    Db, Depth, FINDINGS_MAX, Fault, KEY_FILE, Owner, Role, StoreError, StoreUrl, migrate, migrations,
};

/// Locked while the database is created or migrated, because SQLite does not wait when two
/// connections switch a new file to WAL mode.
const LOCK_FILE: &str = "accounts.lock";

/// Maximum file size, in bytes, for which all rows are verified on open. Verification takes a few
/// milliseconds and also detects missing rows. In larger files, rows are verified when they are
/// read, and only `COUNTED` tables are checked for missing rows.
const WHOLE_BYTES_MAX: u64 = 4 << 20;
/// Tables whose row counts are checked on every open. A missing row would change results, and these
/// tables do not grow with use.
const COUNTED: [&str; 5] = ["account", "credential", "quote_right", "level", "exchange_rate"];

impl Accounts {
    /// Opens a store's accounts, and creates or migrates the database if needed. Returns an error
    /// if the database is damaged.
    pub fn open(place: impl Into<StoreUrl>, now: Timestamp) -> Result<Accounts, StoreError> {
        let place = place.into();
        let Some(dir) = place.path() else { return Accounts::open_on_server(&place, now) };
        refuse_half_restored(dir)?;
        let accounts = Accounts::open_or(dir, now, refuse_emptied)?;
        let is_small = std::fs::metadata(dir.join(FILE)).is_ok_and(|file| file.len() <= WHOLE_BYTES_MAX);
        let found = match is_small {
            true => accounts.check(Depth::Full)?,
            false => accounts.check_counts(&COUNTED)?,
        };
        if !found.is_empty() {
            return Err(accounts.read().fail("open the accounts")(Fault::Missing));
        }
        Ok(accounts)
    }

    /// Like `open`, but also opens a database that has lost all of its rows. Used by a restore,
    /// which fills the database.
    pub(crate) fn open_to_fill(dir: &Path, now: Timestamp) -> Result<Accounts, StoreError> {
        Accounts::open_or(dir, now, |_| Ok(()))
    }

    /// Prevents all processes from opening the accounts for writing until the returned file is
    /// closed.
    pub(crate) fn lock_opening(dir: &Path) -> Result<File, StoreError> {
        lock(&dir.join(LOCK_FILE))
    }

    fn open_or(
        dir: &Path,
        now: Timestamp,
        on_empty: impl Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Accounts, StoreError> {
        std::fs::create_dir_all(dir).map_err(|source| StoreError::io("create the directory", dir, source))?;
        let path = dir.join(FILE);
        let _lock = lock(&dir.join(LOCK_FILE))?;
        let is_new = create_private(&path)?;
        // Must run before SQLite opens the file, because SQLite deletes the WAL of an empty file.
        if !is_new && is_emptied(&path) {
            on_empty(dir)?;
        }
        let writer = Db::open(&path, Role::Writer)?;
        let found = migrate::schema(&writer, migrations::ACCOUNTS)?;
        if found == 0 && !is_new {
            on_empty(dir)?;
        }
        if found != migrations::known(migrations::ACCOUNTS) {
            migrate::migrate(&writer, migrations::ACCOUNTS, now)?;
        }
        let connections = Connections::of_file(Db::open(&path, Role::Reader)?, writer);
        Ok(Accounts::of_file(path, connections))
    }

    fn open_on_server(place: &StoreUrl, now: Timestamp) -> Result<Accounts, StoreError> {
        // Short timeouts, because clients wait for most of these queries.
        let home = prepare_on_server(place, home::Part::Accounts, Pace::Quick, now)?;
        Accounts::of_server(place, home, Role::Writer)
    }

    /// Creates the handle for a file. Only one process serves a file, so there is no shared state.
    fn of_file(path: PathBuf, connections: Connections) -> Accounts {
        let (home, following) = (Home::File(path), Following::default());
        Accounts { connections, home, following, locks: None, shared: None }
    }

    fn of_server(place: &StoreUrl, home: Home, writes_as: Role) -> Result<Accounts, StoreError> {
        let (Some(server), StoreUrl::Server(address)) = (home.server().cloned(), place) else {
            return Err(StoreError::Absent { place: place.clone() });
        };
        let fleeting = Server::open(address, Schema::Accounts, Pace::Fleeting)
            .map_err(|trouble| StoreError::of("connect to the database", place, trouble.into()))?;
        // Account locks use a separate pool, because the holder of a lock needs a second connection
        // for its work.
        let locks = Server::open(address, Schema::Accounts, Pace::Lock)
            .map_err(|trouble| StoreError::of("connect to the database", place, trouble.into()))?;
        let (durable, counted) = (server.clone(), fleeting.clone());
        let open = move |commit| match commit {
            Commit::Durable => Db::on_server(&durable, writes_as),
            Commit::Fleeting => Db::on_server(&fleeting, writes_as),
        };
        let pool = Pool { open: Box::new(open), losses: Box::new(move || counted.losses()) };
        let connections = Connections::Server { server, writes_as };
        Ok(Accounts {
            connections,
            home,
            following: Following::default(),
            locks: (writes_as == Role::Writer).then_some(locks),
            shared: Some(Arc::new(Shared::new(pool))),
        })
    }

    /// Returns whether a store has an accounts database. Does not create it.
    pub fn is_there(place: impl Into<StoreUrl>) -> Result<bool, StoreError> {
        let place = place.into();
        let home = Home::of(&place, home::Part::Accounts, Pace::Usual)?;
        match home.server() {
            None => Ok(home.file().is_some_and(Path::exists)),
            Some(server) => {
                home::check(server, Need::Read)?;
                let db = home.open(Role::Reader)?;
                match db.owner()? {
                    Owner::Unclaimed => Ok(false),
                    Owner::AnotherProgram => Ok(true),
                    // The process that created the ledger may have stopped before the first
                    // migration.
                    Owner::Ours => migrate::has_begun(&db),
                }
            }
        }
    }

    /// Opens a store's accounts read-only: takes no lock, migrates nothing and creates no file.
    /// Writes are refused.
    pub fn look(place: impl Into<StoreUrl>) -> Result<Accounts, StoreError> {
        let (place, known) = (place.into(), migrations::known(migrations::ACCOUNTS));
        let Some(dir) = place.path() else {
            let home = Home::of(&place, home::Part::Accounts, Pace::Usual)?;
            home.server().map(|server| home::check(server, Need::Read)).transpose()?;
            let found = migrate::schema(&home.open(Role::Reader)?, migrations::ACCOUNTS)?;
            return match found == known {
                true => Accounts::of_server(&place, home, Role::Onlooker),
                false => Err(StoreError::Outdated { place, found, known }),
            };
        };
        refuse_half_restored(dir)?;
        let path = dir.join(FILE);
        if is_emptied(&path) {
            refuse_emptied(dir)?;
            return Err(StoreError::Outdated { place: path.into(), found: 0, known });
        }
        let reader = Db::open(&path, Role::Onlooker)?;
        let found = migrate::schema(&reader, migrations::ACCOUNTS)?;
        if found == 0 {
            refuse_emptied(dir)?;
        }
        if found != known {
            return Err(StoreError::Outdated { place: path.into(), found, known });
        }
        let connections = Connections::of_file(reader, Db::open(&path, Role::Onlooker)?);
        Ok(Accounts::of_file(path, connections))
    }

    /// Checks through a new connection, which bypasses the page cache, that the database exists, is
    /// not truncated, and has the expected schema.
    pub fn probe(&self) -> Result<(), StoreError> {
        let db = self.home.open(Role::Reader)?;
        let (found, known) =
            (migrate::schema(&db, migrations::ACCOUNTS)?, migrations::known(migrations::ACCOUNTS));
        if found != known {
            return Err(StoreError::Outdated { place: self.home.url(), found, known });
        }
        db.one(sql::ANY_ACCOUNT, [], |_| Ok(()))
    }
}

impl Accounts {
    /// Checks the pages of `accounts.db`, foreign keys and row seals. Returns the problems found.
    pub fn check(&self, depth: Depth) -> Result<Vec<Finding>, StoreError> {
        let mut findings = Findings::default();
        let db = self.read();
        // A single transaction, because other processes may write during the check.
        db.begin_read()?;
        let checked = findings.absorb(engine(&db, depth));
        findings.list.extend(db.check_seals().into_iter().map(Finding::from));
        db.commit().ok();
        checked?;
        findings.list.truncate(FINDINGS_MAX);
        Ok(findings.list)
    }

    /// Checks the row counts of the tables in `counted`, and the list of sealed tables.
    fn check_counts(&self, counted: &[&str]) -> Result<Vec<Finding>, StoreError> {
        let db = self.read();
        // A single transaction, because other processes may write during the check.
        db.begin_read()?;
        let findings = db.check_counts(counted).into_iter().map(Finding::from).collect();
        db.commit().ok();
        Ok(findings)
    }
}

/// Returns an error if an empty database has lost its accounts. The key file is created only after
/// the accounts are durable, so its presence proves that there were accounts.
fn refuse_emptied(dir: &Path) -> Result<(), StoreError> {
    match dir.join(KEY_FILE).exists() {
        true => Err(StoreError::Emptied { place: dir.join(FILE).into() }),
        false => Ok(()),
    }
}

/// Locks the file, and waits until no other process is opening these accounts. The OS releases the
/// lock when the file is closed or the process ends.
fn lock(path: &Path) -> Result<File, StoreError> {
    let options = OpenOptions::new().write(true).create(true).truncate(false).clone();
    let file = options.open(path).map_err(|source| StoreError::io("open the lock file", path, source))?;
    file.lock().map_err(|source| StoreError::io("lock", path, source))?;
    Ok(file)
}

/// Creates the database file, readable by the owner only; SQLite gives its WAL the same mode. Does
/// not open an existing file, because closing it would drop the locks that this process holds on
/// it. Returns whether the file is new.
fn create_private(path: &Path) -> Result<bool, StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(StoreError::io("create", path, source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all files of a directory with their contents.
    fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = entries
            .map(|path| {
                (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn opening_read_only_changes_no_file_and_migrates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        // A name that must be escaped in a URI.
        let dir = dir.path().join("50% of #1?");
        std::fs::create_dir(&dir).unwrap();
        assert!(Accounts::look(&dir).is_err());
        std::fs::write(dir.join(FILE), b"").unwrap();
        let before = files(&dir);
        assert!(matches!(Accounts::look(&dir), Err(StoreError::Outdated { found: 0, .. })));
        assert_eq!(files(&dir), before);
        std::fs::remove_file(dir.join(FILE)).unwrap();
        drop(Accounts::open(&dir, Timestamp(0)).unwrap());
        std::fs::remove_file(dir.join(LOCK_FILE)).unwrap();
        let before = files(&dir);
        let looked = Accounts::look(&dir).unwrap();
        assert!(looked.is_empty().unwrap() && looked.check(crate::engine::Depth::Full).unwrap().is_empty());
        assert!(matches!(looked.take_id(), Err(StoreError::Denied { .. })));
        drop(looked);
        assert_eq!(files(&dir), before);
        // Pages that are only in the server's WAL are also visible.
        let serving = Accounts::open(&dir, Timestamp(0)).unwrap();
        serving.take_id().unwrap();
        let version = serving.version().unwrap();
        assert_eq!(Accounts::look(&dir).unwrap().version().unwrap(), version);
    }
}
