//! Tests with invalid input. The command must print one line with advice on stderr, return the
//! right exit code, and write nothing partially.

use std::fs::File;
use std::io::Write;

use crate::world::{Ran, World, days, hour};

fn check(world: &World, arguments: &[&str], code: i32, says: &[&str]) {
    let (found, stderr) = world.fails(arguments);
    assert_eq!(found, code, "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    for word in says {
        assert!(stderr.contains(word), "{arguments:?}: {word:?} is not in {stderr:?}");
    }
}

fn refused(name: &str, text: impl AsRef<[u8]>, says: &[&str]) {
    let world = World::new();
    world.write(name, text);
    check(&world, &["import", name], 1, says);
    assert_eq!(world.ok(&["inspect"]).lines().last().unwrap(), "0 securities, 0 candles, 0 B of blocks");
}

#[test]
fn an_empty_file_is_refused() {
    refused("700.HK.csv", "", &["700.HK.csv", "empty"]);
}

#[test]
fn a_header_without_rows_is_refused() {
    refused("700.HK.csv", "time,open,high,low,close,volume\n", &["700.HK.csv", "no row"]);
}

#[test]
fn an_unknown_header_is_refused_with_its_columns_and_advice() {
    refused("700.HK.csv", "when,o1,h1\n1,2,3\n", &["700.HK.csv", "when", "--map"]);
}

#[test]
fn days_and_minutes_in_one_file_are_refused() {
    let text = "symbol,time,open,high,low,close,volume\n\
        700.HK,2026-11-12,1,1,1,1,1\n700.HK,2026-11-13 09:30,1,1,1,1,1\n700.HK,2026-11-13 09:31,1,1,1,1,1\n";
    refused("mixed.csv", text, &["mixed.csv", "--period"]);
}

#[test]
fn ten_minute_candles_are_refused() {
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    for minute in (0..150).step_by(10) {
        text +=
            &format!("700.HK,2026-11-13 {:02}:{:02},1,1,1,1,1\n", 9 + (30 + minute) / 60, (30 + minute) % 60);
    }
    refused("ten.csv", text, &["ten.csv", "10-minute"]);
}

#[test]
fn a_file_whose_content_does_not_match_its_name_is_refused() {
    refused("700.HK.parquet", "time,open,high\n", &["700.HK.parquet"]);
    refused("700.HK.csv", [0x7f, b'E', b'L', b'F', 0, 0, 0, 1, 2, 3, 0, 0], &["700.HK.csv"]);
    refused("700.HK.csv.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4], &["700.HK.csv.gz"]);
}

#[test]
fn a_line_of_ten_gigabytes_is_refused_immediately() {
    let world = World::new();
    // The file is sparse: it reads as ten billion zeros and takes no disk space.
    let mut file = File::create(world.path("700.HK.csv")).unwrap();
    file.write_all(b"time,open,high,low,close,volume\n").unwrap();
    file.set_len(10_000_000_000).unwrap();
    check(&world, &["import", "700.HK.csv"], 1, &["700.HK.csv"]);
    let long = format!("time,open,high,low,close,volume\n2026-11-13,{}", "1".repeat(100_000));
    refused("700.HK.csv", long, &["700.HK.csv", "64 KiB"]);
}

#[test]
fn a_missing_file_is_a_usage_error() {
    let world = World::new();
    check(&world, &["import", "absent.csv"], 2, &["absent.csv", "no such file"]);
    std::fs::create_dir(world.path("empty")).unwrap();
    check(&world, &["import", "empty"], 2, &["empty", "no CSV, XLSX or Parquet"]);
}

#[test]
fn a_store_that_cannot_be_created_is_reported() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    check(&world, &["import", "days.csv", "--store", "sqlite:/proc/nowhere"], 1, &["/proc/nowhere"]);
    check(&world, &["import", "days.csv", "--store", "sqlite:days.csv/store"], 1, &["days.csv/store"]);
}

#[test]
fn a_missing_store_is_not_created_by_a_read() {
    let world = World::new();
    check(&world, &["kline", "700.HK"], 1, &["store", "import"]);
    assert!(!world.path("store").exists());
}

#[test]
fn a_store_argument_of_another_kind_is_a_usage_error() {
    let world = World::new();
    check(&world, &["kline", "700.HK", "--store", "somewhere"], 2, &["sqlite:DIR"]);
    check(&world, &["kline", "700.HK", "--store", "sqlite:"], 2, &["sqlite:DIR"]);
    check(
        &world,
        &["kline", "700.HK", "--store", "postgres://x"],
        2,
        &["--store", "has no user", "postgres://USER@HOST:PORT/DATABASE"],
    );
}

#[test]
fn a_file_that_is_not_a_database_is_left_unchanged() {
    let world = World::new();
    world.write(
        "store/candles.db",
        "this is not a database, but it is long enough to be mistaken for one".repeat(100),
    );
    let before = std::fs::read(world.path("store/candles.db")).unwrap();
    world.write("days.csv", days("700.HK"));
    check(&world, &["import", "days.csv"], 1, &["candles.db"]);
    check(&world, &["kline", "700.HK"], 1, &["candles.db"]);
    assert_eq!(std::fs::read(world.path("store/candles.db")).unwrap(), before);
}

#[test]
fn a_second_concurrent_import_fails_without_waiting() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.write("other.csv", days("5.HK"));
    let lock = File::options().read(true).write(true).open(world.path("store/writer.lock")).unwrap();
    lock.lock().unwrap();
    check(&world, &["import", "other.csv"], 1, &["another"]);
    // Reads work during the import.
    assert!(world.ok(&["kline", "700.HK", "-n", "1"]).contains("2026-11-13"));
    // The file is unlocked explicitly rather than closed, because a process spawned by another test
    // may have inherited the descriptor.
    lock.unlock().unwrap();
    world.ok(&["import", "other.csv"]);
}

#[test]
fn a_full_disk_stops_the_import_without_data_loss() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    for symbol in 1..400 {
        for minute in 30..60 {
            text += &format!(
                "{symbol}.HK,2026-11-13 09:{minute},{minute},99,1,50.{symbol:03},{}\n",
                symbol * minute * 7919
            );
        }
    }
    world.write("large.csv", text);
    // No file may grow beyond 256 KiB. To the database, this limit looks like a full disk.
    let script = "trap '' XFSZ; ulimit -f 512; exec \"$0\" import large.csv";
    let mut command = world.command(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(script).arg(crate::world::executable()).current_dir(world.path(""));
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = Ran::of(shell.output().unwrap());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    // The existing data is intact, nothing from `large.csv` was stored, and the file can be
    // imported once there is space.
    assert!(world.ok(&["check"]).contains("no damage found"));
    assert_eq!(world.json(&["inspect"]).as_array().unwrap().len(), 1);
    world.ok(&["import", "large.csv"]);
    assert!(world.ok(&["check"]).contains("no damage found"));
    assert!(world.ok(&["kline", "399.HK", "-p", "1m", "-n", "1"]).contains("09:59"));
    command.arg("--version");
}

#[test]
fn invalid_arguments_are_usage_errors() {
    let world = World::with(&[("days.csv", &days("700.HK")), ("hour.csv", &hour("700.HK"))]);
    check(&world, &["kline", "700"], 2, &["700", "ticker.region"]);
    check(&world, &["kline", "700.XX"], 2, &["700.XX", "region"]);
    check(&world, &["kline", "700.HK", "--before", "yesterday"], 2, &["yesterday"]);
    check(&world, &["kline", "700.HK", "--start", "2026-13-01"], 2, &["2026-13-01"]);
    check(&world, &["kline", "700.HK", "--start", "2026-11-13", "--end", "2026-11-12"], 2, &["2026-11-13"]);
    check(&world, &["import", "days.csv", "--floors", "long ago"], 2, &["--floors", "published"]);
    check(&world, &["import", "days.csv", "--map", "nonsense"], 2, &["--map"]);
    check(&world, &["import", "days.csv", "--scale", "price=-1"], 2, &["--scale"]);
    check(&world, &["import", "days.csv", "--region", "MARS"], 2, &["MARS"]);
    check(&world, &["export", "--output", "x.xyz"], 2, &["xyz"]);
    for arguments in [
        &["kline", "700.HK", "--period", "7m"][..],
        &["kline", "700.HK", "-n", "0"],
        &["kline"],
        &["frobnicate"],
    ] {
        assert_eq!(world.run(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn an_unanswerable_query_is_a_data_error() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    check(&world, &["kline", "1.HK"], 1, &["1.HK", "not known"]);
    check(&world, &["kline", "AAPL220429P162500.US"], 1, &["option"]);
    world.write("names.csv", "symbol,name_en\n1.HK,CK\n");
    world.ok(&["import", "names.csv"]);
    check(&world, &["kline", "1.HK"], 1, &["1.HK", "no candles"]);
}
