//! Where the server of a test has its store: in the folder of the test. Nodes have a file of this name with the same in it, for PostgreSQL.

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
