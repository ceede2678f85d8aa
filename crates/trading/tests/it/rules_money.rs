//! Reserves, partial fills, short sales, credit, replacements and forced liquidation.

use crate::common::check;

#[test]
fn a_market_buy_is_limited_by_funds() {
    // The reserve is 1,000 shares at 210 (200 × 1.05) and fees of 8.00. The open is 250, so the
    // funds cover 840 shares: 840 × 250 + 6.72 = 210,006.72.
    check(
        "clock US
        day 2026-05-04
        mark AAPL.US 200
        candle AAPL.US 10:01 250 250 250 250 100000
        given cash USD 210008
        10:00 buy 1000 AAPL.US MO
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 cash USD
        > USD C 210008.00 F 210008.00 (fees 8.00)
        10:02 cash USD
        > 10:02:00 #1 PartialFilledStatus 840 @ 250.000
        > 10:02:00 #1 PartialWithdrawal `insufficient funds`
        > USD C 1.28 F 0.00 settling -210006.72 withdraw 1.28",
    );
    // Fills are whole lots. The order is cancelled if the funds do not cover one lot.
    check(
        "mark 700.HK 300
        candle 700.HK 10:01 340 340 340 340 100000
        given cash HKD 31560
        10:00 buy 100 700.HK MO
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:02
        > 10:02:00 #1 CanceledStatus `insufficient funds`",
    );
}

#[test]
fn the_platform_fee_is_charged_per_day() {
    // The cash equals the order's reserve. On the second day, the remaining quantity would cost an
    // additional 15.00.
    check(
        "candle 700.HK 10:01 300 300 300 300 1000
        given cash HKD 60082.62
        10:00 buy 200 700.HK LO 300.2 tif GTC
        > 10:00:00 #1 RejectedStatus `insufficient funds`
        10:00 buy 200 700.HK LO 300 tif GTC
        > 10:00:00 #2 WaitToNew
        > 10:00:00 #2 NewStatus
        10:00:30 cash HKD
        > HKD C 60082.62 F 60082.62 (fees 82.62)
        10:02 cash HKD
        > HKD C 60082.62 F 60082.62 (fees 82.62)",
    );
    check(
        "candle 700.HK 10:01 299 299 299 299 1000
        given cash HKD 60082.62
        10:00 buy 200 700.HK LO 300 tif GTC
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:02 cash HKD
        > 10:02:00 #1 PartialFilledStatus 100 @ 299.000
        > HKD C 30133.82 F 30033.81 (fees 33.81) settling -29948.80 withdraw 100.01
        day 2026-03-19
        00:00 cash HKD
        > HKD C 30133.82 F 30048.82 (fees 48.82) settling -29948.80 withdraw 85.00",
    );
    // If the order fills at its limit on both days, 15.02 are missing on the second day.
    check(
        "candle 700.HK 10:01 300 300 300 300 1000
        given cash HKD 60082.62
        given set touch touch
        10:00 buy 200 700.HK LO 300 tif GTC
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:02 cash HKD
        > 10:02:00 #1 PartialFilledStatus 100 @ 300.000
        > HKD C 30033.80 F 30033.80 (fees 33.80) settling -30048.82 withdraw 0.00
        day 2026-03-19
        candle 700.HK 09:30 300 300 300 300 1000
        09:35
        > 09:31:00 #1 PartialWithdrawal `insufficient funds`",
    );
}

#[test]
fn a_buy_covers_a_short_position_first() {
    // The cash is 10,000 plus 18,998.28 from the short sale. Covering unlocks the 19,000 locked for
    // the short position. The remaining buying power of 498.28 covers the margin of four more
    // shares.
    check(
        "clock US
        day 2026-05-04
        mark AAPL.US 190
        rate USD 7.8
        margin AAPL.US 0.50 0.30 0.25
        candle AAPL.US 10:01 190 190 190 190 10000; 10:03 200 200 200 200 10000
        given cash USD 10000
        given set touch touch
        10:00 sell 100 AAPL.US LO 190
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:02:30 buy 105 AAPL.US LO 200
        > 10:02:00 #1 FilledStatus 100 @ 190.000
        > 10:02:30 #2 RejectedStatus `insufficient funds`
        10:02:30 buy 104 AAPL.US LO 200
        > 10:02:30 #3 WaitToNew
        > 10:02:30 #3 NewStatus
        10:02:30 position AAPL.US
        > AAPL.US -100 available 4 cost 190.000 init \"\"
        10:10 position AAPL.US
        > 10:04:00 #3 FilledStatus 104 @ 200.000
        > AAPL.US 4 available 4 cost 200.000 init \"\"",
    );
}

#[test]
fn a_short_sale_needs_buying_power() {
    let sale = |quantity: u32, expected: &str| {
        check(&format!(
            "clock US
            day 2026-05-04
            mark AAPL.US 100
            rate USD 7.8
            margin AAPL.US 0.50 0.30 0.25
            given cash USD 10000
            10:00 sell {quantity} AAPL.US LO 100
            {expected}"
        ));
    };
    // 199 shares need 199 × 100 × 0.5 plus fees. 200 shares need 10,000 plus fees, which is more
    // than the buying power.
    sale(199, "> 10:00:00 #1 WaitToNew\n> 10:00:00 #1 NewStatus");
    sale(200, "> 10:00:00 #1 RejectedStatus `insufficient funds`");
    // A cash account, or an account with short sales disabled, cannot sell shares that it does not
    // hold.
    for setting in ["type cash", "short_us off"] {
        check(&format!(
            "clock US
            mark AAPL.US 100
            rate USD 7.8
            given cash USD 10000
            given set {setting}
            10:00 sell 10 AAPL.US LO 100
            > refused 602301 `insufficient holdings`"
        ));
    }
}

#[test]
fn a_short_position_pays_dividends() {
    check(
        "clock US
        day 2026-05-04
        mark AAPL.US 190
        rate USD 7.8
        action AAPL.US 2026-05-05 cash 1.50
        candle AAPL.US 10:01 190 190 190 190 10000
        given cash USD 50000
        given set touch touch
        10:00 sell 100 AAPL.US LO 190
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        20:00 position AAPL.US
        > 10:02:00 #1 FilledStatus 100 @ 190.000
        > AAPL.US -100 available -100 cost 188.500 (average 190.000) init -100
        20:00 cash USD
        > USD C 68848.28 F 0.00 S 19000.00 available 49848.28",
    );
}

#[test]
fn credit_is_shared_across_currencies() {
    // USD 1,000 of cash and HKD 39,000 of credit, of which another currency uses HKD 3,900, cover
    // 54 shares. The buying power of HKD 3,900, or USD 500, covers the margin and fees of 49
    // shares.
    check(
        "clock US
        day 2026-05-04
        rate USD 7.8
        margin AAPL.US 0.1 0.1 0.1
        mark AAPL.US 100
        given credit 39000
        given cash USD 1000
        given cash HKD -3900
        10:00 estimate buy AAPL.US LO 100
        > cash 9 margin 49
        10:00 buy 50 AAPL.US LO 100
        > 10:00:00 #1 RejectedStatus `insufficient funds`
        10:00 buy 49 AAPL.US LO 100
        > 10:00:00 #2 WaitToNew
        > 10:00:00 #2 NewStatus",
    );
}

#[test]
fn an_estimate_is_limited_by_cash_margin_and_holdings() {
    check(
        "mark 700.HK 305
        mark AAPL.US 100
        rate USD 7.8
        margin AAPL.US 0.50 0.30 0.25
        given cash HKD 100000
        given cash USD 10000
        given position 5.HK 1234 50
        10:00 estimate buy 700.HK LO 305
        > cash 300 margin 300
        10:00 estimate buy 700.HK MO
        > cash 300 margin 300
        10:00 estimate buy 700.HK LO
        > cash 300 margin 300
        10:00 estimate buy 6.HK LO
        > refused `no quotes`
        10:00 estimate buy 6.HK MO
        > refused `no quotes`
        10:00 estimate sell 5.HK LO 50
        > cash 1234 margin 1234
        10:00 estimate sell 700.HK LO 305
        > cash 0 margin 0
        10:00 estimate sell AAPL.US LO 100
        > cash 0 margin 456
        10:00 buy 300 700.HK LO 305
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 estimate buy 700.HK LO 305
        > cash 0 margin 0
        10:00 estimate buy 700.HK LO 305 #1
        > cash 300 margin 300
        10:00 estimate buy 700.HK LO 305 #2
        > refused `order not found`",
    );
    // A limit order without a price is estimated at the mark, without the additional reserve of a
    // market order.
    check(
        "mark 700.HK 305
        given cash HKD 31000
        10:00 estimate buy 700.HK LO
        > cash 100 margin 100
        10:00 estimate buy 700.HK MO
        > cash 0 margin 0",
    );
    check(
        "mark 700.HK 305
        given cash HKD 1000000000
        10:00 estimate buy 700.HK LO 305
        > cash 300000 margin 300000",
    );
}

#[test]
fn a_replacement_is_checked_like_a_new_order() {
    check(
        "candle 700.HK 10:01 304.8 304.8 304.8 304.8 1000; 10:03 303 303 303 303 10000
        given cash HKD 100000
        10:00 buy 200 700.HK LO 305
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:02 replace #1 100
        > 10:02:00 #1 PartialFilledStatus 100 @ 304.800
        > refused 602001 `quantity must be above the executed 100: cancel instead`
        10:02 replace #1 150
        > refused 602001 `quantity must be a multiple of 100`
        10:02 replace #1 300 price 0
        > refused 602001 `price must be above 0`
        10:02 replace #1 0
        > refused 602001 `quantity must be above 0`
        10:02 replace #1 300 price 304.1
        > refused 602001 `price must be a multiple of 0.2`
        10:02 replace #1 400 price 304
        > refused 602001 `insufficient funds`
        10:02 replace #1 300 price 304
        > 10:02:00 #1 WaitToReplace
        > 10:02:00 #1 PendingReplaceStatus
        > 10:02:00 #1 PartialFilledStatus
        10:02 cash HKD
        > HKD C 69470.13 F 60868.72 (fees 68.72) settling -30529.87 withdraw 8601.41
        10:05 detail #1
        > 10:04:00 #1 FilledStatus 200 @ 303.000
        > #1 LO Day UnknownOutsideRth FilledStatus price 304 300 of 300 at 303.600 fees 118.58
        10:05 replace #1 400
        > refused 602001 `order is FilledStatus`",
    );
    // A replaced order has a new sequence number and a new start time, so the candle in progress
    // does not fill it.
    check(
        "candle 700.HK 10:01 304 304 304 304 1000; 10:02 304 304 304 304 1000
        given cash HKD 100000
        10:00 buy 100 700.HK LO 303
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 buy 100 700.HK LO 305
        > 10:00:00 #2 WaitToNew
        > 10:00:00 #2 NewStatus
        10:01:30 replace #1 100 price 305
        > 10:01:30 #1 WaitToReplace
        > 10:01:30 #1 PendingReplaceStatus
        > 10:01:30 #1 NewStatus
        10:02
        > 10:02:00 #2 FilledStatus 100 @ 304.000
        10:03
        > 10:03:00 #1 FilledStatus 100 @ 304.000",
    );
}

#[test]
fn conditional_and_held_orders_can_be_replaced() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 310 310 308 310 1000; 10:03 309.8 310 304 304 10000
        given cash HKD 100000
        given position 700.HK 200 300
        10:00 buy 100 700.HK LIT 307 trigger 306
        > 10:00:00 #1 VarietiesNotReported DEACTIVE
        10:00 sell 100 700.HK TSLPAMT amount 8 offset 0
        > 10:00:00 #2 VarietiesNotReported ACTIVE
        10:01 replace #1 100 trigger 310
        > refused 602001 `trigger_price must differ from 310`
        10:01 replace #1 100 trigger 308
        > 10:01:00 #1 VarietiesNotReported DEACTIVE
        10:02:30 replace #2 100 amount 5
        > 10:02:30 #2 VarietiesNotReported ACTIVE
        10:03:30 replace #1 100 price 309
        > 10:03:30 #1 VarietiesNotReported DEACTIVE
        10:04
        > 10:04:00 #2 NewStatus RELEASED
        10:04:10 replace #2 100 price 304.8 amount 3
        > 10:04:10 #2 WaitToReplace RELEASED
        > 10:04:10 #2 PendingReplaceStatus RELEASED
        > 10:04:10 #2 NewStatus RELEASED
        10:04:10 detail #2
        > #2 TSLPAMT Day UnknownOutsideRth NewStatus price 304.8 0 of 100 at 0 fees 0.00",
    );
}

#[test]
fn liquidation_starts_below_the_forced_margin() {
    // With a debt of 80,000 and shares worth 100,000 at a price of 100, net assets are 20,000. The
    // forced margin factor of 0.25 requires 25,000.
    check(
        "mark 700.HK 120
        rate USD 7.8
        margin 700.HK 0.5 0.4 0.25
        candle 700.HK 10:01 100 100 100 100 5000; 10:02 100 100 100 100 2000; 10:03 100 100 100 100 90000
        given credit 1000000
        given cash HKD -80000
        given position 700.HK 1000 100
        given set liquidate on
        10:00 now
        10:02
        > 10:02:00 #1 WaitToNew `forced`
        > 10:02:00 #1 NewStatus `forced`
        10:10 cash HKD
        > 10:03:00 #1 PartialFilledStatus 200 @ 100.000 `forced`
        > 10:04:00 #1 FilledStatus 800 @ 100.000 `forced`
        > HKD C 19872.30 F 0.00 settling 99872.30 withdraw 0.00",
    );
}

#[test]
fn options_are_settled_in_cash_at_expiry() {
    check(
        "clock US
        day 2026-06-19
        mark AAPL260618C190000.US 5
        day 2026-06-18
        mark AAPL.US 195
        mark AAPL260618C190000.US 5
        mark AAPL260618P190000.US 5
        candle AAPL.US 15:58 196.5 197 196 196.25 9000
        candle AAPL260618C190000.US 10:01 5.2 5.3 5.1 5.2 50
        given cash USD 10000
        given position AAPL260618P190000.US 1 3
        10:00 buy 4 AAPL260618C190000.US MO
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:05 buy 1 AAPL260618C190000.US LO 1 tif GTC rth ANY_TIME
        > 10:02:00 #1 FilledStatus 4 @ 5.200
        > 10:05:00 #2 WaitToNew
        > 10:05:00 #2 NewStatus
        10:05 position AAPL260618C190000.US
        > AAPL260618C190000.US 4 available 4 cost 5.200 init \"\"
        10:05 cash USD
        > USD C 7917.90 F 101.03 (fees 1.03) settling -2082.10 withdraw 7816.87
        16:00 cash USD
        > 16:00:00 #2 ExpiredStatus
        > USD C 10417.90 F 0.00 settling 417.90 withdraw 7917.90
        16:00 position AAPL260618P190000.US
        > AAPL260618P190000.US none
        16:00 flows
        > Deposit 10000.00 USD
        > BuyStock -2080.00 USD AAPL260618C190000
        > Fee -2.00 USD PLATFORM
        > Fee -0.10 USD CLEARING
        > OptionExpiry 2500.00 USD AAPL260618C190000",
    );
}

#[test]
fn an_option_that_cannot_be_settled_is_valued_at_cost() {
    // The underlying has no one-minute candle on the last day.
    check(
        "clock US
        day 2026-06-18
        rate USD 7.8
        mark AAPL.US 195
        mark AAPL260618P190000.US 5
        given cash USD 1000
        given position AAPL260618P190000.US 2 3
        15:59:59 account USD
        > total 1000.00 net 2000.00 init 1000.00 maintenance 1000.00 buy_power 1000.00 remaining 1000.00 level 0
        16:00 account USD
        > total 1000.00 net 1600.00 init 600.00 maintenance 600.00 buy_power 1000.00 remaining 1000.00 level 0
        16:00 position AAPL260618P190000.US
        > AAPL260618P190000.US 2 available 2 cost 3.000 init 2
        16:00 sell 2 AAPL260618P190000.US LO 5
        > refused 602001 `symbol not tradable`",
    );
}

#[test]
fn an_overtaken_late_candle_never_takes_effect() {
    check(
        "candle 700.HK 10:01 300 300 300 300 1000 late 10:05; 10:02 301 301 301 301 1000 late 10:05; 10:03 302 302 302 302 1000 late 10:07; 10:04 303 303 303 303 1000 late 10:06
        given cash HKD 500000
        10:00 buy 500 700.HK LO 305
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:10
        > 10:05:00 #1 PartialFilledStatus 100 @ 300.000
        > 10:05:00 #1 PartialFilledStatus 100 @ 301.000
        > 10:06:00 #1 PartialFilledStatus 100 @ 303.000",
    );
}

#[test]
fn a_deposit_needs_a_rate_and_at_most_two_decimals() {
    check(
        "rate SGD 5.8
        10:00 given cash HKD 0.004
        > refused 602001 `amount has more than 2 decimals`
        10:00 given cash HKD -0.505
        > refused 602001 `amount has more than 2 decimals`
        10:00 given cash HKD 0.01
        10:00 given cash XYZ 100
        > refused 602001 `no rate for XYZ: report one with `chandler account rates XYZ RATE --day 2026-03-18``
        10:00 given cash SGD 100
        10:00 given cash USD 100
        10:00 given cash XYZ -100
        10:00 cash HKD
        > HKD C 0.01 F 0.00
        10:00 cash SGD
        > SGD C 100.00 F 0.00",
    );
}
