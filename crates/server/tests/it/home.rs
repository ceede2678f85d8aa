//! The store of a test's server: in the folder of the test. The nodes tests have a file of this
//! name with the same items, for PostgreSQL.

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
