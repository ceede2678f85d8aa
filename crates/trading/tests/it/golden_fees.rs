//! The worked examples of fees.

use crate::common::check;

/// Runs one order that fills completely from a single candle, and checks its fees.
fn order(day: &str, kind: &str, order: &str, price: &str, expected: &str) {
    let of = order.split_whitespace().nth(2).unwrap();
    let (clock, currency, lot) = if of.ends_with(".HK") { ("HK", "HKD", "100") } else { ("US", "USD", "1") };
    let quantity = order.split_whitespace().nth(1).unwrap();
    check(&format!(
        "clock {clock}
        day {day}
        security {of} {kind} lot {lot}
        mark {of} {price}
        candle {of} 10:01 {price} {price} {price} {price} 1000000
        given cash {currency} 100000000
        given position {of} {quantity} {price}
        given set touch touch
        10:00:15 {order} LO {price}
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        10:02 fees #1
        > 10:02:00 #1 FilledStatus {quantity} @ {price}0
        > {expected}"
    ));
}

#[test]
fn hong_kong_fees_match_the_examples() {
    let hk = |day, kind, expected| order(day, kind, "buy 200 700.HK", "305.20", expected);
    // Example F1.
    hk(
        "2026-03-18",
        "equity",
        "PLATFORM 15.00 · STAMP_DUTY 62.00 · TRADING_FEE 3.45 · SFC_LEVY 1.65 · AFRC_LEVY 0.09 · SETTLEMENT 2.56 = 84.75",
    );
    // Example F2: the minimum settlement fee applies.
    hk(
        "2025-03-18",
        "equity",
        "PLATFORM 15.00 · STAMP_DUTY 62.00 · TRADING_FEE 3.45 · SFC_LEVY 1.65 · AFRC_LEVY 0.09 · SETTLEMENT 2.00 = 84.19",
    );
    // Example F4: the earlier stamp duty and trading fee apply.
    hk(
        "2022-10-10",
        "equity",
        "PLATFORM 15.00 · STAMP_DUTY 80.00 · TRADING_FEE 3.05 · SFC_LEVY 1.65 · AFRC_LEVY 0.09 · SETTLEMENT 2.00 = 101.79",
    );
    // Example F5: funds, warrants and, since 2024-12-21, REITs pay no stamp duty.
    let free = "PLATFORM 15.00 · TRADING_FEE 3.45 · SFC_LEVY 1.65 · AFRC_LEVY 0.09 · SETTLEMENT 2.56 = 22.75";
    hk("2026-03-18", "etf", free);
    hk("2026-03-18", "warrant", free);
    hk("2026-03-18", "reit", free);
    hk(
        "2024-12-20",
        "reit",
        "PLATFORM 15.00 · STAMP_DUTY 62.00 · TRADING_FEE 3.45 · SFC_LEVY 1.65 · AFRC_LEVY 0.09 · SETTLEMENT 2.00 = 84.19",
    );
}

#[test]
fn us_fees_match_the_examples() {
    let sell = |day, expected| order(day, "equity", "sell 100 AAPL.US", "190.00", expected);
    // Examples F7, F8 and F10.
    sell("2026-03-12", "PLATFORM 1.00 · CLEARING 0.30 · TAF 0.02 = 1.32");
    sell("2026-05-04", "PLATFORM 1.00 · CLEARING 0.30 · SEC_FEE 0.40 · TAF 0.02 = 1.72");
    sell("2024-01-10", "PLATFORM 1.00 · CLEARING 0.30 · SEC_FEE 0.16 · TAF 0.02 = 1.48");
    sell("2024-06-03", "PLATFORM 1.00 · CLEARING 0.30 · SEC_FEE 0.53 · TAF 0.02 = 1.85");
    // The trading activity fee is suspended at the end of 2026.
    sell("2026-10-05", "PLATFORM 1.00 · CLEARING 0.30 · SEC_FEE 0.40 = 1.70");
    // Example F12.
    order("2026-05-04", "equity", "buy 100 AAPL.US", "190.00", "PLATFORM 1.00 · CLEARING 0.30 = 1.30");
}

#[test]
fn fee_rows_apply_from_their_date() {
    let hk = |day, expected| order(day, "equity", "sell 200 700.HK", "305.20", expected);
    hk(
        "2023-11-16",
        "PLATFORM 15.00 · STAMP_DUTY 80.00 · TRADING_FEE 3.45 · SFC_LEVY 1.65 · AFRC_LEVY 0.09 · SETTLEMENT 2.00 = 102.19",
    );
    hk(
        "2023-11-17",
        "PLATFORM 15.00 · STAMP_DUTY 62.00 · TRADING_FEE 3.45 · SFC_LEVY 1.65 · AFRC_LEVY 0.09 · SETTLEMENT 2.00 = 84.19",
    );
    // There is no stamp duty before the table's first row, and the AFRC levy starts only in 2022.
    hk("2021-07-30", "PLATFORM 15.00 · TRADING_FEE 3.05 · SFC_LEVY 1.65 · SETTLEMENT 2.00 = 21.70");
    let us = |day, expected| order(day, "equity", "sell 100 AAPL.US", "190.00", expected);
    us("2025-05-13", "PLATFORM 1.00 · CLEARING 0.30 · SEC_FEE 0.53 · TAF 0.02 = 1.85");
    us("2025-05-14", "PLATFORM 1.00 · CLEARING 0.30 · TAF 0.02 = 1.32");
    us("2026-04-02", "PLATFORM 1.00 · CLEARING 0.30 · TAF 0.02 = 1.32");
    us("2026-04-06", "PLATFORM 1.00 · CLEARING 0.30 · SEC_FEE 0.40 · TAF 0.02 = 1.72");
    us("2027-01-04", "PLATFORM 1.00 · CLEARING 0.30 · SEC_FEE 0.40 · TAF 0.02 = 1.72");
    us("2022-12-30", "PLATFORM 1.00 · CLEARING 0.30 = 1.30");
}

#[test]
fn fees_have_a_maximum() {
    let large = |day, expected| order(day, "equity", "buy 30000 700.HK", "305.20", expected);
    large(
        "2025-03-18",
        "PLATFORM 15.00 · STAMP_DUTY 9156.00 · TRADING_FEE 517.31 · SFC_LEVY 247.21 · AFRC_LEVY 13.73 · SETTLEMENT 100.00 = 10049.25",
    );
    large(
        "2026-03-18",
        "PLATFORM 15.00 · STAMP_DUTY 9156.00 · TRADING_FEE 517.31 · SFC_LEVY 247.21 · AFRC_LEVY 13.73 · SETTLEMENT 384.55 = 10333.80",
    );
    order(
        "2026-03-12",
        "equity",
        "sell 100000 AAPL.US",
        "1.00",
        "PLATFORM 500.00 · CLEARING 300.00 · TAF 9.79 = 809.79",
    );
}

#[test]
fn daily_fees_are_charged_once_for_several_fills() {
    let fills = |second: &str, expected: &str| {
        check(&format!(
            "candle 700.HK 10:01 300 300 300 300 1000
            given position 700.HK 200 300
            given set touch touch
            10:00 sell 200 700.HK LO 300 tif GTC
            > 10:00:00 #1 WaitToNew
            > 10:00:00 #1 NewStatus
            10:02 fees #1
            > 10:02:00 #1 PartialFilledStatus 100 @ 300.000
            > PLATFORM 15.00 · STAMP_DUTY 30.00 · TRADING_FEE 1.70 · SFC_LEVY 0.81 · AFRC_LEVY 0.05 · SETTLEMENT 1.26 = 48.82
            {second}
            {expected}"
        ));
    };
    // The order trades 60,000 on one day, or 30,000 on each of two days.
    fills(
        "candle 700.HK 10:05 300 300 300 300 1000\n10:06 fees #1",
        "> 10:06:00 #1 FilledStatus 100 @ 300.000
        > PLATFORM 15.00 · STAMP_DUTY 60.00 · TRADING_FEE 3.39 · SFC_LEVY 1.62 · AFRC_LEVY 0.09 · SETTLEMENT 2.52 = 82.62",
    );
    fills(
        "day 2026-03-19\ncandle 700.HK 10:05 300 300 300 300 1000\n10:06 fees #1",
        "> 10:06:00 #1 FilledStatus 100 @ 300.000
        > PLATFORM 30.00 · STAMP_DUTY 60.00 · TRADING_FEE 3.40 · SFC_LEVY 1.62 · AFRC_LEVY 0.10 · SETTLEMENT 2.52 = 97.64",
    );
}

#[test]
fn options_are_charged_per_contract() {
    let of = "AAPL260619C190000.US";
    order("2026-05-04", "option", &format!("buy 3 {of}"), "5.20", "PLATFORM 1.50 · CLEARING 0.08 = 1.58");
    // The fee on sales is based on the premium: 3 × 100 × 5.20 × 0.0000206 = 0.0321…
    order(
        "2026-05-04",
        "option",
        &format!("sell 1 {of}"),
        "5.20",
        "PLATFORM 1.00 · CLEARING 0.03 · SEC_FEE 0.02 = 1.05",
    );
}

#[test]
fn a_plan_without_fees_charges_nothing() {
    check(
        "candle 700.HK 10:01 305.2 305.8 305 305.6 50000
        given cash HKD 500000
        given set fees none
        10:00:15 buy 200 700.HK LO 306.00
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        10:01 cash HKD
        > HKD C 500000.00 F 61200.00
        10:02 fees #1
        > 10:02:00 #1 FilledStatus 200 @ 305.200
        >  = 0.00",
    );
}
