//! Tests of `chandler backup` and `chandler restore`.

use std::fs;

use crate::world::{World, days};

fn world() -> World {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ana"]);
    world
}

fn export(world: &World) -> String {
    world.ok(&["export", "--format", "csv"])
}

#[test]
fn a_lost_store_is_restored_from_a_backup() {
    let world = world();
    let before = export(&world);
    let report = world.json(&["backup", "saved"]);
    assert_eq!((&report["backup"], &report["verified"]), (&"saved".into(), &true.into()));
    let manifest = &report["manifest"];
    assert_eq!((&manifest["counts"]["candles"], &manifest["counts"]["accounts"]), (&10.into(), &1.into()));
    let names: Vec<_> = manifest["files"].as_array().unwrap().iter().map(|file| &file["name"]).collect();
    assert_eq!(names, ["candles.db", "accounts.db", "secret.key"]);
    let at = manifest["created_at"].as_str().unwrap();
    assert!(at.ends_with('Z') && at.len() == 20, "{at}");

    fs::remove_dir_all(world.path("store")).unwrap();
    let report = world.ok(&["restore", "saved"]);
    assert!(report.contains("restored candles.db and accounts.db in"), "{report}");
    assert_eq!(export(&world), before);
    assert!(world.ok(&["account", "list"]).contains("ana"));
    assert_eq!(world.json(&["audit", "--limit", "1"])[0]["event"], "store.restored");
    assert!(world.ok(&["check"]).contains("no damage found"));
}

#[test]
fn trades_are_counted_and_restored() {
    let world = world();
    let trades = "symbol,time,price,volume,direction\n700.HK,2026-03-18 09:30:00,10,100,up\n700.HK,2026-03-18 09:30:01,11,100,down\n";
    world.write("trades.csv", trades);
    world.ok(&["import", "trades.csv"]);
    let before = world.ok(&["export", "--trades"]);
    assert_eq!(world.json(&["backup", "saved"])["manifest"]["counts"]["trades"], 2);
    assert!(world.ok(&["restore", "saved", "--check"]).contains("; 2 trades; 1 account; as of "));
    fs::remove_dir_all(world.path("store")).unwrap();
    world.ok(&["restore", "saved"]);
    assert_eq!(world.ok(&["export", "--trades"]), before);
    assert!(world.ok(&["check"]).contains("2 trades"));
}

#[test]
fn share_counts_and_earnings_are_restored() {
    let world = world();
    let rows = "symbol,from,total_shares,eps\n700.HK,,9000,\n700.HK,2026-03-18,8900,20.9\n";
    world.write("securities.csv", rows);
    let counts = |report: serde_json::Value| {
        let file = report["files"][0].clone();
        ["added", "replaced", "unchanged"].map(|name| file[name].as_u64().unwrap())
    };
    assert_eq!(counts(world.json(&["import", "securities.csv"])), [0, 2, 0]);
    world.ok(&["backup", "saved"]);
    let other = rows.replace("8900", "1").replace("2026-03-18", "2026-03-17");
    world.write("other.csv", other);
    assert_eq!(counts(world.json(&["import", "other.csv"])), [0, 1, 1]);
    fs::remove_dir_all(world.path("store")).unwrap();
    world.ok(&["restore", "saved"]);
    // The restored rows are unchanged, and the rows that were imported after the backup no longer
    // exist.
    assert_eq!(counts(world.json(&["import", "--again", "securities.csv"])), [0, 0, 2]);
    assert_eq!(counts(world.json(&["import", "other.csv"])), [0, 1, 1]);
    assert!(world.ok(&["check"]).contains("no damage found"));
}

#[test]
fn a_restore_replaces_a_store_only_on_request_and_can_be_reverted() {
    let world = world();
    let before = export(&world);
    world.ok(&["backup", "saved"]);
    world.write("more.csv", days("5.HK"));
    world.ok(&["import", "more.csv"]);
    let after = export(&world);
    let (code, says) = world.fails(&["restore", "saved"]);
    assert!(code == 1 && says.contains("--replace"), "{code} {says}");
    let report = world.json(&["restore", "saved", "--replace"]);
    assert_eq!(export(&world), before);
    world.ok(&["restore", report["kept"].as_str().unwrap(), "--replace", "--discard", "--only", "candles"]);
    assert_eq!(export(&world), after);
}

#[test]
fn a_store_opened_by_a_server_is_not_replaced() {
    let world = world();
    world.ok(&["backup", "saved"]);
    let before = export(&world);
    let store = store::Store::open(world.path("store").as_path(), store::Access::Read).unwrap();
    let server = store.server_lock().unwrap();
    let (code, says) = world.fails(&["restore", "saved", "--replace"]);
    let named = format!("is open in a server (process {}): stop the server, restore", std::process::id());
    assert!(code == 1 && says.contains(&named) && says.lines().count() == 1, "{code} {says}");
    assert_eq!(export(&world), before);
    drop(server);
    world.ok(&["restore", "saved", "--replace"]);
    assert_eq!(export(&world), before);
}

#[test]
fn verifying_a_backup_detects_damage() {
    let world = world();
    let report = world.ok(&["backup", "saved", "--no-verify"]);
    assert!(report.contains("not verified"), "{report}");
    assert!(world.ok(&["restore", "saved", "--check"]).contains("no damage found"));
    assert_eq!(world.json(&["restore", "saved", "--check"])["verified"], true);
    for name in ["candles.db", "accounts.db", "secret.key", "MANIFEST.json"] {
        let path = world.path("saved").join(name);
        let whole = fs::read(&path).unwrap();
        let mut bent = whole.clone();
        let middle = bent.len() / 2;
        bent[middle] ^= 1;
        fs::write(&path, bent).unwrap();
        for arguments in
            [&["restore", "saved", "--check"][..], &["restore", "saved", "--replace", "--no-verify"]]
        {
            let (code, says) = world.fails(arguments);
            assert!(code == 1 && says.contains(name) && says.lines().count() == 1, "{code} {says}");
        }
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn a_store_older_than_the_baseline_is_not_backed_up() {
    let world = world();
    let old = rusqlite::Connection::open(world.path("store/candles.db")).unwrap();
    old.execute_batch("update migration set version = 8").unwrap();
    drop(old);
    let (code, says) = world.fails(&["backup", "saved"]);
    assert!(code == 1 && says.lines().count() == 1 && says.contains("commit cd517f10"), "{says}");
    assert!(!world.path("saved").exists());
}

/// The file checksums in the manifest are correct, because the block was damaged before the backup.
#[test]
fn a_backup_with_a_damaged_block_is_not_restored() {
    let world = world();
    let path = world.path("store/candles.db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch("pragma wal_checkpoint(truncate)").unwrap();
    drop(conn);
    let mut bytes = fs::read(&path).unwrap();
    let block = bytes.windows(4).rposition(|four| four == b"CNDL").unwrap();
    bytes[block + 40] ^= 1;
    fs::write(&path, bytes).unwrap();
    world.run(&["backup", "bent"]);
    let (code, says) = world.fails(&["restore", "bent", "--store", "sqlite:other"]);
    assert!(code == 1 && says.contains("the backup is damaged"), "{says}");
    assert!(!world.path("other/candles.db").exists() && !world.path("other/restore.partial").exists());
}

#[test]
fn a_backup_is_not_restored_into_itself() {
    let world = world();
    assert!(world.ok(&["backup", "saved/"]).contains(" verified"));
    for store in ["sqlite:saved", "sqlite:store/../saved/"] {
        let (code, says) = world.fails(&["restore", "saved", "--replace", "--store", store]);
        assert!(code == 1 && says.contains("is a backup"), "{code} {says}");
    }
    assert_eq!(world.json(&["restore", "saved/", "--check"])["verified"], true);
}

#[test]
fn a_dated_backup_removes_partial_folders_of_killed_backups() {
    let world = world();
    world.write("saved/chandler-20200101T000000Z.partial/candles.db", "half");
    world.write("saved/notes.partial/notes.txt", "mine");
    world.ok(&["backup", "saved", "--keep", "2"]);
    assert!(!world.path("saved/chandler-20200101T000000Z.partial").exists());
    assert!(world.path("saved/notes.partial/notes.txt").exists());
}

#[test]
fn only_the_oldest_dated_backups_are_removed() {
    let world = world();
    for name in ["chandler-20200101T000000Z", "chandler-20200102T000000Z"] {
        world.ok(&["backup", "first"]);
        fs::create_dir_all(world.path("saved")).unwrap();
        fs::rename(world.path("first"), world.path("saved").join(name)).unwrap();
    }
    world.write("saved/chandler-20190101T000000Z/notes.txt", "mine");
    let report = world.json(&["backup", "saved", "--keep", "2"]);
    let removed = report["removed"].as_array().unwrap();
    assert_eq!(removed.len(), 1);
    assert!(removed[0].as_str().unwrap().ends_with("chandler-20200101T000000Z"));
    assert!(world.path("saved/chandler-20190101T000000Z/notes.txt").exists());
    assert_eq!(fs::read_dir(world.path("saved")).unwrap().count(), 3);
}

#[test]
fn a_backup_of_a_damaged_store_removes_no_older_backup() {
    let world = world();
    world.ok(&["backup", "first"]);
    fs::create_dir(world.path("saved")).unwrap();
    fs::rename(world.path("first"), world.path("saved/chandler-20200101T000000Z")).unwrap();
    // Flips a bit inside a block. SQLite's structures remain valid, but the block's checksum does
    // not match.
    let path = world.path("store/candles.db");
    let mut bytes = fs::read(&path).unwrap();
    let block = bytes.windows(4).rposition(|four| four == b"CNDL").unwrap();
    bytes[block + 40] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (code, says) = world.fails(&["backup", "saved", "--keep", "1"]);
    assert!(code == 1 && says.contains("damaged"), "{says}");
    assert_eq!(fs::read_dir(world.path("saved")).unwrap().count(), 2);
}

#[test]
fn invalid_backup_and_restore_commands_are_refused() {
    let world = world();
    fs::create_dir(world.path("there")).unwrap();
    world.ok(&["backup", "bare", "--without-key"]);
    for (arguments, code, says) in [
        (&["backup", "there"][..], 1, "name a new directory"),
        (&["backup", "no/such/place"], 1, "no/such/place"),
        (&["backup"], 2, "DESTINATION"),
        (&["backup", "x", "--keep", "0"], 2, "--keep"),
        (&["restore", "there"], 1, "MANIFEST.json"),
        (&["restore", "bare", "--discard"], 2, "--replace"),
        (&["restore", "bare", "--check", "--replace"], 2, "--check"),
        (&["restore", "bare", "--store", "sqlite:fresh"], 1, "--key"),
        (&["restore", "bare", "--store", "sqlite:fresh", "--key", "days.csv"], 1, "days.csv"),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!(found, code, "{arguments:?} {stderr}");
        assert!(stderr.contains(says), "{arguments:?} {stderr}");
    }
    world.ok(&["restore", "bare", "--store", "sqlite:fresh", "--key", "store/secret.key"]);
    world.ok(&["account", "list", "--store", "sqlite:fresh"]);
}
