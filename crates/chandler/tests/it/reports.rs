//! Tests of the commands that print reports: `inspect`, `coverage`, `check`, `calendar` and
//! `export`.

use crate::world::{World, days, hour};

#[test]
fn inspect_shows_series_sizes_and_sources() {
    let world = World::with(&[("hour.csv", &hour("700.HK"))]);
    let report = world.json(&["inspect", "700.HK"]);
    let series: Vec<&str> =
        report["series"].as_array().unwrap().iter().map(|s| s["series"].as_str().unwrap()).collect();
    assert_eq!(series, ["700.HK/1m", "700.HK/15m", "700.HK/60m"]);
    let candles: Vec<u64> =
        report["series"].as_array().unwrap().iter().map(|s| s["candles"].as_u64().unwrap()).collect();
    assert_eq!(candles, [30, 2, 1]);
    assert_eq!(report["sources"][0]["file"], world.file("hour.csv"));
    assert!(report["series"][0]["bytes_per_candle"].as_f64().unwrap() > 0.0);
}

#[test]
fn coverage_distinguishes_minutes_without_trades_from_minutes_not_loaded() {
    // 09:45 is missing within the file, and the minutes after 09:59 are not in any file. 2026-11-12
    // has a daily candle but no one-minute candles.
    let minutes =
        hour("700.HK").lines().filter(|line| !line.contains("09:45")).collect::<Vec<_>>().join("\n");
    let world = World::with(&[("hour.csv", &minutes), ("days.csv", &days("700.HK"))]);
    let report = world.json(&["coverage", "700.HK", "--start", "2026-11-13"]);
    let day = &report["days"][0];
    assert_eq!(
        (&day["date"], &day["minutes"], &day["expected"]),
        (&"2026-11-13".into(), &29.into(), &331.into())
    );
    let gaps: Vec<String> = day["gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gap| {
            format!(
                "{} {} {}",
                &gap["first"].as_str().unwrap()[11..16],
                gap["minutes"],
                gap["reason"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(gaps, ["09:45 1 no trades", "10:00 301 not loaded"]);
    let table = world.ok(&["coverage"]);
    assert!(table.contains("700.HK"), "{table}");
}

#[test]
fn check_finds_a_flipped_bit_and_its_location() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    assert!(world.ok(&["check"]).contains("no damage found"));
    // A block begins with a magic number. The flipped bit is in the middle of the first block.
    let path = world.path("store/candles.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let body = world.path("store/candles.db-wal");
    assert!(
        !body.exists() || std::fs::metadata(&body).unwrap().len() == 0,
        "an import leaves its log folded in"
    );
    let magic = block_magic(&bytes);
    bytes[magic + 40] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    let ran = world.run(&["check"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("700.HK/1d") && ran.stdout.contains("checksum"), "{}", ran.stdout);
    let (code, stderr) = world.fails(&["kline", "700.HK"]);
    assert!(code == 1 && stderr.contains("700.HK/1d") && stderr.contains("2026-11-0"), "{stderr}");
}

fn block_magic(database: &[u8]) -> usize {
    // `docs/block-format.md` documents the magic number, which occurs once in a new database.
    let magic = b"CNDL";
    let found: Vec<usize> =
        database.windows(magic.len()).enumerate().filter(|(_, w)| *w == magic).map(|(at, _)| at).collect();
    assert_eq!(found.len(), 1);
    found[0]
}

#[test]
fn the_calendar_can_be_replaced() {
    let world = World::with(&[("hour.csv", &hour("700.HK"))]);
    world.ok(&["calendar", "--write", "cal"]);
    let text = std::fs::read_to_string(world.path("cal/hk.csv")).unwrap();
    world.write("cal/hk.csv", text.replace("2026-11-16,full\n", ""));
    let calendar = world.json(&["calendar", "--calendars", "cal", "--clock", "2026-11-16T10:00:00Z"]);
    assert_eq!(
        (&calendar[0]["market"], &calendar[0]["latest_trading_day"]),
        (&"HK".into(), &"2026-11-13".into())
    );
    let calendar = world.json(&["calendar", "--clock", "2026-11-16T10:00:00Z"]);
    assert_eq!(calendar[0]["latest_trading_day"], "2026-11-16");
    world.write("cal/hk.csv", "date,kind\n2026-11-16,whole\n");
    let (code, stderr) = world.fails(&["calendar", "--calendars", "cal"]);
    assert!(code == 1 && stderr.contains("hk.csv") && stderr.contains("line 2"), "{stderr}");
}

#[test]
fn an_export_appears_only_when_complete() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.ok(&["export", "--output", "all.csv"]);
    assert_eq!(std::fs::read_to_string(world.path("all.csv")).unwrap().lines().count(), 11);
    world.fails(&["export", "1.HK", "--output", "none.csv"]);
    assert!(!world.path("none.csv").exists() && !world.path("none.csv.partial").exists());
    world.ok(&["export", "--output", "all.arrow"]);
    assert_eq!(&std::fs::read(world.path("all.arrow")).unwrap()[..6], b"ARROW1");
}

#[test]
fn importing_again_repairs_a_damaged_block() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let whole = world.ok(&["kline", "700.HK", "-n", "10"]);
    let path = world.path("store/candles.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let magic = block_magic(&bytes);
    bytes[magic + 40] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    let (code, stderr) = world.fails(&["kline", "700.HK"]);
    assert!(code == 1 && stderr.contains("checksum"), "{stderr}");
    world.ok(&["import", "--again", "days.csv"]);
    assert!(world.ok(&["check"]).contains("no damage found"));
    assert_eq!(world.ok(&["kline", "700.HK", "-n", "10"]), whole);
}

#[test]
fn an_export_never_replaces_a_device() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.ok(&["export", "--output", "/dev/null"]);
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    assert!(!std::path::Path::new("/dev/null.partial").exists());
}
