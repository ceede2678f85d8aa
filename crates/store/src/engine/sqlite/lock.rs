//! Lock files in a store's directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use crate::engine::error::StoreError;

/// Name of the lock file of [`JobFile`].
const JOBS_FILE: &str = "jobs.lock";
/// Name of the lock file of [`ServerLock`].
const SERVER_FILE: &str = "server.lock";
/// Name of the file that exists while a restore replaces the files of a store. It contains the path
/// of the backup.
pub(crate) const RESTORE_FILE: &str = "restore.unfinished";
/// Maximum number of attempts to take a lock whose file contains no process id.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// A locked file with the process id of the lock's holder. The OS releases the lock when the
/// process ends in any way, so a dead holder needs no cleanup. The file is not removed, because two
/// processes could then lock two files with the same name.
#[derive(Debug)]
pub(crate) struct LockFile {
    file: File,
}

impl LockFile {
    /// Takes a lock. If another process holds the lock, `held` makes the error from the id of that
    /// process, which may be unknown.
    pub(crate) fn take(
        path: &Path,
        lock: fn(&File) -> Result<(), TryLockError>,
        held: impl FnOnce(Option<u32>) -> StoreError,
    ) -> Result<LockFile, StoreError> {
        match try_lock(path, lock)? {
            Ok(mut file) => {
                sign(&mut file).map_err(|source| StoreError::io("write to the lock file", path, source))?;
                Ok(LockFile { file })
            }
            Err(mut file) => Err(held(pid(&mut file))),
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // A stale process id would only be misleading, so an error is ignored here.
        if pid(&mut self.file) == Some(std::process::id()) {
            self.file.set_len(0).ok();
        }
        // The lock is released explicitly, because closing the file does not release it while a
        // child process that is being spawned has inherited the file.
        self.file.unlock().ok();
    }
}

/// A write lock of a store across processes.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "it is held")] LockFile);

impl Lock {
    /// Takes the lock `name`, which is the name of its file without the extension.
    pub(crate) fn take(dir: &Path, name: &str) -> Result<Lock, StoreError> {
        let path = dir.join(name).with_extension("lock");
        let mut tries = 0;
        loop {
            let busy = |pid| StoreError::Busy { place: dir.into(), pid };
            match LockFile::take(&path, File::try_lock, busy) {
                // The holder has released the lock and erased its process id, but a child process
                // that it has forked still has the file open until `exec`.
                Err(StoreError::Busy { pid: None, .. }) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                taken => return taken.map(Lock),
            }
        }
    }
}

/// Lock for background jobs that change a store, such as removing expired rows. Only one of several
/// servers holds the lock. The OS releases it when the process ends. The file is empty and is not
/// removed.
#[derive(Debug)]
pub(crate) struct JobFile {
    file: File,
}

impl JobFile {
    /// Takes the lock. Returns `None` if another process holds the lock.
    pub(crate) fn try_take(dir: &Path) -> Result<Option<JobFile>, StoreError> {
        let file = try_lock(&dir.join(JOBS_FILE), File::try_lock)?;
        Ok(file.ok().map(|file| JobFile { file }))
    }
}

impl Drop for JobFile {
    fn drop(&mut self) {
        // The lock is released explicitly, because closing the file does not release it while a
        // child process that is being spawned has inherited the file.
        self.file.unlock().ok();
    }
}

/// A shared lock held by every server that has a store open. A restore holds it exclusively. If
/// there are several servers, the file contains the process id of the last server.
#[derive(Debug)]
pub(crate) struct ServerLock(#[expect(dead_code, reason = "it is held")] LockFile);

impl ServerLock {
    /// Takes the shared lock. Called by a server.
    pub(crate) fn join(dir: &Path) -> Result<ServerLock, StoreError> {
        let held = |pid| StoreError::Restoring { place: dir.into(), pid };
        LockFile::take(&dir.join(SERVER_FILE), File::try_lock_shared, held).map(ServerLock)
    }

    /// Takes the exclusive lock. Called by a restore: while the lock is held, no server has the
    /// store open or can open it.
    pub(crate) fn exclude(dir: &Path) -> Result<ServerLock, StoreError> {
        let held = |pid| StoreError::Served { place: dir.into(), pid };
        LockFile::take(&dir.join(SERVER_FILE), File::try_lock, held).map(ServerLock)
    }
}

/// Opens a file, creates it if needed, and tries to lock it. Returns `Err` with the file if another
/// process holds the lock.
fn try_lock(
    path: &Path,
    lock: fn(&File) -> Result<(), TryLockError>,
) -> Result<Result<File, File>, StoreError> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
    let file = options.open(path).map_err(|source| StoreError::io("open the lock file", path, source))?;
    match lock(&file) {
        Ok(()) => Ok(Ok(file)),
        Err(TryLockError::WouldBlock) => Ok(Err(file)),
        Err(TryLockError::Error(source)) => Err(StoreError::io("lock", path, source)),
    }
}

/// Fails if a restore has replaced only a part of the store.
pub(crate) fn refuse_half_restored(dir: &Path) -> Result<(), StoreError> {
    match std::fs::read(dir.join(RESTORE_FILE)) {
        Ok(from) => {
            let from = String::from_utf8_lossy(&from).into_owned();
            Err(StoreError::HalfRestored { place: dir.into(), from })
        }
        // Usually the file does not exist. If it exists but cannot be read, opening the databases
        // also fails.
        Err(_) => Ok(()),
    }
}

/// Writes the process id to the file. The id is only informational; the lock does not depend on it.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
