//! Tests single trades: import, queries at an instant, thresholds from earlier days, and candles
//! built from trades.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;

use history::import::{Options, Outcome, Sizes};
use history::{AsOf, HistoryError, Sessions};
use market::{ClassShares, Floors, Market, Symbol};

use crate::common::{Shop, at, symbol, venue};

const HEADER: &str = "symbol,time,price,volume,direction,type\n";
const SMALL: Sizes = Sizes { flush_rows: 2, block_rows: 4096 };

/// Formats trades of 700.HK on a day from lines such as `09:30:00 10.0 100 up`.
fn table(day: &str, lines: &str) -> String {
    let mut text = HEADER.to_owned();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let word = |at: usize| words.get(at).filter(|word| **word != "-").copied().unwrap_or_default();
        writeln!(text, "700.HK,{day} {},{},{},{},{}", word(0), word(1), word(2), word(3), word(4)).unwrap();
    }
    text
}

fn hk() -> Symbol {
    symbol("700.HK")
}

/// Lists all stored trades of 700.HK.
fn stored(shop: &Shop) -> Vec<String> {
    let mut reader = shop.store.reader().unwrap();
    let as_of = AsOf::Live(at(Market::Hk, "2030-01-01"));
    let zone = venue(Market::Hk).zone();
    let mut all = Vec::new();
    for day in shop.history.traded_days(&mut reader, &hk(), as_of).unwrap() {
        for trade in shop.history.day_trades(&mut reader, &day, as_of).unwrap().iter() {
            all.push(format!(
                "{} {} {}",
                &zone.rfc3339(trade.time)[5..19],
                trade.price.text(2),
                trade.volume
            ));
        }
    }
    all
}

fn import(shop: &Shop, name: &str, text: &str, options: &Options, sizes: Sizes) -> history::import::Report {
    let file = shop.file(name, text);
    shop.import_with(&[file], options, sizes, &AtomicBool::new(false)).remove(0)
}

#[test]
fn a_later_file_replaces_the_trades_of_a_second() {
    let shop = Shop::new();
    let first = table("2026-03-18", "09:30:00 10 100\n09:30:00 10 100\n09:30:01 11 100");
    let report = import(&shop, "a.csv", &first, &Options::default(), Sizes::default());
    assert_eq!((report.kind, report.added, report.outcome.clone()), ("trades", 3, Outcome::Imported));
    let report = import(&shop, "b.csv", &first, &Options::default(), Sizes::default());
    assert!(matches!(report.outcome, Outcome::Known { .. }), "{report:?}");
    let again = Options { again: true, ..Options::default() };
    let report = import(&shop, "a.csv", &first, &again, Sizes::default());
    assert_eq!((report.added, report.replaced, report.unchanged), (0, 0, 3));
    let second = table("2026-03-18", "09:30:01 12 100\n09:30:02 13 100\n09:29:00 9 100");
    let report = import(&shop, "c.csv", &second, &Options::default(), Sizes::default());
    assert_eq!((report.added, report.replaced, report.unchanged), (2, 1, 0));
    assert_eq!(
        stored(&shop),
        [
            "03-18T09:29:00 9.00 100",
            "03-18T09:30:00 10.00 100",
            "03-18T09:30:00 10.00 100",
            "03-18T09:30:01 12.00 100",
            "03-18T09:30:02 13.00 100",
        ]
    );
    assert_eq!(history::check(&shop.store, shop.history.venues()).unwrap().damage, []);
}

#[test]
fn trades_do_not_depend_on_the_flush_size() {
    // Seven identical trades per second, and more rows than one batch of the reader, so that a
    // flush ends within a second.
    let clock =
        |second: usize| format!("{:02}:{:02}:{:02}", 10 + second / 3600, second / 60 % 60, second % 60);
    let lines: String = (0..6000).map(|row| format!("{} 10 100\n", clock(row / 7))).collect();
    let text = table("2026-03-18", &lines);
    let (whole, cut) = (Shop::new(), Shop::new());
    import(&whole, "a.csv", &text, &Options::default(), Sizes::default());
    let report = import(&cut, "a.csv", &text, &Options::default(), SMALL);
    assert_eq!(report.added, 6000);
    assert_eq!(stored(&cut).len(), 6000);
    assert!(stored(&cut) == stored(&whole));
    let again = Options { again: true, ..Options::default() };
    import(&cut, "a.csv", &text, &again, SMALL);
    assert!(stored(&cut) == stored(&whole));
}

#[test]
fn invalid_rows_are_quarantined_with_their_line() {
    let shop = Shop::new();
    let mut text = table(
        "2026-03-18",
        "09:30:00 10 100\n09:30:00 -1 100\n09:30:00 10 0\n08:00:00 10 100\n09:30:00 9000000000000 9000000000000",
    );
    text += "700.HK,2026-03-15 10:00:00,10,100,,\nAAPL261120C200000.US,2026-03-18T10:00:00-04:00,10,100,,\n";
    let report = import(&shop, "a.csv", &text, &Options::default(), Sizes::default());
    assert_eq!((report.added, report.quarantined), (1, 6));
    let reasons: Vec<String> =
        report.problems.iter().map(|(line, reason)| format!("{line} {reason}")).collect();
    assert_eq!(
        reasons,
        [
            "3 price is not above zero",
            "4 volume is not above zero",
            "5 outside the trading hours of its day",
            "6 price times volume has more than 12 digits before the point",
            "7 the market is closed on this day",
        ]
    );
    let strict = Options { strict: true, ..Options::default() };
    let report = import(&Shop::new(), "a.csv", &text, &strict, Sizes::default());
    assert!(
        matches!(&report.outcome, Outcome::Failed(why) if why.contains("refused by --strict: 6 rows")),
        "{report:?}"
    );
    let candles =
        "symbol,time,open,high,low,close,volume\n700.HK,2026-03-18,1,2,1,2,5\n700.HK,2026-03-19,1,2,1,2,5\n";
    let build = Options { build_candles: true, ..Options::default() };
    let report = import(&Shop::new(), "c.csv", candles, &build, Sizes::default());
    assert!(matches!(&report.outcome, Outcome::Failed(why) if why.contains("--build-candles")), "{report:?}");
}

fn flow(shop: &Shop, now: &str) -> Result<(usize, String), HistoryError> {
    let as_of = AsOf::Replay(at(Market::Hk, now));
    let mut reader = shop.store.reader().unwrap();
    let flow = shop.history.capital_flow(&mut reader, &hk(), Floors::NONE, as_of)?;
    let capital =
        shop.history.capital_distribution(&mut reader, &hk(), Floors::NONE, ClassShares::default(), as_of)?;
    let net = capital.capital_in.sum().0 - capital.capital_out.sum().0;
    let last = flow.lines.last().map(|(_, total)| *total).unwrap_or_default();
    // Invariant of the specification: net inflow equals the last point of the capital flow.
    assert_eq!(net, last.0, "{now}");
    Ok((flow.lines.len(), last.text().to_string()))
}

#[test]
fn capital_flow_uses_the_last_day_that_has_opened() {
    let shop = Shop::new();
    let text = table("2026-03-17", "10:00:00 10 100 up")
        + table(
            "2026-03-18",
            "09:20:00 10 900 up U\n09:30:00 10 100 up\n09:31:30 10 300 down\n16:09:00 10 500 up U",
        )
        .strip_prefix(HEADER)
        .unwrap();
    import(&shop, "a.csv", &text, &Options::default(), Sizes::default());
    for (now, lines, total) in [
        ("2026-03-17 10:00", 31, "1000.000"),
        ("2026-03-18 09:29:59", 331, "1000.000"),
        ("2026-03-18 09:30", 1, "1000.000"),
        ("2026-03-18 09:31:29", 2, "1000.000"),
        ("2026-03-18 09:31:30", 2, "-2000.000"),
        ("2026-03-18 12:30", 150, "-2000.000"),
        ("2026-03-18 16:00", 331, "-2000.000"),
        ("2026-03-18 16:09", 331, "3000.000"),
        ("2026-03-22 12:00", 331, "3000.000"),
    ] {
        assert_eq!(flow(&shop, now).unwrap(), (lines, total.to_owned()), "{now}");
    }
    assert!(matches!(flow(&shop, "2026-03-17 09:59:59"), Err(HistoryError::NoTrades(_))));
    let mut reader = shop.store.reader().unwrap();
    let now = AsOf::Replay(at(Market::Hk, "2026-03-18 09:31:29"));
    let latest = shop.history.latest_trades(&mut reader, &hk(), 2, Sessions::All, Floors::NONE, now).unwrap();
    let times: Vec<i64> = latest.trades.iter().map(|(trade, _)| trade.time.0).collect();
    assert_eq!(times, [at(Market::Hk, "2026-03-18 09:20").0, at(Market::Hk, "2026-03-18 09:30").0]);
}

/// Returns the inflow as `large medium small`, with thresholds from earlier trades.
fn inflow(shop: &Shop, now: &str, shares: ClassShares) -> String {
    let mut reader = shop.store.reader().unwrap();
    let as_of = AsOf::Live(at(Market::Hk, now));
    let found = shop.history.capital_distribution(&mut reader, &hk(), Floors::NONE, shares, as_of).unwrap();
    let sums = found.capital_in;
    format!("{} {} {}", sums.large.text(), sums.medium.text(), sums.small.text())
}

#[test]
fn thresholds_fall_back_to_all_trades_and_then_to_the_day() {
    let shop = Shop::new();
    let today = table("2026-03-18", "09:30:00 1 50 up\n09:30:01 1 20 up\n09:30:02 1 10 up");
    import(&shop, "today.csv", &today, &Options::default(), Sizes::default());
    let standard = ClassShares::default();
    // Without earlier days, the current day is used: the amount 50 of 80 exceeds both shares.
    assert_eq!(inflow(&shop, "2026-03-18 17:00", standard), "50.000 0.000 30.000");
    assert_eq!(inflow(&shop, "2026-03-18 09:30:00", standard), "50.000 0.000 0.000");
    // All earlier days are used, even if there are few of them and they are old: of 100, an amount
    // of 40 is large and 20 is medium.
    let old = table(
        "2025-12-01",
        "09:30:00 1 40 up\n09:30:01 1 20 up\n09:30:02 1 20 up\n09:30:03 1 10 up\n09:30:04 1 10 down",
    );
    import(&shop, "old.csv", &old, &Options::default(), Sizes::default());
    assert_eq!(inflow(&shop, "2026-03-18 17:00", standard), "50.000 20.000 10.000");
    assert_eq!(
        inflow(&shop, "2026-03-18 17:00", ClassShares { large: 90, medium: 100 }),
        "80.000 0.000 0.000"
    );
    let many = |amount: i64| -> String {
        (0..1000).map(|at| format!("10:{:02}:{:02} 1 {amount} up\n", at / 60, at % 60)).collect()
    };
    // 13 February is the twentieth trading day before; 12 February is outside the window.
    import(&shop, "far.csv", &table("2026-02-12", &many(60)), &Options::default(), Sizes::default());
    assert_eq!(inflow(&shop, "2026-03-18 17:00", standard), "0.000 0.000 80.000");
    import(&shop, "near.csv", &table("2026-02-13", &many(15)), &Options::default(), Sizes::default());
    assert_eq!(inflow(&shop, "2026-03-18 17:00", standard), "70.000 0.000 10.000");
    // The stored thresholds equal the computed ones.
    let mut reader = shop.store.reader().unwrap();
    let stored = reader.snapshot().unwrap().trade_days(&hk()).unwrap().last().unwrap().sizes.unwrap();
    assert_eq!((stored.large_percent, stored.medium_percent, stored.large_from), (30, 55, 15_000_000));
}

#[test]
fn sparse_trades_use_all_earlier_days() {
    let shop = Shop::new();
    // The first trade has an amount of 500 and is old. It is followed by one trade of 1 on each of
    // more than 250 days.
    let mut text = table("2024-12-02", "10:00:00 1 500 up");
    let (from, through) = ("2024-12-03".parse().unwrap(), "2026-03-17".parse().unwrap());
    let later: Vec<String> =
        venue(Market::Hk).calendar().days(from, through).map(|(day, _)| day.to_string()).collect();
    assert!(later.len() > 250, "{}", later.len());
    for day in &later {
        text += table(day, "10:00:00 1 1 up").strip_prefix(HEADER).unwrap();
    }
    import(&shop, "sparse.csv", &text, &Options::default(), Sizes::default());
    let today = table("2026-03-18", "09:30:00 1 500 up\n09:30:01 1 300 up\n09:30:02 1 1 up");
    import(&shop, "today.csv", &today, &Options::default(), Sizes::default());
    // 500 is more than 55% of all earlier amounts.
    let standard = ClassShares::default();
    assert_eq!(inflow(&shop, "2026-03-18 17:00", standard), "500.000 0.000 301.000");
    // The thresholds for other shares are not stored, so the query computes them: 90% is reached
    // among the trades of 1.
    let other = ClassShares { large: 30, medium: 90 };
    assert_eq!(inflow(&shop, "2026-03-18 17:00", other), "500.000 301.000 0.000");
}

#[test]
fn candles_are_built_from_all_trades_of_changed_days() {
    let shop = Shop::new();
    let build = Options { build_candles: true, ..Options::default() };
    import(
        &shop,
        "a.csv",
        &table("2026-03-18", "09:30:00 10 100\n09:30:30 12 100"),
        &Options::default(),
        Sizes::default(),
    );
    assert!(shop.content().is_empty());
    let later = table("2026-03-18", "09:31:00 11 100\n16:08:00 10.5 300 - U\n16:20:00 10.5 50 - P");
    let report = import(&shop, "b.csv", &later, &build, SMALL);
    assert!(report.notes.iter().any(|note| note.starts_with("candles built: 4 new")), "{report:?}");
    let line = |series: &str| -> Vec<String> {
        let zone = venue(Market::Hk).zone();
        let spell = |c: market::Candle| {
            let [open, high, low, close] =
                [c.open, c.high, c.low, c.close].map(|price| price.text(1).to_string());
            format!("{} {open} {high} {low} {close} {}", &zone.rfc3339(c.time)[11..16], c.volume)
        };
        shop.stored(series).iter().map(spell).collect()
    };
    assert_eq!(
        line("700.HK/1m"),
        ["09:30 10.0 12.0 10.0 12.0 200", "09:31 11.0 11.0 11.0 11.0 100", "16:00 10.5 10.5 10.5 10.5 300"]
    );
    assert_eq!(line("700.HK/1d"), ["00:00 10.0 12.0 10.0 10.5 650"]);
    // The same file with the option is a different import, which builds candles that are already
    // stored.
    let report = import(
        &shop,
        "a.csv",
        &table("2026-03-18", "09:30:00 10 100\n09:30:30 12 100"),
        &build,
        Sizes::default(),
    );
    assert_eq!(report.unchanged, 2);
    assert!(
        report.notes.iter().any(|note| note.starts_with("candles built: 0 new, 0 replaced, 4 unchanged")),
        "{report:?}"
    );
}

#[test]
fn a_security_without_trades_is_refused() {
    let shop = Shop::new();
    let mut reader = shop.store.reader().unwrap();
    let as_of = AsOf::Live(at(Market::Hk, "2026-03-18 17:00"));
    let unknown = shop.history.has_trades(&mut reader, &hk(), as_of);
    assert!(matches!(unknown, Err(HistoryError::UnknownSecurity(_))));
    import(&shop, "a.csv", &table("2026-03-19", "10:00:00 10 100"), &Options::default(), Sizes::default());
    assert!(matches!(shop.history.has_trades(&mut reader, &hk(), as_of), Err(HistoryError::NoTrades(_))));
    let tomorrow = AsOf::Live(at(Market::Hk, "2026-03-19 10:00"));
    shop.history.has_trades(&mut reader, &hk(), tomorrow).unwrap();
    // An account with a later floor is served nothing.
    let floors = Floors { minute: Some("2026-03-20".parse().unwrap()), ..Floors::NONE };
    let cut = shop.history.capital_flow(&mut reader, &hk(), floors, tomorrow);
    assert!(matches!(cut, Err(HistoryError::NoTrades(_))));
}
