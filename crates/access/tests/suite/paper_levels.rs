//! Golden tables: what an account has on paper, what was reported beside it, and the level that follows from both.

use access::{AccountId, Terms};
use market::Date;
use store::{Accounts, Addition, PaperAssets, PaperTally};

use crate::fixture::{NOW, fresh};
use crate::levels::{LATER, hk, level, present, tell};

/// An account has a journal, or it has nothing on paper.
fn begin(accounts: &Accounts, id: AccountId) -> u64 {
    let entries = [(NOW, "{}".to_owned())];
    let first = Addition {
        account: id,
        after: None,
        entries: &entries,
        horizon: NOW,
        wake: None,
        request: None,
        audit: None,
    };
    accounts.add_to_journals(&[first]).unwrap();
    accounts.journal_head(id).unwrap().unwrap().revision
}

/// `2026-10-29 80000 HKD`, `2026-10-29 -5 USD`, `orders 2026-10-29 161`.
fn tally(accounts: &Accounts, id: AccountId, lines: &[&str]) {
    let date = |text: &str| -> Date { text.parse().unwrap() };
    let (mut assets, mut orders) = (Vec::<PaperAssets>::new(), Vec::new());
    for line in lines {
        match *line.split(' ').collect::<Vec<_>>().as_slice() {
            ["orders", day, count] => orders.push((date(day), count.parse().unwrap())),
            [day, amount, currency] => {
                let (amount, is_exact) = market::parse_scaled(amount.as_bytes(), 4).unwrap();
                assert!(is_exact, "{line}");
                let amount = (currency.to_owned(), i64::try_from(amount).unwrap());
                match assets.iter_mut().find(|known| known.day == date(day)) {
                    Some(known) => known.amounts.push(amount),
                    None => assets.push(PaperAssets { day: date(day), amounts: vec![amount] }),
                }
            }
            _ => panic!("{line:?}"),
        }
    }
    let revision = begin(accounts, id);
    let (today, orders_from) = (date("2026-12-31"), date("2026-01-01"));
    accounts
        .put_paper_tallies(&[PaperTally { account: id, today, revision, assets, orders_from, orders }])
        .unwrap();
}

/// What was reported and what there is on paper, a line each; then times in Hong Kong with the level they have.
fn check(told: &[&str], paper: &[&str], expected: &[(&str, u32)]) {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    told.iter().for_each(|line| tell(&fresh.access, "ann", line, present(LATER)));
    tally(&fresh.access.journals(), id, paper);
    for access in [&fresh.access, &fresh.other()] {
        for (at, number) in expected {
            assert_eq!(level(access, id, at), *number, "{told:?} and {paper:?} at {at}");
        }
    }
}

#[test]
fn what_an_account_has_on_paper_counts_as_a_report_does() {
    check(
        &[],
        &["2026-10-29 80000 HKD"],
        &[("2026-10-29 23:59:59", 1), ("2026-10-30 00:00:00", 3), ("2026-11-30", 3)],
    );
    check(&[], &["2026-10-29 79999.9999 HKD"], &[("2026-10-30", 2)]);
    check(&[], &["orders 2026-10-29 160"], &[("2026-10-30", 1)]);
    check(
        &[],
        &["orders 2026-10-29 161"],
        &[("2026-10-29", 1), ("2026-10-30", 4), ("2026-11-30", 4), ("2026-12-01", 1)],
    );
    // The end of the month before counts all month, however low it falls.
    check(
        &[],
        &["2026-10-30 400000 HKD", "2026-11-02 5000 HKD"],
        &[("2026-11-02", 4), ("2026-11-30 23:59:59", 4), ("2026-12-01 00:00:00", 1)],
    );
}

#[test]
fn reported_and_on_paper_add_up() {
    check(&["2026-10-29 40000 HKD"], &["2026-10-29 40000 HKD"], &[("2026-10-30", 3)]);
    check(&["2026-10-29 40000 HKD"], &["2026-10-29 39999.9999 HKD"], &[("2026-10-30", 2)]);
    // Each holds on until the next of its own kind.
    check(
        &["2026-10-05 40000 HKD"],
        &["2026-10-28 40000 HKD", "2026-10-29 0 HKD"],
        &[("2026-10-28", 2), ("2026-10-29", 3), ("2026-10-30", 2)],
    );
    check(&["orders 2026-10-29 100"], &["orders 2026-10-28 61"], &[("2026-10-29", 1), ("2026-10-30", 4)]);
    check(&["orders 2026-10-29 100"], &["orders 2026-10-28 60"], &[("2026-10-30", 1)]);
    // Months are compared whole: neither of these has 161.
    check(&["orders 2026-10-29 100"], &["orders 2026-11-02 100"], &[("2026-11-03", 1)]);
    // Days, too: 300,000 of one and 100,000 of the other were never there at once.
    check(
        &["2026-10-30 0 HKD", "2026-11-02 300000 HKD"],
        &["2026-10-30 100000 HKD", "2026-11-02 0 HKD"],
        &[("2026-11-02", 3), ("2026-11-03", 3)],
    );
}

#[test]
fn other_currencies_count_by_the_rate_of_their_day_and_for_nothing_without_one() {
    let rate = "rate 2026-10-01 7.8 USD";
    check(&[rate], &["2026-10-29 41000 HKD", "2026-10-29 5000 USD"], &[("2026-10-30", 3)]);
    check(&[rate], &["2026-10-29 40999.9999 HKD", "2026-10-29 5000 USD"], &[("2026-10-30", 2)]);
    check(&[], &["2026-10-29 41000 HKD", "2026-10-29 5000 EUR"], &[("2026-10-30", 2)]);
    // The built-in rate.
    check(&[], &["2026-10-29 41000 HKD", "2026-10-29 5000 USD"], &[("2026-10-30", 3)]);
    check(&[], &["2026-10-29 40999.9999 HKD", "2026-10-29 5000 USD"], &[("2026-10-30", 2)]);
    // What it owes in one currency is taken from what it has in another, but not from what was reported.
    check(&[rate], &["2026-10-29 90000 HKD", "2026-10-29 -2000 USD"], &[("2026-10-30", 2)]);
    check(&[rate, "2026-10-29 80000 HKD"], &["2026-10-29 -50000 HKD"], &[("2026-10-30", 3)]);
}

#[test]
fn a_level_says_how_much_of_it_was_earned_on_paper() {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    tell(&fresh.access, "ann", "2026-10-28 40000 HKD", present(LATER));
    tally(&fresh.access.journals(), id, &["2026-10-29 40000 HKD", "orders 2026-10-30 61"]);
    let standing = |at| fresh.access.usage(id, hk(at)).unwrap().unwrap().standing;
    assert_eq!(
        standing("2026-10-30").reason.to_string(),
        "assets HKD 80,000.00 on 2026-10-29, HKD 40,000.00 of it on paper, reach level 3"
    );
    tell(&fresh.access, "ann", "orders 2026-10-29 100", present(LATER));
    let monday = standing("2026-11-02");
    assert_eq!(
        monday.reason.to_string(),
        "161 completed orders in 2026-10, 61 of them on paper, are more than the 160 of level 4"
    );
    assert_eq!((monday.grounds.orders.count, monday.grounds.orders.paper), (161, 61));
}

#[test]
fn without_the_tallies_no_level_rests_on_paper() {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    let accounts = fresh.access.journals();
    tally(&accounts, id, &["2026-10-29 80000 HKD", "orders 2026-10-29 161"]);
    assert_eq!(level(&fresh.access, id, "2026-10-30"), 4);
    accounts.drop_paper_tallies().unwrap();
    assert_eq!(level(&fresh.access, id, "2026-10-30"), 1);
    let version = accounts.version().unwrap();
    accounts.drop_paper_tallies().unwrap();
    assert_eq!(accounts.version().unwrap(), version, "there was nothing to forget");
}

#[test]
fn the_days_that_matter_are_the_last_of_the_month_before_and_the_last_before_today() {
    let access = fresh().access;
    for (now, ends, orders_from) in [
        ("2026-11-03", "2026-10-30 2026-11-02", "2026-10-01"),
        // Friday in New York ends on Saturday in Hong Kong.
        ("2026-11-02 00:00:00", "2026-10-30 2026-11-01", "2026-10-01"),
        // A Sunday: Friday's level holds, Monday's comes next.
        ("2026-11-01", "2026-09-30 2026-10-29 2026-10-30 2026-10-31", "2026-09-01"),
        ("2026-10-30 23:59:59", "2026-09-30 2026-10-29", "2026-09-01"),
    ] {
        let days = access.tally_days(hk(now));
        let told: Vec<String> = days.ends.iter().map(ToString::to_string).collect();
        assert_eq!(
            (told.join(" ").as_str(), days.orders_from.to_string().as_str()),
            (ends, orders_from),
            "{now}"
        );
        assert_eq!(days.today.to_string(), now.split(' ').next().unwrap());
    }
}
