//! Tests with files damaged by the disk, by the user or by a killed process. A command must print
//! the same output as before the damage, or report an error.

use std::fs;

use rusqlite::Connection;

use crate::world::{World, days, hour};

fn world() -> World {
    World::with(&[
        ("a.csv", &days("700.HK")),
        ("b.csv", &days("5.HK").replace(",1", ",2")),
        ("c.csv", &hour("700.HK")),
    ])
}

fn export(world: &World) -> String {
    world.ok(&["export", "--format", "csv"])
}

/// Returns the positions of random bits in nonzero bytes. The positions are the same in every run
/// unless `SEED` is set.
fn bits(bytes: &[u8], count: usize) -> Vec<(usize, u8)> {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let mut state: u64 = seed.unwrap_or(11);
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap()
    };
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    (0..count).map(|_| (used[next() % used.len()], 1 << (next() % 8))).collect()
}

#[test]
fn a_flipped_bit_never_changes_an_export_silently() {
    let world = world();
    let (expected, path) = (export(&world), world.path("store/candles.db"));
    let bytes = fs::read(&path).unwrap();
    let mut refused = 0;
    for (at, bit) in bits(&bytes, 200) {
        let mut flipped = bytes.clone();
        flipped[at] ^= bit;
        fs::write(&path, flipped).unwrap();
        let ran = world.run(&["export", "--format", "csv"]);
        match ran.code {
            Some(0) => assert_eq!(ran.stdout, expected, "byte {at}, bit {bit}"),
            code => {
                assert!(code == Some(1) && ran.stderr.starts_with("chandler: "), "{code:?} {}", ran.stderr);
                refused += 1;
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn a_tampered_directory_is_refused_and_check_gives_advice() {
    for (damage, says, helps) in [
        ("update security set decimals = 5 where symbol = '700.HK'", "table security", "restore a backup"),
        ("delete from block_index where body_id = (select min(body_id) from block_index i join series s on s.id = i.series_id where s.grain = '1d')", "table block_index", "restore a backup"),
        ("delete from block_index where body_id = (select max(body_id) from block_index i join series s on s.id = i.series_id where s.grain = '1d')", "table block_index", "restore a backup"),
        ("delete from series where symbol = '5.HK'", "table series", "restore a backup"),
        (
            "create temp table x as select b.id, b.body from block_body b join block_index i on i.body_id = b.id
                join series s on s.id = i.series_id where s.grain = '1d';
             update block_body set body = (select body from temp.x where x.id <> block_body.id) where id in (select id from temp.x)",
            "its entry has",
            "--again",
        ),
        (
            "delete from block_body where id in (select i.body_id from block_index i join series s on s.id = i.series_id where s.grain = '1d')",
            "has no body",
            "--again",
        ),
    ] {
        let world = world();
        let conn = Connection::open(world.path("store/candles.db")).unwrap();
        conn.execute_batch(&format!("pragma foreign_keys = off; {damage}")).unwrap();
        drop(conn);
        let (code, stderr) = world.fails(&["export", "--format", "csv"]);
        assert!(code == 1 && stderr.contains("is damaged: run `chandler check`"), "{damage}: {stderr}");
        let ran = world.run(&["check"]);
        assert!(ran.code == Some(1) && ran.stdout.contains(says), "{damage}: {}", ran.stdout);
        assert!(ran.stderr.contains(helps), "{damage}: {}", ran.stderr);
        if helps == "--again" {
            let whole = export(&self::world());
            world.ok(&["import", "--again", "a.csv", "b.csv"]);
            assert!(world.ok(&["check"]).contains("no damage found"));
            assert_eq!(export(&world), whole);
        }
    }
}

#[test]
fn a_flipped_bit_never_changes_account_output_silently() {
    let world = world();
    for name in ["ann", "bob"] {
        world.ok(&["account", "create", name, "--quota", "7"]);
    }
    let said = |world: &World| {
        let all: Vec<_> = [&["account", "list"][..], &["account", "show", "ann"], &["audit"]]
            .iter()
            .map(|arguments| world.run(arguments))
            .collect();
        all.iter()
            .all(|ran| ran.code == Some(0))
            .then(|| all.iter().map(|ran| ran.stdout.clone()).collect::<String>())
    };
    let (expected, path) = (said(&world).unwrap(), world.path("store/accounts.db"));
    let bytes = fs::read(&path).unwrap();
    let mut seen = 0;
    for (at, bit) in bits(&bytes, 60) {
        let mut flipped = bytes.clone();
        flipped[at] ^= bit;
        fs::write(&path, flipped).unwrap();
        let (found, check) = (said(&world), world.run(&["check"]));
        seen += usize::from(check.code == Some(1));
        match found {
            Some(found) => assert_eq!(found, expected, "byte {at}, bit {bit}"),
            None => assert_eq!(check.code, Some(1), "byte {at}, bit {bit}: {}", check.stdout),
        }
        for ending in ["-wal", "-shm"] {
            fs::remove_file(world.path(&format!("store/accounts.db{ending}"))).ok();
        }
    }
    assert!(seen > 10, "{seen}");
    fs::write(&path, bytes).unwrap();
    assert!(world.ok(&["check"]).contains("accounts.db: no damage found"));
}

#[test]
fn an_emptied_accounts_database_is_reported() {
    let world = world();
    world.ok(&["account", "create", "ann"]);
    world.ok(&["backup", "saved"]);
    fs::write(world.path("store/accounts.db"), "").unwrap();
    for arguments in [&["account", "list"][..], &["serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]]
    {
        let (code, stderr) = world.fails(arguments);
        assert!(code == 1 && stderr.contains("is empty, its contents are lost"), "{code} {stderr}");
    }
    let ran = world.run(&["check"]);
    assert!(
        ran.code == Some(1) && ran.stdout.contains("accounts.db") && ran.stderr.contains("--only accounts")
    );
    let doctor = world.run(&["doctor"]);
    assert!(
        doctor.code == Some(1) && doctor.stdout.contains("is empty, its contents are lost"),
        "{}",
        doctor.stdout
    );
    world.ok(&["restore", "saved", "--only", "accounts", "--replace"]);
    assert!(world.ok(&["account", "list"]).contains("ann"));
    assert!(world.ok(&["check"]).contains("accounts.db: no damage found"));
}

/// The test follows the advice that `check` prints.
#[test]
fn following_the_advice_repairs_damaged_accounts() {
    let world = world();
    world.ok(&["account", "create", "ann"]);
    world.ok(&["backup", "saved"]);
    let list = world.ok(&["account", "list"]);
    for damage in [
        "update account set level = 6",
        "update audit set reason = 'another'",
        "update quote_right set starts_at = 5",
        "delete from sealed_table",
        "update sealed_table set columns = x'ff' where name = 'account'",
    ] {
        let conn = Connection::open(world.path("store/accounts.db")).unwrap();
        conn.execute_batch(&format!("pragma foreign_keys = off; {damage}")).unwrap();
        drop(conn);
        let (code, stderr) = world.fails(&["account", "list"]);
        assert!(code == 1 && stderr.contains("--only accounts --replace"), "{damage}: {stderr}");
        let ran = world.run(&["check"]);
        assert!(ran.code == Some(1) && ran.stdout.contains("accounts.db: "), "{damage}: {}", ran.stdout);
        assert!(ran.stderr.contains("--only accounts --replace"), "{damage}: {}", ran.stderr);
        world.ok(&["restore", "saved", "--only", "accounts", "--replace"]);
        assert!(world.ok(&["check"]).contains("accounts.db: no damage found"), "{damage}");
        assert_eq!(world.ok(&["account", "list"]), list, "{damage}");
    }
}

#[test]
fn unreadable_accounts_do_not_prevent_a_check_of_the_candles() {
    for (change, code, says) in [
        ("delete from migration where version > 16; update migration set version = 8", 1, "commit cd517f10"),
        ("insert into migration values (900, 'later', x'00', 0)", 1, "was written by a newer version"),
    ] {
        let world = world();
        world.ok(&["account", "create", "ann"]);
        let conn = Connection::open(world.path("store/accounts.db")).unwrap();
        conn.execute_batch(change).unwrap();
        drop(conn);
        let ran = world.run(&["check"]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stdout.contains(": no damage found\n") && ran.stdout.contains(says), "{}", ran.stdout);
        // The accounts are reported as unreadable, but not as damaged.
        assert_eq!(ran.stderr, "", "{change}");
        let report: serde_json::Value =
            serde_json::from_str(&world.run(&["check", "--format", "json"]).stdout).unwrap();
        let actual = format!("{}{}", report["accounts"], report["accounts_note"]);
        assert!(actual.contains(says.trim_start_matches("accounts.db: ")), "{report}");
    }
}

#[test]
fn an_import_killed_while_creating_the_store_can_be_repeated() {
    let world = World::new();
    world.write("a.csv", days("700.HK"));
    fs::create_dir(world.path("store")).unwrap();
    // A crash before SQLite switches to WAL leaves pages of an uncommitted transaction and a
    // rollback journal.
    let conn = Connection::open(world.path("made.db")).unwrap();
    conn.execute_batch("pragma page_size = 4096; pragma cache_size = 1; begin; create table a (x)").unwrap();
    for _ in 0..40 {
        conn.execute("insert into a values (zeroblob(20000))", []).unwrap();
    }
    for ending in ["", "-journal"] {
        fs::copy(world.path(&format!("made.db{ending}")), world.path(&format!("store/candles.db{ending}")))
            .unwrap();
    }
    let doctor = world.run(&["doctor"]);
    assert!(doctor.stdout.contains("was interrupted"), "{}", doctor.stdout);
    let (code, stderr) = world.fails(&["kline", "700.HK"]);
    assert!(code == 1 && stderr.contains("there is no store"), "{stderr}");
    for ending in ["", "-journal"] {
        fs::copy(world.path(&format!("made.db{ending}")), world.path(&format!("store/candles.db{ending}")))
            .unwrap();
    }
    world.ok(&["import", "a.csv"]);
    assert!(world.ok(&["check"]).contains("no damage found"));
    assert_eq!(export(&world).lines().count(), 11);
}
