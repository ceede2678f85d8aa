//! Only candles that cannot affect any of an account's orders are skipped.

use crate::common::check;

#[test]
fn candles_are_not_skipped_after_an_order_is_activated() {
    // Several days are advanced in one call. The candles are far from the first order, but close to
    // the second order, which is still held at the start.
    check(
        "mark 700.HK 305
        candle 700.HK 10:03 305 306 304 305 30000; 10:05 305 306 304 305 30000
        given cash HKD 500000
        09:35 buy 100 700.HK LO 200 tif GTC
        > 09:35:00 #1 WaitToNew
        > 09:35:00 #1 NewStatus
        09:35 buy 100 700.HK LO 306 held 10:04
        > 09:35:00 #2 DelayedNotReported
        day 2026-03-20
        17:00
        > 2026-03-18 10:04:00 #2 WaitToNew
        > 2026-03-18 10:04:00 #2 NewStatus
        > 2026-03-18 10:06:00 #2 FilledStatus 100 @ 305.000",
    );
}

#[test]
fn a_trigger_and_a_limit_of_one_symbol_are_both_checked() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:05 305 309 305 305 30000; 10:06 305 305 305 305 30000; 10:07 305 305 301 305 30000
        given cash HKD 500000
        10:00 buy 100 700.HK LO 302
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 buy 100 700.HK LIT 310 trigger 309
        > 10:00:00 #2 VarietiesNotReported DEACTIVE
        12:00
        > 10:06:00 #2 NewStatus RELEASED
        > 10:07:00 #2 FilledStatus 100 @ 305.000 RELEASED
        > 10:08:00 #1 FilledStatus 100 @ 302.000",
    );
}
