//! The text format of a journal. Journals are durable, so every later release must be able to read
//! this text.

use trading::{Account, Entry};

use crate::common::play;

const SCRIPT: &str = "mark 700.HK 305
        rate USD 7.8
        action 700.HK 2026-03-20 cash 1.5 paid 2026-03-24
        action 700.HK 2026-03-23 split 2
        candle 700.HK 10:01 305.2 306.4 305 306.2 1000; 10:02 306.6 306.8 306 306.4 50000
        given cash HKD 500000
        given credit 1000
        given set participation off
        10:00:15 buy 200 700.HK LO 306.00 tif GTC remark first
        10:00:15 sell 100 700.HK LIT 300 trigger 306.2
        10:00:20 buy 200000 700.HK LO 306.00
        10:01:10 given exchange HKD 780 USD
        10:02:10 buy 100 700.HK LO 300 held 10:02:30
        10:03 replace #4 200 price 299.8
        10:03 cancel #4
        10:03 sell 100 700.HK TSLPPCT percent 1.5 offset 0.4 tif GTC
        day 2026-03-25
        10:00 now";

/// A script with every grid event.
const GRIDS: &str = "mark 700.HK 300
        candle 700.HK 10:01 300 301 300 300 50000; 10:02 305 305 305 305 50000; 10:03 312 312 312 312 50000
        candle 700.HK 10:06 298.4 298.4 298.4 298.4 50000; 10:07 299 299 299 299 50000; 10:08 289 289 289 289 50000
        given cash HKD 60000
        given position 700.HK 200 300
        given set grid_questionnaire on
        10:00 agree
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 500 up GTG events 2 1 tif 6 until 15:00
        10:04:10 suspend 1
        10:04:20 regrid 1 base 300 percent 0.5 0.5 quantity 100 price 290 310 hold 100 500 events 2 1 multiple
        10:04:30 restart 1
        10:09 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 500 tif 0
        10:09 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 500 tif 0 depth 2 -2 rth 1
        10:09 ungrid 3
        17:00 now";

#[test]
fn the_journal_text_format_is_stable() {
    check(SCRIPT, include_str!("journal.jsonl"));
    check(GRIDS, include_str!("journal_grids.jsonl"));
}

fn check(script: &str, expected: &str) {
    let player = play(script);
    let text: Vec<String> =
        player.entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let (found, expected) = (text.join("\n"), expected.trim_end());
    assert!(found == expected, "found:\n{found}\n");
    let read: Vec<Entry> = expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut account = Account::fold(&read);
    account.set_horizon(player.account.horizon());
    assert_eq!(account, player.account);
}
