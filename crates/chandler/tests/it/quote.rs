//! Tests of `chandler quote`, on the local store and on a server.

use serde_json::{Value, json};

use crate::transports::Setup;
use crate::world::{World, days};

const CLOCK: &str = "2026-11-13T12:30:00+08:00";

/// Two Hong Kong minutes and two US days, so that one quote is of a running day and one of the day
/// before.
fn files() -> [(&'static str, String); 3] {
    let securities = "symbol,name_en,exchange,currency,lot_size,decimals\n\
        700.HK,Lamp & Wick,HKEX,HKD,100,3\nAAPL.US,Orchard,NASDAQ,USD,1,2\n";
    let minutes = "symbol,time,open,high,low,close,volume\n\
        700.HK,2026-11-12 15:59,300,300,300,300,1000\n\
        700.HK,2026-11-13 09:30,305,305,304,305,50000\n\
        700.HK,2026-11-13 09:31,305.2,306.2,305,306.2,1250000\n";
    let us = "symbol,date,open,high,low,close,volume\n\
        AAPL.US,2026-11-11,10,10.5,9.9,10.40,120000\nAAPL.US,2026-11-12,10.4,10.8,10.3,10.35,98000\n";
    [
        ("securities.csv", securities.to_owned()),
        ("minutes.csv", minutes.to_owned()),
        ("us.csv", us.to_owned()),
    ]
}

fn setups() -> [Setup; 2] {
    let files = files();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    Setup::both(&files, &[], CLOCK)
}

/// Sets the clock of the local store; the server has its own.
fn at<'a>(setup: &Setup, arguments: &[&'a str]) -> Vec<&'a str> {
    let clock: &[&str] = if setup.is_local() { &["--clock", CLOCK] } else { &[] };
    [arguments, clock].concat()
}

#[test]
fn quotes_have_the_change_since_the_previous_close() {
    for setup in setups() {
        let quotes = setup.json(&at(&setup, &["quote", "700.HK", "AAPL.US"]));
        let shown = |quote: &Value| {
            ["symbol", "last_done", "prev_close", "change", "change_percent", "volume", "time", "state"]
                .map(|name| quote[name].clone())
        };
        assert_eq!(
            shown(&quotes[0]),
            [
                json!("700.HK"),
                json!("306.200"),
                json!("300.000"),
                json!("6.200"),
                json!("2.07"),
                json!(1_300_000),
                json!("2026-11-13T09:31:59+08:00"),
                json!("midday break"),
            ]
        );
        let us = shown(&quotes[1]);
        assert_eq!(us[..4], [json!("AAPL.US"), json!("10.35"), json!("10.40"), json!("-0.05")]);
        assert_eq!(us[4..6], [json!("-0.48"), json!(98_000)]);
        let table = setup.ok(&at(&setup, &["quote", "aapl.us", "700.HK", "700.HK"]));
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines.len(), 3, "{table}");
        assert_eq!(lines[0], ["symbol", "last", "change", "%", "volume", "time", "state"]);
        assert_eq!(lines[1][..5], ["AAPL.US", "10.35", "-0.05", "-0.48", "98,000"]);
        assert_eq!(
            lines[2],
            [
                "700.HK",
                "306.200",
                "+6.200",
                "+2.07",
                "1,300,000",
                "2026-11-13",
                "09:31:59",
                "HKT",
                "midday",
                "break"
            ]
        );
    }
}

#[test]
fn a_symbol_without_a_quote_is_named_after_the_others() {
    for setup in setups() {
        let ran = setup.run(&at(&setup, &["quote", "700.HK", "701.HK"]));
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stdout.contains("306.200"), "{}", ran.stdout);
        assert!(ran.stderr.contains("no quote of 701.HK"), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("did you mean 700.HK?"), setup.is_local(), "{}", ran.stderr);
        let (code, said) = setup.fails(&at(&setup, &["quote", "701.HK"]));
        assert!(code == 1 && said.contains("no quote of 701.HK"), "{said}");
    }
}

#[test]
fn a_quote_follows_the_published_clock_of_a_store() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let last = |arguments: &[&str]| world.json(arguments)[0]["time"].as_str().unwrap()[..10].to_owned();
    assert_eq!(last(&["quote", "700.HK", "--clock", "2026-11-06T18:00:00+08:00"]), "2026-11-06");
    let (code, said) = world.fails(&["quote", "700"]);
    assert!(code == 2 && said.contains("did you mean 700.HK?"), "{said}");
}
