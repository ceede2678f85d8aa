//! Tests of orders for a security that has only daily candles.

use serde_json::json;

use crate::world::World;

const DAYS: &str = "symbol,date,open,high,low,close,volume\n\
    700.HK,2026-03-17,297,299,296,298.6,5000000\n\
    700.HK,2026-03-18,300,310,295,308,9000000\n\
    AAPL.US,2026-03-17,190,192,189,191,5000000\n\
    AAPL.US,2026-03-18,192,196,188,195,9000000\n";

const EXPECTED: &str = "700.HK had daily candles only on 2026-03-17; if 2026-03-18 is the same, this order fills once, at the end \
                        of the day, against the whole day";

fn world() -> World {
    let world = World::with(&[("days.csv", DAYS)]);
    world.ok(&["account", "create", "ann", "--cash", "HKD=500000,USD=50000", "--fees", "none"]);
    world
}

fn at<'a>(clock: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--clock", clock]].concat()
}

#[test]
fn an_order_warns_and_is_filled_at_the_end_of_the_day() {
    let world = world();
    let (morning, end) = ("2026-03-18T09:00:00+08:00", "2026-03-18T16:10:00+08:00");
    let order = ["order", "buy", "700.HK", "500", "--limit", "296"];
    let preview = world.ok(&at(morning, &[&order[..], &["--dry-run"]].concat()));
    assert!(preview.contains(&format!("note         {EXPECTED}")), "{preview}");
    let taken = world.ok(&at(morning, &order));
    assert_eq!(taken, format!("order 1000000001: open\nnote: {EXPECTED}\n"));
    let why = world.ok(&at("2026-03-18T16:09:59+08:00", &["order", "why", "1000000001"]));
    assert!(why.contains("2026-03-18 16:09:59 HKT  not filled so far") && why.contains(EXPECTED), "{why}");
    let detail = world.json(&at(end, &["order", "show", "1000000001"]));
    assert_eq!((&detail["status"], &detail["executed_price"]), (&json!("FilledStatus"), &json!("296.000")));
    let why = world.ok(&at(end, &["order", "why", "1000000001"]));
    for line in [
        "2026-03-18 16:10:00 HKT  filled: 500 at 296",
        "    daily candle of 2026-03-18: open 300, high 310, low 295, close 308, volume 9000000",
    ] {
        assert!(why.lines().any(|found| found == line), "{line:?} is not in\n{why}");
    }
}

#[test]
fn us_order_times_are_in_new_york_time() {
    let world = world();
    world.ok(&at("2026-03-18T10:05:15-04:00", &["order", "buy", "AAPL.US", "10", "--limit", "193"]));
    let why = world.ok(&at("2026-03-18T16:00:00-04:00", &["order", "why", "1000000001"]));
    for line in [
        "2026-03-18 10:05:15 EDT  accepted: buy 10 AAPL.US, limit 193, for the day, in regular hours",
        "    candles stamped after 2026-03-18 10:05:15 EDT count for it",
        "    it ends at 2026-03-18 16:00:00 EDT",
        "2026-03-18 16:00:00 EDT  expired: its time in force ended",
    ] {
        assert!(why.lines().any(|found| found == line), "{line:?} is not in\n{why}");
    }
    assert!(
        why.contains("a daily candle fills orders accepted or replaced before the opening, 09:30 EDT"),
        "{why}"
    );
}

#[test]
fn fills_from_daily_candles_can_be_switched_off() {
    let world = world();
    world.ok(&["account", "set", "ann", "--coarse-fills", "off"]);
    assert!(world.ok(&["account", "show", "ann"]).contains("coarse"));
    world.ok(&at("2026-03-18T09:00:00+08:00", &["order", "buy", "700.HK", "500", "--limit", "302"]));
    let why = world.ok(&at("2026-03-18T16:10:00+08:00", &["order", "why", "1000000001"]));
    assert!(why.contains("expired") && why.contains("(coarse_fills is off)"), "{why}");
}
