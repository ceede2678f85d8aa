use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use crate::StoreError;
use crate::engine::Place;

const FILE: &str = "writer.lock";
/// The lock file of [`JobFile`].
const JOBS_FILE: &str = "jobs.lock";
/// The lock file of [`ServerLock`].
const SERVER_FILE: &str = "server.lock";
/// Exists while a restore replaces the files of a store, and names the backup.
pub(crate) const RESTORE_FILE: &str = "restore.unfinished";
/// Number and interval of attempts for a lock whose file has no process id.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// The write lock of a store, held across processes. The system releases it with the process,
/// however that ends, so a dead writer needs no cleanup. The file itself stays: removing it would
/// let two writers lock two files of one name.
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
                    // The holder has released it and erased its process id. A child process that it
                    // was just starting still has the file open, until it executes another program.
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
        // A stale number would only mislead; failing to clear it is harmless.
        self.file.set_len(0).ok();
        // Closing is not enough while a process that is just being started has inherited the file.
        self.file.unlock().ok();
    }
}

/// The lock for background jobs that change a store, such as removing expired rows: one of several
/// servers of a store holds it. The system releases it with the process, as with [`Lock`]; the file
/// stays, and is empty.
#[derive(Debug)]
pub(crate) struct JobFile {
    file: File,
}

impl JobFile {
    /// `None` if another process holds it.
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
        // As for the writer's lock.
        self.file.unlock().ok();
    }
}

/// Held by every server that has a store open, and exclusively by a restore. The system releases it
/// with the process, as with [`Lock`].
#[derive(Debug)]
pub(crate) struct ServerLock {
    file: File,
}

impl ServerLock {
    /// For a server.
    pub(crate) fn join(dir: &Path) -> Result<ServerLock, StoreError> {
        ServerLock::take(dir, File::try_lock_shared, |place, pid| StoreError::Restoring { place, pid })
    }

    /// For a restore: no server has the store open, and none can open it.
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
        // Of several servers, the last one is named.
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

/// Refuses a store of which a restore has replaced only a part.
pub(crate) fn refuse_half_restored(dir: &Path) -> Result<(), StoreError> {
    match std::fs::read(dir.join(RESTORE_FILE)) {
        Ok(from) => {
            let from = String::from_utf8_lossy(&from).into_owned();
            Err(StoreError::HalfRestored { place: dir.into(), from })
        }
        // If it cannot be read, neither can the databases.
        Err(_) => Ok(()),
    }
}

/// The process id is for people; the lock does not depend on it.
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
