use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use crate::StoreError;
use crate::engine::Place;

const FILE: &str = "writer.lock";
/// Name of the lock file of [`JobFile`].
const JOBS_FILE: &str = "jobs.lock";
/// Name of the lock file of [`ServerLock`].
const SERVER_FILE: &str = "server.lock";
/// Exists while a restore replaces the files of a store. Contains the path of the backup.
pub(crate) const RESTORE_FILE: &str = "restore.unfinished";
/// Number and interval of attempts to take a lock whose file contains no process id.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// The write lock of a store across processes. The OS releases it when the process ends in any way,
/// so a dead writer needs no cleanup. The file is not removed, because two writers could then lock
/// two files with the same name.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Lock, StoreError> {
        let path = dir.join(FILE);
        let fail = |what| move |source| StoreError::io(what, dir.join(FILE), source);
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
        let mut file = options.open(&path).map_err(fail("open the lock file"))?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => match pid(&mut file) {
                    // The holder has released the lock and erased its process id, but a child
                    // process that it has forked still has the file open until `exec`.
                    None if tries < TRIES => {
                        tries += 1;
                        std::thread::sleep(PAUSE);
                    }
                    pid => return Err(StoreError::Busy { place: dir.into(), pid }),
                },
                Err(TryLockError::Error(source)) => return Err(fail("lock")(source)),
            }
        }
        sign(&mut file).map_err(fail("write to the lock file"))?;
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A stale process id would only be misleading, so an error is ignored.
        self.file.set_len(0).ok();
        // Closing the file is not enough while a child process that is being spawned has inherited
        // it.
        self.file.unlock().ok();
    }
}

/// Lock for background jobs that change a store, such as removing expired rows. Only one of several
/// servers holds it. The OS releases it when the process ends. The file is empty and is not
/// removed.
#[derive(Debug)]
pub(crate) struct JobFile {
    file: File,
}

impl JobFile {
    /// Takes the lock. Returns `None` if another process holds it.
    pub(crate) fn try_take(dir: &Path) -> Result<Option<JobFile>, StoreError> {
        let path = dir.join(JOBS_FILE);
        let fail = |what| {
            let path = path.clone();
            move |source| StoreError::io(what, &path, source)
        };
        let options = OpenOptions::new().write(true).create(true).truncate(false).clone();
        let file = options.open(&path).map_err(fail("open the lock file"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(JobFile { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(fail("lock")(source)),
        }
    }
}

impl Drop for JobFile {
    fn drop(&mut self) {
        // Closing the file is not enough while a child process that is being spawned has inherited
        // it.
        self.file.unlock().ok();
    }
}

/// A shared lock held by every server that has a store open; a restore holds it exclusively. The OS
/// releases it when the process ends.
#[derive(Debug)]
pub(crate) struct ServerLock {
    file: File,
}

impl ServerLock {
    /// Takes the shared lock, for a server.
    pub(crate) fn join(dir: &Path) -> Result<ServerLock, StoreError> {
        ServerLock::take(dir, File::try_lock_shared, |place, pid| StoreError::Restoring { place, pid })
    }

    /// Takes the exclusive lock, for a restore: no server has the store open, and none can open it.
    pub(crate) fn exclude(dir: &Path) -> Result<ServerLock, StoreError> {
        ServerLock::take(dir, File::try_lock, |place, pid| StoreError::Served { place, pid })
    }

    fn take(
        dir: &Path,
        lock: fn(&File) -> Result<(), TryLockError>,
        held: fn(Place, Option<u32>) -> StoreError,
    ) -> Result<ServerLock, StoreError> {
        let fail = |what| move |source| StoreError::io(what, dir.join(SERVER_FILE), source);
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
        let mut file = options.open(dir.join(SERVER_FILE)).map_err(fail("open the lock file"))?;
        match lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(dir.into(), pid(&mut file))),
            Err(TryLockError::Error(source)) => return Err(fail("lock")(source)),
        }
        // If there are several servers, the file names the last one.
        sign(&mut file).map_err(fail("write to the lock file"))?;
        Ok(ServerLock { file })
    }
}

impl Drop for ServerLock {
    fn drop(&mut self) {
        if pid(&mut self.file) == Some(std::process::id()) {
            self.file.set_len(0).ok();
        }
        self.file.unlock().ok();
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
        // fails, too.
        Err(_) => Ok(()),
    }
}

/// Writes the process id to the file. It is only informational; the lock does not depend on it.
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
