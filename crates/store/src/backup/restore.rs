//! Restores a backup into a new store, or replaces a store that no server has open.
//!
//! All files are first copied to a staging directory, verified against the manifest, and migrated.
//! The databases are then renamed into place. A crash between two renames leaves [`RESTORE_FILE`]
//! in the directory, and the store cannot be opened until a restore has finished.

use std::fs;
use std::path::{Path, PathBuf};

use blake3::Hash;
use market::Timestamp;

use super::{
    Backup, BackupError, KeyFile, Manifest, PARTIAL, Part, Progress, Stage, Watch, beside, copy, create_file,
    create_folder, digest, is_there, leave_wal, manifest, settle, sync, write_whole,
};
use crate::accounts::{Accounts, AuditNote};
use crate::candles::ingest_file::remove_log;
use crate::engine::lock::{LockPlace, WriteLocks};
use crate::engine::migrations::Migration;
use crate::engine::sqlite::{RESTORE_FILE, ServerLock};
use crate::engine::{Db, Role, Sql, StoreError, migrate, migrations};

/// How to handle an existing store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    /// Back up the existing store into a subdirectory, then replace it.
    Replace,
    /// Replace the existing store without a backup.
    ReplaceAndForget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    All,
    Candles,
    Accounts,
}

/// Parameters of a restore.
#[derive(Clone, Copy, Debug)]
pub struct Restore<'a> {
    pub from: &'a Path,
    /// Directory of the store.
    pub store: &'a Path,
    pub scope: Scope,
    /// Path of the key file, for a backup that does not include the key.
    pub key: Option<&'a Path>,
    pub existing: Existing,
    pub chandler: &'a str,
    /// Wall-clock time of the restore.
    pub now: Timestamp,
    /// The actor recorded in the audit log.
    pub actor: &'a str,
}

/// Result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub manifest: Manifest,
    pub parts: Vec<Part>,
    /// Path of the backup of the replaced store, if one was made.
    pub previous: Option<PathBuf>,
    /// Names of the accounts that were revoked after the backup was made, and stay revoked.
    pub still_revoked: Vec<String>,
    /// Names of the accounts of the replaced store that are not in the backup.
    pub gone: Vec<String>,
}

/// A staged backup: copied, verified against its manifest, and migrated to the current schema. The
/// store is not changed yet. Dropping this value removes the staging directory. No import and no
/// server can start while it exists.
#[derive(Debug)]
pub struct Prepared<'a> {
    restore: Restore<'a>,
    manifest: Manifest,
    parts: Vec<Part>,
    staging: Staging,
    // Last field, so that the directory is removed before the locks are released.
    _locks: (WriteLocks, ServerLock),
}

pub(super) const STAGING: &str = "restore.partial";
/// Name prefix of the backup of a replaced store. The time of the restore follows the prefix.
const PREVIOUS_PREFIX: &str = "before-restore-";
/// Maximum number of backups of replaced stores that begin within the same second.
const KEPT_MAX: u32 = 1_000;
/// Suffixes of the files that SQLite creates next to an open database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];
const SHAPE: Sql = Sql::new(
    "read the schema",
    "select type || ' ' || name from sqlite_schema where name not like 'sqlite%' order by 1",
);

impl<'a> Restore<'a> {
    /// Prepares the backup and replaces the store in one call. The caller cannot examine the staged
    /// databases.
    pub fn run(&self, watch: &mut Watch<'_>) -> Result<Restored, BackupError> {
        self.prepare(watch)?.go_live(watch)
    }

    /// Copies the backup to the staging directory, where it can be examined. Does not change the
    /// store.
    pub fn prepare(&self, watch: &mut Watch<'_>) -> Result<Prepared<'a>, BackupError> {
        let manifest = Manifest::read(self.from)?;
        let parts = self.parts(&manifest)?;
        // This check also rejects restoring a backup onto itself, through any path.
        if is_there(&self.store.join(manifest::FILE))? {
            return Err(BackupError::IsBackup { path: self.store.to_owned() });
        }
        if self.existing == Existing::Refuse {
            for part in Part::ALL {
                if is_there(&self.live(part))? {
                    return Err(BackupError::Exists { path: self.store.to_owned() });
                }
            }
        }
        let io = |what| move |source| StoreError::io(what, self.store, source);
        fs::create_dir_all(self.store).map_err(io("create the directory"))?;
        // From this point, no import or server is running or can start.
        let locks = self.lock()?;
        self.clear()?;
        self.no_leftovers(&parts)?;
        let staging = Staging::begin(self.store)?;
        for part in &parts {
            self.stage(&staging, &manifest, *part, watch)?;
        }
        if parts.contains(&Part::Accounts) {
            self.stage_key(&staging, &manifest, watch)?;
        }
        Ok(Prepared { restore: *self, manifest, parts, staging, _locks: locks })
    }

    fn lock(&self) -> Result<(WriteLocks, ServerLock), StoreError> {
        self.create_lock("writer.lock")?;
        self.create_lock("merge.lock")?;
        self.create_lock("server.lock")?;
        if is_there(&self.live(Part::Accounts))? {
            self.create_lock("accounts.lock")?;
        }
        Ok((WriteLocks::take(LockPlace::Directory(self.store))?, ServerLock::exclude(self.store)?))
    }

    /// Creates a lock file if it is missing, owned by the owner of the directory.
    fn create_lock(&self, name: &str) -> Result<(), StoreError> {
        let path = self.store.join(name);
        if !is_there(&path)? {
            // Another process may have created the file. Any other error is reported when the file
            // is opened.
            create_file(&path).ok();
        }
        Ok(())
    }

    /// Removes the partial backup that a killed restore has left. No other restore is running,
    /// because this process holds the lock.
    fn clear(&self) -> Result<(), StoreError> {
        let fail = |source| StoreError::io("list", self.store, source);
        for entry in fs::read_dir(self.store).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name();
            let is_ours =
                name.to_str().and_then(|name| name.strip_prefix(PREVIOUS_PREFIX)?.strip_suffix(PARTIAL));
            if is_ours.is_some() && entry.file_type().map_err(fail)?.is_dir() {
                let path = entry.path();
                fs::remove_dir_all(&path).map_err(|source| StoreError::io("remove", &path, source))?;
            }
        }
        Ok(())
    }

    /// Fails if a WAL or journal exists without its database, because SQLite would apply it to the
    /// restored file.
    fn no_leftovers(&self, parts: &[Part]) -> Result<(), BackupError> {
        for part in parts {
            let live = self.live(*part);
            if is_there(&live)? {
                continue;
            }
            for path in COMPANIONS.map(|ending| beside(&live, ending)) {
                if is_there(&path)? {
                    return Err(BackupError::Leftover { path });
                }
            }
        }
        Ok(())
    }

    fn live(&self, part: Part) -> PathBuf {
        self.store.join(part.file_name())
    }

    fn parts(&self, manifest: &Manifest) -> Result<Vec<Part>, BackupError> {
        let wanted: &[Part] = match self.scope {
            Scope::All => &[Part::Candles, Part::Accounts],
            Scope::Candles => &[Part::Candles],
            Scope::Accounts => &[Part::Accounts],
        };
        let parts: Vec<Part> = wanted.iter().copied().filter(|part| manifest.file(*part).is_some()).collect();
        match wanted.first().filter(|part| !parts.contains(part)) {
            Some(part) => Err(BackupError::Lacks { path: self.from.to_owned(), part: *part }),
            None => Ok(parts),
        }
    }

    /// Copies a database to the staging directory, verifies it, and migrates it to the current
    /// schema.
    fn stage(
        &self,
        staging: &Staging,
        manifest: &Manifest,
        part: Part,
        watch: &mut Watch<'_>,
    ) -> Result<(), BackupError> {
        let (from, to) = (self.from.join(part.file_name()), staging.path(part));
        let Some(file) = manifest.file(part) else {
            return Err(BackupError::Lacks { path: self.from.to_owned(), part });
        };
        let (bytes, hash) = copy(&from, &to, part, watch)?;
        if !file.is(bytes, hash) {
            return Err(BackupError::Differs { path: from });
        }
        let migrations = if part == Part::Accounts { migrations::ACCOUNTS } else { migrations::ALL };
        let db = Db::open(&to, Role::Writer)?;
        let found = migrate::schema(&db, migrations).map_err(|error| match error {
            // The error names the backup, because the staging directory will be removed.
            StoreError::TooOld { found, oldest, .. } => {
                StoreError::TooOld { place: from.as_path().into(), found, oldest }
            }
            other => other,
        })?;
        if found != migrations::known(migrations) {
            migrate::migrate(&db, migrations, self.now)?;
        }
        // A matching digest shows that the file is unchanged, not that this program wrote it.
        if shape(&db)? != made(migrations, self.now)? {
            return Err(StoreError::Foreign { place: from.into() }.into());
        }
        Ok(())
    }

    /// Stages the key that encrypts app secrets, unless the store already has it.
    fn stage_key(
        &self,
        staging: &Staging,
        manifest: &Manifest,
        watch: &mut Watch<'_>,
    ) -> Result<(), BackupError> {
        let inside = self.from.join(Part::Key.file_name());
        if let Some(file) = manifest.file(Part::Key) {
            let (bytes, hash) = digest(&inside, Part::Key, watch)?;
            if !file.is(bytes, hash) {
                return Err(BackupError::Differs { path: inside });
            }
        }
        let Some(wanted) = &manifest.key_blake3 else { return Ok(()) };
        let is_it = |hash: Hash| Hash::from_hex(wanted).is_ok_and(|wanted| wanted == hash);
        let live = self.live(Part::Key);
        if is_there(&live)? {
            let (_, hash) = digest(&live, Part::Key, watch)?;
            return if is_it(hash) { Ok(()) } else { Err(BackupError::OtherKey { path: live }) };
        }
        let from = match (self.key, manifest.file(Part::Key)) {
            (Some(path), _) => path,
            (None, Some(_)) => inside.as_path(),
            (None, None) => return Err(BackupError::NoKey),
        };
        let (_, hash) = copy(from, &staging.path(Part::Key), Part::Key, watch)?;
        match (is_it(hash), self.key) {
            (true, _) => Ok(()),
            (false, Some(path)) => Err(BackupError::OtherKey { path: path.to_owned() }),
            (false, None) => Err(BackupError::Differs { path: inside }),
        }
    }

    /// Backs up the store that is about to be replaced, so that the restore can be undone. Returns
    /// the path of the backup, or `None` if no backup was requested or there is nothing to back up.
    fn set_aside(&self, staging: &Staging, watch: &mut Watch<'_>) -> Result<Option<PathBuf>, BackupError> {
        let is_live = |part| is_there(&self.live(part));
        if self.existing != Existing::Replace || !(is_live(Part::Candles)? || is_live(Part::Accounts)?) {
            return Ok(None);
        }
        let candles =
            if is_live(Part::Candles)? { self.store.to_owned() } else { staging.no_candles(self.now)? };
        let to = self.name_to_keep()?;
        let backup = Backup {
            store: self.store,
            to: &to,
            key: KeyFile::Include,
            chandler: self.chandler,
            now: self.now,
        };
        backup.make_with(&candles, watch).map_err(|error| self.unreadable(error))?;
        Ok(Some(to))
    }

    /// Returns an unused path for the backup of the replaced store, even if two restores start in
    /// the same second.
    fn name_to_keep(&self) -> Result<PathBuf, BackupError> {
        let time: String = self.now.to_string().chars().filter(|letter| !"-:".contains(*letter)).collect();
        let mut path = self.store.join(format!("{PREVIOUS_PREFIX}{time}"));
        for number in 2..KEPT_MAX {
            if !is_there(&path)? {
                break;
            }
            path = self.store.join(format!("{PREVIOUS_PREFIX}{time}-{number}"));
        }
        Ok(path)
    }

    /// Prevents other processes from opening the accounts for writing. The accounts are migrated
    /// first, so that their tables are known.
    fn lock_accounts(&self) -> Result<fs::File, BackupError> {
        self.create_lock("accounts.lock")?;
        if is_there(&self.live(Part::Accounts))? {
            Accounts::open_to_fill(self.store, self.now).map_err(|error| self.unreadable(error.into()))?;
        }
        Ok(Accounts::lock_opening(self.store)?)
    }

    /// Opens a live database and removes its WAL, which would otherwise be applied to the restored
    /// file. Fails if another process has the database open. Returns `None` if the database does
    /// not exist.
    fn take_over(&self, part: Part) -> Result<Option<Db>, BackupError> {
        let live = self.live(part);
        if !is_there(&live)? {
            return Ok(None);
        }
        let db = Db::open(&live, Role::Writer).map_err(|error| self.unreadable(error.into()))?;
        leave_wal(&db, &live)?;
        Ok(Some(db))
    }

    /// Switches a database that was not replaced back to WAL mode, which readers require.
    fn give_back(&self, parts: &[Part]) {
        for live in parts.iter().map(|part| self.live(*part)) {
            if is_there(&live).unwrap_or(false) {
                // If opening fails here, the next writer switches the mode.
                drop(Db::open(&live, Role::Writer));
            }
        }
    }

    /// Moves the staged key into the store, if a key was staged. Called only when accounts are
    /// restored, because only accounts use the key.
    fn put_key(&self, staging: &Staging) -> Result<(), BackupError> {
        let staged = staging.path(Part::Key);
        if is_there(&staged)? { place(&staged, &self.live(Part::Key)) } else { Ok(()) }
    }

    /// Converts errors that mean that a file may not be a database at all. Such a file is not
    /// replaced.
    fn unreadable(&self, error: BackupError) -> BackupError {
        match error {
            BackupError::Store(
                source @ (StoreError::Damaged { .. }
                | StoreError::Foreign { .. }
                | StoreError::Emptied { .. }),
            ) => BackupError::Unreadable { path: self.store.to_owned(), source: Box::new(source) },
            other => other,
        }
    }

    fn reason(&self, manifest: &Manifest, parts: &[Part]) -> String {
        let what = match parts {
            [Part::Candles] => "candles",
            [Part::Accounts] => "accounts",
            _ => "candles and accounts",
        };
        format!("{what} of the backup of {}", manifest.created_at)
    }
}

impl Prepared<'_> {
    /// Returns the staging directory, where `candles.db` and `accounts.db` can be examined before
    /// they replace the live databases.
    pub fn dir(&self) -> &Path {
        &self.staging.dir
    }

    /// Replaces the live databases. An error before the first replacement leaves the store
    /// unchanged.
    pub fn go_live(self, watch: &mut Watch<'_>) -> Result<Restored, BackupError> {
        let stored = self.restore.set_aside(&self.staging, watch)?;
        let (manifest, parts) = (self.manifest.clone(), self.parts.clone());
        let mut restored =
            Restored { manifest, parts, previous: stored, still_revoked: Vec::new(), gone: Vec::new() };
        let mut is_changed = false;
        match self.put(&mut restored, &mut is_changed, watch) {
            Ok(()) => Ok(restored),
            Err(error) if !is_changed => {
                // The store is unchanged, so its backup is not needed.
                restored.previous.map(fs::remove_dir_all);
                self.restore.give_back(&self.parts);
                Err(error)
            }
            Err(error) => Err(BackupError::Half {
                path: self.restore.store.to_owned(),
                replaces: self.restore.existing != Existing::Refuse,
                previous: restored.previous,
                source: Box::new(error),
            }),
        }
    }

    fn put(
        &self,
        restored: &mut Restored,
        is_changed: &mut bool,
        watch: &mut Watch<'_>,
    ) -> Result<(), BackupError> {
        let (restore, staging) = (&self.restore, &self.staging);
        let reason = restore.reason(&self.manifest, &self.parts);
        let note = AuditNote { at: restore.now, actor: restore.actor, reason: &reason };
        let accounts = self.parts.contains(&Part::Accounts);
        restore.no_leftovers(&self.parts)?;
        let part = self.parts.first().copied().unwrap_or(Part::Candles);
        let bytes_total = self.manifest.file(part).map_or(0, |file| file.bytes);
        if watch(Progress { stage: Stage::Replace, part, bytes: 0, bytes_total }).is_break() {
            return Err(BackupError::Stopped);
        }
        // The accounts need a separate lock. The writer lock covers the candles.
        let opening = accounts.then(|| restore.lock_accounts()).transpose()?;
        for part in &self.parts {
            let live = restore.take_over(*part)?;
            // A reader that was the last connection to the staged file has left a WAL. Opening a
            // writer removes it.
            let staged = Db::open(&staging.path(*part), Role::Writer)?;
            if *part == Part::Accounts {
                let before = live.as_ref().map(settle::Before::read).transpose()?.unwrap_or_default();
                let settled = settle::settle(&staged, &before, &note)?;
                (restored.still_revoked, restored.gone) = (settled.still_revoked, settled.gone);
            }
        }
        let mark = restore.store.join(RESTORE_FILE);
        if self.parts.len() > 1 && !is_there(&mark)? {
            let marked = write_whole(&mark, restore.from.as_os_str().as_encoded_bytes())
                .and_then(|()| sync(restore.store));
            if marked.is_err() {
                // Nothing was replaced yet, so the store must remain usable.
                fs::remove_file(&mark).ok();
            }
            marked?;
        }
        *is_changed = true;
        // The candles are replaced last, because a store exists once it has `candles.db`.
        for part in self.parts.iter().rev() {
            if *part == Part::Accounts {
                restore.put_key(staging)?;
            }
            place(&staging.path(*part), &restore.live(*part))?;
            if *part == Part::Candles {
                // Removes the log of the previous candle database, which would be ignored.
                remove_log(restore.store)?;
            }
        }
        drop(opening);
        if restore.scope == Scope::All && is_there(&mark)? {
            fs::remove_file(&mark).map_err(|source| StoreError::io("remove", &mark, source))?;
            sync(restore.store)?;
        }
        if !accounts && is_there(&restore.live(Part::Accounts))? {
            Accounts::open(restore.store, restore.now)?.note(None, "store.restored", &note)?;
        }
        Ok(())
    }
}

fn shape(db: &Db) -> Result<Vec<String>, StoreError> {
    db.all(SHAPE, [], |row| row.get(0))
}

/// Returns the types and names of the tables and indexes that the migrations create.
fn made(migrations: &[Migration], now: Timestamp) -> Result<Vec<String>, StoreError> {
    let db = Db::open(Path::new(":memory:"), Role::Draft)?;
    migrate::migrate(&db, migrations, now)?;
    shape(&db)
}

/// Renames a file into place. Fails if either name has a WAL or journal, which SQLite would apply
/// to the file.
fn place(from: &Path, to: &Path) -> Result<(), BackupError> {
    for name in [from, to] {
        for path in COMPANIONS.map(|ending| beside(name, ending)) {
            if is_there(&path)? {
                return Err(BackupError::Leftover { path });
            }
        }
    }
    sync(from)?;
    fs::rename(from, to).map_err(|source| StoreError::io("move into place", to, source))?;
    Ok(to.parent().map_or(Ok(()), sync)?)
}

/// The staging directory, which is removed on drop. A directory left by a crash is harmless,
/// because only the holder of the store lock uses it.
#[derive(Debug)]
struct Staging {
    dir: PathBuf,
}

impl Staging {
    fn begin(store: &Path) -> Result<Staging, StoreError> {
        let dir = store.join(STAGING);
        if is_there(&dir)? {
            fs::remove_dir_all(&dir).map_err(|source| StoreError::io("remove", &dir, source))?;
        }
        create_folder(&dir).map_err(|source| StoreError::io("create the folder", &dir, source))?;
        Ok(Staging { dir })
    }

    fn path(&self, part: Part) -> PathBuf {
        self.dir.join(part.file_name())
    }

    /// Creates a directory with an empty candle database, used to back up a store that has only
    /// accounts.
    fn no_candles(&self, now: Timestamp) -> Result<PathBuf, StoreError> {
        let dir = self.dir.join("empty");
        create_folder(&dir).map_err(|source| StoreError::io("create the folder", &dir, source))?;
        migrate::migrate(
            &Db::open(&dir.join(Part::Candles.file_name()), Role::Writer)?,
            migrations::ALL,
            now,
        )?;
        Ok(dir)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.dir).ok();
    }
}
