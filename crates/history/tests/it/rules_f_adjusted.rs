//! F4 to F7: tests through queries that source candles are adjusted before they are folded, and
//! that only effective actions are applied.

use crate::common::{COARSE, Shop, at, candle, date, minutes, symbol};
use market::adjust::Amount;
use market::{Action, Candle, Candles, Market, Price, Session, Turnover};

fn amount(text: &str) -> Amount {
    Amount::parse(text).unwrap()
}

fn prices(candle: &Candle) -> String {
    let [open, high, low, close] =
        [candle.open, candle.high, candle.low, candle.close].map(|p| p.text(3).to_string());
    format!(" {open} {high} {low} {close}")
}

/// Returns a store with the five days of F7 and their two ex-dates.
fn worked_example() -> Shop {
    let day = |day: &str, prices: &str| {
        let mut column = prices.split_whitespace().map(|text| Price::parse(text).unwrap());
        let mut next = || column.next().unwrap();
        let (open, high, low, close) = (next(), next(), next(), next());
        let (time, session) = (at(Market::Hk, day), Session::Intraday);
        Candle { time, open, high, low, close, volume: 100, turnover: Turnover(7), session }
    };
    let days: Candles = [
        day("2026-03-02", "9.8 10.2 9.7 9.9"),
        day("2026-03-03", "9.9 10.1 9.85 10"),
        day("2026-03-04", "8.3 8.5 8.2 8.45"),
        day("2026-03-05", "8.45 8.6 8.4 8.56"),
        day("2026-03-06", "4.3 4.35 4.25 4.31"),
    ]
    .into_iter()
    .collect();
    let shop = Shop::new();
    let security = symbol("5.HK");
    shop.stock(&security, &minutes(Market::Hk, "2026-03-03", "2026-03-06"), &days, COARSE);
    let first = Action {
        cash: amount("0.5"),
        bonus: amount("1/10"),
        rights: amount("1/5"),
        rights_price: amount("6"),
        ..Action::none(date("2026-03-04"))
    };
    shop.act(&security, &[first, Action { split: amount("2"), ..Action::none(date("2026-03-06")) }]);
    shop
}

#[test]
fn f7_the_worked_example_gives_the_specified_prices() {
    let shop = worked_example();
    let check = |now: &str, question: &str, expected: &str| {
        assert_eq!(shop.ask_with(now, question, prices), expected, "{question} at {now}");
    };
    let actual = "2026-03-02 9.800 10.200 9.700 9.900 2026-03-03 9.900 10.100 9.850 10.000 \
                  2026-03-04 8.300 8.500 8.200 8.450 2026-03-05 8.450 8.600 8.400 8.560 \
                  2026-03-06 4.300 4.350 4.250 4.310";
    let forward = "2026-03-02 4.033 4.198 3.992 4.074 2026-03-03 4.074 4.157 4.054 4.115 \
                   2026-03-04 4.150 4.250 4.100 4.225 2026-03-05 4.225 4.300 4.200 4.280 \
                   2026-03-06 4.300 4.350 4.250 4.310";
    check("2026-03-09 12:00", "5.HK day {0}", actual);
    check("2026-03-09 12:00", "5.HK day forward {0}", forward);
    check("2026-03-09 12:00", "5.HK day forward [-, -]", forward);
    check("2026-03-09 12:00", "5.HK week {0}", "2026-03-02 9.800 10.200 4.250 4.310");
    check("2026-03-09 12:00", "5.HK week forward {0}", "2026-03-02 4.033 4.350 3.992 4.310");
    // The factor of a day does not depend on the requested range, and the close before the first
    // ex-date is found although it is not requested.
    check("2026-03-09 12:00", "5.HK day forward [20260303, 20260303]", "2026-03-03 4.074 4.157 4.054 4.115");
    check("2026-03-09 12:00", "5.HK day forward [20260304, 20260304]", "2026-03-04 4.150 4.250 4.100 4.225");
}

#[test]
fn f2_volume_and_turnover_are_not_adjusted() {
    let shop = worked_example();
    let traded = |candle: &Candle| format!(" {} {}", candle.volume, candle.turnover.0);
    let ask = |question: &str| shop.ask_with("2026-03-09 12:00", question, traded);
    assert_eq!(ask("5.HK week forward {0}"), "2026-03-02 500 35");
    assert_eq!(ask("5.HK day forward {0}"), ask("5.HK day {0}"));
}

#[test]
fn f4_an_event_is_effective_starting_at_its_ex_date() {
    let shop = worked_example();
    let close = |now: &str| {
        let text =
            shop.ask_with(now, "5.HK day forward [20260303, 20260303]", |c| format!("={}", c.close.text(3)));
        text.rsplit('=').next().unwrap().to_owned()
    };
    assert_eq!(close("2026-03-03 23:59:59"), "10.000");
    // 8.231 is 10 × 107/130, rounded.
    assert_eq!(close("2026-03-04 00:00"), "8.231");
    assert_eq!(close("2026-03-05 23:59:59"), "8.231");
    assert_eq!(close("2026-03-06 00:00"), "4.115");
}

#[test]
fn f5_minute_candles_have_the_factor_of_their_trading_day() {
    let shop = worked_example();
    let close = |candle: &Candle| format!("={}", candle.close.text(3));
    let ask = |question: &str| shop.ask_with("2026-03-09 12:00", question, close);
    // Every minute was stored with a price of 10.000.
    assert_eq!(ask("5.HK 1m forward {0, 20260303, 1600, 1}"), "2026-03-03 16:00=4.115");
    assert_eq!(ask("5.HK 1m forward {1, 20260304, 0930, 1}"), "2026-03-04 09:30=5.000");
    assert_eq!(
        ask("5.HK 240m forward {0, -, -, 3}"),
        "2026-03-05 13:00=5.000 2026-03-06 09:30=10.000 13:00=10.000"
    );
}

#[test]
fn f5_the_evening_before_an_ex_date_is_already_ex() {
    let shop = Shop::new();
    let security = symbol("AAPL.US");
    let day = |day: &str| candle(at(Market::Us, day), Session::Intraday, 10_000_000, 1);
    let days: Candles =
        ["2025-07-02", "2025-07-03", "2025-07-07", "2025-07-08"].map(day).into_iter().collect();
    shop.stock(&security, &minutes(Market::Us, "2025-07-02", "2025-07-08"), &days, COARSE);
    // Monday is the ex-date, so Sunday evening trades ex. The holiday on Friday has no evening
    // session before it.
    shop.act(&security, &[Action { split: amount("4"), ..Action::none(date("2025-07-07")) }]);
    let ask = |question: &str| {
        shop.ask_with("2025-07-20 12:00", question, |candle| format!("={}", candle.close.text(3)))
    };
    assert_eq!(
        ask("AAPL.US 240m forward +all {0, 20250706, -, 2}"),
        "2025-07-03 13:00=2.500 2025-07-06 20:00=10.000"
    );
    assert_eq!(
        ask("AAPL.US 1m forward +all {0, 20250706, 2000, 2}"),
        "2025-07-03 16:59=2.500 2025-07-06 20:00=10.000"
    );
    shop.act(&security, &[Action { split: amount("2"), ..Action::none(date("2025-07-08")) }]);
    assert_eq!(
        ask("AAPL.US 240m forward +all {0, 20250708, 0000, 3}"),
        "2025-07-07 16:00=5.000 20:00=10.000 2025-07-08 00:00=10.000"
    );
}
