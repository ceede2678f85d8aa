//! Coarse days, which have a daily candle but no one-minute candles: the worked examples, and cases
//! that the specification does not cover.

use crate::common::{check, play};

/// Account and candles of the examples, without fees or a volume limit.
const GIVEN: &str = "day 2026-03-17
        daily 700.HK 297 299 296 298.6 5000000
        day 2026-03-18
        daily 700.HK 300 310 295 308 9000000
        given cash HKD 500000
        given position 700.HK 1000 280
        given set fees none
        given set participation off";

fn coarse(script: &str) {
    check(&format!("{GIVEN}\n{script}"));
}

#[test]
fn dc1_a_market_order_from_the_evening_before_fills_at_the_open() {
    coarse(
        "day 2026-03-17
        17:00 buy 500 700.HK MO
        > 17:00:00 #1 NotReported
        17:00 cash HKD
        > HKD C 500000.00 F 156800.00
        day 2026-03-18
        16:09:59
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        16:10
        > 16:10:00 #1 FilledStatus 500 @ 300.000",
    );
}

#[test]
fn dc2_a_crossed_limit_fills_at_the_limit() {
    coarse(
        "09:00 buy 500 700.HK LO 296
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        17:00
        > 16:10:00 #1 FilledStatus 500 @ 296.000",
    );
}

#[test]
fn dc3_a_touched_limit_fills_only_with_the_setting() {
    coarse(
        "09:00 buy 500 700.HK LO 295
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        17:00
        > 16:10:00 #1 ExpiredStatus",
    );
    coarse(
        "given set touch touch
        09:00 buy 500 700.HK LO 295
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        17:00
        > 16:10:00 #1 FilledStatus 500 @ 295.000",
    );
}

#[test]
fn dc4_an_order_submitted_at_the_opening_does_not_fill() {
    coarse(
        "09:29:59 buy 100 700.HK LO 305
        > 09:29:59 #1 WaitToNew
        > 09:29:59 #1 NewStatus
        09:30:00 buy 500 700.HK LO 305
        > 09:30:00 #2 WaitToNew
        > 09:30:00 #2 NewStatus
        17:00
        > 16:10:00 #1 FilledStatus 100 @ 300.000
        > 16:10:00 #2 ExpiredStatus",
    );
}

#[test]
fn dc5_an_order_triggered_inside_a_day_fills_on_the_next_day() {
    coarse(
        "day 2026-03-19
        daily 700.HK 308.6 309.4 305 306 9000000
        day 2026-03-18
        09:00 mark? 700.HK
        > 298.60
        09:00 sell 500 700.HK LIT 309 trigger 309 tif GTC
        > 09:00:00 #1 VarietiesNotReported DEACTIVE
        16:09:59 mark? 700.HK
        > 298.60
        16:10 mark? 700.HK
        > 16:10:00 #1 NewStatus RELEASED
        > 308.00
        day 2026-03-19
        17:00
        > 16:10:00 #1 FilledStatus 500 @ 309.000 RELEASED",
    );
}

#[test]
fn dc6_an_open_below_the_limit_fills_at_the_open() {
    coarse(
        "09:00 buy 500 700.HK LO 302
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        17:00
        > 16:10:00 #1 FilledStatus 500 @ 300.000",
    );
}

#[test]
fn dc7_a_market_order_fills_a_share_of_the_days_volume() {
    check(
        "day 2026-03-17
        daily 700.HK 297 299 296 298.6 5000000
        day 2026-03-18
        daily 700.HK 300 310 295 308 3000
        given cash HKD 500000
        given set fees none
        day 2026-03-17
        17:00 buy 500 700.HK MO
        > 17:00:00 #1 NotReported
        day 2026-03-18
        17:00
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        > 16:10:00 #1 PartialFilledStatus 300 @ 300.000
        > 16:10:00 #1 ExpiredStatus",
    );
}

#[test]
fn dc8_a_day_with_a_one_minute_candle_is_not_coarse() {
    // A one-minute candle without volume and a closing-auction candle also make a day not coarse.
    for minute in ["14:00 299 299 298 298 40000", "10:00 299 299 299 299 0", "16:00 299 299 299 299 40000"] {
        coarse(&format!(
            "candle 700.HK {minute}
            09:00 buy 500 700.HK LO 296
            > 09:00:00 #1 WaitToNew
            > 09:00:00 #1 NewStatus
            17:00
            > 16:10:00 #1 ExpiredStatus"
        ));
    }
}

#[test]
fn a_day_order_triggered_inside_a_daily_candle_expires() {
    coarse(
        "09:00 sell 500 700.HK LIT 309 trigger 309
        > 09:00:00 #1 VarietiesNotReported DEACTIVE
        09:00 sell 300 700.HK MIT trigger 296
        > 09:00:00 #2 VarietiesNotReported DEACTIVE
        17:00
        > 16:10:00 #1 NewStatus RELEASED
        > 16:10:00 #2 NewStatus RELEASED
        > 16:10:00 #1 ExpiredStatus RELEASED
        > 16:10:00 #2 ExpiredStatus RELEASED",
    );
}

#[test]
fn an_order_released_by_a_gap_fills_last() {
    coarse(
        "09:00 sell 200 700.HK LIT 299 trigger 299.6
        > 09:00:00 #1 VarietiesNotReported DEACTIVE
        09:00 sell 100 700.HK MIT trigger 300
        > 09:00:00 #2 VarietiesNotReported DEACTIVE
        09:00 sell 100 700.HK LO 299
        > 09:00:00 #3 WaitToNew
        > 09:00:00 #3 NewStatus
        17:00
        > 16:10:00 #1 NewStatus RELEASED
        > 16:10:00 #2 NewStatus RELEASED
        > 16:10:00 #3 FilledStatus 100 @ 300.000
        > 16:10:00 #1 FilledStatus 200 @ 300.000 RELEASED
        > 16:10:00 #2 FilledStatus 100 @ 300.000 RELEASED",
    );
}

#[test]
fn repeated_touches_require_a_close_beyond_the_trigger() {
    coarse(
        "09:00 sell 100 700.HK LIT 300 trigger 309 count 2 tif GTC
        > 09:00:00 #1 VarietiesNotReported DEACTIVE
        09:00 sell 100 700.HK LIT 300 trigger 299 count 2 tif GTC
        > 09:00:00 #2 VarietiesNotReported DEACTIVE
        17:00
        > 16:10:00 #2 NewStatus RELEASED",
    );
}

#[test]
fn a_coarse_day_has_no_auctions() {
    coarse(
        "09:05 sell 100 700.HK AO
        > 09:05:00 #1 WaitToNew
        > 09:05:00 #1 NewStatus
        09:05 buy 100 700.HK ALO 300
        > 09:05:00 #2 WaitToNew
        > 09:05:00 #2 NewStatus
        09:05 buy 100 700.HK ALO 300.2
        > 09:05:00 #3 WaitToNew
        > 09:05:00 #3 NewStatus
        09:25 buy 100 700.HK ALO 310
        > 09:25:00 #4 WaitToNew
        > 09:25:00 #4 NewStatus
        10:00 sell 100 700.HK AO
        > 09:31:00 #1 CanceledStatus `auction is over`
        > 10:00:00 #5 WaitToNew
        > 10:00:00 #5 NewStatus
        17:00
        > 16:10:00 #2 FilledStatus 100 @ 300.000
        > 16:10:00 #3 FilledStatus 100 @ 300.000
        > 16:10:00 #5 CanceledStatus `auction is over`
        > 16:10:00 #4 ExpiredStatus",
    );
    // The order is matched as a limit order, and a limit at the day's low is not crossed.
    coarse(
        "09:05 buy 100 700.HK ALO 295
        > 09:05:00 #1 WaitToNew
        > 09:05:00 #1 NewStatus
        17:00
        > 16:10:00 #1 ExpiredStatus",
    );
}

#[test]
fn special_limit_and_odd_lot_orders_fill_from_a_daily_candle() {
    check(
        "day 2026-03-17
        daily 700.HK 297 299 296 298.6 5000000
        day 2026-03-18
        daily 700.HK 300 310 295 308 3000
        given cash HKD 500000
        given set fees none
        09:00 buy 500 700.HK SLO 301
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        09:00 buy 200 700.HK SLO 299
        > 09:00:00 #2 WaitToNew
        > 09:00:00 #2 NewStatus
        09:00 buy 50 700.HK ODD 301
        > 09:00:00 #3 WaitToNew
        > 09:00:00 #3 NewStatus
        09:40 buy 200 700.HK SLO 305
        > 09:40:00 #4 WaitToNew
        > 09:40:00 #4 NewStatus
        17:00
        > 16:10:00 #1 PartialFilledStatus 300 @ 300.000
        > 16:10:00 #3 FilledStatus 50 @ 301.000
        > 16:10:00 #1 PartialWithdrawal `not filled at once`
        > 16:10:00 #2 CanceledStatus `not filled at once`
        > 16:10:00 #4 ExpiredStatus",
    );
}

#[test]
fn a_daily_candle_without_volume_only_moves_the_mark() {
    check(
        "day 2026-03-17
        daily 700.HK 297 299 296 298.6 5000000
        day 2026-03-18
        daily 700.HK 300 310 295 308 0
        given cash HKD 500000
        09:00 buy 100 700.HK LO 320
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        09:00 buy 100 700.HK SLO 320
        > 09:00:00 #2 WaitToNew
        > 09:00:00 #2 NewStatus
        09:00 grid 700.HK base 300 spread 1 1 quantity 100 price 200 400 hold 100 500 tif 1
        > 09:00:00 grid 1 Performing 300
        17:00 mark? 700.HK
        > 16:10:00 #1 ExpiredStatus
        > 16:10:00 #2 ExpiredStatus
        > 308.00",
    );
}

#[test]
fn coarse_fills_off_prevents_fills_but_not_marks() {
    coarse(
        "given set coarse_fills off
        09:00 buy 500 700.HK LO 302
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        09:00 sell 100 700.HK MIT trigger 309 tif GTC
        > 09:00:00 #2 VarietiesNotReported DEACTIVE
        17:00 mark? 700.HK
        > 16:10:00 #1 ExpiredStatus
        > 308.00
        17:00 given set coarse_fills on
        day 2026-03-19
        daily 700.HK 309.2 309.4 305 306 9000000
        17:00
        > 16:10:00 #2 NewStatus RELEASED
        > 16:10:00 #2 FilledStatus 100 @ 309.200 RELEASED",
    );
}

#[test]
fn a_corporate_action_cancels_orders_but_leaves_the_mark() {
    coarse(
        "action 700.HK 2026-03-18 split 2
        day 2026-03-17
        17:00 buy 100 700.HK LO 310 tif GTC
        > 17:00:00 #1 NotReported
        day 2026-03-18
        12:00 mark? 700.HK
        > 00:00:00 #1 CanceledStatus `corporate action 2026-03-18`
        > 298.60
        17:00 mark? 700.HK
        > 308.00",
    );
}

#[test]
fn one_minute_candles_after_a_daily_candle_have_no_effect() {
    check(
        "mark 700.HK 298.6
        daily 700.HK 300 310 295 308 9000000 at 2026-03-18 18:30:05
        candle 700.HK 10:00 297 297 290 291 500000 at 19:00; 15:59 299 299 280 291 500000 at 19:00
        given cash HKD 500000
        given set fees none
        09:00 buy 100 700.HK LO 302
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        09:00 buy 100 700.HK LO 302 tif GTC
        > 09:00:00 #2 WaitToNew
        > 09:00:00 #2 NewStatus
        09:00 buy 100 700.HK LO 294 tif GTC
        > 09:00:00 #3 WaitToNew
        > 09:00:00 #3 NewStatus
        18:30:04 mark? 700.HK
        > 16:10:00 #1 ExpiredStatus
        > 298.60
        20:00 mark? 700.HK
        > 18:30:05 #2 FilledStatus 100 @ 300.000
        > 308.00",
    );
    // A day whose one-minute candles arrived first is not coarse.
    check(
        "mark 700.HK 298.6
        daily 700.HK 300 310 295 308 9000000 at 2026-03-18 18:30:05
        candle 700.HK 09:30 303 304 303 303 500000 at 18:00
        given cash HKD 500000
        09:00 buy 100 700.HK LO 302 tif GTC
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        20:00 mark? 700.HK
        > 303.00",
    );
}

#[test]
fn a_grid_sleeps_after_a_coarse_day_until_its_next_trigger() {
    coarse(
        "day 2026-03-19
        candle 700.HK 10:00 306 306 306 306 50000
        day 2026-03-18
        09:00 grid 700.HK base 300 spread 5 5 quantity 100 price 200 400 hold 100 5000 tif 1
        > 09:00:00 grid 1 Performing 300
        day 2026-03-19
        09:00
        > 2026-03-18 16:10:00 grid 1 Performing 300 asleep: needs one-minute candles
        10:01
        > 10:01:00 grid 1 Performing 306
        > 10:01:00 #1 WaitToNew
        > 10:01:00 #1 NewStatus",
    );
}

#[test]
fn daily_and_closing_auction_candles_share_one_queue() {
    coarse(
        "day 2026-03-17
        daily 5.HK 60 60 60 60 1000
        day 2026-03-18
        candle 5.HK 15:59 60 60 60 60 90000; 16:00 60 60 60 60 90000
        given position 5.HK 1000 50
        09:00 sell 100 700.HK LO 300.2
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        16:01 sell 100 5.HK LO 60
        > 16:01:00 #2 WaitToNew
        > 16:01:00 #2 NewStatus
        16:02 buy 100 5.HK LO 61
        > 16:02:00 #3 WaitToNew
        > 16:02:00 #3 NewStatus
        17:00
        > 16:10:00 #1 FilledStatus 100 @ 300.200
        > 16:10:00 #2 FilledStatus 100 @ 60.000
        > 16:10:00 #3 FilledStatus 100 @ 60.000",
    );
}

#[test]
fn a_fill_at_the_end_of_the_day_is_limited_by_funds() {
    check(
        "day 2026-03-17
        daily 700.HK 200 200 200 200 5000000
        day 2026-03-18
        daily 700.HK 300 310 295 308 9000000
        given cash HKD 105000
        given set fees none
        given set participation off
        09:00 buy 500 700.HK MO
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        09:00 cash HKD
        > HKD C 105000.00 F 105000.00
        17:00
        > 16:10:00 #1 PartialFilledStatus 300 @ 300.000
        > 16:10:00 #1 PartialWithdrawal `insufficient funds`",
    );
}

const US: &str = "clock US
        day 2026-03-17
        daily AAPL.US 190 192 189 191 5000000
        day 2026-03-18
        daily AAPL.US 192 196 188 195 9000000
        given cash USD 100000
        given position AAPL.US 100 150
        given set fees none";

fn us(script: &str) {
    check(&format!("{US}\n{script}"));
}

#[test]
fn an_any_time_order_fills_from_extended_hours_and_daily_candles() {
    us("candle AAPL.US 08:00 193 193 190 193 1000; 16:30 187 187 186 187 4000
        07:00 buy 400 AAPL.US LO 190.5 rth ANY_TIME
        > 07:00:00 #1 WaitToNew
        > 07:00:00 #1 NewStatus
        07:00 buy 100 AAPL.US LO 188 rth ANY_TIME
        > 07:00:00 #2 WaitToNew
        > 07:00:00 #2 NewStatus
        12:00 mark? AAPL.US
        > 08:01:00 #1 PartialFilledStatus 100 @ 190.500
        > 193.00
        16:00 mark? AAPL.US
        > 16:00:00 #1 FilledStatus 300 @ 190.500
        > 195.00
        21:00 mark? AAPL.US
        > 16:31:00 #2 FilledStatus 100 @ 187.000
        > 187.00");
}

#[test]
fn overnight_orders_never_fill_from_daily_candles() {
    us("09:00 buy 100 AAPL.US LO 195 rth OVERNIGHT
        > 09:00:00 #1 NotReported
        09:00 buy 10 AAPL.US MO rth ANY_TIME
        > 09:00:00 #2 NotReported
        17:00
        > 09:30:00 #2 WaitToNew
        > 09:30:00 #2 NewStatus
        > 16:00:00 #2 FilledStatus 10 @ 192.000");
}

#[test]
fn an_any_time_order_triggered_inside_a_day_fills_after_hours() {
    us("candle AAPL.US 16:30 187 187 186 187 4000
        09:00 sell 50 AAPL.US LIT 186.5 trigger 189 rth ANY_TIME
        > 09:00:00 #1 VarietiesNotReported DEACTIVE
        09:00 sell 50 AAPL.US LIT 200 trigger 195.5 rth ANY_TIME
        > 09:00:00 #2 VarietiesNotReported DEACTIVE
        21:00
        > 16:00:00 #1 NewStatus RELEASED
        > 16:00:00 #2 NewStatus RELEASED
        > 16:31:00 #1 FilledStatus 50 @ 187.000 RELEASED
        > 20:00:00 #2 ExpiredStatus RELEASED");
}

#[test]
fn an_order_released_premarket_fills_from_the_daily_candle() {
    us("candle AAPL.US 09:29 190 190 188.5 190 4000
        09:00 sell 50 AAPL.US LIT 190.5 trigger 189 rth ANY_TIME
        > 09:00:00 #1 VarietiesNotReported DEACTIVE
        09:00 buy 50 AAPL.US LO 193 held 09:30
        > 09:00:00 #2 DelayedNotReported
        21:00
        > 09:30:00 #1 NewStatus RELEASED
        > 09:30:00 #2 WaitToNew
        > 09:30:00 #2 NewStatus
        > 16:00:00 #1 FilledStatus 50 @ 192.000 RELEASED
        > 16:00:00 #2 FilledStatus 50 @ 192.000");
}

#[test]
fn trailing_orders_track_only_candles_that_may_fill_them() {
    // The first order is not released on the first day, and the next day opens below its stop. The
    // second order was submitted at the opening, so that day's candle does not move its stop. On
    // the next day, the close is 1 below the high.
    check(
        "clock US
        day 2026-03-17
        daily AAPL.US 190 192 189 191 5000000
        day 2026-03-18
        daily AAPL.US 192 196 190.5 195.5 9000000
        day 2026-03-19
        daily AAPL.US 194 194 193 193 9000000
        given position AAPL.US 100 150
        given set fees none
        day 2026-03-18
        09:00 sell 10 AAPL.US TSLPAMT amount 1 offset 0 tif GTC
        > 09:00:00 #1 VarietiesNotReported ACTIVE
        09:30 sell 10 AAPL.US TSLPAMT amount 1 offset 0 tif GTC
        > 09:30:00 #2 VarietiesNotReported ACTIVE
        16:00 stop #1
        > #1 stop 195.00
        16:00 stop #2
        > #2 stop 190.00
        day 2026-03-19
        17:00
        > 16:00:00 #1 NewStatus RELEASED
        > 16:00:00 #2 NewStatus RELEASED",
    );
}

#[test]
fn half_days_end_early() {
    // The half days are 2026-02-16 in Hong Kong and 2025-11-28 in New York.
    check(
        "day 2026-02-13
        daily 700.HK 297 299 296 298.6 5000000
        day 2026-02-16
        daily 700.HK 300 310 295 308 9000000
        given cash HKD 500000
        given set fees none
        09:00 buy 100 700.HK LO 302
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        12:09:59
        12:10
        > 12:10:00 #1 FilledStatus 100 @ 300.000",
    );
    check(
        "clock US
        day 2025-11-26
        daily AAPL.US 190 192 189 191 5000000
        day 2025-11-28
        daily AAPL.US 192 196 188 195 9000000
        given cash USD 100000
        given set fees none
        09:00 buy 10 AAPL.US LO 193
        > 09:00:00 #1 NotReported
        09:00 buy 10 AAPL.US LIT 190 trigger 194 rth ANY_TIME
        > 09:00:00 #2 VarietiesNotReported DEACTIVE
        21:00
        > 09:30:00 #1 WaitToNew
        > 09:30:00 #1 NewStatus
        > 13:00:00 #1 FilledStatus 10 @ 192.000
        > 13:00:00 #2 NewStatus RELEASED
        > 17:00:00 #2 ExpiredStatus RELEASED",
    );
}

#[test]
fn a_gtc_order_fills_from_one_minute_or_daily_candles() {
    check(
        "day 2026-03-17
        daily 700.HK 297 299 296 298.6 5000000
        day 2026-03-18
        daily 700.HK 300 310 295 308 1000
        day 2026-03-19
        daily 700.HK 294 300 290 296 9000
        candle 700.HK 10:00 294 295 294 295 2000
        day 2026-03-20
        daily 700.HK 294 310 290 308 9000
        given cash HKD 500000
        given set fees none
        day 2026-03-18
        09:00 buy 600 700.HK LO 296 tif GTC
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        day 2026-03-20
        17:00
        > 2026-03-18 16:10:00 #1 PartialFilledStatus 100 @ 296.000
        > 2026-03-19 10:01:00 #1 PartialFilledStatus 200 @ 294.000
        > 16:10:00 #1 FilledStatus 300 @ 294.000",
    );
}

#[test]
fn a_replaced_order_fills_only_after_its_replacement() {
    coarse(
        "day 2026-03-19
        daily 700.HK 300 310 295 308 9000000
        day 2026-03-18
        09:00 buy 100 700.HK LO 296 tif GTC
        > 09:00:00 #1 WaitToNew
        > 09:00:00 #1 NewStatus
        10:00 replace #1 200
        > 10:00:00 #1 WaitToReplace
        > 10:00:00 #1 PendingReplaceStatus
        > 10:00:00 #1 NewStatus
        day 2026-03-19
        17:00
        > 16:10:00 #1 FilledStatus 200 @ 296.000",
    );
}

#[test]
fn a_daily_candle_on_a_non_trading_day_is_ignored() {
    check(
        "day 2026-03-20
        daily 700.HK 297 299 296 298.6 5000000
        day 2026-03-21
        daily 700.HK 300 310 295 308 9000000
        given cash HKD 500000
        09:00 buy 100 700.HK LO 302 tif GTC
        > 09:00:00 #1 NotReported
        17:00 mark? 700.HK
        > 298.60",
    );
}

#[test]
fn options_need_one_minute_candles_but_underlyings_do_not() {
    check(
        "clock US
        day 2026-03-17
        daily AAPL260320C190000.US 3 3 3 3 500
        day 2026-03-18
        10:00 buy 1 AAPL260320C190000.US LO 3
        > refused 602001 `no quotes`",
    );
    check(
        "clock US
        day 2026-03-20
        daily AAPL.US 192 196 188 195 9000000
        given position AAPL260320C190000.US 2 3
        10:00
        16:00 cash USD
        > USD C 1000.00 F 0.00 settling 1000.00 withdraw 0.00",
    );
}

#[test]
fn settings_of_older_journals_allow_coarse_fills() {
    let player = play("10:00 now");
    let text = serde_json::to_string(&player.entries[0]).unwrap();
    assert!(!text.contains("coarse_fills"), "{text}");
    assert!(player.account.settings().coarse_fills);
}
