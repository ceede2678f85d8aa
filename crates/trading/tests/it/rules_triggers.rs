//! Conditional and trailing orders.

use crate::common::check;

#[test]
fn a_gap_releases_an_order_at_the_open() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 307 308 306 307 50000
        given cash HKD 500000
        10:00 buy 100 700.HK LIT 308 trigger 306
        > 10:00:00 #1 VarietiesNotReported DEACTIVE
        10:00 buy 100 700.HK LIT 305 trigger 306
        > 10:00:00 #2 VarietiesNotReported DEACTIVE
        10:00 buy 100 700.HK MIT trigger 306
        > 10:00:00 #3 VarietiesNotReported DEACTIVE
        10:00 buy 100 700.HK LO 308
        > 10:00:00 #4 WaitToNew
        > 10:00:00 #4 NewStatus
        10:10
        > 10:02:00 #1 NewStatus RELEASED
        > 10:02:00 #2 NewStatus RELEASED
        > 10:02:00 #3 NewStatus RELEASED
        > 10:02:00 #4 FilledStatus 100 @ 307.000
        > 10:02:00 #1 FilledStatus 100 @ 307.000 RELEASED
        > 10:02:00 #3 FilledStatus 100 @ 307.000 RELEASED",
    );
}

#[test]
fn an_equal_price_triggers_but_the_mark_does_not() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 305 306 304 304 50000; 10:02 304 304 303 303.4 50000
        given cash HKD 500000
        10:00 buy 100 700.HK LIT 310 trigger 305
        > refused 602001 `trigger_price must differ from 305`
        10:00 buy 100 700.HK LIT 310 trigger 306
        > 10:00:00 #1 VarietiesNotReported DEACTIVE
        10:00 buy 100 700.HK LIT 310 trigger 304
        > 10:00:00 #2 VarietiesNotReported DEACTIVE
        10:02
        > 10:02:00 #1 NewStatus RELEASED
        > 10:02:00 #2 NewStatus RELEASED
        10:03
        > 10:03:00 #1 FilledStatus 100 @ 304.000 RELEASED
        > 10:03:00 #2 FilledStatus 100 @ 304.000 RELEASED",
    );
}

#[test]
fn repeated_touches_require_a_close_at_the_trigger() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 307 308 304 305 50000; 10:02 307 308 304 306 50000; 10:03 306 306 306 306 50000
        given cash HKD 500000
        10:00 buy 100 700.HK MIT trigger 306 count 2
        > 10:00:00 #1 VarietiesNotReported DEACTIVE
        10:10
        > 10:03:00 #1 NewStatus RELEASED
        > 10:04:00 #1 FilledStatus 100 @ 306.000 RELEASED",
    );
}

#[test]
fn account_checks_run_at_the_release() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 305 306 304 304 50000
        given cash HKD 1000
        10:00 buy 100 700.HK LIT 310 trigger 306
        > 10:00:00 #1 VarietiesNotReported DEACTIVE
        10:00 sell 100 700.HK MIT trigger 304
        > 10:00:00 #2 VarietiesNotReported DEACTIVE
        10:10
        > 10:02:00 #1 RejectedStatus DEACTIVE `insufficient funds`
        > 10:02:00 #2 RejectedStatus DEACTIVE `insufficient holdings`",
    );
}

#[test]
fn a_buy_may_trail_by_percent() {
    // The first stop is 305 + 1 % = 308.05. After a low of 300, the stop is 303.
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 305 306 300 300.2 50000; 10:02 300.2 303 300 303 50000; 10:03 303 304 302 303 50000
        given cash HKD 500000
        10:00 buy 100 700.HK TSLPPCT percent 1 offset 0.3
        > 10:00:00 #1 VarietiesNotReported ACTIVE
        10:03 detail #1
        > 10:03:00 #1 NewStatus RELEASED
        > #1 TSLPPCT Day UnknownOutsideRth NewStatus price 303.4 0 of 100 at 0 fees 0.00
        10:10
        > 10:04:00 #1 FilledStatus 100 @ 303.000 RELEASED",
    );
}

#[test]
fn a_close_below_the_new_stop_releases_a_trailing_sale() {
    check(
        "clock US
        mark AAPL.US 190
        candle AAPL.US 10:01 190 195 189 192.9 60000
        given position AAPL.US 100 150
        10:00 sell 100 AAPL.US TSLPAMT amount 2 offset 0
        > 10:00:00 #1 VarietiesNotReported ACTIVE
        10:02 detail #1
        > 10:02:00 #1 NewStatus RELEASED
        > #1 TSLPAMT Day RTH_ONLY NewStatus price 193 0 of 100 at 0 fees 0.00",
    );
}

#[test]
fn a_trailing_order_tracks_from_its_monitor_price() {
    // If a candle reaches the monitor price inside, tracking starts with the next candle, at the
    // monitor price.
    check(
        "clock US
        mark AAPL.US 190
        candle AAPL.US 10:01 190 192 189 191 60000; 10:02 191 191.5 190.5 191 60000; 10:03 190 190.2 189.8 190 60000
        given position AAPL.US 100 150
        10:00 sell 100 AAPL.US TSLPAMT amount 2 offset 0 monitor 192
        > 10:00:00 #1 VarietiesNotReported DEACTIVE
        10:03
        > 10:02:00 #1 VarietiesNotReported ACTIVE
        10:04
        > 10:04:00 #1 NewStatus RELEASED
        > 10:04:00 #1 FilledStatus 100 @ 190.000 RELEASED",
    );
    // If a candle opens beyond the monitor price, tracking starts at the open of this candle.
    check(
        "clock US
        mark AAPL.US 190
        candle AAPL.US 10:01 193 193.5 191 192 60000
        given position AAPL.US 100 150
        10:00 sell 100 AAPL.US TSLPAMT amount 2 offset 0 monitor 192
        > 10:00:00 #1 VarietiesNotReported DEACTIVE
        10:02
        > 10:02:00 #1 VarietiesNotReported ACTIVE
        > 10:02:00 #1 NewStatus RELEASED
        10:02 detail #1
        > #1 TSLPAMT Day RTH_ONLY NewStatus price 191 0 of 100 at 0 fees 0.00",
    );
    // If the monitor price equals the mark, tracking starts immediately.
    check(
        "clock US
        mark AAPL.US 190
        given position AAPL.US 100 150
        10:00 sell 100 AAPL.US TSLPAMT amount 2 offset 0 monitor 190
        > 10:00:00 #1 VarietiesNotReported ACTIVE",
    );
}

#[test]
fn a_release_without_a_valid_price_is_rejected() {
    check(
        "clock US
        mark AAPL.US 1.50
        candle AAPL.US 10:01 1 1.2 0.9 1 60000
        given position AAPL.US 100 1
        10:00 sell 100 AAPL.US TSLPAMT amount 0.40 offset 1.10
        > 10:00:00 #1 VarietiesNotReported ACTIVE
        10:02
        > 10:02:00 #1 RejectedStatus ACTIVE `released price must be above 0`",
    );
}

#[test]
fn depth_levels_are_ticks_from_the_mark() {
    let released = |side: &str, depth: &str, price: &str| {
        check(&format!(
            "clock US
            mark AAPL.US 190
            candle AAPL.US 10:01 190 193 187 189.555 60000
            given position AAPL.US 100 150
            given cash USD 100000
            10:00 {side} 100 AAPL.US TSLPAMT amount 2 depth {depth}
            > 10:00:00 #1 VarietiesNotReported ACTIVE
            10:02 detail #1
            > 10:02:00 #1 NewStatus RELEASED
            > #1 TSLPAMT Day RTH_ONLY NewStatus price {price} 0 of 100 at 0 fees 0.00"
        ));
    };
    released("sell", "1", "189.55");
    released("sell", "3", "189.57");
    released("sell", "-2", "189.54");
    released("buy", "1", "189.56");
    released("buy", "-5", "189.52");
}

#[test]
fn a_closing_auction_releases_conditional_orders() {
    check(
        "mark 700.HK 305
        candle 700.HK 15:59 305 305 305 305 9000; 16:00 307 307 306 306 90000
        given cash HKD 500000
        15:59:30 buy 100 700.HK LIT 306 trigger 306
        > 15:59:30 #1 VarietiesNotReported DEACTIVE
        15:59:30 buy 100 700.HK MIT trigger 306
        > 15:59:30 #2 VarietiesNotReported DEACTIVE
        15:59:30 buy 100 700.HK MIT trigger 306 tif GTC
        > 15:59:30 #3 VarietiesNotReported DEACTIVE
        16:30
        > 16:10:00 #1 NewStatus RELEASED
        > 16:10:00 #1 FilledStatus 100 @ 306.000 RELEASED
        > 16:10:00 #2 NewStatus RELEASED
        > 16:10:00 #3 NewStatus RELEASED
        > 16:10:00 #2 ExpiredStatus RELEASED
        day 2026-03-19
        candle 700.HK 09:30 308 308 308 308 90000
        10:00
        > 09:31:00 #3 FilledStatus 100 @ 308.000 RELEASED",
    );
}

#[test]
fn conditional_orders_ignore_candles_of_other_lanes() {
    check(
        "clock US
        mark AAPL.US 190
        candle AAPL.US 09:00 195 195 195 195 500; 09:30 190.5 190.6 190.4 190.5 9000
        given cash USD 100000
        08:00 buy 10 AAPL.US LIT 192 trigger 191
        > 08:00:00 #1 VarietiesNotReported DEACTIVE
        08:00 buy 10 AAPL.US LIT 195 trigger 191 rth ANY_TIME
        > 08:00:00 #2 VarietiesNotReported DEACTIVE
        10:00
        > 09:01:00 #2 NewStatus RELEASED
        > 09:31:00 #2 FilledStatus 10 @ 190.500 RELEASED",
    );
}

#[test]
fn slippage_applies_to_market_fills() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 305 306 304 304 50000
        given cash HKD 500000
        given set slippage 2
        10:00 buy 100 700.HK MO
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 cash HKD
        > HKD C 500000.00 F 32092.08 (fees 52.08)
        10:02
        > 10:02:00 #1 FilledStatus 100 @ 305.400",
    );
}

#[test]
fn a_trailing_option_order_is_released_as_a_limit() {
    check(
        "clock US
        mark AAPL260619C190000.US 5
        candle AAPL260619C190000.US 10:01 5 5.4 5 5.3 900; 10:02 5.3 5.3 5 5.1 900; 10:03 5.2 5.2 4.9 5 900
        given position AAPL260619C190000.US 10 4
        10:00:15 sell 10 AAPL260619C190000.US TSLPAMT amount 0.2 offset 0.1
        > 10:00:15 #1 VarietiesNotReported ACTIVE
        10:05
        > 10:03:00 #1 NewStatus RELEASED
        > 10:04:00 #1 FilledStatus 10 @ 5.200 RELEASED",
    );
}

#[test]
fn a_trailing_market_order_is_released_at_the_market() {
    check(
        "clock US
        mark AAPL.US 190
        candle AAPL.US 10:01 190 191.5 189.8 191.2 60000; 10:02 191.2 191.2 189 189.5 60000
        candle AAPL.US 10:03 188 188 187 187 60000
        given position AAPL.US 200 150
        given set slippage 2
        10:00:15 dated sell 100 AAPL.US TSMAMT amount 2 rth ANY_TIME
        > 10:00:15 #1 VarietiesNotReported ACTIVE
        10:00:15 dated sell 100 AAPL.US TSMPCT percent 1
        > 10:00:15 #2 VarietiesNotReported ACTIVE
        10:00:15 detail #1
        > #1 TSMAMT Day RTH_ONLY VarietiesNotReported price - 0 of 100 at 0 fees 0.00
        10:05
        > 10:03:00 #1 NewStatus RELEASED
        > 10:03:00 #2 NewStatus RELEASED
        > 10:04:00 #1 FilledStatus 100 @ 187.980 RELEASED
        > 10:04:00 #2 FilledStatus 100 @ 187.980 RELEASED",
    );
}

#[test]
fn a_gap_fills_a_trailing_market_order_at_the_open() {
    check(
        "clock US
        mark AAPL.US 190
        candle AAPL.US 10:01 192.5 193 192 192 60000
        given cash USD 500000
        10:00:15 dated buy 100 AAPL.US TSMAMT amount 2 tif GTC
        > 10:00:15 #1 VarietiesNotReported ACTIVE
        10:00:15 replace #1 100 amount 2.5
        > 10:00:15 #1 VarietiesNotReported ACTIVE
        10:05
        > 10:02:00 #1 NewStatus RELEASED
        > 10:02:00 #1 FilledStatus 100 @ 192.500 RELEASED",
    );
}
