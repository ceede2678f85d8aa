//! Reports of small runs, with manually computed figures.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use jiff::civil::date;
use market::Price;
use trading::{Rate, Side};

use super::*;

const MORNING: Timestamp = Timestamp(1_773_797_400);

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn price(text: &str) -> Price {
    trading::parse_price(text).unwrap()
}

fn fill(at: i64, symbol: &str, side: Side, quantity: i64, at_price: &str) -> Fill {
    Fill {
        at: Timestamp(MORNING.0 + at),
        symbol: symbol.parse().unwrap(),
        currency: if symbol.ends_with("US") { Currency::USD } else { Currency::HKD },
        side,
        quantity: Quantity::whole(quantity),
        price: price(at_price),
    }
}

fn charge(at: i64, symbol: &str, amount: &str) -> Charge {
    let Fill { at, symbol, currency, .. } = fill(at, symbol, Side::Buy, 1, "1");
    Charge { at, symbol: Some(symbol), currency, amount: money(amount) }
}

fn valued(day: i8, net_assets: &str, market_value: &str) -> Valuation {
    let (net_assets, market_value) = (money(net_assets), money(market_value));
    Valuation { date: date(2026, 3, day), net_assets, market_value }
}

fn series(symbol: &str, first: &str, closes: &[(i8, &str)]) -> PriceSeries {
    let closes = closes.iter().map(|(day, text)| (date(2026, 3, *day), price(text))).collect();
    PriceSeries { symbol: symbol.parse().unwrap(), first: price(first), closes }
}

/// A run of a thousand seconds without trades.
fn idle() -> RunRecord {
    RunRecord {
        begin: MORNING,
        end: Timestamp(MORNING.0 + 1_000),
        opening: money("100000"),
        rates: vec![(Currency::HKD, Rate::ONE), (Currency::USD, Rate::parse("7.8").unwrap())],
        ..RunRecord::default()
    }
}

fn check(record: &RunRecord, expected: &Expect) {
    let report = Report::of(record);
    let mut text = String::new();
    for (figure, value) in &report.figures {
        let value = value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        writeln!(text, "{} {value}", figure.name()).unwrap();
    }
    for row in &report.equity {
        let benchmark = row.benchmark.map_or_else(|| "-".to_owned(), |ratio| ratio.to_string());
        let EquityRow { date, net_assets, growth, drawdown, exposure, .. } = row;
        writeln!(text, "{date} {net_assets} {growth} {drawdown} {exposure} {benchmark}").unwrap();
    }
    for trip in &report.round_trips {
        let RoundTrip { symbol, is_long, opened_at, closed_at, quantity, charges, profit, .. } = trip;
        let side = if *is_long { "long" } else { "short" };
        let (from, to) = (opened_at.0 - MORNING.0, closed_at.0 - MORNING.0);
        writeln!(text, "{symbol} {side} {quantity} {from}..{to} charges {charges} profit {profit}").unwrap();
    }
    for note in &report.notes {
        writeln!(text, "note: {note}").unwrap();
    }
    expected.assert_eq(&text);
}

#[test]
fn a_run_without_trades_has_no_win_rate_and_no_benchmark() {
    check(
        &idle(),
        &expect![[r#"
        return 0.00%
        benchmark_return -
        excess_return -
        max_drawdown 0.00%
        benchmark_drawdown -
        net_assets 100,000.00
        profit 0.00
        days 0
        orders 0
        refused 0
        fills 0
        trades 0
        win_rate -
        turnover 0.00
        turnover_ratio 0.00%
        fees 0.00
        exposure -
        time_in_market 0.00%
    "#]],
    );
}

#[test]
fn all_figures_are_computed_for_two_round_trips_and_an_open_position() {
    let record = RunRecord {
        days: vec![valued(18, "110000", "55000"), valued(19, "88000", "0"), valued(20, "99000", "9900")],
        fills: vec![
            fill(100, "700.HK", Side::Buy, 100, "300"),
            fill(200, "700.HK", Side::Sell, 100, "310"),
            fill(300, "9001.HK", Side::Buy, 500, "90"),
            fill(400, "9001.HK", Side::Buy, 500, "91"),
            fill(500, "9001.HK", Side::Sell, 1_000, "90"),
            fill(900, "700.HK", Side::Buy, 100, "305"),
        ],
        charges: vec![
            charge(100, "700.HK", "50.5"),
            charge(200, "700.HK", "51"),
            charge(500, "9001.HK", "100"),
            charge(900, "700.HK", "50"),
        ],
        orders: 7,
        held_at_end: vec![("700.HK".parse().unwrap(), Quantity::whole(100))],
        prices: vec![
            series("700.HK", "300", &[(18, "330"), (19, "300"), (20, "315")]),
            // Until its first close on the 19th, this security counts as cash.
            series("9001.HK", "90", &[(19, "81"), (20, "99")]),
        ],
        ..idle()
    };
    check(
        &record,
        &expect![[r#"
        return -1.00%
        benchmark_return 7.50%
        excess_return -8.50%
        max_drawdown 20.00%
        benchmark_drawdown 9.52%
        net_assets 99,000.00
        profit -1,000.00
        days 3
        orders 7
        refused 0
        fills 6
        trades 2
        win_rate 50.00%
        turnover 272,000.00
        turnover_ratio 274.06%
        fees 251.50
        exposure 20.00%
        time_in_market 40.00%
        2026-03-18 110000 110.00% 0.00% 50.00% 105.00%
        2026-03-19 88000 88.00% 20.00% 0.00% 95.00%
        2026-03-20 99000 99.00% 10.00% 10.00% 107.50%
        700.HK long 100 100..200 charges 101.5 profit 898.5
        9001.HK long 1000 300..500 charges 100 profit -600
    "#]],
    );
}

#[test]
fn a_fill_that_crosses_zero_closes_one_trip_and_opens_another() {
    let record = RunRecord {
        fills: vec![
            fill(100, "AAPL.US", Side::Buy, 10, "200"),
            fill(300, "AAPL.US", Side::Sell, 30, "210"),
            fill(600, "AAPL.US", Side::Buy, 20, "200"),
        ],
        charges: vec![charge(300, "AAPL.US", "2.5"), charge(600, "AAPL.US", "1")],
        ..idle()
    };
    let report = Report::of(&record);
    let trips: Vec<_> = report.round_trips.iter().map(|trip| (trip.is_long, trip.profit)).collect();
    assert_eq!(trips, [(true, money("97.5")), (false, money("199"))]);
    // 2,000 + 6,300 + 4,000 dollars.
    assert_eq!(report.value(Figure::Turnover), Some(FigureValue::Amount(money("95940"))));
    assert_eq!(report.value(Figure::Fees), Some(FigureValue::Amount(money("27.3"))));
    assert_eq!(report.value(Figure::TimeInMarket).unwrap().to_string(), "50.00%");
}

#[test]
fn an_initial_position_opens_a_trip_at_its_initial_price() {
    let held = Holding {
        symbol: "700.HK".parse().unwrap(),
        currency: Currency::HKD,
        quantity: Quantity::whole(100),
        price: price("300"),
    };
    let fills = vec![fill(250, "700.HK", Side::Sell, 100, "299")];
    let report = Report::of(&RunRecord { held: vec![held], fills, ..idle() });
    let trips: Vec<_> = report.round_trips.iter().map(|trip| (trip.opened_at, trip.profit)).collect();
    assert_eq!(trips, [(MORNING, money("-100"))]);
    assert_eq!(report.value(Figure::WinRate).unwrap().to_string(), "0.00%");
    assert_eq!(report.value(Figure::TimeInMarket).unwrap().to_string(), "25.00%");
}

#[test]
fn trips_of_a_split_security_are_not_counted() {
    let fills = vec![fill(1, "700.HK", Side::Buy, 100, "300"), fill(2, "700.HK", Side::Sell, 200, "150")];
    let report = Report::of(&RunRecord { fills, ..idle() });
    assert_eq!(report.value(Figure::Trades), Some(FigureValue::Count(0)));
    assert!(
        report.notes[0].starts_with("700.HK: the position has changed without a fill"),
        "{:?}",
        report.notes
    );
}

#[test]
fn amounts_without_an_exchange_rate_are_omitted_with_a_note() {
    let fills = vec![fill(1, "AAPL.US", Side::Buy, 10, "200"), fill(2, "AAPL.US", Side::Sell, 10, "200")];
    let report = Report::of(&RunRecord { fills, rates: Vec::new(), ..idle() });
    assert_eq!(report.value(Figure::Turnover), Some(FigureValue::Amount(Money::ZERO)));
    assert!(report.notes[0].starts_with("no rate for USD"), "{:?}", report.notes);
}

#[test]
fn an_option_contract_counts_as_a_hundred_shares() {
    let symbol = "AAPL260320C200000.US";
    let fills = vec![fill(1, symbol, Side::Buy, 2, "1.5"), fill(2, symbol, Side::Sell, 2, "2")];
    let report = Report::of(&RunRecord { fills, ..idle() });
    assert_eq!(report.round_trips[0].profit, money("100"));
}

#[test]
fn a_ratio_is_shown_in_percent_with_two_decimals() {
    let shown = |part: &str, whole: &str| Ratio::of(money(part), money(whole)).unwrap().to_string();
    let cases =
        [("1", "3", "33.33%"), ("-1", "3", "-33.33%"), ("-2", "3", "-66.67%"), ("1", "-3", "-33.33%")];
    for (part, whole, text) in cases {
        assert_eq!(shown(part, whole), text);
    }
    assert_eq!(shown("-0.00001", "1"), "0.00%", "no minus before zero");
    assert_eq!(Ratio::of(Money::ZERO, Money::ZERO), None);
}
