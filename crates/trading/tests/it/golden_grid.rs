//! The worked examples of grids.

use crate::common::check;

#[test]
fn m14_a_reached_level_triggers_an_order() {
    check(
        "mark 700.HK 300
        candle 700.HK 10:01 300.4 306.2 300 306 80000; 10:02 305.8 306 305.4 305.6 80000
        given cash HKD 100000
        given position 700.HK 500 300
        10:00:15 grid 700.HK base 300 percent 2 2 quantity 100 price 240 360 hold 100 500
        > 10:00:15 grid 1 Performing 300
        10:00:15 levels 1
        > sells at 306, buys at 294
        10:02
        > 10:02:00 grid 1 Performing 306
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        10:02 detail #1
        > #1 MO Day UnknownOutsideRth NewStatus price - 0 of 100 at 0 fees 0.00
        10:05 grid? 1
        > 10:03:00 #1 FilledStatus 100 @ 305.800
        > grid 1 Performing base 306 (300 before) 1 times bought 0 sold 100 profit 0",
    );
}

const US: &str = "clock US
        mark AAPL.US 170
        given cash USD 100000
        given position AAPL.US 100 170";

#[test]
fn m16_an_open_beyond_several_levels_triggers_once() {
    let grid = "10:00:15 grid AAPL.US base 170 spread 1 1 quantity 10 price 100 300 hold 10 200";
    check(&format!(
        "{US}
        candle AAPL.US 10:01 175 175 175 175 10000; 10:02 175 175 175 175 10000
        {grid} multiple
        > 10:00:15 grid 1 Performing 170
        10:03 now
        > 10:02:00 grid 1 Performing 175
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:03:00 #1 FilledStatus 50 @ 175.000"
    ));
    check(&format!(
        "{US}
        candle AAPL.US 10:01 175 175 175 175 10000; 10:02 175 175 175 175 10000
        {grid}
        > 10:00:15 grid 1 Performing 170
        10:03 now
        > 10:02:00 grid 1 Performing 175
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:03:00 #1 FilledStatus 10 @ 175.000"
    ));
}

#[test]
fn m17_one_candle_triggers_several_levels() {
    check(&format!(
        "{US}
        candle AAPL.US 10:01 170.2 172.4 170 172 10000
        10:00:15 grid AAPL.US base 170 spread 1 1 quantity 10 price 100 300 hold 10 200 up GTG
        > 10:00:15 grid 1 Performing 170
        10:02 now
        > 10:02:00 grid 1 Performing 171
        > 10:02:00 #1 WaitToNew
        > 10:02:00 #1 NewStatus
        > 10:02:00 grid 1 Performing 172
        > 10:02:00 #2 WaitToNew
        > 10:02:00 #2 NewStatus
        10:02 detail #1
        > #1 LO Day RTH_ONLY NewStatus price 171 0 of 10 at 0 fees 0.00
        10:02 detail #2
        > #2 LO Day RTH_ONLY NewStatus price 172 0 of 10 at 0 fees 0.00"
    ));
}
