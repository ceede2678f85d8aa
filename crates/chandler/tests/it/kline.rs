//! Tests of `chandler kline`: output formats, paging and the clock.

use expect_test::expect;
use serde_json::Value;

use crate::world::{World, days, hour};

#[test]
fn the_table_is_aligned() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let expected = expect![[r#"
        time          open    high     low   close volume    turnover
        2026-11-12 112.000 113.500 111.250 112.125  12000 1200000.500
        2026-11-13 113.000 114.500 112.250 113.125  13000 1300000.500
    "#]];
    expected.assert_eq(&world.ok(&["kline", "00700.hk", "-n", "2"]));
}

#[test]
fn json_has_the_fields_of_the_protocol() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let expected = expect![[r#"
        {
          "symbol": "700.HK",
          "period": "day",
          "complete": true,
          "candlesticks": [
            {"close": "113.125", "open": "113.000", "low": "112.250", "high": "114.500", "volume": 13000, "turnover": "1300000.500", "timestamp": 1794499200, "trade_session": 0, "time": "2026-11-13T00:00:00+08:00"}
          ]
        }
    "#]];
    expected.assert_eq(&world.ok(&["kline", "700.HK", "-n", "1", "--format", "json"]));
}

#[test]
fn an_answer_with_fewer_candles_than_requested_has_a_note() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    assert_eq!(world.json(&["kline", "700.HK", "-n", "11"])["complete"], false);
    let ran = world.run(&["kline", "700.HK", "-n", "11"]);
    assert!(ran.stderr.contains("10 of 11"), "{}", ran.stderr);
    let range = world.json(&["kline", "700.HK", "--start", "2026-11-03", "--end", "20261109"]);
    assert_eq!((range["candlesticks"].as_array().unwrap().len(), &range["complete"]), (5, &true.into()));
    let empty = world.json(&["kline", "700.HK", "--start", "2026-11-07", "--end", "2026-11-08"]);
    assert_eq!((empty["candlesticks"].as_array().unwrap().len(), &empty["complete"]), (0, &true.into()));
}

#[test]
fn before_and_after_are_inclusive() {
    let world = World::with(&[("hour.csv", &hour("700.HK"))]);
    let times = |arguments: &[&str]| {
        let answer = world.json(&[&["kline", "700.HK", "-p", "1m"], arguments].concat());
        let candles = answer["candlesticks"].as_array().unwrap().clone();
        candles
            .iter()
            .map(|candle| candle["time"].as_str().unwrap()[11..16].to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(times(&["--before", "2026-11-13 09:32", "-n", "2"]), "09:31 09:32");
    assert_eq!(times(&["--after", "2026-11-13T09:32", "-n", "2"]), "09:32 09:33");
    assert_eq!(times(&["--after", "2026-11-13T01:32:00Z", "-n", "2"]), "09:32 09:33");
    assert_eq!(times(&["--before", "2026-11-13", "-n", "2"]), "09:58 09:59");
}

#[test]
fn more_than_a_thousand_candles_are_paged() {
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    let mut day = "2015-01-01".parse::<jiff::civil::Date>().unwrap();
    let mut number = 0;
    while number < 2500 {
        number += 1;
        text += &format!("700.HK,{day},{number},{number},{number},{number},1\n");
        day = day.tomorrow().unwrap();
    }
    let world = World::with(&[("many.csv", &text)]);
    let closes = |arguments: &[&str]| -> Vec<i64> {
        let answer = world.json(&[&["kline", "700.HK"], arguments].concat());
        assert_eq!(answer["complete"], true);
        let close = |candle: &serde_json::Value| {
            candle["close"].as_str().unwrap().trim_end_matches(".000").parse().unwrap()
        };
        answer["candlesticks"].as_array().unwrap().iter().map(close).collect()
    };
    assert_eq!(closes(&["-n", "2200"]), (301..=2500).collect::<Vec<i64>>());
    assert_eq!(closes(&["-n", "2200", "--after", "2015-01-01"]), (1..=2200).collect::<Vec<i64>>());
    assert_eq!(closes(&["--start", "2015-01-02"]), (2..=2500).collect::<Vec<i64>>());
    assert_eq!(closes(&["--end", "2019-12-31"]), (1..=1826).collect::<Vec<i64>>());
}

#[test]
fn candles_after_the_clock_are_hidden() {
    let world = World::with(&[("hour.csv", &hour("700.HK")), ("days.csv", &days("700.HK"))]);
    let at = |clock: &str, period: &str| {
        let answer = world.json(&["kline", "700.HK", "-p", period, "-n", "1", "--clock", clock]);
        let candle = &answer["candlesticks"][0];
        format!(
            "{} {} {}",
            candle["time"].as_str().unwrap(),
            candle["close"].as_str().unwrap(),
            candle["volume"]
        )
    };
    // Only the open of the current minute is known.
    assert_eq!(at("2026-11-13T01:40:30Z", "1m"), "2026-11-13T09:40:00+08:00 10.000 0");
    assert_eq!(at("2026-11-13T01:41:00Z", "1m"), "2026-11-13T09:41:00+08:00 10.000 0");
    // The stored one-minute candles end at 09:59. At 09:40, ten minutes of the 60-minute candle are
    // complete.
    assert_eq!(at("2026-11-13T01:40:30Z", "60m"), "2026-11-13T09:30:00+08:00 10.000 1000");
    assert_eq!(at("2026-11-13T02:10:00Z", "60m"), "2026-11-13T09:30:00+08:00 10.590 3000");
    assert_eq!(at("2026-11-12T15:59:59Z", "day"), "2026-11-12T00:00:00+08:00 112.125 12000");
    // The daily candle is folded from one-minute candles until the closing auction ends. After that
    // the stored daily candle is used.
    assert_eq!(at("2026-11-13T01:29:59Z", "day"), "2026-11-12T00:00:00+08:00 112.125 12000");
    assert_eq!(at("2026-11-13T01:30:30Z", "day"), "2026-11-13T00:00:00+08:00 10.000 0");
    assert_eq!(at("2026-11-13T01:40:30Z", "day"), "2026-11-13T00:00:00+08:00 10.000 1000");
    assert_eq!(at("2026-11-13T08:09:59Z", "day"), "2026-11-13T00:00:00+08:00 10.590 3000");
    assert_eq!(at("2026-11-13T08:10:00Z", "day"), "2026-11-13T00:00:00+08:00 113.125 13000");
}

#[test]
fn reports_exclude_data_after_the_clock() {
    let world = World::with(&[("hour.csv", &hour("700.HK")), ("days.csv", &days("700.HK"))]);
    let candles = |clock: &str, series: &str| {
        let all = world.json(&["inspect", "--clock", clock]);
        let found = all.as_array().unwrap().iter().find(|info| info["series"] == series).cloned();
        found.map(|info| format!("{} to {}", info["candles"], info["last"].as_str().unwrap()))
    };
    let morning = "2026-11-13T01:40:30Z";
    assert_eq!(candles(morning, "700.HK/1m").unwrap(), "11 to 2026-11-13T01:40:00Z");
    assert_eq!(candles(morning, "700.HK/60m"), None);
    assert_eq!(candles(morning, "700.HK/1d").unwrap(), "9 to 2026-11-11T16:00:00Z");
    assert_eq!(candles("2026-11-15T02:00:00Z", "700.HK/1m").unwrap(), "30 to 2026-11-13T01:59:00Z");
    assert_eq!(candles("2026-11-13T01:29:59Z", "700.HK/1m"), None);
    // If a file's data ends after the clock, the file's end and row count are hidden.
    let sources = world.json(&["inspect", "700.HK", "--clock", morning])["sources"].clone();
    let of = |name: &str| {
        sources.as_array().unwrap().iter().find(|s| s["file"] == world.file(name)).cloned().unwrap()
    };
    assert_eq!((&of("hour.csv")["rows"], &of("hour.csv")["last"]), (&Value::Null, &Value::Null));
    let day = world.json(&["coverage", "700.HK", "--all", "--clock", morning])["days"].clone();
    let day = day.as_array().unwrap().last().unwrap().clone();
    assert_eq!(day["date"], "2026-11-13");
    assert_eq!((&day["daily"], &day["daily_missing"]), (&Value::Bool(false), &Value::Null), "{day}");
    assert_eq!((&day["minutes"], &day["expected"]), (&11.into(), &11.into()), "{day}");
    assert!(world.ok(&["coverage", "700.HK", "--clock", morning]).contains("not over"));
    // Before its first candle, a security has no coverage.
    let (code, said) = world.fails(&["coverage", "700.HK", "--clock", "2020-01-01T00:00:00Z"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no candles"), "{said}");
}

#[test]
fn csv_parquet_and_chart_output_is_complete() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let csv = world.ok(&["kline", "700.HK", "-n", "1", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(
        csv.contains("700.HK,2026-11-13T00:00:00+08:00,113.000,114.500,112.250,113.125,13000,1300000.5"),
        "{csv}"
    );
    world.ok(&["kline", "700.HK", "--format", "parquet", "--output", "k.parquet"]);
    assert_eq!(&std::fs::read(world.path("k.parquet")).unwrap()[..4], b"PAR1");
    let chart = world.ok(&["kline", "700.HK", "--format", "chart"]);
    assert!(chart.contains("700.HK") && chart.contains("Asia/Hong_Kong"), "{chart}");
    assert!(!chart.contains('\u{1b}'), "colours only on a terminal");
}
