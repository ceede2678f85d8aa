//! Candles that are built from pushed trades.

use market::{Candle, Market, Price, Session, Timestamp, TradeEffect, Turnover, Venue};
use mirror::{Forming, Print};

/// 09:30 of 2026-03-18 in Hong Kong.
const OPEN: i64 = 1_773_797_400;

fn print(second: i64, price: f64, volume: i64, effect: TradeEffect) -> Print {
    let price = (price * 1e8).round() as i128;
    let turnover = price * i128::from(volume);
    Print { time: Timestamp(OPEN + second), session: Session::Intraday, price, volume, turnover, effect }
}

fn shown(candle: Candle) -> String {
    let [open, high, low, close] =
        [candle.open, candle.high, candle.low, candle.close].map(|price| price.text(2).to_string());
    format!(
        "{} {open} {high} {low} {close} {} {}",
        candle.time.0 - OPEN,
        candle.volume,
        candle.turnover.text()
    )
}

fn added(forming: &mut Forming, prints: &[Print]) -> Vec<String> {
    let venue = Venue::built_in(Market::Hk).unwrap();
    let rows = prints.iter().map(|print| forming.add(&venue, print).map_or_else(|| "-".to_owned(), shown));
    rows.collect()
}

#[test]
fn the_prints_of_a_candle_give_the_candle() {
    use TradeEffect::PriceAndVolume as Both;
    // The prints of 305.2 305.8 305 305.6 50,000 15,266,543.210.
    let prints = [
        print(0, 305.2, 0, Both),
        print(20, 305.0, 0, Both),
        print(40, 305.8, 0, Both),
        print(59, 305.33, 6_790, Both),
        print(59, 305.331, 43_210, Both),
        print(59, 305.6, 0, Both),
    ];
    let rows = added(&mut Forming::default(), &prints);
    assert_eq!(rows[0], "0 305.20 305.20 305.20 305.20 0 0.000");
    assert_eq!(rows[5], "0 305.20 305.80 305.00 305.60 50000 15266543.210");
}

#[test]
fn pushes_continue_the_received_candle_and_earlier_ones_are_ignored() {
    use TradeEffect::{Nothing, PriceAndVolume as Both};
    let price = Price(300_000_000);
    let received = Candle {
        time: Timestamp(OPEN + 60),
        open: price,
        high: price,
        low: price,
        close: price,
        volume: 100,
        turnover: Turnover(30_000_000_000),
        session: Session::Intraday,
    };
    let mut forming = Forming::after(&[received]);
    let prints = [
        print(59, 299.0, 100, Both),
        print(61, 299.0, 100, Both),
        print(62, 999.0, 100, Nothing),
        print(120, 301.0, 5, Both),
        print(3 * 3_600, 301.0, 5, Both),
    ];
    let rows = added(&mut forming, &prints);
    assert_eq!(
        rows,
        [
            "-",
            "60 300.00 300.00 299.00 299.00 200 59900.000",
            "-",
            "120 301.00 301.00 301.00 301.00 5 1505.000",
            "-"
        ]
    );
}

#[test]
fn a_trade_without_a_price_begins_a_candle_with_the_last_close() {
    use TradeEffect::{PriceAndVolume as Both, VolumeOnly};
    let prints = [print(0, 300.0, 10, Both), print(60, 310.0, 5, VolumeOnly), print(70, 302.0, 1, Both)];
    let rows = added(&mut Forming::default(), &prints);
    assert_eq!(rows[1], "60 300.00 300.00 300.00 300.00 5 1550.000");
    assert_eq!(rows[2], "60 302.00 302.00 300.00 302.00 6 1852.000");
}
