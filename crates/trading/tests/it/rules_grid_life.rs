//! The effects of client commands, time and corporate actions on a grid, and the validation of its
//! rule.

use crate::common::{check, play};

const GRID: &str = "base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000 up GTG down GTG";

#[test]
fn a_suspended_grid_leaves_its_orders_open() {
    check(&format!(
        "mark 700.HK 300
        candle 700.HK 10:01 300 301 300 300 50000; 10:03 301.2 305 301 305 50000; 10:05 305 305 305 305 50000
        given position 700.HK 500 300
        10:00 grid 700.HK {GRID}
        > 10:00:00 grid 1 Performing 300
        10:02:30 suspend 1
        > 10:02:00 grid 1 Performing 301
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:02:30 grid 1 Suspended 301 `user`
        10:04
        > 10:04:00 #1 FilledStatus 100 @ 301.200
        10:04 restart 1
        > 10:04:00 grid 1 Performing 301
        10:10 history 1
        > 10:06:00 grid 1 Performing 305
        > 10:06:00 #2 WaitToNew
        > 10:06:00 #2 NewStatus
        > 1 Performing
        > 2 Suspended `user`
        > 3 Performing"
    ));
}

#[test]
fn cancelling_or_replacing_a_grid_cancels_its_orders_first() {
    check(&format!(
        "mark 700.HK 300
        candle 700.HK 10:01 300 301 300 300 50000; 10:03 300 300 300 300 50000; 10:04 300 301 300 300 50000
        given position 700.HK 500 300
        10:00 grid 700.HK {GRID}
        > 10:00:00 grid 1 Performing 300
        10:02 regrid 1 {GRID} base 302
        > 10:02:00 grid 1 Performing 301
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:02:00 #1 CanceledStatus `grid replaced`
        > 10:02:00 grid 1 Performing 302
        10:03 suspend 1
        > 10:03:00 grid 1 Suspended 302 `user`
        10:03 regrid 1 {GRID} base 300.2
        > 10:03:00 grid 1 Suspended 300.2 `user`
        10:03 restart 1
        > 10:03:00 grid 1 Performing 300.2
        10:05:10 ungrid 1
        > 10:05:10 grid 1 Canceled 300.2
        10:05:20 ungrid 1
        > refused 602001 `grid order is Canceled`
        10:05:20 regrid 1 {GRID}
        > refused 602001 `grid order is Canceled`
        10:05:20 restart 1
        > refused 602001 `grid order is Canceled`
        10:05:20 suspend 1
        > refused 602001 `grid order is Canceled`
        10:05:20 suspend 2
        > refused 602001 `grid order not found`
        10:05:20 history 1
        > 1 Performing
        > 2 Performing replaced
        > 3 Suspended `user`
        > 4 Suspended `user` replaced
        > 5 Performing
        > 6 Canceled"
    ));
}

#[test]
fn grid_commands_are_refused_in_invalid_states() {
    check(&format!(
        "mark 700.HK 300
        10:00 grid 700.HK {GRID}
        > 10:00:00 grid 1 Performing 300
        10:00 restart 1
        > refused 602001 `grid order is Performing`
        10:01 suspend 1
        > 10:01:00 grid 1 Suspended 300 `user`
        10:01 suspend 1
        > refused 602001 `grid order is Suspended`
        10:01 ungrid 1
        > 10:01:00 grid 1 Canceled 300"
    ));
}

#[test]
fn a_day_grid_expires_at_the_end_of_continuous_trading() {
    // The last trigger is at the end of the session, and its order is cancelled when the grid
    // expires.
    check(&format!(
        "mark 700.HK 300
        candle 700.HK 15:59 300 301 300 300 50000; 16:00 305 305 305 305 50000
        given position 700.HK 500 300
        10:00 grid 700.HK {GRID} tif 0
        > 10:00:00 grid 1 Performing 300
        17:00 history 1
        > 16:00:00 grid 1 Performing 301
        > 16:00:00 #1 WaitToNew
        > 16:00:00 #1 NewStatus
        > 16:00:00 #1 CanceledStatus `grid expired`
        > 16:00:00 grid 1 Expired 301
        > 1 Performing
        > 2 Expired"
    ));
    // A grid submitted after the close belongs to the next trading day. Replacing the grid does not
    // change its expiry.
    check(&format!(
        "mark 700.HK 300
        16:00 grid 700.HK {GRID} tif 0
        > 16:00:00 grid 1 Performing 300
        16:05 regrid 1 {GRID} tif 0
        > 16:05:00 grid 1 Performing 300
        day 2026-03-19
        15:59:59 now
        16:00
        > 16:00:00 grid 1 Expired 300"
    ));
    check(&format!(
        "clock US
        mark AAPL.US 300
        10:00 grid AAPL.US {GRID} tif 0 rth 2
        > 10:00:00 grid 1 Performing 300
        16:00
        > 16:00:00 grid 1 Expired 300"
    ));
}

#[test]
fn a_suspended_grid_expires() {
    check(&format!(
        "mark 700.HK 300
        10:00 grid 700.HK {GRID} tif 6 until 10:30:30
        > 10:00:00 grid 1 Performing 300
        10:10 suspend 1
        > 10:10:00 grid 1 Suspended 300 `user`
        11:00
        > 10:30:30 grid 1 Expired 300"
    ));
}

#[test]
fn a_corporate_action_suspends_a_grid() {
    check(&format!(
        "day 2026-05-15
        mark 700.HK 300
        action 700.HK 2026-05-18 split 2
        candle 700.HK 15:00 300 300 299 299 50000; 15:01 298.8 299 298.8 299 50000; 15:02 299 300 299 300 50000
        given cash HKD 500000
        given position 700.HK 500 300
        14:00 grid 700.HK {GRID} tif 1
        > 14:00:00 grid 1 Performing 300
        16:00
        > 15:01:00 grid 1 Performing 299
        > 15:01:00 #1 WaitToNew
        > 15:01:00 #1 NewStatus
        > 15:02:00 #1 FilledStatus 100 @ 298.800
        > 15:03:00 grid 1 Performing 300
        > 15:03:00 #2 WaitToNew
        > 15:03:00 #2 NewStatus
        day 2026-05-18
        09:00 history 1
        > 2026-05-15 16:10:00 #2 ExpiredStatus
        > 00:00:00 grid 1 Suspended 300 `corporate action`
        > 1 Performing
        > 2 Suspended `corporate action`
        09:00 restart 1
        > 09:00:00 grid 1 Performing 300"
    ));
}

#[test]
fn a_split_adjusts_a_grids_position() {
    // 100 shares bought for 29,880 become 200 shares, which are sold at the bound for 27,600.
    check(&format!(
        "day 2026-05-15
        mark 700.HK 300
        action 700.HK 2026-05-18 split 2
        candle 700.HK 15:00 300 300 299 299 50000; 15:01 298.8 299 298.8 299 50000
        given cash HKD 500000
        14:00 grid 700.HK {GRID}
        > 14:00:00 grid 1 Performing 300
        16:00
        > 15:01:00 grid 1 Performing 299
        > 15:01:00 #1 WaitToNew
        > 15:01:00 #1 NewStatus
        > 15:02:00 #1 FilledStatus 100 @ 298.800
        day 2026-05-18
        candle 700.HK 10:01 139 139 139 139 50000; 10:02 138 138 138 138 50000
        09:00 regrid 1 {GRID} base 150 price 140 160 events 2 2
        > 00:00:00 grid 1 Suspended 299 `corporate action`
        > 09:00:00 grid 1 Suspended 150 `corporate action`
        09:00 restart 1
        > 09:00:00 grid 1 Performing 150
        10:05 grid? 1
        > 10:02:00 #2 WaitToNew
        > 10:02:00 #2 NewStatus
        > 10:02:00 grid 1 Canceled 150
        > 10:03:00 #2 FilledStatus 200 @ 138.000
        > grid 1 Canceled base 150 (300 before) 1 times bought 100 sold 200 profit -2280"
    ));
}

#[test]
fn a_grid_is_not_cancelled_in_the_no_cancel_period() {
    check(&format!(
        "mark 700.HK 300
        candle 700.HK 15:59 300 301 300 300 50000
        given position 700.HK 500 300
        10:00 grid 700.HK {GRID}
        > 10:00:00 grid 1 Performing 300
        16:07 ungrid 1
        > 16:00:00 grid 1 Performing 301
        > 16:00:00 #1 WaitToNew
        > 16:00:00 #1 NewStatus
        > refused 602001 `orders of the grid cannot be changed from 16:06 to 16:10`
        16:10 ungrid 1
        > 16:10:00 #1 ExpiredStatus
        > 16:10:00 grid 1 Canceled 301"
    ));
}

#[test]
fn grids_of_one_symbol_are_processed_by_number() {
    check(&format!(
        "mark 700.HK 300
        candle 700.HK 10:01 300 301 300 300 50000
        given position 700.HK 500 300
        10:00 grid 700.HK {GRID}
        > 10:00:00 grid 1 Performing 300
        10:00 grid 700.HK {GRID} spread 0.4 1
        > 10:00:00 grid 2 Performing 300
        10:02
        > 10:02:00 grid 1 Performing 301
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:02:00 grid 2 Performing 300.4
        > 10:02:00 #2 WaitToNew
        > 10:02:00 #2 NewStatus
        > 10:02:00 grid 2 Performing 300.8
        > 10:02:00 #3 WaitToNew
        > 10:02:00 #3 NewStatus"
    ));
}

#[test]
fn the_questionnaire_is_required_if_the_setting_is_on() {
    check(&format!(
        "mark 700.HK 300
        given set grid_questionnaire on
        10:00 grid 700.HK {GRID}
        > refused 602001 `the strategy questionnaire has not been answered`
        10:00 agree
        10:00 agree
        10:00 grid 700.HK {GRID}
        > 10:00:00 grid 1 Performing 300"
    ));
}

/// Submits a grid and returns the output, or `taken` if the grid was accepted with its default
/// base. If a parameter is repeated, the last value applies.
fn refused(of: &str, words: &str) -> String {
    let mut player =
        play("mark 700.HK 300\nmark AAPL.US 300\nsecurity HSI.HK index lot 1\nmark HSI.HK 20000");
    let lines = player.line(&format!("10:00 grid {of} {GRID} {words}"));
    lines.join("; ").replace("10:00:00 grid 1 Performing 300", "taken")
}

#[test]
fn invalid_rules_are_refused() {
    for (words, expected) in [
        ("", "taken"),
        ("base 290", "10:00:00 grid 1 Performing 290"),
        ("base 310", "10:00:00 grid 1 Performing 310"),
        ("without base", "refused 602080 `submitted_base_price required`"),
        ("without upper", "refused 602080 `upper_limit_price required`"),
        ("without quantity", "refused 602080 `trigger_quantity required`"),
        ("without hold", "refused 602080 `lower_limit_quantity required`"),
        ("without type", "refused 602080 `trigger_price_type required`"),
        ("type 3", "refused 602080 `trigger_price_type must be 1 or 2`"),
        ("type 2", "refused 602080 `trigger_percent_up required`"),
        ("without tif", "refused 602080 `time_in_force required`"),
        ("tif 2", "refused 602080 `time_in_force must be 0, 1 or 6`"),
        ("tif 6", "refused 602080 `expire_time required`"),
        ("tif 6 until 10:00", "refused 602080 `expire_time must be within the next 366 days`"),
        ("tif 1 until 09:00", "taken"),
        ("rth 3", "refused 602080 `rth must be 0, 1 or 2`"),
        ("events 3 1", "refused 602080 `lower_limit_event must be 1 or 2`"),
        ("events 0 0", "taken"),
        ("events 1 -1", "refused 602080 `upper_limit_event must be 1 or 2`"),
        ("depth 6 0", "refused 602080 `trigger_sell_depth must be from -5 to 5`"),
        ("depth 0 -6", "refused 602080 `trigger_buy_depth must be from -5 to 5`"),
        ("depth 5 -5", "taken"),
        ("up GGG", "refused 602001 `grid_order_type_up must be GMO, GLO or GTG`"),
        ("price 310 290", "refused 602001 `upper_limit_price must be above lower_limit_price`"),
        ("price 300 300", "refused 602001 `upper_limit_price must be above lower_limit_price`"),
        ("price 0 310", "refused 602001 `lower_limit_price must be above 0`"),
        (
            "base 310.2",
            "refused 602001 `submitted_base_price must lie within lower_limit_price and upper_limit_price`",
        ),
        ("base -1", "refused 602001 `submitted_base_price must be above 0`"),
        ("spread 0 1", "refused 602001 `trigger_spread_up must be above 0`"),
        ("percent 1 0", "refused 602001 `trigger_percent_down must be above 0`"),
        ("quantity 0", "refused 602001 `trigger_quantity must be above 0`"),
        ("quantity 150", "refused 602001 `quantity must be a multiple of 100`"),
        ("quantity 300100", "refused 602001 `order too large`"),
        ("hold 0 500", "refused 602001 `lower_limit_quantity must be above 0`"),
        ("hold 500 500", "refused 602001 `upper_limit_quantity must be above lower_limit_quantity`"),
    ] {
        assert_eq!(refused("700.HK", words), expected, "{words}");
    }
}

#[test]
fn grids_on_untradable_securities_are_refused() {
    assert_eq!(refused("AAPL.US", "quantity 1"), "taken");
    assert_eq!(refused("AAPL.US", "quantity 0.5"), "refused 602001 `quantity must be a multiple of 1`");
    assert_eq!(refused("AAPL.US in USD", ""), "taken");
    assert_eq!(refused("AAPL.US in HKD", ""), "refused 602001 `settlement_currency must be USD`");
    assert_eq!(refused("HSI.HK", ""), "refused 602001 `symbol not tradable`");
    assert_eq!(refused("600519.SH", ""), "refused 602001 `symbol not tradable`");
}

#[test]
fn the_number_of_open_grids_is_limited() {
    let mut player = play("mark 700.HK 300");
    for _ in 0..100 {
        player.line(&format!("10:00 grid 700.HK {GRID}"));
    }
    let refused = format!("10:00 grid 700.HK {GRID}");
    assert_eq!(player.line(&refused), ["refused 602001 `at most 100 grids may be open`"]);
    player.line("10:00 ungrid 50");
    assert_eq!(player.line(&refused), ["10:00:00 grid 101 Performing 300"]);
}
