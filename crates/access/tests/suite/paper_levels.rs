//! Golden tables of the assets and orders of a paper account, reports about the account, and the
//! resulting levels.

use access::{AccountId, LevelsFrom, Terms};
use market::Date;
use store::{Accounts, Addition, PaperAssets, PaperTally};

use crate::fixture::{NOW, fresh};
use crate::levels::{LATER, hk, level, present, report};

/// Starts a paper journal for the account. An account without a paper journal has no paper assets.
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

/// Writes paper tallies in a short form: `2026-10-29 80000 HKD`, `2026-10-29 -5 USD` or `orders
/// 2026-10-29 161`.
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

/// Submits reports and paper tallies, then checks the levels at times in Hong Kong with the
/// settings `auto`, `reported` and `paper`.
fn check(actual: &[&str], paper: &[&str], expected: &[(&str, [u32; 3])]) {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    actual.iter().for_each(|line| report(&fresh.access, "ann", line, present(LATER)));
    tally(&fresh.access.database(), id, paper);
    let sources = [LevelsFrom::Auto, LevelsFrom::Reported, LevelsFrom::Paper];
    for (index, source) in sources.into_iter().enumerate() {
        let access = fresh.other().with_levels_from(source);
        for (at, levels) in expected {
            assert_eq!(level(&access, id, at), levels[index], "{source}: {actual:?} and {paper:?} at {at}");
        }
    }
}

#[test]
fn paper_accounts_determine_levels_like_reports() {
    check(
        &[],
        &["2026-10-29 80000 HKD"],
        &[("2026-10-29 23:59:59", [1, 1, 1]), ("2026-10-30 00:00:00", [3, 1, 3]), ("2026-11-30", [3, 1, 3])],
    );
    check(&[], &["2026-10-29 79999.9999 HKD"], &[("2026-10-30", [2, 1, 2])]);
    check(&[], &["orders 2026-10-29 160"], &[("2026-10-30", [1, 1, 1])]);
    check(
        &[],
        &["orders 2026-10-29 161"],
        &[
            ("2026-10-29", [1, 1, 1]),
            ("2026-10-30", [4, 1, 4]),
            ("2026-11-30", [4, 1, 4]),
            ("2026-12-01", [1, 1, 1]),
        ],
    );
    // Assets at the end of the previous month apply for the whole month, however low the assets
    // fall.
    check(
        &[],
        &["2026-10-30 400000 HKD", "2026-11-02 5000 HKD"],
        &[("2026-11-02", [4, 1, 4]), ("2026-11-30 23:59:59", [4, 1, 4]), ("2026-12-01 00:00:00", [1, 1, 1])],
    );
    // A paper account opened on a Saturday first has assets at the end of a trading day on Monday.
    check(
        &[],
        &["2026-10-31 400000 HKD"],
        &[("2026-10-31", [1, 1, 1]), ("2026-11-02", [1, 1, 1]), ("2026-11-03", [4, 1, 4])],
    );
}

#[test]
fn reports_take_precedence_over_the_paper_account() {
    check(&["2026-10-29 40000 HKD"], &["2026-10-29 400000 HKD"], &[("2026-10-30", [2, 2, 4])]);
    check(&["2026-10-29 400000 HKD"], &["2026-10-29 40000 HKD"], &[("2026-10-30", [4, 4, 2])]);
    // Reports apply from the trading day after the first report. Until then the paper account
    // applies.
    check(
        &["2026-10-29 10000 HKD"],
        &["2026-10-27 400000 HKD"],
        &[("2026-10-28", [4, 1, 4]), ("2026-10-29 23:59:59", [4, 1, 4]), ("2026-10-30 00:00:00", [2, 2, 4])],
    );
    // Reported orders also count as a report, by count or by id, even if the count is zero.
    check(
        &["orders 2026-10-29 161"],
        &["2026-10-28 80000 HKD"],
        &[("2026-10-29", [3, 1, 3]), ("2026-10-30", [4, 4, 3])],
    );
    check(&["orders 2026-10-29 0"], &["2026-10-28 80000 HKD"], &[("2026-10-30", [1, 1, 3])]);
    check(&["order 2026-10-29 one"], &["2026-10-28 80000 HKD"], &[("2026-10-30", [1, 1, 3])]);
    // Reported numbers and numbers of the paper account are not added up.
    check(&["2026-10-29 40000 HKD"], &["2026-10-29 40000 HKD"], &[("2026-10-30", [2, 2, 2])]);
    check(&["orders 2026-10-29 100"], &["orders 2026-10-28 61"], &[("2026-10-30", [1, 1, 1])]);
}

#[test]
fn amounts_without_an_exchange_rate_are_valued_at_zero() {
    let rate = "rate 2026-10-01 7.8 USD";
    check(&[rate], &["2026-10-29 41000 HKD", "2026-10-29 5000 USD"], &[("2026-10-30", [3, 1, 3])]);
    check(&[rate], &["2026-10-29 40999.9999 HKD", "2026-10-29 5000 USD"], &[("2026-10-30", [2, 1, 2])]);
    check(&[], &["2026-10-29 41000 HKD", "2026-10-29 5000 EUR"], &[("2026-10-30", [2, 1, 2])]);
    // USD has a built-in rate, which is used without a reported rate.
    check(&[], &["2026-10-29 41000 HKD", "2026-10-29 5000 USD"], &[("2026-10-30", [3, 1, 3])]);
    check(&[], &["2026-10-29 40999.9999 HKD", "2026-10-29 5000 USD"], &[("2026-10-30", [2, 1, 2])]);
    // A negative amount in one currency is subtracted from the assets in another currency.
    check(&[rate], &["2026-10-29 90000 HKD", "2026-10-29 -2000 USD"], &[("2026-10-30", [2, 1, 2])]);
    check(&[rate], &["2026-10-29 -50000 HKD"], &[("2026-10-30", [1, 1, 1])]);
}

#[test]
fn a_level_reason_names_the_paper_account() {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    tally(&fresh.access.database(), id, &["2026-10-29 80000 HKD", "orders 2026-10-30 161"]);
    let reason = |at| fresh.access.usage(id, hk(at)).unwrap().unwrap().standing.reason.to_string();
    assert_eq!(reason("2026-10-30"), "assets HKD 80,000.00 of the paper account on 2026-10-29 reach level 3");
    assert_eq!(
        reason("2026-11-02"),
        "161 completed orders of the paper account in 2026-10 are more than the 160 of level 4"
    );
    report(&fresh.access, "ann", "2026-10-30 4000000 HKD", present(LATER));
    assert_eq!(reason("2026-11-02"), "assets HKD 4,000,000.00 on 2026-10-30 reach level 5");
}

#[test]
fn dropping_paper_tallies_resets_the_level() {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    let accounts = fresh.access.database();
    tally(&accounts, id, &["2026-10-29 80000 HKD", "orders 2026-10-29 161"]);
    assert_eq!(level(&fresh.access, id, "2026-10-30"), 4);
    accounts.drop_paper_tallies().unwrap();
    assert_eq!(level(&fresh.access, id, "2026-10-30"), 1);
    let version = accounts.version().unwrap();
    accounts.drop_paper_tallies().unwrap();
    assert_eq!(accounts.version().unwrap(), version, "there was nothing to forget");
}

#[test]
fn tally_days_include_the_month_end_and_the_last_trading_day() {
    let access = fresh().access;
    for (now, ends, orders_from) in [
        ("2026-11-03", "2026-10-30 2026-11-02", "2026-10-01"),
        // Sunday is included because of orders: Friday's US session ends on Saturday in Hong Kong.
        ("2026-11-02 00:00:00", "2026-10-30 2026-11-01", "2026-10-01"),
        // On a Sunday, the level of Friday is in force, and the next level is that of Monday.
        ("2026-11-01", "2026-09-30 2026-10-29 2026-10-30 2026-10-31", "2026-09-01"),
        ("2026-10-30 23:59:59", "2026-09-30 2026-10-29", "2026-09-01"),
    ] {
        let days = access.tally_days(hk(now));
        let actual: Vec<String> = days.ends.iter().map(ToString::to_string).collect();
        assert_eq!(
            (actual.join(" ").as_str(), days.orders_from.to_string().as_str()),
            (ends, orders_from),
            "{now}"
        );
        assert_eq!(days.today.to_string(), now.split(' ').next().unwrap());
    }
}
