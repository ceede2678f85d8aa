//! The text of a journal. It is durable: what stands here must be read by every later release.

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

#[test]
fn a_journal_reads_as_it_was_written() {
    let player = play(SCRIPT);
    let text: Vec<String> =
        player.entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let expected = include_str!("journal.jsonl");
    assert_eq!(text.join("\n"), expected.trim_end());
    let read: Vec<Entry> = expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut account = Account::fold(&read);
    account.set_horizon(player.account.horizon());
    assert_eq!(account, player.account);
}
