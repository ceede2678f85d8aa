//! Attached orders: take profit, stop loss, and brackets of both.

use crate::common::check;

/// An account with cash, and a bracket around 305 on a buy of 200 shares.
const BRACKET: &str = "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        10:00:15 buy 200 700.HK LO 306 tif GTC attach BRACKET +take 310 +stop 300
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        > 10:00:15 #3 VarietiesNotReported DEACTIVE";

/// The fill of that buy by the candle of 10:01.
const FILLED: &str = "10:02
        > 10:02:00 #1 FilledStatus 200 @ 305.000
        > 10:02:00 #3 VarietiesNotReported ACTIVE
        > 10:02:00 #2 VarietiesNotReported ACTIVE";

fn bracket(candles: &str, rest: &str) {
    check(&format!(
        "candle 700.HK 10:01 305 306 304 305 50000; {candles}
        {BRACKET}
        {FILLED}
        {rest}"
    ));
}

#[test]
fn a_fill_activates_the_attached_orders() {
    bracket(
        "10:02 305 309.8 300.2 305 50000",
        "10:05 attached #1
        > #2 PROFIT_TAKER Sell MIT GTC trigger 310 limit - 0 of 200 VarietiesNotReported ACTIVE
        > #3 STOP_LOSS Sell MIT GTC trigger 300 limit - 0 of 200 VarietiesNotReported ACTIVE
        10:05 position 700.HK
        > 700.HK 200 available 200 cost 305.000 init \"\"",
    );
}

#[test]
fn a_filled_take_profit_cancels_the_stop_loss() {
    bracket(
        "10:02 309 310 308 309 50000; 10:03 309.6 309.8 309 309.2 50000",
        "10:05 position 700.HK
        > 10:03:00 #2 NewStatus RELEASED
        > 10:04:00 #2 FilledStatus 200 @ 309.600 RELEASED
        > 10:04:00 #3 CanceledStatus ACTIVE `take profit filled`
        > 700.HK none",
    );
}

#[test]
fn a_triggered_stop_loss_cancels_the_take_profit() {
    bracket(
        "10:02 302 303 299.8 300.4 50000; 10:03 300.2 300.4 299 299.4 50000",
        "10:05 position 700.HK
        > 10:03:00 #2 CanceledStatus ACTIVE `stop loss triggered`
        > 10:03:00 #3 NewStatus RELEASED
        > 10:04:00 #3 FilledStatus 200 @ 300.200 RELEASED
        > 700.HK none",
    );
}

#[test]
fn the_stop_loss_applies_if_one_candle_reaches_both_triggers() {
    bracket(
        "10:02 305 311 299 305 50000; 10:03 305 305 305 305 50000",
        "10:05 now
        > 10:03:00 #2 CanceledStatus ACTIVE `stop loss triggered`
        > 10:03:00 #3 NewStatus RELEASED
        > 10:04:00 #3 FilledStatus 200 @ 305.000 RELEASED",
    );
}

#[test]
fn a_take_profit_at_the_open_precedes_the_stop_loss() {
    bracket(
        "10:02 311 312 299 300 50000",
        "10:05 now
        > 10:03:00 #2 NewStatus RELEASED
        > 10:03:00 #2 FilledStatus 200 @ 311.000 RELEASED
        > 10:03:00 #3 CanceledStatus ACTIVE `take profit filled`",
    );
}

#[test]
fn a_stop_loss_at_the_open_precedes_the_take_profit() {
    bracket(
        "10:02 298 312 297 300 50000",
        "10:05 now
        > 10:03:00 #2 CanceledStatus ACTIVE `stop loss triggered`
        > 10:03:00 #3 NewStatus RELEASED
        > 10:03:00 #3 FilledStatus 200 @ 298.000 RELEASED",
    );
}

#[test]
fn a_partial_take_profit_at_the_open_leaves_the_rest_to_the_stop_loss() {
    // A tenth of 1,000 is one lot.
    bracket(
        "10:02 311 312 299 300 1000; 10:03 301 301 301 301 50000",
        "10:05 position 700.HK
        > 10:03:00 #2 NewStatus RELEASED
        > 10:03:00 #2 PartialFilledStatus 100 @ 311.000 RELEASED
        > 10:03:00 #3 VarietiesNotReported ACTIVE
        > 10:03:00 #2 PartialWithdrawal RELEASED `stop loss triggered`
        > 10:03:00 #3 NewStatus RELEASED
        > 10:04:00 #3 FilledStatus 100 @ 301.000 RELEASED
        > 700.HK none",
    );
}

#[test]
fn a_resting_take_profit_leaves_the_stop_loss_active() {
    // The limit 311 rests until the candle of 10:04 goes through it. The candle of 10:05 would have
    // reached the stop loss.
    let given = "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        candle 700.HK 10:01 305 306 304 305 50000; 10:02 309 310 308 309 50000; 10:03 309 310.8 305 306 50000";
    let until = "10:00:15 buy 200 700.HK LO 306 tif GTC attach BRACKET +take 310 +take-limit 311 +stop 300
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        > 10:00:15 #3 VarietiesNotReported DEACTIVE
        10:04 attached #1
        > 10:02:00 #1 FilledStatus 200 @ 305.000
        > 10:02:00 #3 VarietiesNotReported ACTIVE
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:03:00 #2 NewStatus RELEASED
        > #2 PROFIT_TAKER Sell LIT GTC trigger 310 limit 311 0 of 200 NewStatus RELEASED
        > #3 STOP_LOSS Sell MIT GTC trigger 300 limit - 0 of 200 VarietiesNotReported ACTIVE
        10:04 position 700.HK
        > 700.HK 200 available 0 cost 305.000 init \"\"";
    check(&format!(
        "{given}; 10:04 310 311.2 309 310 50000; 10:05 301 302 299 300 50000
        {until}
        10:10 now
        > 10:05:00 #2 FilledStatus 200 @ 311.000 RELEASED
        > 10:05:00 #3 CanceledStatus ACTIVE `take profit filled`"
    ));
    // The candle of 10:04 goes through the limit, and reaches the stop loss, too.
    check(&format!(
        "{given}; 10:04 310 311.2 299 300 50000; 10:05 301 302 299 300 50000
        {until}
        10:10 now
        > 10:05:00 #2 CanceledStatus RELEASED `stop loss triggered`
        > 10:05:00 #3 NewStatus RELEASED
        > 10:06:00 #3 FilledStatus 200 @ 301.000 RELEASED"
    ));
}

#[test]
fn each_partial_fill_is_protected() {
    check(
        "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        candle 700.HK 10:01 305 305 305 305 1000; 10:02 306.2 306.4 306.2 306.2 50000; 10:03 305 305 305 305 1000
        candle 700.HK 10:04 304 304 299 299 1000; 10:05 299 299 299 299 50000
        10:00:15 buy 400 700.HK LO 306 attach STOP_LOSS +stop 300
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        10:04:30 attached #1
        > 10:02:00 #1 PartialFilledStatus 100 @ 305.000
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:04:00 #1 PartialFilledStatus 100 @ 305.000
        > #2 STOP_LOSS Sell MIT Day trigger 300 limit - 0 of 400 VarietiesNotReported ACTIVE
        10:10 position 700.HK
        > 10:05:00 #1 PartialFilledStatus 100 @ 304.000
        > 10:05:00 #1 PartialWithdrawal `attached order triggered`
        > 10:05:00 #2 VarietiesNotReported ACTIVE
        > 10:05:00 #2 NewStatus RELEASED
        > 10:06:00 #2 FilledStatus 300 @ 299.000 RELEASED
        > 700.HK none",
    );
}

#[test]
fn a_candle_cannot_close_what_it_opened() {
    // The candle of 10:02 opens beyond the stop loss and also fills the rest of the main order. The
    // stop loss closes in it what the candle of 10:01 opened, and the rest in the next candle.
    check(
        "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        candle 700.HK 10:01 305 305 305 305 1000; 10:02 299 299 299 299 50000; 10:03 298 298 298 298 50000
        10:00:15 buy 400 700.HK LO 306 attach STOP_LOSS +stop 300
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        10:10 position 700.HK
        > 10:02:00 #1 PartialFilledStatus 100 @ 305.000
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:03:00 #1 FilledStatus 300 @ 299.000
        > 10:03:00 #2 NewStatus RELEASED
        > 10:03:00 #2 PartialFilledStatus 100 @ 299.000 RELEASED
        > 10:04:00 #2 FilledStatus 300 @ 298.000 RELEASED
        > 700.HK none",
    );
}

#[test]
fn the_end_of_an_unfilled_main_order_cancels_its_attached_orders() {
    check(&format!(
        "{BRACKET}
        10:00:30 cancel #1
        > 10:00:30 #1 WaitToCancel
        > 10:00:30 #1 PendingCancelStatus
        > 10:00:30 #1 CanceledStatus
        > 10:00:30 #3 CanceledStatus DEACTIVE `main order canceled`
        > 10:00:30 #2 CanceledStatus DEACTIVE `main order canceled`
        10:01 buy 100 700.HK LO 290 attach BRACKET +take 310 +stop 280
        > 10:01:00 #4 WaitToNew
        > 10:01:00 #4 NewStatus
        > 10:01:00 #5 VarietiesNotReported DEACTIVE
        > 10:01:00 #6 VarietiesNotReported DEACTIVE
        17:00 now
        > 16:10:00 #4 ExpiredStatus
        > 16:10:00 #6 CanceledStatus DEACTIVE `main order expired`
        > 16:10:00 #5 CanceledStatus DEACTIVE `main order expired`"
    ));
}

#[test]
fn the_attached_orders_of_a_partly_filled_order_close_what_it_filled() {
    check(
        "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        candle 700.HK 10:01 305 305 305 305 1000; 10:05 311 311 311 311 50000
        10:00:15 buy 400 700.HK LO 306 attach BRACKET +take 310 +stop 300
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        > 10:00:15 #3 VarietiesNotReported DEACTIVE
        10:03 cancel #1
        > 10:02:00 #1 PartialFilledStatus 100 @ 305.000
        > 10:02:00 #3 VarietiesNotReported ACTIVE
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:03:00 #1 WaitToCancel
        > 10:03:00 #1 PendingCancelStatus
        > 10:03:00 #1 PartialWithdrawal
        > 10:03:00 #3 VarietiesNotReported ACTIVE
        > 10:03:00 #2 VarietiesNotReported ACTIVE
        10:03 attached #1
        > #2 PROFIT_TAKER Sell MIT Day trigger 310 limit - 0 of 100 VarietiesNotReported ACTIVE
        > #3 STOP_LOSS Sell MIT Day trigger 300 limit - 0 of 100 VarietiesNotReported ACTIVE
        10:10 position 700.HK
        > 10:06:00 #2 NewStatus RELEASED
        > 10:06:00 #2 FilledStatus 100 @ 311.000 RELEASED
        > 10:06:00 #3 CanceledStatus ACTIVE `take profit filled`
        > 700.HK none",
    );
}

#[test]
fn a_rejected_order_has_no_attached_orders() {
    check(
        "mark 700.HK 305
        given cash HKD 1000
        10:00:15 buy 100 700.HK LO 305 attach BRACKET +take 310 +stop 300
        > 10:00:15 #1 RejectedStatus `insufficient funds`
        10:00:20 attached #1
        10:00:20 buy 100 700.HK LIT 305 trigger 304 attach BRACKET +take 310 +stop 300
        > 10:00:20 #2 VarietiesNotReported DEACTIVE
        > 10:00:20 #3 VarietiesNotReported DEACTIVE
        > 10:00:20 #4 VarietiesNotReported DEACTIVE
        candle 700.HK 10:01 304 305 303 304 50000
        10:05 now
        > 10:02:00 #2 RejectedStatus DEACTIVE `insufficient funds`
        > 10:02:00 #4 CanceledStatus DEACTIVE `main order rejected`
        > 10:02:00 #3 CanceledStatus DEACTIVE `main order rejected`",
    );
}

#[test]
fn another_sale_reduces_the_attached_orders() {
    bracket(
        "10:03 305 305 305 305 50000; 10:04 305 305 305 305 50000; 10:05 311 311 311 311 50000",
        "10:02:10 sell 100 700.HK MO
        > 10:02:10 #4 WaitToNew
        > 10:02:10 #4 NewStatus
        10:04 attached #1
        > 10:04:00 #4 FilledStatus 100 @ 305.000
        > 10:04:00 #3 VarietiesNotReported ACTIVE
        > 10:04:00 #2 VarietiesNotReported ACTIVE
        > #2 PROFIT_TAKER Sell MIT GTC trigger 310 limit - 0 of 100 VarietiesNotReported ACTIVE
        > #3 STOP_LOSS Sell MIT GTC trigger 300 limit - 0 of 100 VarietiesNotReported ACTIVE
        10:04 sell 100 700.HK MO
        > 10:04:00 #5 WaitToNew
        > 10:04:00 #5 NewStatus
        10:10 now
        > 10:06:00 #2 RejectedStatus ACTIVE `insufficient holdings`
        > 10:06:00 #5 FilledStatus 100 @ 311.000
        > 10:06:00 #3 CanceledStatus ACTIVE `position closed`",
    );
}

#[test]
fn the_oldest_attached_orders_are_reduced_first() {
    check(
        "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        candle 700.HK 10:01 305 305 305 305 50000; 10:03 305 305 305 305 50000
        10:00:15 buy 200 700.HK LO 306 attach STOP_LOSS +stop 300
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        10:00:16 buy 200 700.HK LO 306 attach STOP_LOSS +stop 301
        > 10:00:16 #3 WaitToNew
        > 10:00:16 #3 NewStatus
        > 10:00:16 #4 VarietiesNotReported DEACTIVE
        10:02:10 sell 300 700.HK MO
        > 10:02:00 #1 FilledStatus 200 @ 305.000
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:02:00 #3 FilledStatus 200 @ 305.000
        > 10:02:00 #4 VarietiesNotReported ACTIVE
        > 10:02:10 #5 WaitToNew
        > 10:02:10 #5 NewStatus
        10:05 attached #3
        > 10:04:00 #5 FilledStatus 300 @ 305.000
        > 10:04:00 #2 CanceledStatus ACTIVE `position closed`
        > 10:04:00 #4 VarietiesNotReported ACTIVE
        > #4 STOP_LOSS Sell MIT Day trigger 301 limit - 0 of 100 VarietiesNotReported ACTIVE
        10:05 given position 700.HK 0 1
        > 10:05:00 #4 CanceledStatus ACTIVE `position closed`",
    );
}

#[test]
fn attached_orders_never_open_a_position() {
    // 100 of the 300 cover a short position. Only the other 200 can be sold again.
    check(
        "clock US
        mark AAPL.US 190
        rate USD 7.8
        margin AAPL.US 0.5 0.3 0.25
        candle AAPL.US 10:01 190 190 190 190 50000; 10:02 184 184 184 184 50000
        given cash USD 100000
        given set fees none
        given position AAPL.US -100 190
        10:00:15 buy 100 AAPL.US LO 191 attach STOP_LOSS +stop 185
        > refused 602001 `attached orders are for an order that opens a position`
        10:00:15 buy 300 AAPL.US LO 191 attach STOP_LOSS +stop 185
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        10:05 position AAPL.US
        > 10:02:00 #1 FilledStatus 300 @ 190.000
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:03:00 #2 NewStatus RELEASED
        > 10:03:00 #2 FilledStatus 200 @ 184.000 RELEASED
        > AAPL.US none",
    );
}

#[test]
fn the_attached_orders_of_a_short_sale_buy_back() {
    check(
        "clock US
        mark AAPL.US 190
        rate USD 7.8
        margin AAPL.US 0.5 0.3 0.25
        candle AAPL.US 10:01 190 190 190 190 50000; 10:02 190 195 189 194 50000; 10:03 194 194 194 194 50000
        given cash USD 100000
        given set fees none
        10:00:15 sell 100 AAPL.US MO attach BRACKET +take 195 +stop 180
        > refused 602001 `profit_taker_price must be below 190`
        10:00:15 sell 100 AAPL.US MO attach BRACKET +take 180 +stop 195
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        > 10:00:15 #3 VarietiesNotReported DEACTIVE
        10:05 position AAPL.US
        > 10:02:00 #1 FilledStatus 100 @ 190.000
        > 10:02:00 #3 VarietiesNotReported ACTIVE
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:03:00 #2 CanceledStatus ACTIVE `stop loss triggered`
        > 10:03:00 #3 NewStatus RELEASED
        > 10:04:00 #3 FilledStatus 100 @ 194.000 RELEASED
        > AAPL.US none",
    );
}

#[test]
fn the_time_in_force_begins_with_the_first_fill() {
    // Filled on the second day: a day order ends on that day, and an order until the first day
    // expires at once.
    check(
        "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        day 2026-03-19
        candle 700.HK 10:01 305 305 305 305 50000
        day 2026-03-18
        10:00 buy 100 700.HK LO 306 tif GTC attach BRACKET +take 310 +stop 300 +tif Day
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        > 10:00:00 #2 VarietiesNotReported DEACTIVE
        > 10:00:00 #3 VarietiesNotReported DEACTIVE
        10:00 buy 100 700.HK LO 306 tif GTC attach STOP_LOSS +stop 300 +tif GTD +until 12:00
        > 10:00:00 #4 WaitToNew
        > 10:00:00 #4 NewStatus
        > 10:00:00 #5 VarietiesNotReported DEACTIVE
        day 2026-03-19
        10:05 now
        > 10:02:00 #1 FilledStatus 100 @ 305.000
        > 10:02:00 #3 VarietiesNotReported ACTIVE
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > 10:02:00 #4 FilledStatus 100 @ 305.000
        > 10:02:00 #5 ExpiredStatus DEACTIVE
        17:00 now
        > 16:10:00 #3 ExpiredStatus ACTIVE
        > 16:10:00 #2 ExpiredStatus ACTIVE",
    );
}

#[test]
fn an_extended_hours_leg_watches_extended_hours() {
    check(
        "clock US
        mark AAPL.US 190
        candle AAPL.US 15:58 190 190 190 190 50000; 16:05 184 184 184 184 50000; 16:06 183 183 183 183 50000
        given cash USD 100000
        given set fees none
        15:57:30 buy 100 AAPL.US LO 191 tif GTC attach STOP_LOSS +stop 185 +stop-limit 180 +rth ANY_TIME
        > 15:57:30 #1 WaitToNew
        > 15:57:30 #1 NewStatus
        > 15:57:30 #2 VarietiesNotReported DEACTIVE
        15:57:40 buy 100 AAPL.US LO 191 tif GTC attach STOP_LOSS +stop 185 +stop-limit 180
        > 15:57:40 #3 WaitToNew
        > 15:57:40 #3 NewStatus
        > 15:57:40 #4 VarietiesNotReported DEACTIVE
        17:00 now
        > 15:59:00 #1 FilledStatus 100 @ 190.000
        > 15:59:00 #2 VarietiesNotReported ACTIVE
        > 15:59:00 #3 FilledStatus 100 @ 190.000
        > 15:59:00 #4 VarietiesNotReported ACTIVE
        > 16:06:00 #2 NewStatus RELEASED
        > 16:06:00 #2 FilledStatus 100 @ 184.000 RELEASED",
    );
}

#[test]
fn wrong_terms_are_refused() {
    check(
        "mark 700.HK 305
        given cash HKD 500000
        10:00 buy 100 700.HK LO 306 attach BRACKET +stop 300
        > refused 602001 `profit_taker_price required`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +take 310
        > refused 602001 `stop_loss_price required`
        10:00 buy 100 700.HK LO 306 attach PROFIT_TAKER +take 306
        > refused 602001 `profit_taker_price must be above 306`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +stop 306
        > refused 602001 `stop_loss_price must be below 306`
        10:00 buy 100 700.HK MO attach STOP_LOSS +stop 305.2
        > refused 602001 `stop_loss_price must be below 305`
        10:00 buy 100 700.HK LIT 306 trigger 304 attach STOP_LOSS +stop 306.2
        > refused 602001 `stop_loss_price must be below 306`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +stop 300.1
        > refused 602001 `stop loss: price must be a multiple of 0.2`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +stop 300 +stop-limit 299.9
        > refused 602001 `stop loss: price must be a multiple of 0.2`
        10:00 buy 100 700.HK LO 306 attach PROFIT_TAKER +take 310 +take-limit 3000
        > refused 602001 `take profit: price too far from 305`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +stop 300 +type LO
        > refused 602001 `stop_loss_submit_price required`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +stop 300 +type ELO
        > refused 602001 `activate_order_type must be LO or MO, not ELO`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +stop 300 +tif GTD
        > refused 602001 `expire_time required`
        10:00 buy 50 700.HK ODD 306 attach STOP_LOSS +stop 300
        > refused 602001 `attached orders do not apply to ODD`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +stop -1
        > refused 602001 `stop_loss_price must be above 0`
        10:00 given set open_orders 2
        10:00 buy 100 700.HK LO 306 attach BRACKET +take 310 +stop 300
        > refused 602001 `at most 2 orders may be open: cancel some first`
        10:00 buy 100 700.HK LO 306 attach STOP_LOSS +take 1 +stop 300 +type MO +stop-limit 299
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        > 10:00:00 #2 VarietiesNotReported DEACTIVE",
    );
}

#[test]
fn a_replacement_of_the_main_order_resizes_its_attached_orders() {
    check(&format!(
        "{BRACKET}
        10:00:30 replace #1 300 price 309.8
        > 10:00:30 #1 WaitToReplace
        > 10:00:30 #1 PendingReplaceStatus
        > 10:00:30 #1 NewStatus
        > 10:00:30 #2 VarietiesNotReported DEACTIVE
        > 10:00:30 #3 VarietiesNotReported DEACTIVE
        10:00:30 attached #1
        > #2 PROFIT_TAKER Sell MIT GTC trigger 310 limit - 0 of 300 VarietiesNotReported DEACTIVE
        > #3 STOP_LOSS Sell MIT GTC trigger 300 limit - 0 of 300 VarietiesNotReported DEACTIVE
        10:00:40 replace #1 300 price 310
        > refused 602001 `profit_taker_price must be above 310`
        10:00:40 replace #1 300 price 310 attach PROFIT_TAKER +take 320
        > 10:00:40 #1 WaitToReplace
        > 10:00:40 #1 PendingReplaceStatus
        > 10:00:40 #1 NewStatus
        > 10:00:40 #2 VarietiesNotReported DEACTIVE
        10:00:40 attached #1
        > #2 PROFIT_TAKER Sell MIT GTC trigger 320 limit - 0 of 300 VarietiesNotReported DEACTIVE
        > #3 STOP_LOSS Sell MIT GTC trigger 300 limit - 0 of 300 VarietiesNotReported DEACTIVE"
    ));
}

#[test]
fn attached_orders_are_changed_through_their_main_order() {
    bracket(
        "10:03 305 305 305 305 50000; 10:04 302 302 302 302 50000",
        "10:02:30 replace #1 200 attach STOP_LOSS +stop 303 +stop-limit 298 +stop-id #3 +main #1
        > 10:02:30 #3 VarietiesNotReported ACTIVE
        10:02:30 attached #1
        > #2 PROFIT_TAKER Sell MIT GTC trigger 310 limit - 0 of 200 VarietiesNotReported ACTIVE
        > #3 STOP_LOSS Sell LIT GTC trigger 303 limit 298 0 of 200 VarietiesNotReported ACTIVE
        10:02:30 replace #1 200 attach STOP_LOSS +stop 305
        > refused 602001 `stop_loss_price must be below 305`
        10:02:30 replace #1 200 attach STOP_LOSS +stop 304 +stop-id #2
        > refused 602001 `stop_loss_id is not an open attached order of order 10000104000000001`
        10:02:30 replace #1 200 attach STOP_LOSS +stop 304 +main #2
        > refused 602001 `main_id is 10000104000000002, order_id 10000104000000001`
        10:02:30 replace #1 200 attach STOP_LOSS +quantity 300
        > refused 602001 `quantity must be at most 200, which order 10000104000000001 has opened`
        10:02:30 replace #1 300 attach STOP_LOSS +stop 304
        > refused 602001 `order is FilledStatus`
        10:02:30 replace #3 200 attach STOP_LOSS +stop 304
        > refused 602001 `order 10000104000000003 is attached to order 10000104000000001: change it there, or without attached_params`
        10:02:40 replace #1 200 attach STOP_LOSS +quantity 100
        > 10:02:40 #3 VarietiesNotReported ACTIVE
        10:10 attached #1
        > 10:05:00 #2 CanceledStatus ACTIVE `stop loss triggered`
        > 10:05:00 #3 NewStatus RELEASED
        > 10:05:00 #3 FilledStatus 100 @ 302.000 RELEASED
        > #2 PROFIT_TAKER Sell MIT GTC trigger 310 limit - 0 of 200 CanceledStatus ACTIVE
        > #3 STOP_LOSS Sell LIT GTC trigger 303 limit 298 100 of 100 FilledStatus RELEASED",
    );
}

#[test]
fn an_attached_order_is_replaced_and_cancelled_by_its_own_id() {
    bracket(
        "10:03 305 305 305 305 50000",
        "10:02:30 replace #2 200 trigger 312
        > 10:02:30 #2 VarietiesNotReported ACTIVE
        10:02:30 replace #2 200 trigger 304
        > refused 602001 `profit_taker_price must be above 305`
        10:02:30 replace #2 300 trigger 312
        > refused 602001 `quantity must be at most 200, which order 10000104000000001 has opened`
        10:02:40 cancel #2
        > 10:02:40 #2 CanceledStatus ACTIVE
        10:02:50 replace #1 200 attach PROFIT_TAKER +take 315 +quantity 100
        > 10:02:50 #4 VarietiesNotReported DEACTIVE
        > 10:02:50 #4 VarietiesNotReported ACTIVE
        10:02:50 attached #1
        > #2 PROFIT_TAKER Sell MIT GTC trigger 312 limit - 0 of 200 CanceledStatus ACTIVE
        > #3 STOP_LOSS Sell MIT GTC trigger 300 limit - 0 of 200 VarietiesNotReported ACTIVE
        > #4 PROFIT_TAKER Sell MIT GTC trigger 315 limit - 0 of 100 VarietiesNotReported ACTIVE
        10:03 replace #1 200 attach BRACKET +all cancel
        > 10:03:00 #3 CanceledStatus ACTIVE
        > 10:03:00 #4 CanceledStatus ACTIVE
        10:03 replace #1 200 attach BRACKET +all cancel
        > refused 602001 `order 10000104000000001 has no open attached orders`",
    );
}

#[test]
fn a_leg_can_be_added_before_the_fill() {
    check(
        "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        candle 700.HK 10:01 305 306 304 305 50000
        10:00:15 buy 200 700.HK LO 306
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        10:00:20 replace #1 200 attach BRACKET +take 310 +stop 300
        > 10:00:20 #2 VarietiesNotReported DEACTIVE
        > 10:00:20 #3 VarietiesNotReported DEACTIVE
        10:02 attached #1
        > 10:02:00 #1 FilledStatus 200 @ 305.000
        > 10:02:00 #3 VarietiesNotReported ACTIVE
        > 10:02:00 #2 VarietiesNotReported ACTIVE
        > #2 PROFIT_TAKER Sell MIT Day trigger 310 limit - 0 of 200 VarietiesNotReported ACTIVE
        > #3 STOP_LOSS Sell MIT Day trigger 300 limit - 0 of 200 VarietiesNotReported ACTIVE",
    );
}

#[test]
fn a_corporate_action_cancels_attached_orders() {
    bracket(
        "10:03 305 305 305 305 50000",
        "action 700.HK 2026-03-20 cash 1.5
        10:05 buy 100 700.HK LO 290 tif GTC attach STOP_LOSS +stop 280
        > 10:05:00 #4 WaitToNew
        > 10:05:00 #4 NewStatus
        > 10:05:00 #5 VarietiesNotReported DEACTIVE
        day 2026-03-20
        09:00 now
        > 00:00:00 #3 CanceledStatus ACTIVE `corporate action 2026-03-20`
        > 00:00:00 #2 CanceledStatus ACTIVE `corporate action 2026-03-20`
        > 00:00:00 #4 CanceledStatus `corporate action 2026-03-20`
        > 00:00:00 #5 CanceledStatus DEACTIVE `corporate action 2026-03-20`",
    );
}

#[test]
fn a_held_order_activates_its_attached_orders_with_its_fill() {
    check(
        "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        candle 700.HK 10:03 305 306 304 305 50000
        10:00:15 buy 100 700.HK LO 306 held 10:02:30 attach PROFIT_TAKER +take 310
        > 10:00:15 #1 DelayedNotReported
        > 10:00:15 #2 VarietiesNotReported DEACTIVE
        10:10 now
        > 10:02:30 #1 WaitToNew
        > 10:02:30 #1 NewStatus
        > 10:04:00 #1 FilledStatus 100 @ 305.000
        > 10:04:00 #2 VarietiesNotReported ACTIVE",
    );
}

#[test]
fn daily_candles_follow_the_same_rules() {
    // The days have no one-minute candles. The main order fills on the first day, and the daily
    // candle of the second day reaches both triggers.
    check(
        "mark 700.HK 305
        given cash HKD 500000
        given set fees none
        given set participation off
        daily 700.HK 305 311 299 305 900000
        day 2026-03-19
        daily 700.HK 305 311 299 305 900000
        day 2026-03-20
        daily 700.HK 304 305 303 304 900000
        day 2026-03-18
        09:00 buy 100 700.HK MO attach BRACKET +take 310 +stop 300 +tif GTC
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        > 09:00:00 #2 VarietiesNotReported DEACTIVE
        > 09:00:00 #3 VarietiesNotReported DEACTIVE
        17:00 now
        > 16:10:00 #1 FilledStatus 100 @ 305.000
        > 16:10:00 #3 VarietiesNotReported ACTIVE
        > 16:10:00 #2 VarietiesNotReported ACTIVE
        day 2026-03-20
        17:00 now
        > 2026-03-19 16:10:00 #2 CanceledStatus ACTIVE `stop loss triggered`
        > 2026-03-19 16:10:00 #3 NewStatus RELEASED
        > 16:10:00 #3 FilledStatus 100 @ 304.000 RELEASED",
    );
}
