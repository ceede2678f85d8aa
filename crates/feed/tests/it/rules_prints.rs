//! Prints in the worked examples U1 to U13, U18, U19 and I1 to I3 of the specification.

use feed::{Clock, PrintPrice, opening};
use market::{Candle, Market, Timestamp, Trade, TradeCandles, TradeDirection, TradeType, Trades};

use crate::common::{at, minute, prints_text, venue};

/// Checks the prints when a minute opens and when it completes, under a simulated clock.
fn check(market: Market, time: &str, values: &str, opens: &str, acts: &str) {
    let venue = venue(market);
    let candle = minute(venue, time, values);
    let open = opening(&candle);
    assert_eq!(prints_text(venue, None, &open, Clock::Set), opens, "{time} opens");
    assert_eq!(prints_text(venue, Some(&open), &candle, Clock::Set), acts, "{time} acts");
}

#[test]
fn local_times_convert_to_the_specified_stamps() {
    let (hk, us) = (venue(Market::Hk), venue(Market::Us));
    assert_eq!(at(hk, "2026-03-18 09:30"), Timestamp(1_773_797_400));
    assert_eq!(at(hk, "2026-03-18 10:01"), Timestamp(1_773_799_260));
    assert_eq!(at(us, "2026-07-15 09:30"), Timestamp(1_784_122_200));
}

#[test]
fn u1_the_volume_is_split_between_two_prices() {
    check(
        Market::Hk,
        "2026-03-18 10:01",
        "305.2 305.8 305 305.6 50000 15266543.210",
        "305.200 x 0 at +0",
        "305.000 x 0 at +20, 305.800 x 0 at +40, 305.330 x 6790 at +59, 305.331 x 43210 at +59, 305.600 x 0 at +59",
    );
}

#[test]
fn u2_an_exact_average_needs_one_print() {
    check(
        Market::Hk,
        "2026-03-18 09:30",
        "300 302 299 301 10000 3005000",
        "300.000 x 0 at +0",
        "299.000 x 0 at +20, 302.000 x 0 at +40, 300.500 x 10000 at +59, 301.000 x 0 at +59",
    );
}

#[test]
fn u3_a_constant_price_needs_one_print() {
    check(
        Market::Hk,
        "2026-03-18 10:02",
        "305.6 305.6 305.6 305.6 1200 366720",
        "305.600 x 0 at +0",
        "305.600 x 1200 at +59",
    );
}

#[test]
fn u4_the_close_is_printed_after_the_average() {
    check(
        Market::Hk,
        "2026-03-18 10:03",
        "305.6 306 305.4 305.4 800 244640",
        "305.600 x 0 at +0",
        "305.400 x 0 at +20, 306.000 x 0 at +40, 305.800 x 800 at +59, 305.400 x 0 at +59",
    );
}

#[test]
fn u5_a_minute_without_trades_has_only_its_open() {
    check(Market::Hk, "2026-03-18 10:04", "305.4 305.4 305.4 305.4 0 0", "305.400 x 0 at +0", "");
}

#[test]
fn u6_the_low_comes_first_when_both_extremes_are_equally_near() {
    check(
        Market::Hk,
        "2026-03-18 10:05",
        "305.4 305.6 305.2 305.4 1000 305400.500",
        "305.400 x 0 at +0",
        "305.200 x 0 at +20, 305.600 x 0 at +40, 305.400 x 500 at +59, 305.401 x 500 at +59, 305.400 x 0 at +59",
    );
}

#[test]
fn u7_a_tail_in_hong_kong_prints_auction_trades() {
    let venue = venue(Market::Hk);
    let tail = minute(venue, "2026-03-18 16:00", "304.6 304.6 304.6 304.6 900000 274140000");
    let prints = prints_text(venue, None, &tail, Clock::Set);
    assert_eq!(prints, "304.600 x 0 at +480 [U], 304.600 x 900000 at +480 [U]");
    assert_eq!(tail.time.0 + 480, 1_773_821_280);
}

#[test]
fn closing_auction_trades_in_mainland_china_have_no_trade_type() {
    let venue = venue(Market::Cn);
    let tail = minute(venue, "2026-03-18 15:00", "10 10 10 10 300 300000");
    assert_eq!(prints_text(venue, None, &tail, Clock::Set), "10.000 x 0 at +480, 10.000 x 300 at +480");
}

#[test]
fn u8_an_average_outside_the_range_has_a_volume_only_type() {
    check(
        Market::Us,
        "2026-07-15 09:30",
        "190 190.2 189.9 190.1 4000 760900",
        "190.000 x 0 at +0",
        "189.900 x 0 at +20, 190.200 x 0 at +40, 190.225 x 4000 at +59 [W], 190.100 x 0 at +59",
    );
    check(
        Market::Hk,
        "2026-03-18 10:01",
        "190 190.2 189.9 190.2 4000 760900",
        "190.000 x 0 at +0",
        "189.900 x 0 at +20, 190.200 x 0 at +40, 190.225 x 4000 at +59 [M]",
    );
}

#[test]
fn each_volume_part_gets_the_trade_type_for_its_price() {
    check(
        Market::Us,
        "2026-07-15 09:30",
        "190 190 190 190 4 760.001",
        "190.000 x 0 at +0",
        "190.000 x 3 at +59, 190.001 x 1 at +59 [W]",
    );
}

#[test]
fn mainland_averages_are_clamped_to_the_range() {
    let opens = "10.000 x 0 at +0";
    let above = "9.900 x 0 at +20, 10.200 x 0 at +40, 10.200 x 500 at +59, 10.000 x 0 at +59";
    check(Market::Cn, "2026-03-18 10:00", "10 10.2 9.9 10 500 10000", opens, above);
    let below = "9.900 x 0 at +20, 10.200 x 0 at +40, 9.900 x 500 at +59, 10.000 x 0 at +59";
    check(Market::Cn, "2026-03-18 10:00", "10 10.2 9.9 10 500 4000", opens, below);
    // A volume that is split in two parts remains two prints at the clamped price.
    let parts =
        "9.900 x 0 at +20, 10.200 x 0 at +40, 10.200 x 400 at +59, 10.200 x 100 at +59, 10.000 x 0 at +59";
    check(Market::Cn, "2026-03-18 10:00", "10 10.2 9.9 10 500 10000.1", opens, parts);
}

#[test]
fn mainland_volumes_may_be_in_shares() {
    check(
        Market::Cn,
        "2026-03-18 10:00",
        "10 10.2 9.9 10 500 5025",
        "10.000 x 0 at +0",
        "9.900 x 0 at +20, 10.200 x 0 at +40, 10.050 x 500 at +59, 10.000 x 0 at +59",
    );
}

#[test]
fn u9_pre_market_minutes_are_printed_like_regular_minutes() {
    check(
        Market::Us,
        "2026-07-15 09:29",
        "189.95 190.05 189.95 190 100 19000.123",
        "189.950 x 0 at +0",
        "190.050 x 0 at +20, 190.001 x 77 at +59, 190.002 x 23 at +59, 190.000 x 0 at +59",
    );
}

#[test]
fn u10_prints_of_a_small_volume_add_up_to_the_exact_turnover() {
    check(
        Market::Us,
        "2026-07-15 09:31",
        "190.1 190.4 190.05 190.3 7 1332",
        "190.100 x 0 at +0",
        "190.050 x 0 at +20, 190.400 x 0 at +40, 190.285 x 2 at +59, 190.286 x 5 at +59, 190.300 x 0 at +59",
    );
}

#[test]
fn u11_averages_of_mainland_lots_have_two_more_decimals() {
    check(
        Market::Cn,
        "2026-03-18 10:00",
        "1518.50 1518.90 1518.20 1518.40 1250 189812345.670",
        "1518.500 x 0 at +0",
        "1518.200 x 0 at +20, 1518.900 x 0 at +40, 1518.49876 x 580 at +59, 1518.49877 x 670 at +59, \
         1518.400 x 0 at +59",
    );
}

#[test]
fn mainland_lots_may_need_eight_decimals() {
    check(
        Market::Cn,
        "2026-03-18 10:00",
        "10 10.1 9.9 10 3 3000.000001",
        "10.000 x 0 at +0",
        "9.900 x 0 at +20, 10.100 x 0 at +40, 10.000 x 2 at +59, 10.00000001 x 1 at +59, 10.000 x 0 at +59",
    );
}

#[test]
fn u13_volume_without_turnover_is_printed_at_the_close() {
    check(
        Market::Us,
        "2026-07-15 09:40",
        "190 190.3 190 190.2 300 0",
        "190.000 x 0 at +0",
        "190.300 x 0 at +20, 190.200 x 300 at +59",
    );
    check(
        Market::Us,
        "2026-07-15 09:40",
        "190 190 190 190 300 0",
        "190.000 x 0 at +0",
        "190.000 x 300 at +59",
    );
}

#[test]
fn turnover_without_volume_is_not_printed() {
    check(Market::Us, "2026-07-15 09:40", "190 190 190 190 0 5", "190.000 x 0 at +0", "");
}

/// Returns the candle folded from the trades of example U18, which is the published state of the
/// minute.
fn u18_trades() -> Candle {
    let venue = venue(Market::Hk);
    let stamp = at(venue, "2026-03-18 10:01");
    let trade = |second: i64, price: &str, volume: i64| Trade {
        time: Timestamp(stamp.0 + second),
        price: market::Price::parse(price).unwrap(),
        volume,
        direction: TradeDirection::Up,
        kind: TradeType::BLANK,
    };
    let mut trades = Trades::default();
    [trade(3, "305.2", 100), trade(41, "305.0", 200)].into_iter().for_each(|trade| trades.push(trade));
    let folded = TradeCandles::of(venue, "2026-03-18".parse().unwrap(), &trades).unwrap();
    folded.minutes.get(0).unwrap()
}

#[test]
fn u18_only_volume_missing_from_the_trades_is_printed() {
    let venue = venue(Market::Hk);
    let trades = u18_trades();
    assert_eq!(trades, minute(venue, "2026-03-18 10:01", "305.2 305.2 305 305 300 91520"));
    let known = minute(venue, "2026-03-18 10:01", "305.2 305.2 305 305.1 500 152560");
    let rest = "305.200 x 200 at +59, 305.100 x 0 at +59";
    assert_eq!(prints_text(venue, Some(&trades), &known, Clock::Set), rest);
}

#[test]
fn u19_a_candle_that_contradicts_its_trades_has_no_prints() {
    let venue = venue(Market::Hk);
    let known = minute(venue, "2026-03-18 10:01", "305.2 305.2 305.1 305.1 500 152560");
    assert_eq!(prints_text(venue, Some(&u18_trades()), &known, Clock::Set), "a correction");
}

#[test]
fn states_that_trades_cannot_produce_are_corrections() {
    let venue = venue(Market::Us);
    let state = |values: &str| minute(venue, "2026-07-15 09:32", values);
    let published = state("190.3 190.6 190.3 190.5 1200 228500");
    for known in [
        "190.4 190.6 190.3 190.5 1200 228500",
        "190.3 190.5 190.3 190.5 1200 228500",
        "190.3 190.6 190.4 190.5 1200 228500",
        "190.3 190.6 190.3 190.5 1199 228500",
        "190.3 190.6 190.3 190.5 1200 228499",
    ] {
        assert_eq!(
            prints_text(venue, Some(&published), &state(known), Clock::Set),
            "a correction",
            "{known}"
        );
    }
    assert_eq!(prints_text(venue, Some(&published), &published, Clock::Set), "");
}

#[test]
fn i1_to_i3_partial_minutes_print_only_the_change() {
    let venue = venue(Market::Us);
    let states = [
        ("09:32:05", "190.3 190.3 190.3 190.3 500 95150", "190.300 x 0 at +5, 190.300 x 500 at +5"),
        ("09:32:20", "190.3 190.6 190.3 190.5 1200 228500", "190.600 x 0 at +20, 190.500 x 700 at +20"),
        (
            "09:32:41",
            "190.3 190.6 190.1 190.2 2000 380760.500",
            "190.100 x 0 at +41, 190.325 x 300 at +41, 190.326 x 500 at +41, 190.200 x 0 at +41",
        ),
    ];
    let mut published = None;
    for (now, values, expected) in states {
        let now = at(venue, &format!("2026-07-15 {now}"));
        let known = minute(venue, "2026-07-15 09:32", values);
        let prints = prints_text(venue, published.as_ref(), &known, Clock::Machine { now });
        assert_eq!(prints, expected);
        published = Some(known);
    }
    assert_eq!(published.unwrap().time, Timestamp(1_784_122_320));
}

#[test]
fn print_times_under_the_machine_clock_are_clamped_to_the_minute() {
    let venue = venue(Market::Hk);
    let second = |time: &str, now: &str| {
        let known = minute(venue, time, "10 10 10 10 0 0");
        prints_text(venue, None, &known, Clock::Machine { now: at(venue, now) })
    };
    assert_eq!(second("2026-03-18 10:01", "2026-03-18 10:00:59"), "10.000 x 0 at +0");
    assert_eq!(second("2026-03-18 10:01", "2026-03-18 10:01:59"), "10.000 x 0 at +59");
    assert_eq!(second("2026-03-18 10:01", "2026-03-18 10:03:01"), "10.000 x 0 at +59");
    assert_eq!(second("2026-03-18 16:00", "2026-03-18 16:05:01"), "10.000 x 0 at +301 [U]");
    assert_eq!(second("2026-03-18 16:00", "2026-03-18 16:10:00"), "10.000 x 0 at +599 [U]");
    // On a half day, the closing auction begins at noon.
    assert_eq!(second("2026-02-16 12:00", "2026-02-16 12:30:00"), "10.000 x 0 at +599 [U]");
}

#[test]
fn print_prices_have_as_many_decimals_as_needed() {
    let text = |value: i128, decimals| PrintPrice(value).text(decimals);
    assert_eq!(text(151_849_876_000, 3), "1518.49876");
    assert_eq!(text(30_500_000_000, 3), "305.000");
    assert_eq!(text(30_500_000_000, 0), "305");
    assert_eq!(text(30_500_000_001, 0), "305.00000001");
    assert_eq!(text(-50_000_000, 1), "-0.5");
    assert_eq!(text(1, 9), "0.00000001");
}

#[test]
fn prices_of_prints_have_as_many_decimals_as_they_need() {
    let check = |price: i128, texts: [&str; 3]| {
        assert_eq!([0, 3, 9].map(|decimals| PrintPrice(price).text(decimals)), texts, "{price}");
    };
    check(0, ["0", "0.000", "0.00000000"]);
    check(10_005_000_000, ["100.05", "100.050", "100.05000000"]);
    check(-10_000_000_001, ["-100.00000001"; 3]);
    check(
        10i128.pow(30),
        ["10000000000000000000000", "10000000000000000000000.000", "10000000000000000000000.00000000"],
    );
    let long = "10000000000000000000000.00001";
    check(10i128.pow(30) + 1_000, [long, long, "10000000000000000000000.00001000"]);
}
