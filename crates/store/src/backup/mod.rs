//! Online backups of a store, and their restore into a store that no server has open.
//!
//! A backup is a directory with the databases, the key that encrypts app secrets, and
//! `MANIFEST.json` with a digest of each file. Both databases are read in transactions that begin
//! together, so each copy is a consistent snapshot while imports and servers continue to write: in
//! WAL mode readers and writers do not block each other. The WAL cannot be checkpointed past the
//! snapshot, so it grows by the writes made during the copy. `VACUUM INTO` would give the same
//! guarantee and a compact file, but it reports no progress, cannot be cancelled, and rewrites
//! every row: 1.6 s for a store of 400 MB, compared to 1.1 s for this copy with digest and fsync.
//!
//! The directory has a temporary name until all of its files are synced to disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use blake3::Hash;
use market::Timestamp;

pub use manifest::{Counts, Manifest, Part, PartEntry};
pub use restore::{Existing, Prepared, Restore, Restored, Scope};

use crate::candles::{ingest_file, sql};
use crate::engine::lock::MIRROR_PREFIX;
use crate::engine::sqlite::{Database, RESTORE_FILE, is_emptied, refuse_half_restored};
use crate::engine::{Db, INGEST_FILE, Role, Sql, StoreError, migrate, migrations, natural};

mod manifest;
mod restore;
mod settle;

/// Maximum number of attempts to read the candles and the log of ingested batches together.
const SNAPSHOT_TRIES: usize = 3;

/// Errors of backup and restore.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{} already exists: name a new directory", path.display())]
    Taken { path: PathBuf },
    #[error("a backup cannot be named {}: the name is reserved", path.display())]
    Reserved { path: PathBuf },
    #[error(
        "{} exists: another backup is running, or one was interrupted; remove it if none is running",
        path.display()
    )]
    Unfinished { path: PathBuf },
    #[error("{} is not a backup: it has no MANIFEST.json", path.display())]
    Absent { path: PathBuf },
    #[error("{} is not the manifest of a backup: {reason}: use another backup", path.display())]
    Manifest { path: PathBuf, reason: String },
    #[error(
        "{} was written by a newer version (format {found}, this program knows {known}): upgrade this program",
        path.display()
    )]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("{} is missing: the backup is incomplete, use another one", path.display())]
    Missing { path: PathBuf },
    #[error("the checksum of {} does not match the backup: use another backup", path.display())]
    Differs { path: PathBuf },
    #[error("{} is damaged: {problem}", path.display())]
    Damaged { path: PathBuf, problem: String },
    #[error("the backup at {} has no {}: use another one, or leave out --only", path.display(), part.file_name())]
    Lacks { path: PathBuf, part: Part },
    #[error("{} is a backup, which a restore would spoil: name the folder of a store with --store", path.display())]
    IsBackup { path: PathBuf },
    #[error("there is already a store at {}: add --replace to overwrite it with the backup", path.display())]
    Exists { path: PathBuf },
    #[error(
        "{} belongs to a database that does not exist: move it away if nothing uses it, and run this again",
        path.display()
    )]
    Leftover { path: PathBuf },
    #[error(
        "{} is not the key that the accounts of this backup are sealed with: another installation's backup is restored \
         into an empty folder, or without its accounts (--only candles)",
        path.display()
    )]
    OtherKey { path: PathBuf },
    #[error("the backup was made without secret.key: name the file that belongs to it with --key")]
    NoKey,
    #[error(
        "{} is only partly restored: run the same command again{}{}",
        path.display(),
        if *replaces { "" } else { " with --replace" },
        previous.as_ref().map(|previous| format!(", or go back with `chandler restore {} --replace`", previous.display())).unwrap_or_default()
    )]
    Half { path: PathBuf, replaces: bool, previous: Option<PathBuf>, source: Box<BackupError> },
    #[error(
        "the store at {} cannot be read, so it cannot be replaced in place: move the files of the store away, \
         and restore into the empty folder",
        path.display()
    )]
    Unreadable { path: PathBuf, source: Box<StoreError> },
    #[error("stopped")]
    Stopped,
}

/// The current stage of a backup or restore, for progress display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Copy,
    Verify,
    /// Reported once, without byte counts, before the first database is replaced. This is the last
    /// point at which cancelling leaves the store unchanged.
    Replace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    pub part: Part,
    pub bytes: u64,
    pub bytes_total: u64,
}

/// Callback that receives progress and returns `Break` to cancel the operation.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Whether the backup includes the key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFile {
    Include,
    LeaveOut,
}

/// Parameters of a backup.
#[derive(Clone, Copy, Debug)]
pub struct Backup<'a> {
    /// Directory of the store.
    pub store: &'a Path,
    /// Directory to create. The directory must not exist, but its parent must exist.
    pub to: &'a Path,
    pub key: KeyFile,
    /// Program version, recorded in the manifest.
    pub chandler: &'a str,
    pub now: Timestamp,
}

/// Number of bytes per read, and between progress reports.
const CHUNK: usize = 1 << 20;
/// Maximum size of a key file, in bytes. A valid key has 32 bytes.
const KEY_BYTES_MAX: u64 = 4_096;
const PAGE_BYTES: u64 = 4_096;
/// Suffix of the directory's name until the backup is complete.
const PARTIAL: &str = ".partial";
/// File names in a store directory that a backup must not use, in addition to names that begin with
/// the name of a part, and to the lock files of mirrors.
const RESERVED: [&str; 8] = [
    INGEST_FILE,
    "writer.lock",
    "merge.lock",
    "accounts.lock",
    "jobs.lock",
    "server.lock",
    RESTORE_FILE,
    restore::STAGING,
];

// These statements run only on SQLite.
const PLAIN: Sql = Sql::new("take over the database", "pragma journal_mode = delete");
const TABLE_COUNT: Sql = Sql::new("read the schema", "select count(*) from sqlite_schema");
const INTEGRITY: Sql = Sql::new("check the pages", "pragma integrity_check(100)");
const REFERENCES: Sql = Sql::new("check the references", "select count(*) from pragma_foreign_key_check");

impl Backup<'_> {
    /// Makes the backup. On an error the partial directory is removed.
    pub fn make(&self, watch: &mut Watch<'_>) -> Result<Manifest, BackupError> {
        refuse_half_restored(self.store)?;
        // A backup of a store that lost its accounts would look complete. Only a restore can repair
        // it.
        let accounts = self.store.join(Part::Accounts.file_name());
        if is_emptied(&accounts) && is_there(&self.store.join(Part::Key.file_name()))? {
            return Err(StoreError::Emptied { place: accounts.into() }.into());
        }
        self.make_with(self.store, watch)
    }

    /// Makes the backup, reading the candles from the directory `candles`.
    fn make_with(&self, candles: &Path, watch: &mut Watch<'_>) -> Result<Manifest, BackupError> {
        let to = self.goal()?;
        let partial = beside(&to, PARTIAL);
        match create_folder(&partial) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(BackupError::Unfinished { path: partial });
            }
            made => made.map_err(|source| StoreError::io("create the folder", &partial, source))?,
        }
        let made = self.fill(&partial, candles, watch).and_then(|manifest| {
            move_into_place(&partial, &to)?;
            Ok(manifest)
        });
        if made.is_err() {
            // The error of the backup is returned, not one from the cleanup.
            fs::remove_dir_all(&partial).ok();
        }
        made
    }

    /// Validates the target path. Returns it without a trailing separator.
    fn goal(&self) -> Result<PathBuf, BackupError> {
        // A path without a file name ends in `..` or is a root, so it refers to an existing
        // directory.
        let taken = || BackupError::Taken { path: self.to.to_owned() };
        let name = self.to.file_name().ok_or_else(taken)?;
        let to = self.to.with_file_name(name);
        if is_there(&to)? {
            return Err(taken());
        }
        let in_store = match (fs::canonicalize(folder_of(&to)), fs::canonicalize(self.store)) {
            (Ok(folder), Ok(store)) => folder == store,
            // A missing directory is reported when it is opened.
            _ => false,
        };
        let name = name.to_string_lossy();
        let is_ours = Part::ALL
            .iter()
            .map(|part| part.file_name())
            .chain([MIRROR_PREFIX])
            .any(|begin| name.starts_with(begin))
            || RESERVED.contains(&&*name);
        if name.ends_with(PARTIAL) || in_store && is_ours {
            return Err(BackupError::Reserved { path: to });
        }
        Ok(to)
    }

    fn fill(&self, partial: &Path, candles: &Path, watch: &mut Watch<'_>) -> Result<Manifest, BackupError> {
        let (candles, log) = self.begin_candles(candles)?;
        let accounts = Source::begin(self.store, Part::Accounts, migrations::ACCOUNTS)?;
        let mut files = vec![candles.copy_to(partial, log.as_ref(), watch)?];
        drop(log);
        drop(candles);
        if let Some(accounts) = accounts {
            files.push(accounts.copy_to(partial, None, watch)?);
        }
        let key = self.key(partial, &mut files)?;
        let counts = count(partial, &files)?;
        let manifest = Manifest::new(self.chandler, self.now.to_string(), files, key, counts);
        let path = partial.join(manifest::FILE);
        let text = manifest
            .text()
            .map_err(|error| BackupError::Manifest { path: path.clone(), reason: error.to_string() })?;
        write_whole(&path, text.as_bytes())?;
        // Verifies that a restore can read the manifest.
        Manifest::read(partial)
    }

    /// Begins to read the candles, and the unmerged batches in the log.
    fn begin_candles(&self, folder: &Path) -> Result<(Source, Option<Db>), BackupError> {
        for _ in 0..SNAPSHOT_TRIES {
            let candles = Source::begin(folder, Part::Candles, migrations::ALL)?
                .ok_or_else(|| StoreError::Absent { place: self.store.into() })?;
            let Some(log) = ingest_file::open(&candles.db, Role::Reader)? else { return Ok((candles, None)) };
            begin_reading(&log)?;
            // A batch may be merged and removed between the two snapshots.
            if ingest_file::continues(&log, &candles.db)? {
                return Ok((candles, Some(log)));
            }
        }
        let problem = "it lacks batches that are not merged".to_owned();
        Err(BackupError::Damaged { path: folder.join(INGEST_FILE), problem })
    }

    /// Copies the key file if it is included in the backup. Returns the key's digest in both cases,
    /// or `None` if the store has no key.
    fn key(&self, partial: &Path, files: &mut Vec<PartEntry>) -> Result<Option<Hash>, BackupError> {
        let (name, mut watch) = (Part::Key.file_name(), |_: Progress| ControlFlow::Continue(()));
        let (from, to) = (self.store.join(name), partial.join(name));
        if !is_there(&from)? {
            return Ok(None);
        }
        if self.key == KeyFile::LeaveOut {
            return digest(&from, Part::Key, &mut watch).map(|(_, hash)| Some(hash));
        }
        copy(&from, &to, Part::Key, &mut watch)?;
        let (bytes, hash) = digest(&to, Part::Key, &mut watch)?;
        files.push(PartEntry { name: Part::Key, bytes, blake3: hash.to_hex().to_string(), schema: None });
        Ok(Some(hash))
    }
}

/// A database with an open read transaction.
struct Source {
    db: Db,
    part: Part,
    schema: i64,
}

impl Source {
    /// Opens a database and begins a read transaction. Returns `None` if the database does not
    /// exist or is empty.
    fn begin(
        dir: &Path,
        part: Part,
        migrations: &[migrations::Migration],
    ) -> Result<Option<Source>, BackupError> {
        let path = dir.join(part.file_name());
        if !is_there(&path)? || is_emptied(&path) {
            return Ok(None);
        }
        let db = Db::open(&path, Role::Reader)?;
        db.begin_read()?;
        // The first query takes the snapshot.
        match migrate::schema(&db, migrations)? {
            0 => Ok(None),
            schema => Ok(Some(Source { db, part, schema })),
        }
    }

    /// Copies the database, and moves the log of ingested batches into the copy.
    fn copy_to(&self, dir: &Path, log: Option<&Db>, watch: &mut Watch<'_>) -> Result<PartEntry, BackupError> {
        let part = self.part;
        let path = dir.join(part.file_name());
        write_whole(&path, b"")?;
        let mut copy = Db::open(&path, Role::Draft)?;
        let done = copy.fill_from("copy the database", &self.db, |pages, of| {
            let (bytes, bytes_total) = (pages.saturating_mul(PAGE_BYTES), of.saturating_mul(PAGE_BYTES));
            watch(Progress { stage: Stage::Copy, part, bytes, bytes_total })
        })?;
        if done.is_break() {
            return Err(BackupError::Stopped);
        }
        if let Some(log) = log {
            // The file was empty when it was opened.
            copy.sqlite().map_or(Ok(()), Database::attach_seals)?;
            copy.begin_write()?;
            ingest_file::fold(log, &copy)?;
            copy.commit()?;
        }
        // A database in WAL mode cannot be opened on read-only media.
        leave_wal(&copy, &path)?;
        drop(copy);
        sync(&path)?;
        let (bytes, hash) = digest(&path, part, watch)?;
        Ok(PartEntry { name: part, bytes, blake3: hash.to_hex().to_string(), schema: Some(self.schema) })
    }
}

/// Begins a read transaction, and takes its snapshot.
fn begin_reading(db: &Db) -> Result<(), StoreError> {
    db.begin_read()?;
    db.one(TABLE_COUNT, [], |row| row.get::<i64>(0)).map(drop)
}

/// Checkpoints the WAL and switches the journal mode to `delete`. Fails if another connection is
/// open.
fn leave_wal(db: &Db, path: &Path) -> Result<(), BackupError> {
    let mode: String = db.one(PLAIN, [], |row| row.get(0))?;
    match mode.as_str() {
        "delete" => Ok(()),
        mode => Err(BackupError::Damaged {
            path: path.to_owned(),
            problem: format!("it stayed in journal mode {mode}"),
        }),
    }
}

/// Verifies every file of a backup against its manifest.
pub fn verify(dir: &Path, watch: &mut Watch<'_>) -> Result<Manifest, BackupError> {
    let manifest = Manifest::read(dir)?;
    for file in &manifest.files {
        let path = dir.join(file.name.file_name());
        let (bytes, hash) = digest(&path, file.name, watch)?;
        if !file.is(bytes, hash) {
            return Err(BackupError::Differs { path });
        }
    }
    Ok(manifest)
}

/// Runs SQLite's integrity and foreign-key checks and verifies row seals on one database of a
/// backup, if it exists. For a deeper check that also reads candle blocks, open the directory as a
/// store.
pub fn check_pages(dir: &Path, part: Part) -> Result<(), BackupError> {
    let path = dir.join(part.file_name());
    if !is_there(&path)? {
        return Ok(());
    }
    let db = Db::open(&path, Role::Reader)?;
    let words: Vec<String> = db.all(INTEGRITY, [], |row| row.get(0))?;
    if let Some(problem) = words.into_iter().find(|word| word != "ok") {
        return Err(BackupError::Damaged { path, problem });
    }
    let rows = db.one(REFERENCES, [], |row| natural(row, 0))?;
    if rows > 0 {
        return Err(BackupError::Damaged {
            path,
            problem: format!("{rows} rows point at rows that are missing"),
        });
    }
    match db.check_seals().into_iter().next().map(crate::candles::Finding::from) {
        Some(problem) => Err(BackupError::Damaged { path, problem: problem.to_string() }),
        None => Ok(()),
    }
}

/// The first candle schema version that has trades.
const TRADES_SCHEMA: i64 = 5;

fn count(dir: &Path, files: &[PartEntry]) -> Result<Counts, BackupError> {
    let schema = |part: Part| files.iter().find(|file| file.name == part).and_then(|file| file.schema);
    let db = Db::open(&dir.join(Part::Candles.file_name()), Role::Reader)?;
    let mut counts = db.one(sql::RAW_TOTALS, [], |row| {
        Ok(Counts {
            series: natural(row, 0)?,
            candles: natural(row, 1)?,
            blocks: natural(row, 2)?,
            accounts: 0,
            trades: 0,
        })
    })?;
    if schema(Part::Candles) >= Some(TRADES_SCHEMA) {
        counts.trades = db.one(crate::candles::trade_sql::RAW_TOTAL, [], |row| natural(row, 0))?;
    }
    if schema(Part::Accounts).is_some() {
        let db = Db::open(&dir.join(Part::Accounts.file_name()), Role::Reader)?;
        counts.accounts = db.one(settle::COUNT_ACCOUNTS, [], |row| natural(row, 0))?;
    }
    Ok(counts)
}

fn is_there(path: &Path) -> Result<bool, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::io("look for", path, source)),
    }
}

/// Appends a suffix to the file name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

/// Returns the parent directory, or `.` for a bare file name.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Creates a directory that only its owner can access.
fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    #[cfg(unix)]
    if let Some((user, group)) = owner_to_be(path, &fs::symlink_metadata(path)?) {
        std::os::unix::fs::lchown(path, Some(user), Some(group))?;
    }
    Ok(())
}

/// Returns the user and group that must own a new file: the owner of the directory if root creates
/// the file in another user's directory, who could not read the file otherwise. Returns `None` if
/// the owner need not change.
#[cfg(unix)]
fn owner_to_be(path: &Path, made: &fs::Metadata) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let folder = fs::metadata(folder_of(path)).ok()?;
    (made.uid() == 0 && folder.uid() != 0).then(|| (folder.uid(), folder.gid()))
}

fn create_file(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|source| StoreError::io("create", path, source))?;
    // The owner is set by file descriptor, so that a file swapped in at this path is not affected.
    #[cfg(unix)]
    if let Some((user, group)) = file.metadata().ok().and_then(|made| owner_to_be(path, &made)) {
        std::os::unix::fs::fchown(&file, Some(user), Some(group))
            .map_err(|source| StoreError::io("give away", path, source))?;
    }
    Ok(file)
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut file = create_file(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|source| StoreError::io("write", path, source))
}

/// Syncs a file or a directory to disk.
fn sync(path: &Path) -> Result<(), StoreError> {
    // Only Unix can open a directory as a file.
    if !cfg!(unix) && path.is_dir() {
        return Ok(());
    }
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|source| StoreError::io("flush to disk", path, source))
}

fn move_into_place(from: &Path, to: &Path) -> Result<(), StoreError> {
    sync(from)?;
    fs::rename(from, to).map_err(|source| StoreError::io("move into place", to, source))?;
    sync(folder_of(to))
}

/// Returns the size and digest of a file.
fn digest(path: &Path, part: Part, watch: &mut Watch<'_>) -> Result<(u64, Hash), BackupError> {
    read_through(path, part, Stage::Verify, watch, |_| Ok(()))
}

/// Copies a file. Returns its size and digest.
fn copy(from: &Path, to: &Path, part: Part, watch: &mut Watch<'_>) -> Result<(u64, Hash), BackupError> {
    let mut file = create_file(to)?;
    let fail = |source| StoreError::io("write", to, source);
    let copied = read_through(from, part, Stage::Copy, watch, |bytes| file.write_all(bytes).map_err(fail))?;
    file.sync_all().map_err(fail)?;
    Ok(copied)
}

fn read_through(
    path: &Path,
    part: Part,
    stage: Stage,
    watch: &mut Watch<'_>,
    mut each: impl FnMut(&[u8]) -> Result<(), StoreError>,
) -> Result<(u64, Hash), BackupError> {
    let fail = |source| StoreError::io("read", path, source);
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BackupError::Missing { path: path.to_owned() });
        }
        opened => opened.map_err(fail)?,
    };
    let bytes_total = file.metadata().map_err(fail)?.len();
    if part == Part::Key && bytes_total > KEY_BYTES_MAX {
        return Err(BackupError::Differs { path: path.to_owned() });
    }
    let (mut hasher, mut chunk, mut bytes) = (blake3::Hasher::new(), vec![0; CHUNK], 0_u64);
    loop {
        let read = match file.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(fail)?,
        };
        let Some(part_read) = chunk.get(..read).filter(|read| !read.is_empty()) else { break };
        each(part_read)?;
        hasher.update(part_read);
        bytes = bytes.saturating_add(read as u64);
        if watch(Progress { stage, part, bytes, bytes_total: bytes_total.max(bytes) }).is_break() {
            return Err(BackupError::Stopped);
        }
    }
    Ok((bytes, hasher.finalize()))
}
