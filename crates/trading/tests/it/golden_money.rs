//! The worked examples of money, positions and corporate actions.

use crate::common::{check, date, tables, venues};
use market::Market;
use trading::Kind;

#[test]
fn m1_diluted_cost_includes_realised_profit() {
    check(
        "clock US
        day 2026-05-04
        action AAPL.US 2026-05-05 cash 10
        given cash USD 100000
        given set touch touch
        candle AAPL.US 10:01 239 239 239 239 10000; 10:02 245 245 245 245 10000; 10:03 240 240 240 240 10000
        10:00:30 buy 10 AAPL.US LO 239
        > 10:00:30 #1 WaitToNew
        > 10:00:30 #1 NewStatus
        10:01:30 now
        10:02 sell 5 AAPL.US LO 245
        > 10:02:00 #1 FilledStatus 10 @ 239.000
        > 10:02:00 #2 WaitToNew
        > 10:02:00 #2 NewStatus
        10:02:30 buy 10 AAPL.US LO 240
        > 10:02:30 #3 WaitToNew
        > 10:02:30 #3 NewStatus
        10:10
        > 10:04:00 #3 FilledStatus 10 @ 240.000
        10:10 cancel #2
        > 10:10:00 #2 WaitToCancel
        > 10:10:00 #2 PendingCancelStatus
        > 10:10:00 #2 CanceledStatus",
    );
    check(
        "clock US
        day 2026-05-04
        action AAPL.US 2026-05-05 cash 10
        given cash USD 100000
        given set touch touch
        candle AAPL.US 10:01 239 239 239 239 10000; 10:03 245 245 245 245 10000; 10:05 240 240 240 240 10000
        10:00:30 buy 10 AAPL.US LO 239
        > 10:00:30 #1 WaitToNew
        > 10:00:30 #1 NewStatus
        10:02:30 sell 5 AAPL.US LO 245
        > 10:02:00 #1 FilledStatus 10 @ 239.000
        > 10:02:30 #2 WaitToNew
        > 10:02:30 #2 NewStatus
        10:04:30 buy 10 AAPL.US LO 240
        > 10:04:00 #2 FilledStatus 5 @ 245.000
        > 10:04:30 #3 WaitToNew
        > 10:04:30 #3 NewStatus
        19:59 position AAPL.US
        > 10:06:00 #3 FilledStatus 10 @ 240.000
        > AAPL.US 15 available 15 cost 237.667 (average 239.667) init \"\"
        20:00 position AAPL.US
        > AAPL.US 15 available 15 cost 227.667 (average 239.667) init 15",
    );
}

#[test]
fn m2_a_dividend_lowers_the_diluted_cost() {
    check(
        "day 2026-05-15
        action 700.HK 2026-05-18 cash 4.50
        given position 700.HK 300 310.400
        15:00 now
        day 2026-05-18
        00:00 cash HKD
        > HKD C 1350.00 F 0.00
        00:00 position 700.HK
        > 700.HK 300 available 300 cost 305.900 (average 310.400) init 300
        00:00 flows
        > Dividend 1350.00 HKD 700",
    );
    // The dividend is paid on the pay date to the holder on the ex-date.
    check(
        "day 2026-05-15
        mark 700.HK 310
        candle 700.HK 15:30 310 310 310 310 90000
        action 700.HK 2026-05-18 cash 4.50 paid 2026-05-24
        given position 700.HK 300 310.400
        15:00 now
        day 2026-05-18
        09:00 cash HKD
        > HKD C 0.00 F 0.00
        day 2026-05-22
        10:00 position 700.HK
        > 700.HK 300 available 300 cost 310.400 init 300
        day 2026-05-26
        00:00 cash HKD
        > HKD C 1350.00 F 0.00
        00:00 position 700.HK
        > 700.HK 300 available 300 cost 305.900 (average 310.400) init 300",
    );
}

#[test]
fn m3_a_split_adjusts_the_position_and_cancels_orders() {
    check(
        "day 2026-05-15
        close 700.HK 2026-05-15 310.400
        action 700.HK 2026-05-18 split 5
        given cash HKD 100000
        given position 700.HK 300 310.400
        15:00 buy 100 700.HK LO 300.00 tif GTC
        > 15:00:00 #1 WaitToNew
        > 15:00:00 #1 NewStatus
        day 2026-05-18
        00:00 position 700.HK
        > 00:00:00 #1 CanceledStatus `corporate action 2026-05-18`
        > 700.HK 1500 available 1500 cost 62.080 init 1500",
    );
}

#[test]
fn a_consolidation_pays_cash_for_fractional_shares() {
    check(
        "day 2026-05-15
        close 700.HK 2026-05-15 2.00
        action 700.HK 2026-05-18 split 0.1
        given position 700.HK 1005 2.20
        15:00 now
        day 2026-05-18
        00:00 position 700.HK
        > 700.HK 100 available 100 cost 22.010 (average 22.000) init 100
        00:00 cash HKD
        > HKD C 10.00 F 0.00
        00:00 flows
        > CashInLieu 10.00 HKD 700",
    );
}

#[test]
fn m5_rights_are_sold_at_their_value() {
    check(
        "day 2026-05-15
        close 700.HK 2026-05-15 15.00
        action 700.HK 2026-05-18 rights 1/4 at 12
        given position 700.HK 1000 13
        15:00 now
        day 2026-05-18
        candle 700.HK 09:30 14.4 14.4 14.4 14.4 100
        00:00 flows
        > RightsValue 600.00 HKD 700
        09:31 account
        > total 600.00 net 15000.00 init 14400.00 maintenance 14400.00 buy_power 600.00 remaining 600.00 level 0",
    );
}

fn settles(market: Market, day: &str, expected: &str) {
    let found = tables().settlement.date(venues().of(market), Kind::Equity, date(day));
    assert_eq!(found.to_string(), expected, "{market} {day}");
}

#[test]
fn m6_and_m7_settlement_skips_holidays() {
    settles(Market::Hk, "2026-02-13", "2026-02-20");
    settles(Market::Us, "2024-05-24", "2024-05-29");
    settles(Market::Us, "2024-05-28", "2024-05-29");
    settles(Market::Us, "2026-07-02", "2026-07-06");
}

#[test]
fn m9_margin_account_figures_are_converted() {
    check(
        "mark 700.HK 270
        rate USD 7.8
        margin 700.HK 0.35 0.30 0.25
        given cash HKD 172300
        given cash USD 10000
        given credit 400000
        given position 700.HK 300 250
        given set fees none
        10:00 buy 100 2.HK LO 3.00
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 cash HKD
        > HKD C 172300.00 F 300.00
        10:00 account
        > total 250300.00 net 331300.00 init 28350.00 maintenance 24300.00 buy_power 302950.00 remaining 650000.00 level 0
        10:00 account USD
        > total 32089.74 net 42474.36 init 3634.62 maintenance 3115.38 buy_power 38839.74 remaining 61282.05 level 0
        10:00 account CNH
        > refused `no rate for CNH: report one with `chandler account rates CNH RATE --day 2026-03-18``",
    );
}

#[test]
fn m10_a_short_position_locks_its_value() {
    check(
        "clock US
        day 2026-05-04
        mark AAPL.US 190
        rate USD 7.8
        margin AAPL.US 0.50 0.30 0.25
        candle AAPL.US 10:01 190 190 190 190 10000; 10:02 230 230 230 230 10000
        given cash USD 50000
        given set touch touch
        10:00:30 sell 100 AAPL.US LO 190
        > 10:00:30 #1 WaitToNew
        > 10:00:30 #1 NewStatus
        10:03 cash USD
        > 10:02:00 #1 FilledStatus 100 @ 190.000
        > USD C 68998.28 F 0.00 S 23000.00 available 45998.28 settling 18998.28 withdraw 27000.00
        10:03 account USD
        > total 68998.28 net 45998.28 init 11500.00 maintenance 6900.00 buy_power 34498.28 remaining 45998.28 level 1
        10:03 position AAPL.US
        > AAPL.US -100 available -100 cost 190.000 init \"\"",
    );
}

#[test]
fn m12_a_sale_settles_two_days_later() {
    check(
        "candle 700.HK 10:01 312 312 312 312 10000
        given cash HKD 1000
        given position 700.HK 100 300
        given set touch touch
        10:00:30 sell 100 700.HK LO 312
        > 10:00:30 #1 WaitToNew
        > 10:00:30 #1 NewStatus
        10:02 cash HKD
        > 10:02:00 #1 FilledStatus 100 @ 312.000
        > HKD C 32149.04 F 0.00 settling 31149.04 withdraw 1000.00
        day 2026-03-19
        23:59:59 cash HKD
        > HKD C 32149.04 F 0.00 settling 31149.04 withdraw 1000.00
        day 2026-03-20
        00:00 cash HKD
        > HKD C 32149.04 F 0.00",
    );
}

#[test]
fn m13_interest_accrues_over_a_weekend() {
    // 3 × 100,000 × 0.068 / 365 = 55.890…, booked at the first roll of April.
    check(
        "day 2026-03-26
        given credit 400000
        given cash HKD -100000
        10:00 now
        day 2026-03-27
        00:00 accrued HKD
        > 55.8904109589
        day 2026-03-31
        10:00 cash HKD
        > HKD C -100000.00 F 0.00
        day 2026-04-01
        00:00 cash HKD
        > HKD C -100093.15 F 0.00
        00:00 flows
        > Adjustment -100000.00 HKD debt
        > Interest -93.15 HKD",
    );
}

/// A test in `history` checks the same candles.
#[test]
fn t1_the_mark_within_a_minute_is_the_open() {
    check(
        "candle 700.HK 09:30 300 302 299 301 10000; 09:31 301 303 300 302 8000
        09:31:20 mark? 700.HK
        > 301.00",
    );
    check(
        "candle 700.HK 09:30 300 302 299 301 10000; 09:31 301.2 303 300 302 8000; 16:00 310 310 310 310 9000
        09:30:00 mark? 700.HK
        > 300.00
        09:31:00 mark? 700.HK
        > 301.20
        09:31:20 mark? 700.HK
        > 301.20
        09:32:00 mark? 700.HK
        > 302.00
        16:09:59 mark? 700.HK
        > 302.00
        16:10:00 mark? 700.HK
        > 310.00",
    );
}
