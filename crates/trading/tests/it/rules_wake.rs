//! The instant at which an account is next due to be advanced.

use trading::next_wake;

use crate::common::play;

fn check(script: &str, at: &str, expected: &str) {
    let player = play(script);
    let found = next_wake(&player.account, &player.store, player.instant(at)).map(|at| at.to_string());
    assert_eq!(found.as_deref().unwrap_or("never"), expected, "{at}");
}

#[test]
fn an_idle_account_is_never_due() {
    check("given cash HKD 500000\n10:00 now", "10:00", "never");
}

#[test]
fn an_open_order_is_due_each_minute_of_its_market() {
    let script = "given cash HKD 500000\n10:00:15 buy 100 700.HK LO 300 tif GTC";
    check(script, "10:00:15", "2026-03-18T02:01:00Z");
    check(script, "10:01:00", "2026-03-18T02:02:00Z");
    // The account is next due after the lunch break, and at the end of the closing auction.
    check(script, "12:00:00", "2026-03-18T05:01:00Z");
    check(script, "16:00:00", "2026-03-18T08:10:00Z");
    // The roll to the next day precedes the first minute of that day.
    check(script, "16:10:00", "2026-03-18T16:00:00Z");
}

#[test]
fn a_held_order_is_due_at_the_end_of_its_delay() {
    check("given cash HKD 500000\n08:00 buy 100 700.HK LO 300 held 08:30", "08:00", "2026-03-18T00:30:00Z");
    check("given position AAPL.US 10 100\n10:00 now", "10:00", "2026-03-19T00:00:00Z");
}
