//! Tests of `chandler import`, and of exports of imported data.

use crate::world::{World, days, hour};

#[test]
fn the_same_file_twice_changes_nothing() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let before = world.json(&["inspect"]);
    let again = world.json(&["import", "days.csv"]);
    assert!(again["files"][0]["outcome"].as_str().unwrap().starts_with("unchanged"));
    let forced = world.json(&["import", "--again", "days.csv"]);
    assert_eq!((&forced["files"][0]["added"], &forced["files"][0]["unchanged"]), (&0.into(), &10.into()));
    assert_eq!(world.json(&["inspect"]), before);
}

#[test]
fn changed_candles_replace_stored_candles_and_are_recorded() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.write("fix.csv", "symbol,time,open,high,low,close,volume\n700.HK,2026-11-13,50,60,40,55,7\n700.HK,2026-10-30,1,1,1,1,1\n");
    let report = world.json(&["import", "fix.csv"]);
    assert_eq!((&report["files"][0]["added"], &report["files"][0]["replaced"]), (&1.into(), &1.into()));
    let ledger = world.json(&["imports"]);
    assert_eq!(ledger[0]["file"], world.file("fix.csv"));
    assert_eq!(
        (&ledger[0]["state"], &ledger[0]["replaced"], &ledger[0]["added"]),
        (&"done".into(), &1.into(), &1.into())
    );
    let answer = world.json(&["kline", "700.HK", "-n", "1"]);
    assert_eq!(answer["candlesticks"][0]["close"], "55.000");
}

#[test]
fn invalid_rows_are_quarantined_and_others_imported() {
    let world = World::new();
    let text = "symbol,time,open,high,low,close,volume\n\
        700.HK,2026-11-13 09:30,10,11,9,10,100\n\
        700.HK,2026-11-13 09:31,10,9,11,10,100\n\
        700.HK,2026-11-13 12:00,10,11,9,10,100\n\
        700.HK,2026-11-13 09:30,10,11,9,10.5,100\n\
        700.HK,2026-11-13 09:32,abc,11,9,10,100\n\
        700.HK,2026-11-14 09:30,10,11,9,10,100\n\
        700.HK,2026-11-13 16:00,10,11,9,10,100\n";
    world.write("m.csv", text);
    let report = world.json(&["import", "m.csv"]);
    assert_eq!((&report["files"][0]["added"], &report["files"][0]["quarantined"]), (&2.into(), &5.into()));
    let rows = world.json(&["quarantine"]);
    let mut lines: Vec<(u64, String)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["line"].as_u64().unwrap(), row["reason"].as_str().unwrap().to_owned()))
        .collect();
    lines.sort();
    let numbers: Vec<u64> = lines.iter().map(|(line, _)| *line).collect();
    assert_eq!(numbers, [3, 4, 5, 6, 7]);
    assert!(lines[0].1.contains("low is above"), "{}", lines[0].1);
    assert!(lines[1].1.contains("no session"), "{}", lines[1].1);
    assert!(lines[2].1.contains("duplicate"), "{}", lines[2].1);
    assert!(lines[4].1.contains("no session"), "{}", lines[4].1);
    assert_eq!(rows[0]["file"], world.file("m.csv"));
}

#[test]
fn strict_refuses_the_whole_file() {
    let world = World::new();
    world.write("m.csv", "symbol,time,open,high,low,close,volume\n700.HK,2026-11-13,10,11,9,10,1\n700.HK,2026-11-12,10,1,9,10,1\n");
    let (code, stderr) = world.fails(&["import", "--strict", "m.csv"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("--strict") && stderr.contains("line 3"), "{stderr}");
    assert!(world.json(&["inspect"]).as_array().unwrap().is_empty());
    assert_eq!(world.json(&["import", "m.csv"])["files"][0]["added"], 1);
}

#[test]
fn one_bad_file_does_not_prevent_the_import_of_others() {
    let world = World::new();
    world.write("a.csv", days("700.HK"));
    world.write("b.csv", "nonsense\n");
    world.write("c.csv", days("5.HK"));
    let ran = world.run(&["import", "a.csv", "b.csv", "c.csv"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("b.csv"), "{}", ran.stderr);
    assert_eq!(world.json(&["inspect"]).as_array().unwrap().len(), 2);
}

#[test]
fn a_folder_is_expanded_to_its_tables() {
    let world = World::new();
    world.write("bars/700.HK.csv", days("700.HK"));
    world.write("bars/5.HK.csv", days("5.HK"));
    world.write("bars/notes.md", "not a table");
    assert_eq!(world.json(&["import", "bars"])["files"].as_array().unwrap().len(), 2);
}

#[test]
fn exported_candles_round_trip() {
    let world = World::with(&[("days.csv", &days("700.HK")), ("hour.csv", &hour("700.HK"))]);
    for (period, ending) in [("day", "csv"), ("day", "parquet"), ("1m", "csv"), ("1m", "parquet")] {
        let file = format!("out.{period}.{ending}");
        world.ok(&["export", "700.HK", "--period", period, "--output", &file]);
        let other = World::new();
        std::fs::copy(world.path(&file), other.path(&file)).unwrap();
        other.ok(&["import", &file]);
        let ask = ["kline", "700.HK", "-p", period, "-n", "100"];
        assert_eq!(other.json(&ask), world.json(&ask), "{file}");
    }
}

#[test]
fn turnover_is_zero_unless_an_estimate_is_requested() {
    let text = "symbol,time,open,high,low,close,volume\n700.HK,2026-11-13,10,12,9,12,100\n";
    let world = World::with(&[("d.csv", text)]);
    let turnover =
        |world: &World| world.json(&["kline", "700.HK", "-n", "1"])["candlesticks"][0]["turnover"].clone();
    assert_eq!(turnover(&world), "0.000");
    world.ok(&["import", "--estimate-turnover", "d.csv"]);
    assert_eq!(turnover(&world), "1100.000");
}

#[test]
fn strict_refuses_a_file_that_was_imported_with_errors() {
    let world = World::new();
    world.write("m.csv", "symbol,time,open,high,low,close,volume\n700.HK,2026-11-13,10,11,9,10,1\n700.HK,2026-11-12,10,1,9,10,1\n");
    world.ok(&["import", "m.csv"]);
    let (code, stderr) = world.fails(&["import", "--strict", "m.csv"]);
    assert!(code == 1 && stderr.contains("--strict"), "{stderr}");
}

#[test]
fn implausible_actions_are_quarantined() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let text = "symbol,ex_date,cash,split,bonus,rights,rights_price\n\
        700.HK,2026-11-10,0.1,,,,\n700.HK,2026-11-10,0.1,,,,\n700.HK,2026-11-10,0.2,,,,\n\
        700.HK,2026-11-11,,,,1/4,\n700.HK,2026-11-12,,,,,5\n";
    world.write("a.csv", text);
    let report = world.json(&["import", "a.csv"]);
    assert_eq!((&report["files"][0]["added"], &report["files"][0]["quarantined"]), (&2.into(), &3.into()));
    let lines: Vec<u64> = world
        .json(&["quarantine"])
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [3, 5, 6]);
}

#[test]
fn unknown_security_kinds_are_refused() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let before = world.json(&["inspect", "700.HK"]);
    world.write("securities.csv", "symbol,kind\n700.HK,equity\n2800.HK,fund\n823.HK,reit\n");
    let report = world.json(&["import", "securities.csv"]);
    let file = &report["files"][0];
    assert_eq!((&file["kind"], &file["added"]), (&"securities".into(), &1.into()), "{report}");
    assert_eq!((&file["replaced"], &file["quarantined"]), (&1.into(), &1.into()), "{report}");
    let refused = &world.json(&["quarantine"])[0];
    assert_eq!((&refused["line"], &refused["symbol"]), (&3.into(), &"2800.HK".into()));
    assert_eq!(refused["reason"], "kind \"fund\" is not one of equity, etf, reit, warrant");
    assert_eq!(world.json(&["inspect", "700.HK"]), before);
}

#[test]
fn a_pay_date_does_not_affect_adjusted_prices() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let adjusted = || world.json(&["kline", "700.HK", "--adjust", "forward", "-n", "10"]);
    world.write("plain.csv", "symbol,ex_date,cash\n700.HK,2026-11-10,0.5\n");
    world.ok(&["import", "plain.csv"]);
    let before = adjusted();
    let paid =
        "symbol,ex_date,cash,pay_date\n700.HK,2026-11-10,0.5,2026-11-20\n700.HK,2026-11-11,0.5,2026-11-10\n";
    world.write("paid.csv", paid);
    let report = world.json(&["import", "paid.csv"]);
    let file = &report["files"][0];
    assert_eq!((&file["replaced"], &file["quarantined"]), (&1.into(), &1.into()), "{report}");
    assert_eq!(world.json(&["quarantine"])[0]["reason"], "pay_date is before ex_date");
    assert_eq!(adjusted(), before);
}

#[test]
fn option_candles_are_imported_but_not_shown() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let option = "AAPL260417C190000.US";
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    for minute in 30..40 {
        text += &format!("{option},2026-03-18 09:{minute},5,5.5,4.5,5.1,10\n");
    }
    text += &format!("{option},2026-03-18 08:00,5,5.5,4.5,5.1,10\n");
    world.write("options.csv", &text);
    let report = world.json(&["import", "options.csv"]);
    let file = &report["files"][0];
    assert_eq!((&file["added"], &file["quarantined"]), (&10.into(), &1.into()), "{report}");
    assert_eq!(world.json(&["quarantine"])[0]["reason"], "options are traded in regular hours only");
    assert_eq!(world.json(&["inspect", option])["series"][0]["candles"], 10);
    for command in [&["kline", option, "-p", "1m"][..], &["kline", option], &["export", option, "-p", "1m"]] {
        let (code, stderr) = world.fails(command);
        assert!(code == 1 && stderr.contains("history for options is unavailable"), "{code} {stderr}");
    }
    // An export without symbols omits options.
    let all = world.ok(&["export"]);
    assert!(all.contains("700.HK") && !all.contains(option), "{all}");
    let (_, stderr) = world.fails(&["export", "-p", "1m"]);
    assert!(stderr.contains("no candles to build"), "{stderr}");
    world.ok(&["check"]);
}

#[test]
fn margin_factors_are_imported_and_recorded_in_the_ledger() {
    let world = World::new();
    world.write(
        "margins.csv",
        "symbol,im,mm,fm\n700.HK,0.35,0.30,0.25\nAAPL.US,0.5,0.3,0.25\n5.HK,0.3,0.2,10.5\n",
    );
    let report = world.json(&["import", "margins.csv"]);
    let file = &report["files"][0];
    assert_eq!((&file["kind"], &file["outcome"]), (&"margins".into(), &"imported".into()), "{report}");
    assert_eq!((&file["added"], &file["quarantined"]), (&2.into(), &1.into()), "{report}");
    let refused = &world.json(&["quarantine"])[0];
    assert_eq!((&refused["line"], &refused["symbol"]), (&4.into(), &"5.HK".into()));
    assert_eq!(refused["reason"], "fm \"10.5\" is not a number from 0 to 10");
    let entry = &world.json(&["imports"])[0];
    assert_eq!((&entry["kind"], &entry["state"]), (&"margins".into(), &"done".into()), "{entry}");
    assert!(world.ok(&["import", "margins.csv"]).contains("unchanged, imported"));
    world.write("margins.csv", "symbol,im,mm,fm\n700.HK,0.4,0.30,0.25\nAAPL.US,0.50,0.3,0.25\n");
    let report = world.json(&["import", "margins.csv"]);
    assert_eq!(
        (&report["files"][0]["replaced"], &report["files"][0]["unchanged"]),
        (&1.into(), &1.into()),
        "{report}"
    );
    let (code, stderr) = {
        world.write("wrong.csv", "symbol,im,mm,fm\n700.HK,x,0.30,0.25\n");
        world.fails(&["import", "--strict", "wrong.csv"])
    };
    assert!(code == 1 && stderr.contains("line 2: im \"x\" is not a number"), "{stderr}");
    world.ok(&["check"]);
}

/// Writes a Parquet file that is damaged so that the reader panics. The damage is the same in every
/// run.
fn panicking_parquet(world: &World) {
    world.ok(&["export", "700.HK", "--period", "1m", "--output", "whole.parquet"]);
    let whole = std::fs::read(world.path("whole.parquet")).unwrap();
    let venues = market::Venues::built_in().unwrap();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random() % 4 {
            let at = 4 + random() % (bytes.len() - 8);
            bytes[at] = u8::try_from(random() % 256).unwrap();
        }
        let path = world.write("damaged.parquet", &bytes);
        let read = match files::open(&path, &venues, &files::ReadOptions::default()) {
            Ok(files::Table::Candles(mut reader)) => {
                std::iter::from_fn(|| reader.next().transpose()).collect::<Result<Vec<_>, _>>().map(drop)
            }
            opened => opened.map(drop),
        };
        if read.is_err_and(|error| matches!(error.problem, files::Problem::Damaged)) {
            return;
        }
    }
    panic!("no file makes the reader panic");
}

#[test]
fn a_damaged_parquet_file_is_an_error_and_not_a_panic() {
    let world = World::with(&[("hour.csv", &hour("700.HK"))]);
    panicking_parquet(&world);
    for arguments in [&["import", "damaged.parquet"][..], &["import", "damaged.parquet", "--dry-run"]] {
        let (code, stderr) = world.fails(arguments);
        assert_eq!(code, 1, "{stderr}");
        assert!(stderr.contains("this file is damaged") && !stderr.contains("panicked"), "{stderr}");
    }
    assert_eq!(world.json(&["imports"])[0]["state"], "failed");
}

#[test]
fn a_file_without_valid_rows_fails() {
    let world = World::new();
    world.write("m.csv", "symbol,time,open,high,low,close,volume\n700.HK,2026-11-13,10,1,9,10,1\n");
    let (code, stderr) = world.fails(&["import", "m.csv"]);
    assert!(
        code == 1 && stderr.contains("no row of this file can be used") && stderr.contains("line 2"),
        "{stderr}"
    );
    assert_eq!(world.json(&["imports"])[0]["state"], "failed");
}

/// Returns 90 daily candles of 700.HK, with each price multiplied by `factor`.
fn quarter(factor: u32) -> String {
    let mut text = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    let days = (1..=30).flat_map(|day| [7, 8, 9].map(|month| (month, day)));
    for (at, (month, day)) in days.enumerate() {
        let price = factor * (100 + u32::try_from(at).unwrap() % 7);
        text += &format!("700.HK,2026-{month:02}-{day:02},{price},{price},{price},{price},1000,1\n");
    }
    text
}

#[test]
fn a_file_with_scaled_prices_is_refused_with_the_factor() {
    let world = World::with(&[("raw.csv", &quarter(4))]);
    let before = world.ok(&["export", "700.HK", "--period", "day"]);
    world.write("adjusted.csv", quarter(1));
    world.write("other.csv", days("5.HK"));
    let ran = world.run(&["import", "adjusted.csv", "other.csv", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["files"][0]["outcome"], "needs --replace");
    let error = report["files"][0]["error"].as_str().unwrap();
    assert!(error.contains("prices are 0.25 times the stored ones: split-adjusted?"), "{error}");
    assert_eq!(
        (&report["files"][1]["outcome"], &report["files"][1]["added"]),
        (&"imported".into(), &10.into())
    );
    assert_eq!(world.ok(&["export", "700.HK", "--period", "day"]), before);
    let ledger = world.json(&["imports"]);
    let entry =
        ledger.as_array().unwrap().iter().find(|entry| entry["file"] == world.file("adjusted.csv")).unwrap();
    assert_eq!((&entry["state"], &entry["message"]), (&"failed".into(), &error.into()));
    let (code, stderr) = world.fails(&["import", "adjusted.csv"]);
    assert!(code == 1 && stderr.contains("pass --replace"), "{stderr}");
    let report = world.json(&["import", "adjusted.csv", "--replace"]);
    assert_eq!(
        (&report["files"][0]["outcome"], &report["files"][0]["replaced"]),
        (&"imported".into(), &90.into())
    );
}

#[test]
fn weekly_candles_with_holidays_are_not_imported_as_daily_candles() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let before = world.json(&["kline", "700.HK", "-n", "50"]);
    // The dates are Fridays, except for 2026-04-02 and 2026-04-30, which are the days before
    // holidays.
    let fridays =
        ["2026-03-20", "2026-03-27", "2026-04-02", "2026-04-10", "2026-04-17", "2026-04-24", "2026-04-30"];
    let rows: String = fridays.iter().map(|day| format!("700.HK,{day},1,1,1,1,1\n")).collect();
    world.write("weeks.csv", format!("symbol,time,open,high,low,close,volume\n{rows}"));
    let (code, stderr) = world.fails(&["import", "weeks.csv"]);
    assert!(code == 1 && stderr.contains("looks like weekly candles"), "{stderr}");
    assert_eq!(world.json(&["kline", "700.HK", "-n", "50"]), before);
}

#[test]
fn flags_supply_missing_information() {
    let world = World::new();
    let text =
        "Date,Open,High,Low,Close,Volume,trade_session\n11/5/2026 9:30,1,1,1,1,0.5,TradeSession.Intraday\n";
    world.write("yahoofinance-AAPL-20261105-20261105.csv", text);
    let file = "yahoofinance-AAPL-20261105-20261105.csv";
    let (code, stderr) = world.fails(&["import", file, "--map", "Volume=-"]);
    assert!(code == 1 && stderr.contains("--time-format mdy"), "{stderr}");
    let report = world.json(&["import", file, "--time-format", "mdy", "--map", "Volume=-"]);
    assert_eq!(report["files"][0]["added"], 1, "{report}");
    let notes = report["files"][0]["notes"].to_string();
    assert!(notes.contains("AAPL.US is a guess"), "{notes}");
    let (code, stderr) = world.fails(&["import", file, "--time-format", "nonsense"]);
    assert!(code == 2 && stderr.contains("--time-format"), "{stderr}");
}

#[test]
fn candles_before_the_floor_are_imported_and_counted() {
    let world = World::new();
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    for day in ["1995-01-03", "1995-01-04", "2004-05-31", "2004-06-01"] {
        text += &format!("5.HK,{day},10,11,9,10,7\n");
    }
    world.write("old.csv", &text);
    let minutes = "symbol,time,open,high,low,close,volume\n5.HK,2022-09-27 09:30,10,11,9,10,7\n\
                   5.HK,2022-09-27 09:31,10,11,9,10,7\n5.HK,2022-09-28 09:30,10,11,9,10,7\n";
    world.write("minutes.csv", minutes);
    let report = world.json(&["import", "old.csv", "minutes.csv"]);
    let file = |number: usize| &report["files"][number];
    assert_eq!((&file(0)["added"], &file(0)["unserved"]), (&4.into(), &3.into()), "{report}");
    assert_eq!((&file(1)["added"], &file(1)["unserved"]), (&3.into(), &2.into()), "{report}");
    let note = file(0)["notes"].to_string();
    assert!(note.contains("3 rows are older than the history served to accounts"), "{note}");
    assert!(note.contains("HK from 2004-06-01"), "{note}");
    // The command line shows all candles, including those before the floor, for every period, with
    // adjustment, and in an export.
    let first = |arguments: &[&str]| {
        let answer = world.json(&[&["kline", "5.HK"], arguments].concat());
        answer["candlesticks"][0]["time"].as_str().unwrap().get(..10).unwrap().to_owned()
    };
    assert_eq!(first(&["--after", "1990-01-01", "-n", "1"]), "1995-01-03");
    assert_eq!(first(&["-p", "year", "--after", "1990-01-01", "-n", "1"]), "1995-01-01");
    assert_eq!(first(&["--adjust", "forward", "--start", "1990-01-01"]), "1995-01-03");
    assert_eq!(first(&["-p", "1m", "--start", "2022-09-27", "--end", "2022-09-28"]), "2022-09-27");
    let all = world.json(&["kline", "5.HK", "-n", "10"]);
    assert_eq!(all["candlesticks"].as_array().unwrap().len(), 4);
    world.ok(&["export", "5.HK", "--output", "out.csv"]);
    assert_eq!(std::fs::read_to_string(world.path("out.csv")).unwrap().lines().count(), 5);
    // The number of unserved candles depends on the server's floors.
    let again = |floors: &str| {
        let report = world.json(&["import", "--again", "old.csv", "--floors", floors]);
        report["files"][0]["unserved"].as_u64().unwrap()
    };
    assert_eq!((again("none"), again("HK.day=1995-01-04"), again("published")), (0, 1, 3));
    // The floors come from the server's configuration file, the environment or a flag.
    world.write("server.toml", "[server]\nfloors = \"none\"\n");
    let again = |arguments: &[&str], env: &[(&str, &str)]| {
        let all = [&["import", "--again", "old.csv", "--format", "json"], arguments].concat();
        let ran = world.command(&all).envs(env.iter().copied()).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        report["files"][0]["unserved"].as_u64().unwrap()
    };
    let (named, floors) = (&["--config", "server.toml"][..], &["--floors", "HK.day=1995-01-04"][..]);
    let file = ("CHANDLER_CONFIG", "server.toml");
    assert_eq!((again(&[], &[]), again(named, &[]), again(&[], &[file])), (3, 0, 0));
    assert_eq!(again(named, &[("CHANDLER_FLOORS", "published")]), 3);
    assert_eq!(again(&[named, floors].concat(), &[("CHANDLER_FLOORS", "published")]), 1);
    let (code, stderr) = world.fails(&["import", "--again", "old.csv", "--config", "absent.toml"]);
    assert!(code == 2 && stderr.contains("absent.toml"), "{code} {stderr}");
}

#[test]
fn trades_are_imported_shown_and_exported() {
    let world = World::new();
    world.write(
        "trades.csv",
        "symbol,time,price,volume,direction,type\n\
         700.HK,2026-03-16 09:30:00.5,612.5,100,2,\n\
         700.HK,2026-03-16 09:31:00,612.25,200,1,D\n\
         700.HK,2026-03-18 16:08:00,612.0,300,,U\n\
         700.HK,2026-03-18 16:09:00,612.0,300,4,U\n",
    );
    let report = &world.json(&["import", "trades.csv", "--build-candles"])["files"][0];
    assert_eq!(
        (&report["kind"], &report["added"], &report["quarantined"]),
        (&"trades".into(), &3.into(), &1.into())
    );
    let known = world.json(&["inspect", "700.HK"]);
    assert_eq!((&known["trades"]["days"], &known["trades"]["trades"]), (&2.into(), &3.into()));
    assert_eq!(
        world.json(&["coverage", "700.HK", "--trades"])[0]["missing"],
        serde_json::json!(["2026-03-17"])
    );
    let (code, says) = world.fails(&["coverage", "701.HK", "--trades"]);
    assert!(code == 1 && says.contains("701.HK is not known"), "{code} {says}");
    let exported = world.ok(&["export", "--trades", "--start", "2026-03-16", "--end", "2026-03-17"]);
    assert_eq!(
        exported,
        "symbol,time,price,volume,direction,type\n\
         700.HK,2026-03-16T09:30:00+08:00,612.500000,100,up,\n\
         700.HK,2026-03-16T09:31:00+08:00,612.250000,200,down,D\n"
    );
    // Importing the exported file changes nothing.
    world.write("again.csv", exported.as_bytes());
    assert_eq!(world.json(&["import", "again.csv"])["files"][0]["unchanged"], 2);
    world.ok(&["export", "--trades", "-o", "trades.parquet"]);
    let again = &world.json(&["import", "trades.parquet"])["files"][0];
    assert_eq!((&again["kind"], &again["unchanged"]), (&"trades".into(), &3.into()), "{again}");
    world.ok(&["export", "--trades", "-o", "trades.arrow"]);
    assert!(world.path("trades.arrow").metadata().unwrap().len() > 500);
    let minutes = world.json(&["kline", "700.HK", "--period", "1m", "-n", "10"]);
    assert_eq!(minutes["candlesticks"].as_array().unwrap().len(), 2, "{minutes}");
    assert!(world.ok(&["check"]).contains("and 3 trades in "));
}

/// Five-minute candles are imported, fifteen-minute candles are derived from them, and one-minute
/// candles take precedence if they exist.
#[test]
fn five_minute_candles_are_stored_and_aggregated() {
    let row = |minute: u32, volume: u32| {
        format!("700.HK,2026-11-13 {:02}:{:02},10,11,9,10,{volume}\n", minute / 60, minute % 60)
    };
    let header = "symbol,time,open,high,low,close,volume\n";
    let fives: String = (570..720).chain(780..960).step_by(5).map(|minute| row(minute, 5)).collect();
    let world = World::new();
    world.write("fives.csv", format!("{header}{fives}700.HK,2026-11-13 10:02,10,11,9,10,5\n"));
    let output = world.ok(&["import", "fives.csv"]);
    assert!(output.contains("treated as 5-minute candles, a guess"), "{output}");
    assert!(output.contains("not the start of a 5-minute candle"), "{output}");
    let all = world.json(&["inspect"]);
    assert_eq!((all.as_array().unwrap().len(), &all[0]["series"]), (1, &"700.HK/own5m".into()));
    let volumes = |period: &str| -> Vec<u64> {
        let answer = world.json(&["kline", "700.HK", "--period", period, "-n", "2"]);
        let candles = answer["candlesticks"].as_array().unwrap().clone();
        candles.iter().map(|candle| candle["volume"].as_u64().unwrap()).collect()
    };
    assert_eq!((volumes("5m"), volumes("15m"), volumes("60m")), (vec![5, 5], vec![15, 15], vec![60, 60]));
    let empty = world.run(&["kline", "700.HK", "--period", "1m", "-n", "2"]);
    assert!(
        empty
            .stderr
            .contains("no one-minute candles of 700.HK are stored; 5m candles are the finest available"),
        "{}",
        empty.stderr
    );
    let day = world.json(&["coverage", "700.HK", "--all"])["days"][0].clone();
    assert_eq!((&day["period"], &day["minutes"], &day["expected"]), (&"5m".into(), &330.into(), &331.into()));
    let exported = world.ok(&["export", "--period", "30m"]);
    assert_eq!(exported.lines().count(), 12, "{exported}");
    // With an explicit period the period is not guessed, and the same rows are reported as
    // unchanged.
    let again = world.json(&["import", "--again", "--period", "5m", "fives.csv"]);
    assert_eq!((&again["files"][0]["unchanged"], &again["files"][0]["added"]), (&66.into(), &0.into()));
    let minutes: String = (570..720).chain(780..960).map(|minute| row(minute, 2)).collect();
    world.write("minutes.csv", format!("{header}{minutes}"));
    let output = world.ok(&["import", "minutes.csv"]);
    assert!(output.contains("700.HK has candles of 1m and 5m over the same time"), "{output}");
    assert_eq!((volumes("5m"), volumes("15m")), (vec![10, 10], vec![30, 30]));
    assert_eq!(world.json(&["check"])["damage"].as_array().unwrap().len(), 0);
}
