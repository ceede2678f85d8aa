//! Sessions, auctions and time in force.

use crate::common::check;

#[test]
fn parked_orders_are_reported_when_their_session_opens() {
    check(
        "mark 700.HK 305
        candle 700.HK 09:30 305 305 305 305 5000
        given cash HKD 500000
        08:00 buy 100 700.HK LO 300
        > 08:00:00 #1 NotReported
        08:30 cash HKD
        > HKD C 500000.00 F 30048.82 (fees 48.82)
        09:05
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        12:30 buy 100 700.HK MO
        > 12:30:00 #2 WaitToNew
        > 12:30:00 #2 NewStatus
        16:03 buy 100 700.HK MO
        > 16:03:00 #3 NotReported
        16:03 buy 100 700.HK LO 300
        > 16:03:00 #4 WaitToNew
        > 16:03:00 #4 NewStatus
        16:08 buy 100 700.HK LO 300
        > 16:08:00 #5 NotReported
        16:30
        > 16:10:00 #1 ExpiredStatus
        > 16:10:00 #2 ExpiredStatus
        > 16:10:00 #4 ExpiredStatus
        day 2026-03-19
        17:00
        > 09:00:00 #3 WaitToNew
        > 09:00:00 #3 NewStatus
        > 09:00:00 #5 WaitToNew
        > 09:00:00 #5 NewStatus
        > 16:10:00 #3 ExpiredStatus
        > 16:10:00 #5 ExpiredStatus",
    );
}

#[test]
fn us_orders_expire_at_the_end_of_their_lane() {
    check(
        "clock US
        day 2026-05-04
        mark AAPL.US 190
        candle AAPL.US 04:00 189 189 189 189 5000; 16:00 189 189 189 189 5000
        given cash USD 500000
        03:00 buy 10 AAPL.US LO 180 rth OVERNIGHT
        > 03:00:00 #1 WaitToNew
        > 03:00:00 #1 NewStatus
        03:00 buy 10 AAPL.US LO 190 rth ANY_TIME
        > 03:00:00 #2 NotReported
        03:00 buy 10 AAPL.US LO 180 rth ANY_TIME
        > 03:00:00 #3 NotReported
        03:00 buy 10 AAPL.US LO 190
        > 03:00:00 #4 NotReported
        04:30
        > 04:00:00 #1 ExpiredStatus
        > 04:00:00 #2 WaitToNew
        > 04:00:00 #2 NewStatus
        > 04:00:00 #3 WaitToNew
        > 04:00:00 #3 NewStatus
        > 04:01:00 #2 FilledStatus 10 @ 189.000
        16:00 buy 10 AAPL.US LO 190
        > 09:30:00 #4 WaitToNew
        > 09:30:00 #4 NewStatus
        > 16:00:00 #4 ExpiredStatus
        > 16:00:00 #5 NotReported
        16:00 buy 10 AAPL.US LO 190 rth OVERNIGHT
        > 16:00:00 #6 NotReported
        23:59
        > 20:00:00 #3 ExpiredStatus
        > 20:00:00 #6 WaitToNew
        > 20:00:00 #6 NewStatus
        day 2026-05-05
        20:00
        > 04:00:00 #6 ExpiredStatus
        > 09:30:00 #5 WaitToNew
        > 09:30:00 #5 NewStatus
        > 16:00:00 #5 ExpiredStatus",
    );
}

#[test]
fn half_days_end_early() {
    check(
        "day 2026-02-16
        mark 700.HK 305
        candle 700.HK 12:00 305 305 305 305 5000
        given cash HKD 500000
        12:05 buy 100 700.HK LO 305
        > 12:05:00 #1 WaitToNew
        > 12:05:00 #1 NewStatus
        12:05:30 buy 100 700.HK LO 304
        > 12:05:30 #2 WaitToNew
        > 12:05:30 #2 NewStatus
        12:05:59 cancel #2
        > 12:05:59 #2 WaitToCancel
        > 12:05:59 #2 PendingCancelStatus
        > 12:05:59 #2 CanceledStatus
        12:06 cancel #1
        > refused 602001 `order cannot be changed from 12:06 to 12:10`
        12:08 buy 100 700.HK LO 305
        > 12:08:00 #3 NotReported
        13:00
        > 12:10:00 #1 FilledStatus 100 @ 305.000
        day 2026-02-20
        09:10
        > 09:00:00 #3 WaitToNew
        > 09:00:00 #3 NewStatus",
    );
    check(
        "clock US
        day 2025-11-28
        given cash USD 50000
        10:00 buy 10 AAPL.US LO 100
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 buy 10 AAPL.US LO 100 rth ANY_TIME
        > 10:00:00 #2 WaitToNew
        > 10:00:00 #2 NewStatus
        18:00
        > 13:00:00 #1 ExpiredStatus
        > 17:00:00 #2 ExpiredStatus",
    );
}

#[test]
fn orders_cannot_be_changed_around_an_auction() {
    check(
        "given cash HKD 500000
        09:05 buy 100 700.HK LO 300
        > 09:05:00 #1 WaitToNew
        > 09:05:00 #1 NewStatus
        09:15 cancel #1
        > refused 602001 `order cannot be changed from 09:15 to 09:30`
        09:29:59 replace #1 100 price 301
        > refused 602001 `order cannot be changed from 09:15 to 09:30`
        09:30 replace #1 100 price 301
        > 09:30:00 #1 WaitToReplace
        > 09:30:00 #1 PendingReplaceStatus
        > 09:30:00 #1 NewStatus
        16:06 cancel #1
        > refused 602001 `order cannot be changed from 16:06 to 16:10`
        16:10 cancel #1
        > 16:10:00 #1 ExpiredStatus
        > refused 602001 `order is ExpiredStatus`",
    );
}

#[test]
fn good_til_date_orders_expire_on_their_date() {
    check(
        "given cash HKD 500000
        10:00 buy 100 700.HK LO 200 tif GTD until 2026-03-22
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 buy 100 700.HK LO 200 tif GTC
        > 10:00:00 #2 WaitToNew
        > 10:00:00 #2 NewStatus
        10:00 buy 100 700.HK LO 200 tif GTD until 2026-03-17
        > refused 602001 `time in force not support`
        10:00 buy 100 700.HK LO 200 tif GTD until 2027-03-19
        > 10:00:00 #3 WaitToNew
        > 10:00:00 #3 NewStatus
        10:00 buy 100 700.HK LO 200 tif GTD until 2027-03-20
        > refused 602001 `time in force not support`
        10:00 buy 100 700.HK LO 200 tif GTD
        > refused 602001 `expire_date required`
        17:00 buy 100 700.HK LO 200 tif GTD until 2026-03-18
        > refused 602001 `time in force not support`
        day 2026-03-21
        10:00
        > 2026-03-20 16:10:00 #1 ExpiredStatus",
    );
}

#[test]
fn good_til_orders_remain_open_overnight() {
    check(
        "candle 700.HK 10:01 300 300 300 300 1000
        given cash HKD 500000
        10:00 buy 200 700.HK LO 301 tif GTC
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:02 buy 100 700.HK LO 200 tif GTC
        > 10:02:00 #1 PartialFilledStatus 100 @ 300.000
        > 10:02:00 #2 WaitToNew
        > 10:02:00 #2 NewStatus
        22:00 buy 100 700.HK LO 200 tif GTC
        > 22:00:00 #3 NotReported
        22:00 cancel #3
        > 22:00:00 #3 CanceledStatus
        22:00 detail #1
        > #1 LO GTC UnknownOutsideRth PartialFilledStatus price 301 100 of 200 at 300.000 fees 48.82
        22:00 cancel #2
        > 22:00:00 #2 WaitToCancel
        > 22:00:00 #2 PendingCancelStatus
        > 22:00:00 #2 CanceledStatus
        22:00 cancel #1
        > 22:00:00 #1 WaitToCancel
        > 22:00:00 #1 PendingCancelStatus
        > 22:00:00 #1 PartialWithdrawal",
    );
}

#[test]
fn unsupported_times_in_force_are_refused() {
    let refused = |order: &str| {
        let clock = if order.contains(".US") { "clock US\n" } else { "" };
        check(&format!(
            "{clock}mark 700.HK 305\nmark AAPL.US 190\ngiven cash HKD 500000\ngiven cash USD 500000\n10:00 {order}\n\
             > refused 602001 `time in force not support`"
        ));
    };
    refused("buy 100 700.HK MO tif GTC");
    refused("buy 100 700.HK AO tif GTC");
    refused("buy 100 700.HK SLO 300 tif GTD until 2026-03-20");
    refused("buy 50 700.HK ODD 300 tif GTC");
    refused("buy 10 AAPL.US MO tif GTC");
    refused("buy 10 AAPL.US MO rth OVERNIGHT");
    refused("buy 10 AAPL.US LIT 190 trigger 191 rth OVERNIGHT");
    refused("buy 10 AAPL.US LO 190 tif GTC rth OVERNIGHT");
    refused("buy 10 AAPL.US LO 190 rth OPTION_PRE_MARKET");
}

#[test]
fn an_auction_order_joins_only_one_auction() {
    // Before 09:20, the order joins the opening auction. The quantity that is not filled is
    // cancelled, and does not join the closing auction.
    check(
        "mark 700.HK 305
        candle 700.HK 09:30 306 306 305 305 3000; 09:31 305 305 305 305 50000; 16:00 304 304 304 304 90000
        given cash HKD 500000
        09:19:59 buy 500 700.HK AO
        > 09:19:59 #1 WaitToNew
        > 09:19:59 #1 NewStatus
        09:20 buy 100 700.HK AO
        > 09:20:00 #2 WaitToNew
        > 09:20:00 #2 NewStatus
        09:40
        > 09:31:00 #1 PartialFilledStatus 300 @ 306.000
        > 09:31:00 #1 PartialWithdrawal `auction is over`
        16:08 buy 100 700.HK AO
        > 16:08:00 #3 NotReported
        16:30
        > 16:10:00 #2 FilledStatus 100 @ 304.000
        day 2026-03-19
        12:00
        > 09:00:00 #3 WaitToNew
        > 09:00:00 #3 NewStatus
        > 09:31:00 #3 CanceledStatus `auction is over`",
    );
    // A candle without volume fills no auction orders.
    check(
        "mark 700.HK 305
        candle 700.HK 09:30 306 306 306 306 0
        given cash HKD 500000
        09:05 buy 100 700.HK AO
        > 09:05:00 #1 WaitToNew
        > 09:05:00 #1 NewStatus
        10:00
        > 09:31:00 #1 CanceledStatus `auction is over`",
    );
    check("given cash HKD 500000\n09:05 buy 100 700.HK AO\n> refused 602001 `no quotes`");
}

#[test]
fn an_auction_limit_order_becomes_a_limit_order() {
    // An equal price is sufficient in the auction. If the auction does not fill the order, it is
    // matched against the same candle as a limit order.
    check(
        "candle 700.HK 09:30 301 302 299 300 60000
        given cash HKD 500000
        09:05 buy 100 700.HK ALO 301
        > 09:05:00 #1 WaitToNew
        > 09:05:00 #1 NewStatus
        09:05 buy 100 700.HK ALO 300
        > 09:05:00 #2 WaitToNew
        > 09:05:00 #2 NewStatus
        10:00
        > 09:31:00 #1 FilledStatus 100 @ 301.000
        > 09:31:00 #2 FilledStatus 100 @ 300.000",
    );
    // An order submitted at 09:20 or later waits for the closing auction. A good-til-canceled order
    // then becomes a limit order, even if it was replaced.
    check(
        "candle 700.HK 09:30 300 302 299 300 60000; 10:01 300 302 299 300 60000; 16:00 303 303 303 303 9000
        given cash HKD 500000
        09:20 buy 100 700.HK ALO 303
        > 09:20:00 #1 WaitToNew
        > 09:20:00 #1 NewStatus
        09:20 buy 100 700.HK ALO 302 tif GTC
        > 09:20:00 #2 WaitToNew
        > 09:20:00 #2 NewStatus
        15:00 replace #2 100 price 302
        > 15:00:00 #2 WaitToReplace
        > 15:00:00 #2 PendingReplaceStatus
        > 15:00:00 #2 NewStatus
        17:00
        > 16:10:00 #1 FilledStatus 100 @ 303.000
        day 2026-03-19
        candle 700.HK 09:30 301 301 301 301 6000
        10:00
        > 09:31:00 #2 FilledStatus 100 @ 301.000",
    );
    // Without a candle at the opening, the order becomes a limit order at 09:31.
    check(
        "candle 700.HK 09:31 299 302 299 300 60000
        given cash HKD 500000
        09:05 buy 100 700.HK ALO 300
        > 09:05:00 #1 WaitToNew
        > 09:05:00 #1 NewStatus
        10:00
        > 09:32:00 #1 FilledStatus 100 @ 299.000",
    );
}

#[test]
fn a_special_limit_order_uses_its_first_candle() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:01 305 305 305 305 0; 10:02 305 306 304 305 3000; 10:03 303 306 303 305 30000
        given cash HKD 500000
        given position 700.HK 50 300
        10:00:30 buy 500 700.HK SLO 306
        > 10:00:30 #1 WaitToNew
        > 10:00:30 #1 NewStatus
        10:00:30 buy 500 700.HK SLO 305
        > 10:00:30 #2 WaitToNew
        > 10:00:30 #2 NewStatus
        10:00:30 sell 50 700.HK ODD 304
        > 10:00:30 #3 WaitToNew
        > 10:00:30 #3 NewStatus
        10:00:40 replace #1 500 price 307
        > refused 602001 `SLO cannot be replaced`
        10:10
        > 10:03:00 #1 PartialFilledStatus 300 @ 305.000
        > 10:03:00 #3 FilledStatus 50 @ 304.000
        > 10:03:00 #1 PartialWithdrawal `not filled at once`
        > 10:03:00 #2 CanceledStatus `not filled at once`",
    );
    check(
        "10:00 buy 100 700.HK ODD 304
        > refused 602001 `quantity must be a multiple of 1 below 100`",
    );
}

#[test]
fn held_orders_are_checked_when_their_delay_ends() {
    check(
        "mark 700.HK 305
        candle 700.HK 10:05 305 306 304 305 30000
        given cash HKD 500000
        10:00 buy 100 700.HK LO 306 held 10:05
        > 10:00:00 #1 DelayedNotReported
        10:00 buy 100 700.HK MO held 10:04
        > 10:00:00 #2 DelayedNotReported
        10:00 buy 100 700.HK LO 3000 held 10:04:30
        > 10:00:00 #3 DelayedNotReported
        10:00 buy 2000 700.HK LO 305 held 10:04:40
        > 10:00:00 #4 DelayedNotReported
        10:00 buy 100 700.HK LO 306 held 10:00
        > refused 602001 `delayed_until must lie within the next 90 days`
        10:01 cash HKD
        > HKD C 500000.00 F 0.00
        10:01 replace #1 200 price 307
        > 10:01:00 #1 DelayedNotReported
        10:01 cancel #2
        > 10:01:00 #2 CanceledStatus
        10:10 detail #1
        > 10:04:30 #3 RejectedStatus `price too far from 305`
        > 10:04:40 #4 RejectedStatus `insufficient funds`
        > 10:05:00 #1 WaitToNew
        > 10:05:00 #1 NewStatus
        > 10:06:00 #1 FilledStatus 200 @ 305.000
        > #1 LO Day UnknownOutsideRth FilledStatus price 307 200 of 200 at 305.000 fees 83.75",
    );
}

#[test]
fn requests_before_the_accounts_horizon_are_refused() {
    check(
        "given cash HKD 500000
        10:00 now
        09:59 buy 100 700.HK LO 300
        > refused 602001 `account is at 2026-03-18T02:00:00Z, the market clock at 2026-03-18T01:59:00Z: `chandler account rewind` or `chandler account reset` takes the account back, `chandler account fork` copies its state at an earlier instant`",
    );
}

#[test]
fn orders_that_ended_before_the_roll_are_not_todays_orders() {
    check(
        "clock US
        day 2026-05-04
        candle AAPL.US 19:59 189 189 189 189 5000
        given cash USD 500000
        19:30 buy 10 AAPL.US LO 190 rth ANY_TIME
        > 19:30:00 #1 WaitToNew
        > 19:30:00 #1 NewStatus
        19:30 buy 10 AAPL.US LO 150 tif GTC
        > 19:30:00 #2 NotReported
        19:59:59 today
        > #1 #2
        20:00 today
        > 20:00:00 #1 FilledStatus 10 @ 189.000
        > #2",
    );
}

#[test]
fn a_candle_at_a_roll_ends_orders_on_the_previous_day() {
    check(
        "clock US
        day 2026-05-04
        mark AAPL.US 190
        candle AAPL.US 19:59 192 193 192 193 5000
        given cash USD 1000
        19:30 buy 100 AAPL.US LIT 194 trigger 192 rth ANY_TIME
        > 19:30:00 #1 VarietiesNotReported DEACTIVE
        20:00 buy 100 AAPL.US LO 190 rth OVERNIGHT
        > 20:00:00 #1 RejectedStatus DEACTIVE `insufficient funds`
        > 20:00:00 #2 RejectedStatus `insufficient funds`
        20:00 today
        > #2",
    );
}
