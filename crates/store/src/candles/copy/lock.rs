//! Lock of a cache directory, which only one process may use.

use std::fs::{DirBuilder, File};
use std::path::Path;

use crate::StoreError;
use crate::engine::sqlite::LockFile;

const FILE: &str = "cache.lock";

/// An exclusive lock of a directory across processes.
#[derive(Debug)]
pub(super) struct DirectoryLock(#[expect(dead_code, reason = "it is held")] LockFile);

impl DirectoryLock {
    pub(super) fn take(dir: &Path) -> Result<DirectoryLock, StoreError> {
        make_private(dir)?;
        let held = |pid| StoreError::CacheInUse { place: dir.into(), pid };
        LockFile::take(&dir.join(FILE), File::try_lock, held).map(DirectoryLock)
    }
}

/// Creates a directory that only this user can read. Does not change an existing one.
pub(super) fn make_private(dir: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|source| StoreError::io("create the directory", dir, source))
}
