//! Tests that both engines run the same tests, except for files that are specific to one engine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files in `tests/suite` that are specific to SQLite, with the reason.
const OF_FILES: [(&str, &str); 11] = [
    ("home", "where a test has its store"),
    ("backup", "a server has backups of its own"),
    ("before_nodes", "there was no other engine then"),
    ("damaged", "rows of a server are not sealed"),
    ("files", "what can be wrong with files"),
    ("ingest_file", "a server keeps the log of ingest in its database"),
    ("interrupted", "what a kill leaves of files"),
    ("restore", "a server has backups of its own"),
    ("restore_stopped", "a server has backups of its own"),
    ("restored", "a server has backups of its own"),
    ("sealed", "rows of a server are not sealed"),
];

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Returns the modules of a binary, each with its `path` attribute.
fn modules(main: &str) -> BTreeSet<(String, Option<String>)> {
    let mut path = None;
    let mut found = BTreeSet::new();
    for line in main.lines() {
        if let Some(rest) = line.strip_prefix("#[path = \"") {
            path = rest.strip_suffix("\"]").map(str::to_owned);
        } else if let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            found.insert((name.to_owned(), path.take()));
        }
    }
    found
}

#[test]
fn every_shared_file_runs_on_both_engines() {
    let here = modules(&fs::read_to_string(tests().join("postgres/main.rs")).unwrap());
    let there = modules(&fs::read_to_string(tests().join("suite/main.rs")).unwrap());
    let own: BTreeSet<&str> = OF_FILES.iter().map(|(name, _)| *name).collect();
    let wanted: BTreeSet<(String, Option<String>)> = there
        .iter()
        .filter(|(name, _)| !own.contains(name.as_str()))
        .map(|(name, _)| (name.clone(), Some(format!("../suite/{name}.rs"))))
        .collect();
    let shared: BTreeSet<(String, Option<String>)> =
        here.into_iter().filter(|(_, path)| path.is_some()).collect();
    assert_eq!(shared, wanted);
    // Every file of the directory belongs to a binary.
    let files: BTreeSet<String> = fs::read_dir(tests().join("suite"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "main")
        .collect();
    assert_eq!(files, there.into_iter().map(|(name, _)| name).collect());
}

#[test]
fn no_shared_test_is_disabled_on_one_engine() {
    let own: BTreeSet<&str> = OF_FILES.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir(tests().join("suite")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if own.contains(name) || name == "main" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for word in ["#[cfg", "rusqlite", "tokio_postgres", "tempfile", ".db\""] {
            assert!(!text.contains(word), "{name}.rs has {word}");
        }
    }
}
