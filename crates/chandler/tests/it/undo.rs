//! Tests of import reports, dry runs, undoing imports, and removing symbols.

use crate::world::{World, days, hour};

#[test]
fn an_import_reports_its_interpretation_and_next_steps() {
    let world = World::new();
    let text = "Date,Open,High,Low,Close,Volume\n2026-11-12,10,11,9,10,1\n2026-11-13,10,12,9,11,2\n";
    world.write("semi.csv", text);
    let said = world.ok(&["import", "semi.csv"]);
    let line = "semi.csv: SEMI.US (a guess from the file's name): daily candles";
    for words in [
        line,
        "from 2026-11-12 to 2026-11-13; dates of America/New_York; prices adjusted for splits",
        "(a guess)",
        "kline SEMI.US --period day\n",
        "imports --undo 1\n",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    world.write("SEMI.US.csv", text.replace("2026-11-13", "2026-11-10"));
    let report = world.json(&["import", "SEMI.US.csv"]);
    let understood = &report["files"][0]["understood"];
    assert_eq!(understood["symbol_is_guess"], false, "{report}");
    assert_eq!(understood["time_zone"], "America/New_York");
    assert_eq!(report["files"][0]["import"], 2);
}

#[test]
fn reports_use_local_dates_and_include_trades() {
    let world = World::new();
    let rows = "AAPL.US,2026-11-12,1,1,1,1,1\n700.HK,2026-11-13,1,1,1,1,1\n";
    world.write("two.csv", format!("symbol,time,open,high,low,close,volume\n{rows}"));
    let said = world.ok(&["import", "--dry-run", "two.csv"]);
    assert!(said.contains("from 2026-11-12 to 2026-11-13; dates of each symbol's market"), "{said}");
    world.write("t.csv", "symbol,time,price,volume\n700.HK,2026-11-13T09:30:05+08:00,612.5,1200\n");
    let said = world.ok(&["import", "--dry-run", "t.csv"]);
    for words in ["700.HK: trades from 2026-11-13 09:30 to", "2026-11-13T09:30:05+08:00 612.5  1,200"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert_eq!(world.json(&["import", "--dry-run", "t.csv"])["files"][0]["first_rows"][0]["price"], "612.5");
    let said = world.ok(&["import", "t.csv"]);
    let next = said.lines().find(|line| line.starts_with("next: ")).unwrap();
    assert!(next.ends_with("coverage 700.HK --trades") && !said.contains("undo: "), "{said}");
    // If no row can be read, the report contains no interpretation of the file.
    world.write(
        "600519.SH.csv",
        "ts_code,trade_date,open,high,low,close,vol\n600519.SH,20261113,1,1,1,1,many\n",
    );
    let ran = world.run(&["import", "600519.SH.csv"]);
    assert!(ran.code == Some(1) && !ran.stdout.contains("minute"), "{}", ran.stdout);
}

#[test]
fn a_dry_run_shows_rows_and_writes_nothing() {
    let world = World::new();
    world.write("d.csv", days("700.HK"));
    let said = world.ok(&["import", "--dry-run", "d.csv"]);
    assert!(said.contains("not imported") && said.contains("T00:00:00+08:00"), "{said}");
    // A dry run does not create a store.
    assert!(!world.path("store").exists());
    let report = world.json(&["import", "--dry-run", "d.csv"]);
    assert_eq!(report["files"][0]["first_rows"].as_array().unwrap().len(), 5, "{report}");
    assert_eq!((&report["files"][0]["added"], &report["next"]), (&10.into(), &serde_json::json!([])));
    world.ok(&["import", "d.csv"]);
    assert!(world.ok(&["import", "--dry-run", "d.csv"]).contains("unchanged, imported"));
}

#[test]
fn undoing_an_import_needs_confirmation() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let before = world.json(&["kline", "700.HK", "-n", "50"]);
    world.write("fix.csv", "symbol,time,open,high,low,close,volume\n700.HK,2026-11-13,50,60,40,55,7\n700.HK,2026-10-30,1,1,1,1,1\n");
    world.ok(&["import", "fix.csv"]);
    // Without a terminal the user cannot be prompted, so `--yes` is required.
    let ran = world.run(&["imports", "--undo", "2"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 candles are removed, 1 are restored"), "{}", ran.stdout);
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    let (code, stderr) = world.fails(&["imports", "--undo", "1", "--yes"]);
    assert!(code == 1 && stderr.contains("imports --undo 2"), "{stderr}");
    let said = world.ok(&["imports", "--undo", "2", "--yes"]);
    assert!(said.contains(&format!("import --symbol 700.HK {}\n", world.file("fix.csv"))), "{said}");
    assert_eq!(world.json(&["kline", "700.HK", "-n", "50"]), before);
    assert_eq!(world.json(&["imports"])[0]["state"], "undone");
    let (code, stderr) = world.fails(&["imports", "--undo", "2", "--yes"]);
    assert!(code == 1 && stderr.contains("already been undone"), "{stderr}");
    let (code, stderr) = world.fails(&["imports", "--undo", "99", "--yes"]);
    assert!(code == 1 && stderr.contains("no import 99"), "{stderr}");
    // The ledger lists the import as undone, so the file can be imported again.
    assert_eq!(world.json(&["import", "fix.csv"])["files"][0]["replaced"], 1);
    world.ok(&["check"]);
}

#[test]
fn undoing_an_import_of_candles_does_not_affect_share_counts() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.write("securities.csv", "symbol,from,total_shares\n700.HK,2026-03-18,8900\n");
    let said = world.ok(&["import", "securities.csv"]);
    assert!(said.contains("securities") && !said.contains("undo: "), "{said}");
    let (code, stderr) = world.fails(&["imports", "--undo", "2", "--yes"]);
    assert!(
        code == 1 && stderr.contains("import 2 is of securities: only imports of candles can be undone"),
        "{stderr}"
    );
    world.ok(&["imports", "--undo", "1", "--yes"]);
    let report = world.json(&["import", "--again", "securities.csv"]);
    assert_eq!(report["files"][0]["unchanged"], 1, "{report}");
}

#[test]
fn the_suggested_import_command_has_the_original_options() {
    let world = World::new();
    let lots = "ts_code,trade_date,open,high,low,close,vol,amount\n\
        600519.SH,20261112,10,11,9,10,20.51,205.1\n600519.SH,20261113,10,11,9,10,30.25,302.5\n";
    world.write("the lots.csv", lots);
    world.ok(&["import", "the lots.csv", "--scale", "volume=100,turnover=1000"]);
    let before = world.json(&["kline", "600519.SH"]);
    // The command is run in another folder, so the printed paths must be absolute.
    let elsewhere = world.path("store");
    let remove = ["remove", "600519.SH", "--yes", "--format", "json"];
    let ran = world.command(&remove).current_dir(elsewhere).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let command = report["again"][0].as_str().unwrap();
    let file = world.file("the lots.csv");
    let again = format!("import --again --scale volume=100,turnover=1000 --symbol 600519.SH '{file}'");
    assert!(command.ends_with(&again), "{command}");
    let flags = ["--again", "--scale", "volume=100,turnover=1000", "--symbol", "600519.SH"];
    world.ok(&[&["import"], &flags[..], &[file.as_str()]].concat());
    assert_eq!(world.json(&["kline", "600519.SH"]), before);
}

#[test]
fn a_removed_symbol_can_be_imported_again() {
    let world = World::with(&[("days.csv", &days("700.HK")), ("hour.csv", &hour("700.HK"))]);
    let before = world.json(&["kline", "700.HK", "-n", "50"]);
    let ran = world.run(&["remove", "700.HK"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stdout.contains(&format!("imported from {}\n", world.file("days.csv")))
            && ran.stdout.contains("700.HK/1m"),
        "{}",
        ran.stdout
    );
    let report = world.json(&["remove", "700.HK", "--period", "1m", "--yes"]);
    assert_eq!(
        (&report["candles"], &report["sources"][0]),
        (&30.into(), &world.file("hour.csv").into()),
        "{report}"
    );
    assert_eq!(world.json(&["kline", "700.HK", "-n", "50"]), before);
    let said = world.ok(&["remove", "700.HK", "--yes"]);
    assert!(said.contains(&format!("import --again --symbol 700.HK {}\n", world.file("days.csv"))), "{said}");
    assert!(world.json(&["inspect"]).as_array().unwrap().is_empty());
    assert_eq!(world.json(&["imports"])[0]["kind"], "removal");
    let (code, stderr) = world.fails(&["remove", "700.HK", "--yes"]);
    assert!(code == 1 && stderr.contains("nothing is stored for 700.HK"), "{stderr}");
    world.ok(&["import", "--again", "days.csv"]);
    assert_eq!(world.json(&["kline", "700.HK", "-n", "50"]), before);
    world.ok(&["check"]);
    // `remove` does not create a store.
    let elsewhere = World::new();
    let (code, stderr) = elsewhere.fails(&["remove", "700.HK", "--yes"]);
    assert!(code == 1 && stderr.contains("no store"), "{stderr}");
    assert!(!elsewhere.path("store").exists());
}
