//! Compares the stored candles that the trading engine reads with a plain filter over all candles.

use market::{Candle, Candles, Market, Price, Session, Timestamp};

use crate::common::{COARSE, Cut, Rng, Shop, at, candle, date, days, minutes, symbol};

/// Gives every candle a distinct price and volume.
fn distinct(candles: Candles) -> Candles {
    (1..).zip(candles.iter()).map(|(n, one)| candle(one.time, one.session, 10_000 * n, n)).collect()
}

#[test]
fn minute_candles_of_all_lanes_are_merged_unchanged() {
    for (seed, (name, market)) in (0..6u64).zip([("A.US", Market::Us), ("5.HK", Market::Hk)].iter().cycle()) {
        let mut rng = Rng(seed);
        let (shop, security) = (Shop::new(), symbol(name));
        let all: Candles = distinct(minutes(*market, "2025-06-02", "2025-06-06"))
            .iter()
            .filter(|_| !rng.one_in(3))
            .collect();
        let cut = Cut { block_rows: *rng.pick(&[40, 500, 4096]), page_rows: *rng.pick(&[3, 16, 256]) };
        shop.stock(&security, &all, &Candles::default(), cut);
        let mut reader = shop.store.reader().unwrap();
        let snapshot = reader.snapshot().unwrap();
        for _ in 0..200 {
            let mut edge = || Timestamp(all.time[rng.below(all.len())] + *rng.pick(&[-1, 0, 1, 60, 7_000]));
            let stamps = edge()..edge();
            let found = shop.history.minutes(&snapshot, &security, stamps.clone()).unwrap();
            let expected: Candles = all.iter().filter(|one| stamps.contains(&one.time)).collect();
            assert_eq!(found, expected, "{name} {seed} {stamps:?}");
            let last = shop.history.last_minute(&snapshot, &security, stamps.start).unwrap();
            let expected = all.iter().rfind(|one| one.time <= stamps.start);
            assert_eq!(last, expected, "{name} {seed} {:?}", stamps.start);
        }
        let whole = Timestamp(i64::MIN)..Timestamp(i64::MAX);
        assert_eq!(shop.history.minutes(&snapshot, &security, whole).unwrap(), all);
    }
}

#[test]
fn missing_candles_are_none() {
    let (shop, security) = (Shop::new(), symbol("5.HK"));
    shop.stock(&security, &minutes(Market::Hk, "2025-06-03", "2025-06-03"), &Candles::default(), COARSE);
    let mut reader = shop.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let noon = at(Market::Hk, "2025-06-03 12:30");
    for unknown in ["700.HK", "AAPL.US"] {
        let unknown = symbol(unknown);
        let found = shop.history.minutes(&snapshot, &unknown, Timestamp(0)..noon).unwrap();
        assert_eq!((found.len(), shop.history.last_minute(&snapshot, &unknown, noon).unwrap()), (0, None));
        assert_eq!(shop.history.close_before(&snapshot, &unknown, date("2025-06-03")).unwrap(), None);
        assert_eq!(shop.history.intraday_close(&snapshot, &unknown, date("2025-06-03")).unwrap(), None);
    }
    let before = at(Market::Hk, "2025-06-03 09:29");
    assert_eq!(shop.history.last_minute(&snapshot, &security, before).unwrap(), None);
    let empty = shop.history.minutes(&snapshot, &security, noon..before).unwrap();
    assert!(empty.is_empty());
}

#[test]
fn the_mark_is_the_newest_minute_candle_of_any_lane() {
    let (shop, security) = (Shop::new(), symbol("AAPL.US"));
    let sessions = [
        ("2026-03-17 20:30", Session::Overnight),
        ("2026-03-18 08:00", Session::Pre),
        ("2026-03-18 09:30", Session::Intraday),
        ("2026-03-18 15:59", Session::Intraday),
        ("2026-03-18 16:30", Session::Post),
    ];
    let all: Candles = (1..)
        .zip(sessions)
        .map(|(n, (local, session))| candle(at(Market::Us, local), session, n * 1_000_000, 10))
        .collect();
    shop.stock(&security, &all, &Candles::default(), COARSE);
    let mut reader = shop.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let close = |candle: Option<Candle>| candle.map(|candle| candle.close.0 / 1_000_000);
    for (local, expected) in [
        ("2026-03-17 20:29:59", None),
        ("2026-03-17 20:30", Some(1)),
        ("2026-03-18 07:59", Some(1)),
        ("2026-03-18 08:00", Some(2)),
        ("2026-03-18 09:30:30", Some(3)),
        ("2026-03-18 16:29", Some(4)),
        ("2026-03-18 16:30", Some(5)),
        ("2027-01-01", Some(5)),
    ] {
        let found = shop.history.last_minute(&snapshot, &security, at(Market::Us, local)).unwrap();
        assert_eq!(close(found), expected, "{local}");
    }
    // Neither after-hours trades nor trades of another day affect the intraday close.
    let of_day = |day: &str| shop.history.intraday_close(&snapshot, &security, date(day)).unwrap();
    assert_eq!(of_day("2026-03-18"), Some(Price(4_000_000)));
    assert_eq!((of_day("2026-03-17"), of_day("2026-03-19"), of_day("2026-03-21")), (None, None, None));
}

#[test]
fn the_closing_auction_sets_the_hong_kong_close() {
    let (shop, security) = (Shop::new(), symbol("700.HK"));
    let all: Candles = (1..)
        .zip(["2026-03-18 15:59", "2026-03-18 16:00", "2026-03-19 09:30"])
        .map(|(n, local)| candle(at(Market::Hk, local), Session::Intraday, n * 1_000_000, 10))
        .collect();
    shop.stock(&security, &all, &Candles::default(), COARSE);
    let mut reader = shop.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let of_day = |day: &str| shop.history.intraday_close(&snapshot, &security, date(day)).unwrap();
    assert_eq!(
        (of_day("2026-03-18"), of_day("2026-03-19")),
        (Some(Price(2_000_000)), Some(Price(3_000_000)))
    );
}

#[test]
fn close_before_returns_the_last_stored_day() {
    let (shop, security) = (Shop::new(), symbol("700.HK"));
    let days = distinct(days(Market::Hk, "2024-01-02", "2026-03-31"));
    shop.stock(&security, &Candles::default(), &days, Cut { block_rows: 100, page_rows: 16 });
    let mut reader = shop.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let close = |day: &str| shop.history.close_before(&snapshot, &security, date(day)).unwrap();
    assert_eq!(close("2024-01-02"), None);
    assert_eq!(close("2024-01-03"), days.get(0).map(|day| day.close));
    for day in ["2024-07-08", "2025-12-31", "2026-03-18", "2026-03-22", "2030-01-01"] {
        let midnight = at(Market::Hk, day);
        let expected = days.iter().rfind(|one| one.time < midnight).map(|one| one.close);
        assert_eq!(close(day), expected, "{day}");
    }
    // Corporate actions do not change the stored prices.
    let split = market::Action {
        split: market::adjust::Amount::parse("5").unwrap(),
        ..market::Action::none(date("2026-03-18"))
    };
    drop(snapshot);
    shop.act(&security, &[split]);
    let snapshot = reader.snapshot().unwrap();
    let before = days.iter().rfind(|one| one.time < at(Market::Hk, "2026-03-18")).map(|one| one.close);
    assert_eq!(shop.history.close_before(&snapshot, &security, date("2026-03-18")).unwrap(), before);
}

#[test]
fn the_last_regular_minute_replaces_a_missing_daily_close() {
    let (shop, security) = (Shop::new(), symbol("AAPL.US"));
    let minutes: Candles = (1..)
        .zip([
            ("2026-03-17 15:59", Session::Intraday),
            ("2026-03-18 15:59", Session::Intraday),
            ("2026-03-18 19:59", Session::Post),
            ("2026-03-18 20:30", Session::Overnight),
            ("2026-03-19 09:30", Session::Intraday),
        ])
        .map(|(n, (local, session))| candle(at(Market::Us, local), session, n * 1_000_000, 10))
        .collect();
    // The daily file ends on the 17th, and its close differs from the close of the one-minute
    // candles.
    let days: Candles =
        [candle(at(Market::Us, "2026-03-17"), Session::Intraday, 9_000_000, 10)].into_iter().collect();
    shop.stock(&security, &minutes, &days, COARSE);
    let mut reader = shop.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    for (day, expected) in
        [("2026-03-17", None), ("2026-03-18", Some(9)), ("2026-03-19", Some(2)), ("2026-03-20", Some(5))]
    {
        let close = shop.history.close_before(&snapshot, &security, date(day)).unwrap();
        assert_eq!(close.map(|close| close.0 / 1_000_000), expected, "{day}");
    }
}

#[test]
fn options_are_read_like_any_other_security() {
    let (shop, option) = (Shop::new(), symbol("AAPL260417C190000.US"));
    let regular = |candles: Candles| -> Candles {
        candles.iter().filter(|one| one.session == Session::Intraday).collect()
    };
    let all = distinct(regular(minutes(Market::Us, "2026-03-18", "2026-03-18")));
    shop.stock(&option, &all, &Candles::default(), COARSE);
    let mut reader = shop.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let whole = Timestamp(0)..Timestamp(i64::MAX);
    assert_eq!(shop.history.minutes(&snapshot, &option, whole).unwrap(), all);
    let found = shop.history.last_minute(&snapshot, &option, Timestamp(i64::MAX)).unwrap();
    assert_eq!(found, all.last());
}

#[test]
fn reads_touch_only_the_needed_blocks() {
    let (shop, security) = (Shop::new(), symbol("A.US"));
    let all = distinct(minutes(Market::Us, "2025-06-02", "2025-06-06"));
    shop.stock(&security, &all, &Candles::default(), Cut { block_rows: 50, page_rows: 10 });
    let mut reader = shop.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let read = |work: &dyn Fn()| {
        let before = shop.store.blocks_read();
        work();
        shop.store.blocks_read() - before
    };
    let start = at(Market::Us, "2025-06-04 10:00");
    let window = start..Timestamp(start.0 + 600);
    let blocks = read(&|| {
        assert_eq!(shop.history.minutes(&snapshot, &security, window.clone()).unwrap().len(), 10);
    });
    assert!(blocks <= 4, "{blocks}");
    let blocks = read(&|| {
        shop.history.last_minute(&snapshot, &security, start).unwrap().unwrap();
    });
    assert!(blocks <= 3, "{blocks}");
}
