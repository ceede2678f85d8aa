//! The text format of a journal. Journals are durable, so every later release must be able to read
//! this text.

use trading::{Account, Entry};

use crate::common::{play, play_as};

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

/// A script with every event of attached orders.
const ATTACHED: &str = "mark 700.HK 305
        candle 700.HK 10:01 305 305 305 305 1000; 10:02 311 312 299 300 1000; 10:03 301 301 301 301 50000
        given cash HKD 500000
        10:00 buy 200 700.HK LO 306 tif GTC attach BRACKET +take 310 +take-limit 309 +stop 300 +tif GTD +until 12:00
        10:00 replace #1 300 price 306
        10:00 replace #1 300 attach STOP_LOSS +stop 301 +type MO
        10:00 buy 100 700.HK LO 290 attach PROFIT_TAKER +take 295
        10:00 buy 100000 700.HK LO 306 attach STOP_LOSS +stop 300
        10:10 now
        10:10 cancel #4";

/// An older release must not read a journal with attached orders, and reads every other one.
#[test]
fn only_entries_with_attached_orders_are_in_the_new_version() {
    let version = |entry: &Entry| (entry.version, serde_json::to_string(&entry.event).unwrap());
    let versions: Vec<(u8, String)> = play(ATTACHED).entries.iter().map(version).collect();
    assert!(versions.iter().any(|(version, _)| *version == 2));
    for (version, text) in versions {
        let is_new = text.contains("attached\":{") || text.contains("resized");
        assert_eq!(version == 2, is_new, "{text}");
    }
    for script in [SCRIPT, GRIDS] {
        assert!(play(script).entries.iter().all(|entry| entry.version == 1));
    }
}

#[test]
fn a_copied_journal_equals_the_journal_of_another_account() {
    let other = play_as(77, ATTACHED);
    let copied: Vec<Entry> = play(ATTACHED).entries.into_iter().map(|entry| entry.of_account(77)).collect();
    assert_eq!(copied, other.entries);
    let mut account = Account::fold(&copied);
    account.set_horizon(other.account.horizon());
    assert_eq!(account, other.account);
}

#[test]
fn a_copied_account_equals_the_fold_of_its_copied_journal() {
    for script in [SCRIPT, GRIDS, ATTACHED] {
        let player = play(script);
        let copied: Vec<Entry> = player.entries.iter().cloned().map(|entry| entry.of_account(77)).collect();
        let mut folded = Account::fold(&copied);
        folded.set_horizon(player.account.horizon());
        assert_eq!(player.account.clone().of_account(77), folded);
    }
}

#[test]
fn the_journal_text_format_is_stable() {
    check(SCRIPT, include_str!("journal.jsonl"));
    check(GRIDS, include_str!("journal_grids.jsonl"));
    check(ATTACHED, include_str!("journal_attached.jsonl"));
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
