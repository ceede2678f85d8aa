//! H: tests how far back answers reach, and which queries are refused.

use crate::common::{COARSE, Shop, at, candle, date, days, full_shop, symbol, volume};
use market::adjust::Amount;
use market::{Action, Candles, Market, Session};

fn check(question: &str, expected: &str) {
    assert_eq!(full_shop().ask_with("2026-11-15 12:00", question, volume), expected, "{question}");
}

#[test]
fn h1_the_floor_cuts_source_candles_by_trading_day() {
    // 2004-06-01 was a Tuesday: the first week has four days, and the first year starts in June.
    check("700.HK week {1, 20000101, -, 2}", "2004-05-31×4 2004-06-07×5");
    let june_on = days(Market::Hk, "2004-06-01", "2004-12-31").len();
    check("700.HK year {1, 20000101, -, 1}", &format!("2004-01-01×{june_on}"));
    check(
        "700.HK quarter {1, 20000101, -, 1}",
        &format!("2004-04-01×{}", days(Market::Hk, "2004-06-01", "2004-06-30").len()),
    );
    check(
        "700.HK month {1, 20000101, -, 1}",
        &format!("2004-06-01×{}", days(Market::Hk, "2004-06-01", "2004-06-30").len()),
    );
    check("AAPL.US day {1, 20000101, -, 1}", "2010-06-01×1");
    check("AAPL.US week {1, 20000101, -, 1}", "2010-05-31×4");
    check("600519.SH day {1, 19900101, -, 1}", "1999-11-01×1");
    check(
        "600519.SH year {1, 19900101, -, 1}",
        &format!("1999-01-01×{}", days(Market::Cn, "1999-11-01", "1999-12-31").len()),
    );
}

#[test]
fn h1_a_us_trading_day_begins_on_the_evening_before() {
    check("AAPL.US 240m +all {1, 20200101, -, 3}", "2023-12-03 20:00×240 2023-12-04 00:00×240 04:00×240");
    check("AAPL.US 240m +ext {1, 20200101, -, 1}", "2023-12-04 04:00×240");
    check("AAPL.US 240m {1, 20200101, -, 1}", "2023-12-04 09:30×240");
    check("700.HK 240m {1, 20200101, -, 1}", "2022-09-28 09:30×150");
    check("600519.SH 240m {1, 20200101, -, 1}", "2022-08-25 09:30×120");
}

#[test]
fn h1_without_a_floor_all_candles_are_served() {
    check("700.HK day whole {1, 19900101, -, 1}", "2003-01-01×1");
    check("AAPL.US day whole {1, 19900101, -, 1}", "2010-01-04×1");
    check("700.HK 240m whole {1, 20200101, -, 1}", "2022-09-26 09:30×150");
    // A date range of minute candles below the floor is refused, unless the caller has no floor.
    check("700.HK 240m [20220926, 20220926]", "bad: out of minute kline begin date");
    check("700.HK 240m whole [20220926, 20220926]", "2022-09-26 09:30×150 13:00×181");
}

#[test]
fn h3_options_and_unknown_or_empty_securities_are_refused() {
    check(
        "AAPL230317P160000.US day {0}",
        "error: AAPL230317P160000.US is an option: history for options is unavailable",
    );
    check(
        "AAPL230317P160000.US 1m [-, -]",
        "error: AAPL230317P160000.US is an option: history for options is unavailable",
    );
    check("9.HK day {0}", "error: 9.HK is not known: import its candles, or check the spelling");
    check("5.HK day {0}", "error: 5.HK is known, but has no candles");
    check("5.HK 1m {0}", "error: 5.HK is known, but has no candles");
    check("700.HK day [20230107, 20230108]", "");
}

#[test]
fn h3_a_security_with_only_daily_candles_has_no_minute_candles() {
    let shop = Shop::new();
    shop.stock(&symbol("5.HK"), &Candles::default(), &days(Market::Hk, "2026-11-12", "2026-11-13"), COARSE);
    assert_eq!(shop.ask("2026-11-15 12:00", "5.HK 1m {0}"), "");
    assert_eq!(shop.ask("2026-11-15 12:00", "5.HK day {0}"), "2026-11-12 2026-11-13");
    // Candles exist, but they are not served, because they are below the floor or in the future.
    let old = Shop::new();
    old.stock(&symbol("5.HK"), &Candles::default(), &days(Market::Hk, "2004-05-27", "2004-05-31"), COARSE);
    assert_eq!(old.ask("2026-11-15 12:00", "5.HK day {0}"), "");
    assert_eq!(shop.ask("2026-11-11 12:00", "5.HK day {0}"), "");
}

#[test]
fn h1_only_served_candles_are_adjusted() {
    let hk = |day: &str, price| candle(at(Market::Hk, day), Session::Intraday, price, 1);
    let split = |ex: &str| Action { split: Amount::parse("2").unwrap(), ..Action::none(date(ex)) };
    let all: Candles =
        ["2004-05-31", "2004-06-01", "2004-06-02"].map(|day| hk(day, 10_000_000)).into_iter().collect();
    let close = |candle: &market::Candle| format!("={}", candle.close.text(3));
    let shop = Shop::new();
    shop.stock(&symbol("5.HK"), &Candles::default(), &all, COARSE);
    // The only candle before the first ex-date is below the floor, so only the second split affects
    // served candles.
    shop.act(&symbol("5.HK"), &[split("2004-06-01"), split("2004-06-02")]);
    let forward = shop.ask_with("2026-11-15 12:00", "5.HK day forward {0}", close);
    assert_eq!(forward, "2004-06-01=5.000 2004-06-02=10.000");
    // For the owner of the store, both splits apply.
    let whole = shop.ask_with("2026-11-15 12:00", "5.HK day forward whole {0}", close);
    assert_eq!(whole, "2004-05-31=2.500 2004-06-01=5.000 2004-06-02=10.000");
    let mut reader = shop.store.reader().unwrap();
    let ignored =
        shop.history.ignored_actions(&mut reader, &symbol("5.HK"), at(Market::Hk, "2026-11-15")).unwrap();
    assert!(ignored.is_empty(), "{ignored:?}");
}
