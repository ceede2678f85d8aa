//! Lock of a cache directory, which only one process may use.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::StoreError;

const FILE: &str = "cache.lock";

/// An exclusive lock of a directory across processes. The OS releases it when the process ends. The
/// file is not removed, because two processes could then lock two files with the same name.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    pub(super) fn take(dir: &Path) -> Result<DirectoryLock, StoreError> {
        make_private(dir)?;
        let path = dir.join(FILE);
        let fail = |what| {
            let path = path.clone();
            move |source| StoreError::io(what, &path, source)
        };
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
        let mut file = options.open(&path).map_err(fail("open the lock file"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::CacheInUse { place: dir.into(), pid: pid(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(fail("lock")(source)),
        }
        // The process id is only informational; the lock does not depend on it.
        let signed = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        signed.map_err(fail("write to the lock file"))?;
        Ok(DirectoryLock { file })
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        self.file.set_len(0).ok();
        // Closing the file is not enough while a child process that is being spawned has inherited
        // it.
        self.file.unlock().ok();
    }
}

fn pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Creates a directory that only this user can read. Does not change an existing one.
pub(super) fn make_private(dir: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|source| StoreError::io("create the directory", dir, source))
}
