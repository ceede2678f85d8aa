//! Tests of `chandler list`: lists the stored securities of the local store and of a server.

use serde_json::{Value, json};

use crate::trading_remote::run;
use crate::world::{World, days, hour};

const SECURITIES: &str = "symbol,name_en,name_cn\n700.HK,Lamp & Wick,灯芯\nAAPL.US,Orchard,\n";

fn world() -> World {
    let (mut all, fruit) = (days("700.HK"), days("AAPL.US"));
    // The second security's data ends a day earlier.
    let rest = fruit.lines().skip(1).filter(|line| !line.contains("2026-11-13"));
    rest.for_each(|line| all += &format!("{line}\n"));
    World::with(&[("securities.csv", SECURITIES), ("days.csv", &all), ("hour.csv", &hour("9.HK"))])
}

fn symbols(document: &Value) -> Vec<&str> {
    document.as_array().unwrap().iter().map(|one| one["symbol"].as_str().unwrap()).collect()
}

#[test]
fn a_store_is_listed_with_ranges_prices_and_gaps() {
    let world = world();
    let all = world.json(&["list"]);
    assert_eq!(symbols(&all), ["700.HK", "9.HK", "AAPL.US"]);
    assert_eq!(
        all[0],
        json!({
            "symbol": "700.HK", "name_en": "Lamp & Wick", "name_cn": "灯芯", "name_hk": "", "market": "HK",
            "series": [{"period": "day", "first": "2026-11-02", "last": "2026-11-13", "candles": 10}],
            "last": "113.125", "prev_close": "112.125", "volume": 13_000,
            "closes": ["102.125", "103.125", "104.125", "105.125", "106.125", "109.125", "110.125", "111.125", "112.125", "113.125"],
            "expected": 10, "missing": 0, "partial": 0, "after_last": 0,
        })
    );
    assert_eq!(
        all[1]["series"],
        json!([{"period": "1m", "first": "2026-11-13", "last": "2026-11-13", "candles": 30}])
    );
    let table = world.ok(&["list"]);
    let line = table.lines().nth(1).unwrap();
    for part in ["700.HK", "Lamp & Wick", "2026-11-02 to 2026-11-13", "113.125"] {
        assert!(line.contains(part), "{part} is not in {line:?}");
    }
    assert!(table.contains("1m 2026-11-13 to 2026-11-13"), "{table}");
}

#[test]
fn the_end_of_a_securitys_data_is_not_a_gap() {
    let rows = days("700.HK");
    let some = |left_out: &str| -> String {
        rows.lines().filter(|line| !line.contains(left_out)).map(|line| format!("{line}\n")).collect()
    };
    let world = World::with(&[("ended.csv", &some("2026-11-13"))]);
    let ended = &world.json(&["list"])[0];
    assert_eq!(
        (&ended["missing"], &ended["expected"], &ended["after_last"]),
        (&json!(0), &json!(9), &json!(1))
    );
    let table = world.ok(&["list"]);
    let line: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert!(line.ends_with(&["0", "0", "2026-11-12"]), "{line:?}");
    let covered = world.json(&["coverage", "700.HK"]);
    let summary = &covered["summary"];
    assert_eq!(
        (&summary["daily_missing"], &summary["ends_on"]),
        (&json!(0), &json!("2026-11-12")),
        "{covered}"
    );
    assert_eq!((&summary["days_after"], &covered["days"]), (&json!(1), &json!([])), "{covered}");
    let all = world.json(&["coverage", "700.HK", "--all"]);
    assert_eq!(all["days"].as_array().unwrap().last().unwrap()["date"], "2026-11-13");
    let said = world.ok(&["coverage", "700.HK"]);
    assert!(said.contains("ends on 2026-11-12, 1 trading day before 2026-11-13"), "{said}");
    // If the requested range ends within the stored data, the end of the data is not mentioned.
    let within = world.ok(&["coverage", "700.HK", "--end", "2026-11-11"]);
    assert!(!within.contains("ends on"), "{within}");
}

#[test]
fn securities_are_found_by_code_name_and_market() {
    let world = world();
    for (arguments, found) in [
        (&["ls", "700"][..], vec!["700.HK"]),
        (&["search", "orch"], vec!["AAPL.US"]),
        (&["list", "lamp", "&"], vec!["700.HK"]),
        (&["list", "灯"], vec!["700.HK"]),
        (&["list", "--market", "US"], vec!["AAPL.US"]),
        (&["list", "--worst", "-n", "1", "--market", "us"], vec!["AAPL.US"]),
        (&["list", "nothing like it"], vec![]),
    ] {
        assert_eq!(symbols(&world.json(arguments)), found, "{arguments:?}");
    }
    assert_eq!(symbols(&world.json(&["list", "--worst"])).last(), Some(&"700.HK"));
    let some = world.run(&["list", "-n", "2", "-f", "table"]);
    assert!(some.stderr.contains("2 of 3 securities"), "{}", some.stderr);
    let none = world.run(&["list", "xyz", "--store", "sqlite:store"]);
    let says = "no results: `chandler --store sqlite:store list` without a text";
    assert!(none.stdout.is_empty() && none.stderr.contains(says), "{}", none.stderr);
    let (code, said) = world.fails(&["list", "--market", "SG"]);
    assert!(code == 2 && said.contains("hk"), "{said}");
}

#[test]
fn coverage_sorts_by_gaps_and_filters_by_market() {
    let world = world();
    assert_eq!(symbols(&world.json(&["coverage", "--market", "us"])), ["AAPL.US"]);
    let worst = world.json(&["coverage", "--worst", "--start", "2026-11-02"]);
    assert_eq!(symbols(&worst).last(), Some(&"700.HK"), "{worst}");
}

#[test]
fn list_polls_until_the_server_has_counted_all_gaps() {
    let answer = |uncounted: u32| json!({"rows": [], "total": 300, "uncounted": uncounted, "next": null});
    let row = json!({
        "symbol": "700.HK", "name_en": "", "name_cn": "灯芯", "name_hk": "", "market": "HK",
        "series": [{"period": "day", "first": "2004-06-01", "last": "2026-11-13", "candles": null}],
        "last": null, "expected": 60, "missing": 3, "partial": 1,
    });
    let page = json!({"rows": [row], "total": 300, "uncounted": 0, "next": null});
    let asked_for = ["list", "lamp", "--market", "hk", "--worst", "-n", "1"];
    let (ran, requests) = run(&asked_for, vec![answer(100), answer(0), page]);
    let address = "GET /v1/inventory?query=lamp&market=HK&order=worst&limit=1";
    assert_eq!(requests.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>(), [address; 3]);
    assert!(ran.stdout.contains("灯芯") && ran.stdout.contains("2004-06-01 to 2026-11-13"), "{}", ran.stdout);
    assert!(ran.stderr.contains("1 of 300 securities"), "{}", ran.stderr);
}

#[test]
fn a_count_with_a_start_date_suggests_the_right_flag() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    for (arguments, meant) in [
        (&["kline", "700.HK", "--start", "2026-11-03", "-n", "2"][..], "--after 2026-11-03 -n 2"),
        (&["kline", "700.HK", "--end", "2026-11-09", "-n", "2"], "--before 2026-11-09 -n 2"),
    ] {
        let (code, said) = world.fails(arguments);
        assert!(code == 2 && said.contains(meant) && said.lines().count() == 1, "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_export_to_a_terminal_is_refused() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let output = world.on_a_terminal("export").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(2) && text.contains("--output FILE"), "{text:?}");
    assert!(!text.contains("700.HK,"), "{text:?}");
    assert!(world.ok(&["export"]).contains("700.HK,"));
}
