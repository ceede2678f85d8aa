//! The order of events at one instant.

use crate::common::{check, play, symbol};

#[test]
fn orders_of_all_symbols_share_one_queue() {
    // 16:10 in Hong Kong is 04:10 in New York, so a closing auction and a premarket candle take
    // effect at the same instant.
    check(
        "candle 700.HK 16:00 305 305 304.6 304.6 900000
        candle AAPL.US 04:09 190 190.2 189.9 190.1 4000
        given cash HKD 500000
        given cash USD 100000
        15:30 buy 10 AAPL.US LO 191 rth ANY_TIME
        > 15:30:00 #1 NotReported
        15:31 buy 100 700.HK LO 305
        > 15:31:00 #2 WaitToNew
        > 15:31:00 #2 NewStatus
        16:10
        > 16:00:00 #1 WaitToNew
        > 16:00:00 #1 NewStatus
        > 16:10:00 #1 FilledStatus 10 @ 190.000
        > 16:10:00 #2 FilledStatus 100 @ 304.600",
    );
}

#[test]
fn a_special_limit_order_uses_only_one_candle() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 306 306 306 306 9000 late 10:05; 10:02 304 304 304 304 9000 late 10:05
        given cash HKD 500000
        10:00 buy 100 700.HK SLO 305
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:10
        > 10:05:00 #1 CanceledStatus `not filled at once`",
    );
}

#[test]
fn fills_precede_releases_expiries_and_the_roll() {
    // At the last minute of the evening, a fill is followed by a release inside the candle, the
    // expiry of both orders, the roll with its corporate action, and the reports.
    check(
        "clock US
        day 2026-05-04
        mark AAPL.US 190
        candle AAPL.US 19:59 190.5 192 190 191 60
        action AAPL.US 2026-05-05 cash 1
        given cash USD 500000
        given position AAPL.US 100 150
        19:30 buy 10 AAPL.US LO 191 rth ANY_TIME
        > 19:30:00 #1 WaitToNew
        > 19:30:00 #1 NewStatus
        19:30 buy 10 AAPL.US LIT 193 trigger 192 rth ANY_TIME
        > 19:30:00 #2 VarietiesNotReported DEACTIVE
        19:30 buy 10 AAPL.US LO 180 tif GTC
        > 19:30:00 #3 NotReported
        19:30 buy 10 MSFT.US LO 180 rth OVERNIGHT
        > 19:30:00 #4 NotReported
        20:00 cancel #4
        > 20:00:00 #1 PartialFilledStatus 6 @ 190.500
        > 20:00:00 #2 NewStatus RELEASED
        > 20:00:00 #1 ExpiredStatus
        > 20:00:00 #2 ExpiredStatus RELEASED
        > 20:00:00 #3 CanceledStatus `corporate action 2026-05-05`
        > 20:00:00 #4 WaitToNew
        > 20:00:00 #4 NewStatus
        > 20:00:00 #4 WaitToCancel
        > 20:00:00 #4 PendingCancelStatus
        > 20:00:00 #4 CanceledStatus
        20:00 position AAPL.US
        > AAPL.US 106 available 106 cost 151.292 (average 152.292) init 106
        20:00 flows
        > Deposit 500000.00 USD
        > BuyStock -1143.00 USD AAPL
        > Fee -1.00 USD PLATFORM
        > Fee -0.02 USD CLEARING
        > Dividend 106.00 USD AAPL",
    );
}

#[test]
fn buys_and_sells_share_the_budget_in_sequence() {
    check(
        "candle 700.HK 10:01 305 305 304 304 4000
        given cash HKD 500000
        given position 700.HK 300 300
        10:00 buy 200 700.HK LO 306
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 sell 300 700.HK LO 304
        > 10:00:00 #2 WaitToNew
        > 10:00:00 #2 NewStatus
        10:00 buy 100 700.HK LO 306
        > 10:00:00 #3 WaitToNew
        > 10:00:00 #3 NewStatus
        10:00:30 replace #1 200 price 306
        > 10:00:30 #1 WaitToReplace
        > 10:00:30 #1 PendingReplaceStatus
        > 10:00:30 #1 NewStatus
        10:02
        > 10:02:00 #2 FilledStatus 300 @ 305.000
        > 10:02:00 #3 FilledStatus 100 @ 305.000",
    );
}

#[test]
fn a_candle_does_not_fill_orders_submitted_in_its_first_second() {
    check(
        "candle 700.HK 10:01 305 305 305 305 90000; 10:02 304 304 304 304 90000
        given cash HKD 500000
        10:00:59 buy 100 700.HK LO 306
        > 10:00:59 #1 WaitToNew
        > 10:00:59 #1 NewStatus
        10:01:00 buy 100 700.HK LO 306
        > 10:01:00 #2 WaitToNew
        > 10:01:00 #2 NewStatus
        10:01:10 buy 100 700.HK LO 306 held 10:02
        > 10:01:10 #3 DelayedNotReported
        10:10
        > 10:02:00 #1 FilledStatus 100 @ 305.000
        > 10:02:00 #3 WaitToNew
        > 10:02:00 #3 NewStatus
        > 10:03:00 #2 FilledStatus 100 @ 304.000
        > 10:03:00 #3 FilledStatus 100 @ 304.000",
    );
}

#[test]
fn a_candle_fills_at_least_one_lot() {
    let filled = |volume: u32, expected: &str| {
        check(&format!(
            "candle 700.HK 10:01 305 305 305 305 {volume}
            given cash HKD 500000
            10:00 buy 900 700.HK LO 306
            > 10:00:00 #1 WaitToNew
            > 10:00:00 #1 NewStatus
            10:02
            {expected}"
        ));
    };
    filled(99, "");
    filled(100, "> 10:02:00 #1 PartialFilledStatus 100 @ 305.000");
    filled(1999, "> 10:02:00 #1 PartialFilledStatus 100 @ 305.000");
    filled(2000, "> 10:02:00 #1 PartialFilledStatus 200 @ 305.000");
}

#[test]
fn a_repeated_candle_fills_no_order_twice() {
    let mut player = play(
        "mark 700.HK 305
        candle 700.HK 10:01 305 305 305 305 2000
        given cash HKD 500000
        10:00:15 buy 400 700.HK LO 306
        10:02",
    );
    // Another process records the same candle with a later arrival.
    let again = player.instant("10:03");
    let candles = player.store.candles.get_mut(&symbol("700.HK")).unwrap();
    candles.last_mut().unwrap().at = again;
    assert_eq!(player.line("10:04"), Vec::<String>::new());
    assert_eq!(
        player.line("10:04 detail #1"),
        ["#1 LO Day UnknownOutsideRth PartialFilledStatus price 306 200 of 400 at 305.000 fees 83.75"]
    );
}
