//! The store location for test servers, which is a database on this binary's PostgreSQL server,
//! filled with the candles of the test's directory. Each directory maps to a database, and two
//! servers on one database are two nodes.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use access::Access;
use market::Timestamp;
use store::{CopySettings, Move, Store, StoreUrl};

use crate::harness;

const KEY: &str = "node.key";
const NOW: Timestamp = Timestamp(1_794_708_000);

static PLACES: OnceLock<Mutex<HashMap<PathBuf, String>>> = OnceLock::new();

/// Maps a directory to the database of another directory and copies its key, for a second node.
pub(crate) fn join(dir: &Path, other: &Path) {
    std::fs::copy(other.join(KEY), dir.join(KEY)).unwrap();
    let mut places = PLACES.get_or_init(Mutex::default).lock().unwrap();
    let url = places[other].clone();
    places.insert(dir.to_owned(), url);
}

/// Returns the database of a directory, which is created on first use.
pub(crate) fn place(dir: &Path) -> StoreUrl {
    let mut places = PLACES.get_or_init(Mutex::default).lock().unwrap();
    let url = places.entry(dir.to_owned()).or_insert_with(|| {
        // The database is never dropped, so it exists until the process exits.
        let place = std::mem::ManuallyDrop::new(harness::server().place());
        let (from, to): (StoreUrl, StoreUrl) = (dir.into(), place.url().parse().unwrap());
        let copied = Move { from: &from, to: &to, now: NOW }.run(&mut |_| ControlFlow::Continue(())).unwrap();
        copied.finish().unwrap();
        place.url()
    });
    url.parse().unwrap()
}

/// Opens the store with a separate local copy.
pub(crate) fn store(dir: &Path) -> Store {
    let store = Store::open(place(dir), store::Access::Read).unwrap();
    let copy = tempfile::tempdir().unwrap().keep();
    let settings =
        CopySettings { dir: copy, bytes_max: 1 << 30, offline_window: std::time::Duration::from_secs(300) };
    store.with_copy(&settings).unwrap()
}

pub(crate) fn access(dir: &Path, now: Timestamp) -> Access {
    Access::open_with_key(&place(dir), Some(&dir.join(KEY)), now).unwrap()
}
