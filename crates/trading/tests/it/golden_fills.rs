//! The worked examples of fills. Unless stated otherwise, the date is 2026-03-18, the lot is 100
//! shares, and the fees are standard.

use crate::common::{Player, check, play, play_as};

#[test]
fn g1_a_limit_above_the_open_fills_at_the_open() {
    check(
        "candle 700.HK 10:00 305 305 300 305 50000; 10:01 305.2 305.8 305 305.6 50000
        given cash HKD 500000
        10:00:15 buy 200 700.HK LO 306.00
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        10:01:30 cash HKD
        > HKD C 500000.00 F 61284.77 (fees 84.77)
        10:02 cash HKD
        > 10:02:00 #1 FilledStatus 200 @ 305.200
        > HKD C 438875.25 F 0.00 settling -61124.75 withdraw 438875.25
        10:02 position 700.HK
        > 700.HK 200 available 200 cost 305.200 init \"\"",
    );
}

const G3: &str = "candle 700.HK 10:01 305.2 305.8 305 305.6 50000; 10:02 305.6 305.6 304.8 305 50000
        given cash HKD 500000";

#[test]
fn g3_a_touched_limit_is_not_filled() {
    check(&format!(
        "{G3}
        10:00:15 buy 200 700.HK LO 305.00
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        10:05 detail #1
        > 10:03:00 #1 FilledStatus 200 @ 305.000
        > #1 LO Day UnknownOutsideRth FilledStatus price 305 200 of 200 at 305.000 fees 83.75"
    ));
    check(&format!(
        "{G3}
        given set touch touch
        10:00:15 buy 200 700.HK LO 305.00
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        10:05
        > 10:02:00 #1 FilledStatus 200 @ 305.000"
    ));
}

#[test]
fn g4_a_sale_before_the_opening_fills_at_the_open() {
    check(
        "candle 700.HK 09:30 312 313 311 311.4 80000
        given position 700.HK 100 300
        09:10 sell 100 700.HK LO 310.00
        > 09:10:00 #1 WaitToNew
        > 09:10:00 #1 NewStatus
        09:31 cash HKD
        > 09:31:00 #1 FilledStatus 100 @ 312.000
        > HKD C 31149.04 F 0.00 settling 31149.04 withdraw 0.00
        09:31 detail #1
        > #1 LO Day UnknownOutsideRth FilledStatus price 310 100 of 100 at 312.000 fees 50.96",
    );
}

const G5: &str = "clock US
        day 2026-05-04
        mark AAPL.US 190.00
        candle AAPL.US 09:46 190 190.2 189.9 190.1 4000; 09:47 190.1 190.4 190.05 190.3 5000; 09:48 190.32 190.5 190.3 190.45 8000
        given cash USD 500000
        09:45:30 buy 1000 AAPL.US MO";

#[test]
fn g5_a_market_order_takes_a_tenth_of_each_candles_volume() {
    check(&format!(
        "{G5}
        > 09:45:30 #1 WaitToNew
        > 09:45:30 #1 NewStatus
        09:47:00 fees #1
        > 09:47:00 #1 PartialFilledStatus 400 @ 190.000
        > PLATFORM 2.00 · CLEARING 1.20 = 3.20
        09:48:00 fees #1
        > 09:48:00 #1 PartialFilledStatus 500 @ 190.100
        > PLATFORM 4.50 · CLEARING 2.70 = 7.20
        09:50 detail #1
        > 09:49:00 #1 FilledStatus 100 @ 190.320
        > #1 MO Day RTH_ONLY FilledStatus price - 1000 of 1000 at 190.082 fees 8.00"
    ));
}

#[test]
fn g7_all_orders_share_a_candles_volume_budget() {
    check(
        "candle 700.HK 10:01 50.4 50.6 50.3 50.5 4000; 10:02 50.55 50.7 50.45 50.6 5000
        given cash HKD 500000
        10:00:10 buy 300 700.HK LO 50.50
        > 10:00:10 #1 WaitToNew
        > 10:00:10 #1 NewStatus
        10:00:20 buy 300 700.HK LO 51.00
        > 10:00:20 #2 WaitToNew
        > 10:00:20 #2 NewStatus
        10:05
        > 10:02:00 #1 FilledStatus 300 @ 50.400
        > 10:02:00 #2 PartialFilledStatus 100 @ 50.400
        > 10:03:00 #2 FilledStatus 200 @ 50.550",
    );
}

#[test]
fn g8_a_touch_inside_a_candle_releases_the_order_at_the_end() {
    check(
        "mark 700.HK 305.00
        candle 700.HK 10:01 305.2 306.4 305 306.2 50000; 10:02 306.6 306.8 306 306.4 50000
        given cash HKD 500000
        10:00:15 buy 100 700.HK LIT 307.00 trigger 306.00
        > 10:00:15 #1 VarietiesNotReported DEACTIVE
        10:05
        > 10:02:00 #1 NewStatus RELEASED
        > 10:03:00 #1 FilledStatus 100 @ 306.600 RELEASED",
    );
}

#[test]
fn g10_a_market_if_touched_order_fills_in_the_next_candle() {
    check(
        "mark 700.HK 305.00
        candle 700.HK 10:01 301 301.2 299.6 300.2 50000; 10:02 299.8 300.4 299 300 50000
        given position 700.HK 100 290
        10:00 sell 100 700.HK MIT trigger 300.00
        > 10:00:00 #1 VarietiesNotReported DEACTIVE
        10:05
        > 10:02:00 #1 NewStatus RELEASED
        > 10:03:00 #1 FilledStatus 100 @ 299.800 RELEASED",
    );
}

#[test]
fn g11_a_trailing_sale_is_released_at_its_stop() {
    check(
        "clock US
        mark AAPL.US 190.00
        candle AAPL.US 10:01 190 191.5 189.8 191.2 60000; 10:02 191.2 192 190.2 191.8 60000
        candle AAPL.US 10:03 191.7 191.9 189.9 190.3 60000; 10:04 190.1 190.4 189.7 189.9 60000
        given position AAPL.US 100 150
        10:00:15 sell 100 AAPL.US TSLPAMT amount 2.00 offset 0.50
        > 10:00:15 #1 VarietiesNotReported ACTIVE
        10:01:59 stop #1
        > #1 stop 188.00
        10:02 stop #1
        > #1 stop 189.50
        10:03 stop #1
        > #1 stop 190.00
        10:04 detail #1
        > 10:04:00 #1 NewStatus RELEASED
        > #1 TSLPAMT Day RTH_ONLY NewStatus price 189.5 0 of 100 at 0 fees 0.00
        10:05
        > 10:05:00 #1 FilledStatus 100 @ 190.100 RELEASED",
    );
}

#[test]
fn g13_a_closing_auction_fills_orders_at_its_close() {
    check(
        "mark 700.HK 305.00
        candle 700.HK 16:00 305 305 304.6 304.6 900000
        given cash HKD 500000
        given position 700.HK 200 290
        15:30 buy 100 700.HK LO 304.80
        > 15:30:00 #1 WaitToNew
        > 15:30:00 #1 NewStatus
        16:03 sell 200 700.HK AO
        > 16:03:00 #2 WaitToNew
        > 16:03:00 #2 NewStatus
        16:09:59 flows
        > Deposit 500000.00 HKD
        16:10
        > 16:10:00 #1 FilledStatus 100 @ 304.600
        > 16:10:00 #2 FilledStatus 200 @ 304.600
        16:10 fees #1
        > PLATFORM 15.00 · STAMP_DUTY 31.00 · TRADING_FEE 1.72 · SFC_LEVY 0.82 · AFRC_LEVY 0.05 · SETTLEMENT 1.28 = 49.87
        16:10 detail #2
        > #2 AO Day UnknownOutsideRth FilledStatus price - 200 of 200 at 304.600 fees 83.73
        16:10 cash HKD
        > HKD C 530326.40 F 0.00 settling 30326.40 withdraw 469490.13",
    );
}

#[test]
fn g14_an_unfilled_auction_limit_order_becomes_a_limit_order() {
    check(
        "candle 700.HK 09:30 301 301 300.2 300.4 60000; 09:31 300.2 300.4 299.6 300 60000
        given cash HKD 500000
        09:05 buy 100 700.HK ALO 300.00
        > 09:05:00 #1 WaitToNew
        > 09:05:00 #1 NewStatus
        09:31:59
        10:00
        > 09:32:00 #1 FilledStatus 100 @ 300.000",
    );
}

#[test]
fn g16_a_cancelled_order_does_not_fill_from_the_running_candle() {
    check(
        "candle 700.HK 10:01 305.2 305.4 304 304.2 50000
        given cash HKD 500000
        10:00:15 buy 200 700.HK LO 305.00
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        10:01:30 cancel #1
        > 10:01:30 #1 WaitToCancel
        > 10:01:30 #1 PendingCancelStatus
        > 10:01:30 #1 CanceledStatus
        10:05 cash HKD
        > HKD C 500000.00 F 0.00",
    );
}

#[test]
fn g18_a_day_order_expires_after_the_closing_auction() {
    check(
        "candle 700.HK 16:00 304.6 304.6 304.6 304.6 900000
        given cash HKD 500000
        15:59:30 buy 200 700.HK LO 290.00
        > 15:59:30 #1 WaitToNew
        > 15:59:30 #1 NewStatus
        16:09:59 cash HKD
        > HKD C 500000.00 F 58080.38 (fees 80.38)
        16:10 cash HKD
        > 16:10:00 #1 ExpiredStatus
        > HKD C 500000.00 F 0.00
        16:10 fees #1
        >  = 0.00",
    );
}

#[test]
fn g19_a_market_order_waits_for_regular_hours() {
    check(
        "clock US
        mark AAPL.US 190.00
        candle AAPL.US 08:01 190.1 190.2 190 190.1 500; 09:30 190.5 190.6 190.4 190.5 9000
        given cash USD 100000
        08:00:30 buy 10 AAPL.US MO rth ANY_TIME
        > 08:00:30 #1 NotReported
        08:00:30 detail #1
        > #1 MO Day RTH_ONLY NotReported price - 0 of 10 at 0 fees 0.00
        09:29:59 detail #1
        > #1 MO Day RTH_ONLY NotReported price - 0 of 10 at 0 fees 0.00
        10:00
        > 09:30:00 #1 WaitToNew
        > 09:30:00 #1 NewStatus
        > 09:31:00 #1 FilledStatus 10 @ 190.500",
    );
}

#[test]
fn g21_an_order_is_rejected_for_insufficient_funds() {
    check(
        "given cash HKD 61000
        10:00 buy 200 700.HK LO 305.00
        > 10:00:00 #1 RejectedStatus `insufficient funds`
        10:00 cash HKD
        > HKD C 61000.00 F 0.00",
    );
    // One cent less than the required amount.
    check(
        "given cash HKD 61083.75
        10:00 buy 200 700.HK LO 305.00
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus",
    );
    check(
        "given cash HKD 61083.74
        10:00 buy 200 700.HK LO 305.00
        > 10:00:00 #1 RejectedStatus `insufficient funds`",
    );
}

/// Checks whether a Hong Kong limit price is on a tick on a date.
fn tick(day: &str, price: &str, expected: &str) {
    let outcome = if expected == "ok" {
        "> 10:00:00 #1 WaitToNew\n> 10:00:00 #1 NewStatus".to_owned()
    } else {
        format!("> refused 602001 `price must be a multiple of {expected}`")
    };
    check(&format!("day {day}\ngiven cash HKD 1000000\n10:00 buy 100 700.HK LO {price}\n{outcome}"));
}

#[test]
fn g22_ticks_depend_on_the_date() {
    tick("2026-09-01", "9.995", "ok");
    tick("2026-09-01", "10.005", "0.01");
    tick("2026-09-01", "20.02", "ok");
    tick("2026-09-01", "500.00", "ok");
    tick("2026-09-01", "500.20", "0.5");
    tick("2026-09-01", "500.50", "ok");
    tick("2026-09-01", "305.25", "0.2");
    tick("2026-07-31", "9.995", "0.01");
    tick("2025-08-01", "20.02", "0.05");
    tick("2025-08-01", "20.05", "ok");
    // The price has more decimals than any tick table.
    tick("2026-09-01", "305.2000000001", "0.2");
}

#[test]
fn g23_an_odd_lot_needs_an_odd_lot_order() {
    check(
        "given position 700.HK 250 300
        10:00 sell 250 700.HK LO 305.00
        > refused 602001 `quantity must be a multiple of 100`
        10:00 sell 200 700.HK LO 305.00
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 sell 50 700.HK ODD 305.00
        > 10:00:00 #2 WaitToNew
        > 10:00:00 #2 NewStatus
        10:00 position 700.HK
        > 700.HK 250 available 0 cost 300.000 init 250",
    );
}

#[test]
fn t2_a_clock_jump_gives_the_same_result() {
    check(
        "candle 700.HK 10:00 305 305 300 305 50000; 10:01 305.2 305.8 305 305.6 50000
        given cash HKD 500000
        10:00:15 buy 200 700.HK LO 306.00
        > 10:00:15 #1 WaitToNew
        > 10:00:15 #1 NewStatus
        10:00:30
        16:30 cash HKD
        > 10:02:00 #1 FilledStatus 200 @ 305.200
        > HKD C 438875.25 F 0.00 settling -61124.75 withdraw 438875.25",
    );
}

#[test]
fn t4_steps_and_account_numbers_do_not_affect_the_journal() {
    let whole = play(&format!("{G5}\n10:00"));
    let stepped = |account: u64| {
        let mut player = play_as(account, G5);
        let start = player.instant("09:45:30");
        for second in 0..900 {
            player.advance(market::Timestamp(start.0 + second));
        }
        player
    };
    let (slow, other) = (stepped(whole.account.number()), stepped(77));
    assert_eq!(whole.entries, slow.entries);
    assert_eq!(
        whole.pushes().map(|push| format!("{push:?}")).collect::<Vec<_>>(),
        slow.pushes().map(|push| format!("{push:?}")).collect::<Vec<_>>()
    );
    // Renumber both journals to the same account.
    let text = |player: &Player, account: u64| -> Vec<String> {
        let entries = player.entries.iter().cloned().map(|entry| entry.of_account(account));
        entries.map(|entry| serde_json::to_string(&entry).unwrap()).collect()
    };
    let other_whole = play_as(77, &format!("{G5}\n10:00"));
    assert_eq!(other.entries, other_whole.entries);
    assert_ne!(text(&other, 77), text(&whole, whole.account.number()));
    assert_eq!(text(&other, 77), text(&whole, 77));
    assert_eq!(whole.entries, play(&format!("{G5}\n09:47:10\n10:00")).entries);
}
