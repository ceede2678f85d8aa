//! The store location for test servers, which is the test's temporary directory. The `nodes` tests
//! have a file of the same name with the same items for PostgreSQL.

use std::path::Path;

use access::Access;
use market::Timestamp;
use store::Store;

pub(crate) fn store(dir: &Path) -> Store {
    Store::open(dir, store::Access::Read).unwrap()
}

pub(crate) fn access(dir: &Path, now: Timestamp) -> Access {
    Access::open(dir, now).unwrap()
}
