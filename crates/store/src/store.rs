use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use market::Timestamp;

use crate::db::{Db, Role};
use crate::lock::Lock;
use crate::{Batch, ImportState, StoreError, View, migrate, sql};

const FILE: &str = "candles.db";

/// What a store is opened for.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Creates nothing and changes nothing.
    Read,
    /// Creates the store if it is absent and brings its schema up to date; `now` is noted beside each migration.
    Write { now: Timestamp },
}

/// A directory that holds the database. Cheap to keep; readers and writers are opened from it.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    path: PathBuf,
}

impl Store {
    pub fn open(dir: &Path, access: Access) -> Result<Store, StoreError> {
        let store = Store { dir: dir.to_owned(), path: dir.join(FILE) };
        match access {
            Access::Read => store.reader().map(drop)?,
            Access::Write { now } => store.prepare(now)?,
        }
        Ok(store)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The database file, for whoever reports its size.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A connection for one thread at a time. It takes no lock and never waits for a writer.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        if !exists(&self.path)? {
            return Err(StoreError::Absent { path: self.dir.clone() });
        }
        let db = Db::open(&self.path, Role::Reader)?;
        match migrate::schema(&db, migrate::ALL)? {
            found if found == migrate::known(migrate::ALL) => Ok(Reader { view: View::new(db) }),
            // Somebody began to create the store and did not come to the end of it.
            0 => Err(StoreError::Absent { path: self.dir.clone() }),
            found => Err(StoreError::Outdated {
                path: self.path.clone(),
                found,
                known: migrate::known(migrate::ALL),
            }),
        }
    }

    /// The one writer. Holding the lock proves that no import runs, so those the ledger has as running have died.
    pub fn writer(&self) -> Result<Writer, StoreError> {
        if !exists(&self.path)? {
            return Err(StoreError::Absent { path: self.dir.clone() });
        }
        let lock = Lock::take(&self.dir)?;
        let db = Db::open(&self.path, Role::Writer)?;
        let (found, known) = (migrate::schema(&db, migrate::ALL)?, migrate::known(migrate::ALL));
        if found != known {
            return Err(StoreError::Outdated { path: self.path.clone(), found, known });
        }
        db.run(sql::INTERRUPT_IMPORTS, (ImportState::Interrupted.as_str(), ImportState::Running.as_str()))?;
        Ok(Writer { view: View::new(db), _lock: lock })
    }

    fn prepare(&self, now: Timestamp) -> Result<(), StoreError> {
        let current = match self.reader() {
            Ok(_) => true,
            Err(StoreError::Absent { .. } | StoreError::Outdated { .. }) => false,
            Err(error) => return Err(error),
        };
        if current {
            return Ok(());
        }
        std::fs::create_dir_all(&self.dir).map_err(|source| StoreError::Io {
            what: "create the directory",
            path: self.dir.clone(),
            source,
        })?;
        let _lock = Lock::take(&self.dir)?;
        migrate::migrate(&Db::open(&self.path, Role::Writer)?, migrate::ALL, now)
    }
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    match std::fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::Io { what: "open", path: path.to_owned(), source }),
    }
}

#[derive(Debug)]
pub struct Reader {
    view: View,
}

impl Reader {
    /// One state of the store, for as long as the snapshot lives. Keep it for a request, not for the day: the log
    /// cannot be folded back into the file past the oldest snapshot.
    pub fn snapshot(&mut self) -> Result<Snapshot<'_>, StoreError> {
        self.view.db().run(sql::BEGIN_READ, [])?;
        Ok(Snapshot { view: &self.view })
    }
}

/// A read transaction. The state it shows is that of its first question.
#[derive(Debug)]
pub struct Snapshot<'a> {
    view: &'a View,
}

impl Deref for Snapshot<'_> {
    type Target = View;

    fn deref(&self) -> &View {
        self.view
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written, so nothing is lost if this fails; the next `begin` would say so.
        self.view.db().run(sql::COMMIT, []).ok();
    }
}

#[derive(Debug)]
pub struct Writer {
    view: View,
    // After the view: the connection is closed before the lock is given up.
    _lock: Lock,
}

impl Writer {
    /// Changes that become visible together, or not at all.
    pub fn begin(&mut self) -> Result<Batch<'_>, StoreError> {
        self.view.db().run(sql::BEGIN_WRITE, [])?;
        Ok(Batch::new(&self.view))
    }
}
