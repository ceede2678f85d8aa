use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use crate::StoreError;

const FILE: &str = "writer.lock";
/// The lock file of [`JobFile`].
const JOBS_FILE: &str = "jobs.lock";
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
        let mut lock = Lock { file };
        lock.sign().map_err(fail("write to the lock file"))?;
        Ok(lock)
    }

    /// The process id is for people; the lock does not depend on it.
    fn sign(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "{}", std::process::id())
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

fn pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
