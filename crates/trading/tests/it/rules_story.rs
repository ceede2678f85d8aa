//! Every order tells its story.

use trading::{OrderId, story};

use crate::common::play;

fn check(script: &str, order: u64, expected: &str) {
    let player = play(script);
    let lines = story(&player.entries, OrderId::of(player.account.number(), order));
    let found: Vec<String> = lines.iter().map(|line| line.what.to_string()).collect();
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_fill_names_its_candle_its_price_its_rule_and_its_fees() {
    check(
        "mark 700.HK 305.00
        candle 700.HK 10:01 305.2 306.4 305 306.2 50000; 10:02 306.6 306.8 306 306.4 50000
        given cash HKD 500000
        10:00:15 buy 100 700.HK LIT 307.00 trigger 306.00
        10:05",
        1,
        "accepted: Buy 100 700.HK LIT 307, waits for a rise to 306
        released at the end of candle 2026-03-18T02:01:00Z (O 305.2 H 306.4 L 305 C 306.2 V 50000), limit 307
        filled 100 at 306.6, the open, better than its limit, of candle 2026-03-18T02:02:00Z (O 306.6 H 306.8 L 306 C 306.4 V 50000); the candle left 5000; fees PLATFORM 15.00, STAMP_DUTY 31.00, TRADING_FEE 1.73, SFC_LEVY 0.83, AFRC_LEVY 0.05, SETTLEMENT 1.29",
    );
}

#[test]
fn a_rejection_names_its_check_and_its_number() {
    let script = "given cash HKD 61000
        given position 5.HK 100 50
        10:00 buy 200 700.HK LO 305.00
        10:00 sell 200 5.HK LO 50.00
        17:00 sell 100 5.HK LO 50.00
        17:01 cancel #3";
    check(script, 1, "rejected: insufficient funds (check 10): cash needed 61083.75, available 61000.00");
    check(script, 2, "rejected: insufficient holdings (check 11): holdings needed 200, available 100");
    check(
        script,
        3,
        "accepted: Sell 100 5.HK LO 50, parked until its session opens\ncancelled by the client",
    );
}
