//! The effects of candles on a grid.

use crate::common::{Player, check, play};

/// Runs a grid with steps of 1 between 290 and 310, on an account with HKD 500,000 and 500 shares
/// at 300.
fn check_candles(options: &str, candles: &str, expected: &str) {
    check(&format!(
        "mark 700.HK 300
        candle 700.HK {candles}
        given cash HKD 500000
        given position 700.HK 500 300
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000 up GTG down GTG {options}
        > 10:00:00 grid 1 Performing 300
        10:20 bases
        {expected}"
    ));
}

#[test]
fn levels_are_rounded_away_from_the_base() {
    // The tick is 0.2. 305.2 plus 1.5 % is 309.778, and minus 1.5 % is 300.622. 499.8 plus 0.3 is
    // in the next tick band.
    let levels = |base: &str, step: &str| {
        let mut player = play(&format!(
            "mark 700.HK 300
            10:00 grid 700.HK base {base} {step} quantity 100 price 1 9000 hold 100 500"
        ));
        player.line("10:00 levels 1").join("")
    };
    assert_eq!(levels("305.2", "percent 1.5 1.5"), "sells at 309.8, buys at 300.6");
    assert_eq!(levels("300", "percent 2 2"), "sells at 306, buys at 294");
    assert_eq!(levels("300", "spread 0.05 0.05"), "sells at 300.2, buys at 299.8");
    assert_eq!(levels("499.8", "spread 0.3 0.3"), "sells at 500.5, buys at 499.4");
    assert_eq!(levels("305.25", "spread 1 1"), "sells at 306.4, buys at 304.2");
}

#[test]
fn only_the_path_to_the_nearer_extreme_triggers() {
    let sold = "> 301 Sell 100 level\n> base 301";
    let bought = "> 299 Buy 100 level\n> base 299";
    for (candle, expected) in [
        ("300 301 299.4 300", sold),
        ("300 300.8 299 300", bought),
        ("300.4 301.4 298.8 300", sold),
        ("299.6 301.4 299 300", bought),
        // If both distances are equal, the path goes down first.
        ("300 301.2 298.8 300", bought),
        ("300 300.8 299.2 300", "> base 300"),
    ] {
        check_candles("", &format!("10:01 {candle} 50000"), expected);
    }
}

#[test]
fn levels_after_a_gap_start_from_the_open() {
    // The new base is the open, so the next levels are 302.4 and 303.4, and only the first is
    // reached. The tick is 0.2.
    check_candles(
        "",
        "10:01 301.4 302.6 301 302 50000",
        "> 301.4 Sell 100 gap
        > 302.4 Sell 100 level
        > base 302.4",
    );
    check_candles(
        "multiple",
        "10:01 296.6 297 294.8 295 50000",
        "> 296.6 Buy 300 gap
        > 295.6 Buy 100 level
        > base 295.6",
    );
}

#[test]
fn a_gap_to_a_rounded_level_is_at_least_one_step() {
    // 0.01 % of 300 is 0.03. The level is rounded to 300.2, so an open of 300.2 is six steps away.
    let script = |option: &str| {
        format!(
            "mark 700.HK 300
            candle 700.HK 10:01 300.2 300.2 300.2 300.2 50000
            given position 700.HK 1500 300
            10:00 grid 700.HK base 300 percent 0.01 50 quantity 100 price 290 310 hold 100 2000 {option}
            10:05 now"
        )
    };
    let triggered = |option: &str| triggers(&play(&script(option)));
    assert_eq!(triggered(""), ["300.2 Sell 100 gap"]);
    assert_eq!(triggered("multiple"), ["300.2 Sell 600 gap"]);
    let near = "mark 700.HK 300
        candle 700.HK 10:01 300.2 300.2 300.2 300.2 50000
        given position 700.HK 500 300
        10:00 grid 700.HK base 299.9 spread 0.2 1 quantity 100 price 290 310 hold 100 2000 multiple
        10:05 now";
    assert_eq!(triggers(&play(near)), ["300.2 Sell 100 gap"]);
}

#[test]
fn one_candle_triggers_at_most_twenty_levels() {
    let player = play(
        "mark 700.HK 300
        candle 700.HK 10:01 300 330 300 330 50000; 10:02 330 330 330 330 50000
        given position 700.HK 90000 300
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 400 hold 100 99999
        10:02 now",
    );
    let found = triggers(&player);
    assert_eq!((found.len(), found[19].as_str()), (20, "320 Sell 100 level"));
    // The next candle opens beyond the remaining levels, which is a gap.
    let mut player = player;
    player.line("10:03 now");
    assert_eq!(triggers(&player)[20..], ["330 Sell 100 gap"]);
}

#[test]
fn a_grid_ignores_running_empty_and_auction_candles() {
    // The minute in progress, a candle without volume, and the closing auction.
    check(
        "mark 700.HK 300
        candle 700.HK 10:00 302 302 302 302 50000; 10:01 302 302 302 302 0; 16:00 305 305 305 305 50000
        given position 700.HK 500 300
        10:00:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000
        > 10:00:00 grid 1 Performing 300
        16:20 bases
        > base 300",
    );
}

#[test]
fn candles_that_arrive_together_are_applied_in_sequence() {
    // Each candle is relevant only after the previous candle has moved the base.
    check_candles(
        "",
        "10:01 300 301 300 301 50000 late 10:05; 10:02 300.8 300.8 300 300 50000 late 10:05; \
         10:03 300.2 300.8 299.4 300 50000 late 10:05; 10:04 299.8 301 299.8 301 50000 late 10:05",
        "> 301 Sell 100 level
        > 300 Buy 100 level
        > 301 Sell 100 level
        > base 301",
    );
}

#[test]
fn an_open_outside_the_bounds_puts_a_grid_to_sleep() {
    check_candles(
        "",
        "10:01 310.2 310.4 310 310 50000; 10:02 289 295 289 295 50000; 10:03 300 300.4 299.6 300 50000; \
         10:04 300 301 300 300 50000",
        "> asleep: price
        > 301 Sell 100 level
        > base 301",
    );
    // A price between the last level and the bound triggers nothing.
    check_candles(
        "",
        "10:01 309.4 312 309.4 311 50000",
        "> 309.4 Sell 100 gap
        > base 309.4",
    );
}

#[test]
fn a_grid_sells_its_position_at_a_bound() {
    // The grid buys twice, one order fills, and then the price falls below the bound.
    check(
        "mark 700.HK 300
        candle 700.HK 10:01 300 300 299 299 50000; 10:02 298.8 299 298.4 298.6 50000; 10:03 298.4 298.4 298 298 50000; \
         10:04 289 289 289 289 50000; 10:05 288 288 288 288 50000
        given cash HKD 500000
        given position 700.HK 500 300
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000 down GTG events 2 2
        > 10:00:00 grid 1 Performing 300
        10:20
        > 10:02:00 grid 1 Performing 299
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:03:00 #1 FilledStatus 100 @ 298.800
        > 10:04:00 grid 1 Performing 298
        > 10:04:00 #2 WaitToNew
        > 10:04:00 #2 NewStatus
        > 10:05:00 #2 FilledStatus 100 @ 289.000
        > 10:05:00 #3 WaitToNew
        > 10:05:00 #3 NewStatus
        > 10:05:00 grid 1 Canceled 298
        > 10:06:00 #3 FilledStatus 200 @ 288.000
        10:20 grid? 1
        > grid 1 Canceled base 298 (299 before) 2 times bought 200 sold 200 profit -1180
        10:20 history 1
        > 1 Performing
        > 2 Canceled bound
        10:20 position 700.HK
        > 700.HK 500 available 500 cost 302.360 (average 298.257) init 500",
    );
}

#[test]
fn a_candle_that_crosses_a_bound_closes_the_grid() {
    check(
        "mark 700.HK 300
        candle 700.HK 10:01 308.6 310.2 308.6 310.2 50000; 10:02 305 305 305 305 50000
        given cash HKD 500000
        given position 700.HK 500 300
        10:00 grid 700.HK base 308 spread 1 1 quantity 100 price 290 310 hold 100 2000 up GLO events 1 2
        > 10:00:00 grid 1 Performing 308
        10:02
        > 10:02:00 grid 1 Performing 309
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:02:00 grid 1 Performing 310
        > 10:02:00 #2 WaitToNew
        > 10:02:00 #2 NewStatus
        > 10:02:00 #1 CanceledStatus `grid closed at a bound`
        > 10:02:00 #2 CanceledStatus `grid closed at a bound`
        > 10:02:00 grid 1 Canceled 310
        11:00 position 700.HK
        > 700.HK 500 available 500 cost 300.000 init 500",
    );
    // An extreme equal to the bound does not cross it.
    check_candles("events 2 2", "10:01 309.8 310 309.8 310 50000", "> 309.8 Sell 100 gap\n> base 309.8");
}

#[test]
fn position_limits_skip_the_order_and_move_the_base() {
    let skipped = |position: &str, options: &str, candle: &str| {
        let player = play(&format!(
            "mark 700.HK 300
            candle 700.HK 10:01 {candle} 50000
            given cash HKD 100000
            {position}
            10:00 grid 700.HK base 300 spread 1 1 quantity 200 price 200 400 {options}
            10:02 now"
        ));
        triggers(&player).join("; ")
    };
    let (up, down) = ("300 301 300 300", "300 300 299 300");
    let held = "given position 700.HK 500 300";
    assert_eq!(skipped(held, "hold 300 700", up), "301 Sell 200 level");
    assert_eq!(skipped(held, "hold 400 700", up), "301 Sell 200 level asleep: position");
    assert_eq!(skipped(held, "hold 300 700", down), "299 Buy 200 level");
    assert_eq!(skipped(held, "hold 300 600", down), "299 Buy 200 level asleep: position");
    assert_eq!(skipped("", "hold 100 700", up), "301 Sell 200 level asleep: position");
    // The cash covers one step, which costs 60,000 plus fees. A gap of two steps is skipped
    // entirely.
    assert_eq!(skipped("", "hold 100 700", down), "299 Buy 200 level");
    assert_eq!(skipped("", "hold 100 700 multiple", "298 298 298 298"), "298 Buy 400 gap asleep: funds");
    // Open sell orders reserve the shares.
    let sold = "given position 700.HK 500 300
            09:59 sell 400 700.HK LO 390";
    assert_eq!(skipped(sold, "hold 100 700", up), "301 Sell 200 level asleep: holdings");
    assert_eq!(skipped(sold, "hold 100 700 short", up), "301 Sell 200 level asleep: holdings");
}

#[test]
fn a_trigger_with_an_invalid_quantity_is_skipped() {
    // The lot size changes after submission, or a gap of many steps exceeds 3,000 lots.
    let triggered =
        |script: &str| triggers(&play(&format!("mark 700.HK 300\n{script}\nday 2026-03-19\n16:00 now")));
    let lots = "lot 700.HK 300 from 2026-03-19
        given position 700.HK 500 300
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000
        day 2026-03-19
        candle 700.HK 10:01 300 301 300 300 50000";
    assert_eq!(triggered(lots), ["301 Sell 100 level asleep: position"]);
    let wide = "candle 700.HK 10:01 304 304 304 304 50000
        given position 700.HK 900000 300
        10:00 grid 700.HK base 300 spread 0.001 1 quantity 100 price 290 310 hold 100 999999 multiple";
    assert_eq!(triggered(wide), ["304 Sell 400000 gap asleep: position"]);
}

#[test]
fn a_grid_stops_sleeping_with_its_next_order() {
    check(
        "mark 700.HK 300
        candle 700.HK 10:01 300 301 300 300 50000; 10:02 300.8 301 300 300 50000; 10:03 300.8 302 300.8 302 50000; \
         10:05 302 303 302 302 50000
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 700
        > 10:00:00 grid 1 Performing 300
        10:04:30 given position 700.HK 500 300
        > 10:02:00 grid 1 Performing 301 asleep: position
        > 10:03:00 grid 1 Performing 300 asleep: funds
        > 10:04:00 grid 1 Performing 301 asleep: position
        > 10:04:00 grid 1 Performing 302 asleep: position
        10:20
        > 10:06:00 grid 1 Performing 303
        > 10:06:00 #1 WaitToNew
        > 10:06:00 #1 NewStatus
        10:20 history 1
        > 1 Performing
        > 2 Performing position
        > 3 Performing funds
        > 4 Performing position
        > 5 Performing",
    );
}

#[test]
fn grid_orders_use_the_types_and_prices_of_the_rule() {
    // Depending on the order type, the price is the trigger price or a number of ticks from the
    // current price.
    for (options, candle, expected) in [
        (
            "up GMO",
            "300 301.2 300 301.2",
            "#1 MO Day UnknownOutsideRth NewStatus price - 0 of 100 at 0 fees 0.00",
        ),
        (
            "up GLO",
            "300 301.2 300 301.2",
            "#1 LO Day UnknownOutsideRth NewStatus price 301 0 of 100 at 0 fees 0.00",
        ),
        (
            "up GTG",
            "301.6 301.8 301.2 301.2",
            "#1 LO Day UnknownOutsideRth NewStatus price 301.6 0 of 100 at 0 fees 0.00",
        ),
        (
            "depth 1 0",
            "300 301.2 300 300.8",
            "#1 LO Day UnknownOutsideRth NewStatus price 300.8 0 of 100 at 0 fees 0.00",
        ),
        (
            "depth 3 0",
            "300 301.2 300 300.8",
            "#1 LO Day UnknownOutsideRth NewStatus price 301.2 0 of 100 at 0 fees 0.00",
        ),
        (
            "depth -2 0",
            "300 301.2 300 300.8",
            "#1 LO Day UnknownOutsideRth NewStatus price 300.6 0 of 100 at 0 fees 0.00",
        ),
        (
            "depth 0 -2",
            "300 300 299 299.4",
            "#1 LO Day UnknownOutsideRth NewStatus price 299.2 0 of 100 at 0 fees 0.00",
        ),
    ] {
        let mut player = play(&format!(
            "mark 700.HK 300
            candle 700.HK 10:01 {candle} 50000
            given cash HKD 500000
            given position 700.HK 500 300
            10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000 {options}
            10:02 now"
        ));
        assert_eq!(player.line("10:02 detail #1"), [expected], "{options}");
    }
}

#[test]
fn a_depth_limit_is_at_least_one_tick() {
    // Four ticks below 0.0004 is 0.
    let mut player = play(
        "clock US
        mark AAPL.US 0.0003
        candle AAPL.US 10:01 0.0003 0.0004 0.0003 0.0004 10000
        given position AAPL.US 100 1
        10:00 grid AAPL.US base 0.0003 spread 0.0001 0.0001 quantity 10 price 0.0001 0.001 hold 10 200 depth -5 0
        10:02 now",
    );
    assert_eq!(
        player.line("10:02 detail #1"),
        ["#1 LO Day RTH_ONLY NewStatus price 0.0001 0 of 10 at 0 fees 0.00"]
    );
}

#[test]
fn a_grid_trades_in_extended_hours_on_request() {
    let script = |options: &str| {
        format!(
            "clock US
            mark AAPL.US 170
            candle AAPL.US 08:01 171 171 171 171 10000; 08:02 171.2 171.2 171.2 171.2 10000; \
             09:30 171.4 171.4 171.4 171.4 10000; 17:00 173 173 173 173 10000; 20:30 175 175 175 175 10000
            given position AAPL.US 100 170
            07:00 grid AAPL.US base 170 spread 1 1 quantity 10 price 100 300 hold 10 200 {options}"
        )
    };
    let found = |options: &str| {
        let mut player = play(&script(options));
        let lines = player.line("23:00 now");
        lines.into_iter().filter(|line| !line.contains("WaitToNew")).collect::<Vec<_>>().join("\n")
    };
    let regular = "09:31:00 grid 1 Performing 171.4
09:31:00 #1 NewStatus
16:00:00 #1 ExpiredStatus";
    assert_eq!(found("rth 0"), regular);
    assert_eq!(found("rth 1"), regular);
    // A limit order trades in extended hours. A market order waits for the opening.
    assert_eq!(
        found("rth 2 up GTG"),
        "08:02:00 grid 1 Performing 171
08:02:00 #1 NewStatus
08:03:00 #1 FilledStatus 10 @ 171.200
17:01:00 grid 1 Performing 173
17:01:00 #2 NewStatus
20:00:00 #2 ExpiredStatus"
    );
    assert_eq!(
        found("rth 2"),
        "08:02:00 grid 1 Performing 171
08:02:00 #1 NotReported
09:30:00 #1 NewStatus
09:31:00 #1 FilledStatus 10 @ 171.400
17:01:00 grid 1 Performing 173
17:01:00 #2 NotReported"
    );
}

#[test]
fn realised_profit_matches_fills_first_in_first_out() {
    // The grid buys 100 at 299 and 100 at 298, then sells 100 at 300 and 100 at 302.
    check(
        "mark 700.HK 300
        candle 700.HK 10:01 300 300 299 299 50000; 10:02 299 299.2 298.8 299 50000; 10:03 298.4 298.4 298 298 50000; \
         10:04 298 298 297.8 298 50000; 10:06 299 299 298.6 299 50000; 10:07 300 300.2 300 300 50000; \
         10:08 301 301 301 301 50000; 10:09 302 302 302 302 50000
        given cash HKD 500000
        given position 700.HK 100 200
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 1 2000 up GMO down GMO
        > 10:00:00 grid 1 Performing 300
        10:05 grid? 1
        > 10:02:00 grid 1 Performing 299
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:03:00 #1 FilledStatus 100 @ 299.000
        > 10:04:00 grid 1 Performing 298
        > 10:04:00 #2 WaitToNew
        > 10:04:00 #2 NewStatus
        > 10:05:00 #2 FilledStatus 100 @ 298.000
        > grid 1 Performing base 298 (299 before) 2 times bought 200 sold 0 profit 0
        10:07:30 suspend 1
        > 10:07:00 grid 1 Performing 299
        > 10:07:00 #3 WaitToNew
        > 10:07:00 #3 NewStatus
        > 10:07:30 grid 1 Suspended 299 `user`
        10:08:30 grid? 1
        > 10:08:00 #3 FilledStatus 100 @ 300.000
        > grid 1 Suspended base 299 (298 before) 3 times bought 200 sold 100 profit 100
        10:08:40 restart 1
        > 10:08:40 grid 1 Performing 299
        10:20 grid? 1
        > 10:10:00 grid 1 Performing 302
        > 10:10:00 #4 WaitToNew
        > 10:10:00 #4 NewStatus
        > grid 1 Performing base 302 (299 before) 4 times bought 200 sold 100 profit 100",
    );
}

fn triggers(player: &Player) -> Vec<String> {
    crate::common::triggers(&player.entries)
}
