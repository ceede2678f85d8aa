//! Golden tables of reports about an account and its resulting levels, at times in Hong Kong.

use access::{
    Access, Actor, AuditFilter, Demand, Level, Present, Reason, Refusal, Right, Step, StepChange, Table,
    Terms, TermsChange, Validity,
};
use market::{Date, Market, Timestamp, Zone};
use store::AccountId;

use crate::fixture::{Fresh, NOW, PRESENT, fresh, symbol};

/// A time after all reports in these tests.
pub(crate) const LATER: &str = "2027-12-30 12:00:00";

/// Parses a time in Hong Kong, such as `2026-10-30 09:00:00`. The default time of day is noon.
pub(crate) fn hk(text: &str) -> Timestamp {
    let (date, time) = text.split_once(' ').unwrap_or((text, "12:00:00"));
    let date: Date = date.parse().unwrap();
    let seconds = time.split(':').fold(0, |sum, part| sum * 60 + part.parse::<i64>().unwrap());
    Zone::of(Market::Hk).instant(date, seconds)
}

pub(crate) fn present(market: &str) -> Present {
    Present { market: hk(market), machine: NOW }
}

fn table(columns: &[&str], fields: &[&str]) -> Table {
    let mut table = Table::new(columns);
    table.push(None, fields.iter().map(|field| (*field).to_owned()).collect()).unwrap();
    table
}

/// Submits a report in a short form: `2026-10-30 80000 HKD`, `orders 2026-10-30 161`, `order
/// 2026-10-30 A7` or `rate 2026-10-01 7.8 USD`.
pub(crate) fn report(access: &Access, account: &str, line: &str, present: Present) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let by = &Actor::Operator;
    let actual = match *words.as_slice() {
        ["orders", day, count] => {
            access.report_orders(&table(&["account", "day", "count"], &[account, day, count]), by, present)
        }
        ["order", day, id] => {
            access.report_orders(&table(&["account", "day", "order_id"], &[account, day, id]), by, present)
        }
        ["rate", day, rate, currency] => {
            access.report_rates(&table(&["currency", "day", "rate"], &[currency, day, rate]), by, present)
        }
        [day, amount, currency] => access.report_assets(
            &table(&["account", "day", "amount", "currency"], &[account, day, amount, currency]),
            by,
            present,
        ),
        _ => panic!("{line:?}"),
    };
    actual.unwrap_or_else(|error| panic!("{line:?}: {error}"));
}

pub(crate) fn level(access: &Access, id: AccountId, at: &str) -> u32 {
    access.usage(id, hk(at)).unwrap().unwrap().standing.level.number()
}

/// Submits the reports, then checks the account's level at each time in Hong Kong.
fn check(actual: &[&str], expected: &[(&str, u32)]) {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    actual.iter().for_each(|line| report(&fresh.access, "ann", line, present(LATER)));
    for (at, number) in expected {
        assert_eq!(level(&fresh.access, id, at), *number, "{actual:?} at {at}");
    }
    // Another process with empty caches must determine the same levels, in any order.
    let other = fresh.other();
    for (at, number) in expected.iter().rev() {
        assert_eq!(level(&other, id, at), *number, "{actual:?} at {at}, looked at anew");
    }
}

#[test]
fn asset_thresholds_are_inclusive_and_order_thresholds_exclusive() {
    let at = "2026-10-30";
    for (amount, number) in [
        ("0", 1),
        ("9999.9999", 1),
        ("10000", 2),
        ("79999.9999", 2),
        ("80000", 3),
        ("399999.9999", 3),
        ("400000", 4),
        ("3999999.9999", 4),
        ("4000000", 5),
        ("5999999.9999", 5),
        ("6000000", 6),
        ("10000000000000", 6),
    ] {
        check(&[&format!("2026-10-29 {amount} HKD")], &[(at, number)]);
    }
    for (count, number) in
        [("160", 1), ("161", 4), ("1600", 4), ("1601", 5), ("2500", 5), ("2501", 6), ("1000000", 6)]
    {
        check(&[&format!("orders 2026-10-29 {count}")], &[(at, number)]);
    }
    // The higher of the levels earned by assets and by orders applies.
    check(&["2026-10-29 80000 HKD", "orders 2026-10-29 161"], &[(at, 4)]);
    check(&["2026-10-29 4000000 HKD", "orders 2026-10-29 161"], &[(at, 5)]);
}

#[test]
fn reported_assets_apply_from_the_next_trading_day() {
    check(
        &["2026-10-29 80000 HKD"],
        &[("2026-10-29 23:59:59", 1), ("2026-10-30 00:00:00", 3), ("2026-10-30 23:59:59", 3)],
    );
    // For a report of Friday, nothing changes on the weekend.
    check(
        &["2026-10-30 80000 HKD"],
        &[
            ("2026-10-30 23:59:59", 1),
            ("2026-10-31 12:00:00", 1),
            ("2026-11-01 23:59:59", 1),
            ("2026-11-02 00:00:00", 3),
        ],
    );
    // A report dated Saturday has no effect on Monday, whose previous trading day is Friday. The
    // report takes effect on Tuesday.
    check(&["2026-10-31 80000 HKD"], &[("2026-11-02 23:59:59", 1), ("2026-11-03 00:00:00", 3)]);
}

#[test]
fn after_holidays_a_level_changes_on_the_next_trading_day() {
    // At Chinese New Year 2026, the 16th is a half day and the next trading day is the 20th.
    check(
        &["2026-02-16 80000 HKD", "orders 2026-02-16 161"],
        &[
            ("2026-02-16 23:59:59", 1),
            ("2026-02-17", 1),
            ("2026-02-19 23:59:59", 1),
            ("2026-02-20 00:00:00", 4),
        ],
    );
    // The market is closed for Easter and Ching Ming from 2026-04-03 to 2026-04-07.
    check(&["2026-04-02 10000 HKD"], &[("2026-04-07 23:59:59", 1), ("2026-04-08 00:00:00", 2)]);
}

#[test]
fn month_end_assets_apply_throughout_the_next_month() {
    check(
        &["2026-10-30 400000 HKD", "2026-11-02 5000 HKD"],
        &[
            ("2026-11-02", 4),
            ("2026-11-03", 4),
            ("2026-11-30 23:59:59", 4),
            // The last report in November is 5,000 HKD on the 2nd.
            ("2026-12-01 00:00:00", 1),
        ],
    );
    // Assets in the middle of a month apply only until the next report.
    check(
        &["2026-10-30 5000 HKD", "2026-11-10 400000 HKD", "2026-11-11 5000 HKD"],
        &[("2026-11-10", 1), ("2026-11-11", 4), ("2026-11-12", 1)],
    );
    // The assets on the last trading day of the month apply, not those on its last calendar day,
    // Saturday the 31st.
    check(
        &["2026-10-30 5000 HKD", "2026-10-31 400000 HKD", "2026-11-02 5000 HKD"],
        &[("2026-11-02", 1), ("2026-11-03", 1)],
    );
}

#[test]
fn the_last_reported_assets_apply_until_the_next_report() {
    check(
        &["2026-03-02 80000 HKD"],
        &[("2026-03-02", 1), ("2026-03-03", 3), ("2026-11-15", 3), ("2027-06-01", 3)],
    );
}

#[test]
fn year_end_assets_and_orders_apply_in_january() {
    check(
        &["2025-12-31 80000 HKD", "2026-01-02 0 HKD"],
        &[
            ("2025-12-31 23:59:59", 1),
            // New Year's Day is not a trading day, so the level of the last trading day stays in
            // force.
            ("2026-01-01", 1),
            ("2026-01-02 00:00:00", 3),
            ("2026-01-30", 3),
            ("2026-02-02", 1),
        ],
    );
    check(
        &["orders 2025-12-15 161", "orders 2026-01-05 3"],
        &[("2025-12-16", 4), ("2026-01-02", 4), ("2026-01-30", 4), ("2026-02-02 00:00:00", 1)],
    );
}

#[test]
fn orders_from_two_months_are_not_added_up() {
    check(
        &["orders 2026-10-14 161", "orders 2026-11-05 160"],
        &[
            ("2026-10-14", 1),
            ("2026-10-15 00:00:00", 4),
            ("2026-11-02", 4),
            ("2026-11-30", 4),
            ("2026-12-01 00:00:00", 1),
        ],
    );
    check(&["orders 2026-10-30 100", "orders 2026-11-02 100"], &[("2026-11-03", 1)]);
    check(&["orders 2026-11-02 100", "orders 2026-11-03 61"], &[("2026-11-03", 1), ("2026-11-04", 4)]);
    // If a month does not begin with a trading day, the level of the last trading day stays in
    // force.
    check(
        &["orders 2026-09-15 161"],
        &[("2026-10-30", 4), ("2026-10-31", 4), ("2026-11-01 23:59:59", 4), ("2026-11-02 00:00:00", 1)],
    );
}

#[test]
fn a_repeated_order_id_is_counted_once() {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    for number in 0..80 {
        report(&fresh.access, "ann", &format!("order 2026-11-02 A{number}"), present(LATER));
        report(&fresh.access, "ann", &format!("order 2026-11-03 A{number}"), present(LATER));
    }
    report(&fresh.access, "ann", "orders 2026-11-03 80", present(LATER));
    assert_eq!(
        fresh.access.reported_orders(id, 10).unwrap().iter().map(|(_, count)| *count).collect::<Vec<_>>(),
        [80, 80]
    );
    assert_eq!(level(&fresh.access, id, "2026-11-04"), 1);
    report(&fresh.access, "ann", "order 2026-11-03 B1", present(LATER));
    assert_eq!(level(&fresh.access, id, "2026-11-04"), 4);
    // A count replaces the earlier count of that day, but not the orders reported by id.
    report(&fresh.access, "ann", "orders 2026-11-03 79", present(LATER));
    assert_eq!(level(&fresh.access, id, "2026-11-04"), 1);
}

#[test]
fn amounts_without_a_reported_rate_use_the_built_in_rate() {
    check(&["2026-10-28 10256.4102 USD"], &[("2026-10-29", 2)]);
    check(&["2026-10-28 10256.4103 USD"], &[("2026-10-29", 3)]);
    check(&["2026-10-28 72727.28 CNH"], &[("2026-10-29", 3)]);
    // A reported rate is valid starting on its day.
    check(&["rate 2026-10-29 1 USD", "2026-10-28 10256.4103 USD"], &[("2026-10-29", 3)]);
    check(&["rate 2026-10-28 1 USD", "2026-10-28 10256.4103 USD"], &[("2026-10-29", 2)]);
    // CNH without a rate uses the CNY rate.
    check(&["rate 2026-10-28 2 CNY", "2026-10-28 40000 CNH"], &[("2026-10-29", 3)]);
    check(&["rate 2026-10-28 2 CNY", "rate 2026-10-01 1 CNH", "2026-10-28 40000 CNH"], &[("2026-10-29", 2)]);
}

#[test]
fn currencies_are_converted_exactly_at_the_daily_rate() {
    let rates = ["rate 2026-10-01 7.8 USD", "rate 2026-10-29 8 USD", "rate 2026-10-01 0.00000001 XAU"];
    let with = |line: &'static str| [rates[0], rates[1], rates[2], line];
    check(&with("2026-10-28 10256.4102 USD"), &[("2026-10-29", 2)]);
    check(&with("2026-10-28 10256.4103 USD"), &[("2026-10-29", 3)]);
    check(&with("2026-10-29 10000 USD"), &[("2026-10-30", 3)]);
    check(&with("2026-10-29 9999.9999 USD"), &[("2026-10-30", 2)]);
    // Amounts in several currencies on a day are added up. A total that is 0.0001 below the
    // threshold does not reach the threshold.
    check(&[rates[0], rates[1], "2026-10-29 5000 USD", "2026-10-29 40000 HKD"], &[("2026-10-30", 3)]);
    check(&[rates[0], rates[1], "2026-10-29 5000 USD", "2026-10-29 39999.9999 HKD"], &[("2026-10-30", 2)]);
    check(&with("2026-10-28 10000000000000 XAU"), &[("2026-10-29", 3)]);
    check(&with("2026-10-28 7999999999999.9999 XAU"), &[("2026-10-29", 2)]);
    // A later rate does not change the value of assets on an earlier day.
    check(
        &[rates[0], "2026-10-28 10000 USD", "rate 2026-10-29 80 USD"],
        &[("2026-10-29", 2), ("2026-11-20", 2)],
    );
}

#[test]
fn a_later_report_replaces_an_earlier_report_for_the_same_day() {
    check(&["2026-10-29 80000 HKD", "2026-10-29 10000 HKD"], &[("2026-10-30", 2)]);
    check(&["rate 2026-10-01 8 USD", "2026-10-29 10000 USD", "rate 2026-10-01 7 USD"], &[("2026-10-30", 2)]);
}

#[test]
fn daylight_saving_time_does_not_affect_levels() {
    // New York changes its clocks on 2026-03-08 and 2026-11-01, both Sundays.
    for (actual, before, after) in [
        ("2026-03-06 80000 HKD", "2026-03-08 23:59:59", "2026-03-09 00:00:00"),
        ("2026-10-30 80000 HKD", "2026-11-01 23:59:59", "2026-11-02 00:00:00"),
    ] {
        check(&[actual], &[(before, 1), (after, 3)]);
    }
    // A day in Hong Kong starts at 16:00 UTC in summer and winter.
    for (date, utc) in [("2026-07-07", "2026-07-06T16:00:00Z"), ("2026-12-08", "2026-12-07T16:00:00Z")] {
        assert_eq!(hk(&format!("{date} 00:00:00")).to_string(), utc);
    }
}

#[test]
fn weekdays_after_the_end_of_the_calendar_are_trading_days() {
    // 2028-01-03 is a Monday after the end of the calendar.
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    report(&fresh.access, "ann", "2028-01-03 80000 HKD", present("2028-01-03 12:00:00"));
    assert_eq!(level(&fresh.access, id, "2028-01-03 23:59:59"), 1);
    assert_eq!(level(&fresh.access, id, "2028-01-04 00:00:00"), 3);
}

#[test]
fn a_quota_includes_the_reason_and_the_outlook() {
    let fresh = fresh();
    let access = &fresh.access;
    let id = fresh.create("ann", Terms::default()).account_id;
    let quota = |at: &str| access.quota(id, hk(at)).unwrap().unwrap();
    let opened = quota("2026-10-30");
    assert_eq!(opened.usage.standing.reason, Reason::Opened);
    assert!(!opened.next.changes);
    assert_eq!(opened.next.standing.day.to_string(), "2026-11-02");
    report(access, "ann", "2026-10-30 80000 HKD", present("2026-10-30"));
    let friday = quota("2026-10-30");
    assert_eq!((friday.usage.limit, friday.next.changes), (100, true));
    assert_eq!((friday.next.standing.level.number(), friday.next.standing.limit), (3, 600));
    assert_eq!(friday.next.standing.reason.to_string(), "assets HKD 80,000.00 on 2026-10-30 reach level 3");
    let sunday = quota("2026-11-01");
    assert_eq!((sunday.usage.month.to_string().as_str(), sunday.usage.limit), ("2026-11", 100));
    assert_eq!(sunday.next.standing.day.to_string(), "2026-11-02");
    let monday = quota("2026-11-02 00:00:00");
    assert_eq!((monday.usage.limit, monday.next.changes), (600, false));
    report(access, "ann", "orders 2026-11-02 1601", present("2026-11-02"));
    let tuesday = quota("2026-11-03");
    assert_eq!(
        tuesday.usage.standing.reason.to_string(),
        "1601 completed orders in 2026-11 are more than the 1600 of level 5"
    );
    // The assets are still shown, although the level is earned by orders.
    assert_eq!(tuesday.usage.standing.grounds.assets.unwrap().total.plain(), "80000.00");
}

#[test]
fn an_amount_below_a_threshold_is_not_rounded_up_to_it() {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    report(&fresh.access, "ann", "2026-10-29 79999.9999 HKD", present(LATER));
    let standing = fresh.access.usage(id, hk("2026-10-30")).unwrap().unwrap().standing;
    assert_eq!(standing.reason.to_string(), "assets HKD 79,999.99 on 2026-10-29 reach level 2");
}

#[test]
fn an_operator_can_override_the_level_and_the_quota() {
    let fresh = fresh();
    let access = &fresh.access;
    let id = fresh.create("ann", Terms::default()).account_id;
    report(access, "ann", "2026-10-29 80000 HKD", present(LATER));
    let usage = || access.usage(id, hk("2026-10-30")).unwrap().unwrap();
    let set =
        |terms: Terms| access.change_terms(id, &terms, &Actor::Operator, present("2026-10-30")).unwrap();
    assert!(set(Terms { level: Level::new(1), ..Terms::default() }));
    assert_eq!((usage().standing.level.number(), usage().limit), (1, 100));
    assert_eq!(usage().standing.reason, Reason::Set);
    assert!(set(Terms { level: Level::new(6), quota: Some(7), ..Terms::default() }));
    assert_eq!((usage().standing.level.number(), usage().limit, usage().standing.own_quota), (6, 7, true));
    assert!(set(Terms::default()));
    assert_eq!((usage().standing.level.number(), usage().limit), (3, 600));
}

#[test]
fn a_change_that_makes_the_ladder_invalid_is_refused() {
    let fresh = fresh();
    let access = &fresh.access;
    let id = fresh.create("ann", Terms::default()).account_id;
    report(access, "ann", "2026-10-29 80000 HKD", present(LATER));
    let step =
        |number, quota, assets, orders| Step { level: Level::new(number).unwrap(), quota, assets, orders };
    let change = |step: Step| access.change_level(step, &Actor::Operator, present("2026-10-30"));
    change(step(3, 700, Some(80_001), None)).unwrap();
    assert_eq!(access.usage(id, hk("2026-10-30")).unwrap().unwrap().limit, 400);
    change(step(3, 700, Some(80_000), None)).unwrap();
    assert_eq!(fresh.other().usage(id, hk("2026-10-30")).unwrap().unwrap().limit, 700);
    for (wrong, says) in [
        (step(3, 399, Some(80_000), None), "smaller quota"),
        (step(3, 1_001, Some(80_000), None), "smaller quota"),
        (step(3, 700, Some(9_999), None), "less than"),
        (step(3, 700, Some(400_001), None), "less than"),
        (step(5, 2_000, Some(4_000_000), Some(159)), "fewer"),
        (step(3, 700, None, None), "could not be reached"),
        (step(1, 100, Some(1), None), "every open account"),
        (step(6, 100_001, Some(6_000_000), None), "at most"),
    ] {
        let error = change(wrong).unwrap_err().to_string();
        assert!(error.contains(says), "{wrong:?}: {error}");
    }
    assert_eq!(access.ladder().unwrap().steps()[2], step(3, 700, Some(80_000), None));
}

#[test]
fn concurrent_changes_leave_a_valid_ladder() {
    let fresh = fresh();
    let (one, other) = (fresh.other(), fresh.other());
    let change = |access: &Access, number, quota| {
        let level = Level::new(number).unwrap();
        let change = StepChange { level, quota: Some(quota), assets: None, orders: None };
        access.change_level(change, &Actor::Operator, PRESENT).is_ok()
    };
    for round in 0..20 {
        assert!(change(&one, 3, 600) && change(&one, 2, 400));
        // Each of the changes is valid alone, but not both together.
        let start = std::sync::Barrier::new(2);
        let done = std::thread::scope(|scope| {
            let at_once = |access, number, quota| {
                let (start, change) = (&start, &change);
                scope.spawn(move || {
                    start.wait();
                    change(access, number, quota)
                })
            };
            let threads = [at_once(&one, 2, 550), at_once(&other, 3, 500)];
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(fresh.access.ladder().is_ok() && done != [true, true], "round {round}: {done:?}");
    }
}

#[test]
fn changes_to_different_terms_do_not_overwrite_each_other() {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    // A caller with a stale copy of the account must not restore its old terms.
    let before = fresh.access.account(id).unwrap().unwrap();
    let level = TermsChange { level: Some(Level::new(4)), ..TermsChange::default() };
    fresh.other().change_terms(id, level, &Actor::Operator, PRESENT).unwrap();
    let quota = TermsChange { quota: Some(Some(9)), ..TermsChange::default() };
    fresh.access.change_terms(id, quota, &Actor::Operator, PRESENT).unwrap();
    let terms = &fresh.access.account(id).unwrap().unwrap().terms;
    assert_eq!(*terms, Terms { level: Level::new(4), quota: Some(9), ..before.terms.clone() });
}

#[test]
fn an_invalid_ladder_can_be_repaired() {
    let fresh = fresh();
    let id = fresh.create("ann", Terms::default()).account_id;
    let path = fresh.dir.path().join("accounts.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "update level set quota = 50 where number = 3; delete from level where number = 5;
         update level set orders = 1 where number = 1;
         update counter set next = next + 1 where name = 'version';",
    )
    .unwrap();
    store::seal_as_it_is(&path).unwrap();
    assert!(fresh.access.usage(id, NOW).is_err() && fresh.access.ladder().is_err());
    assert_eq!(fresh.access.steps().unwrap().len(), 5);
    let change = |number, quota, assets, orders| {
        let change = StepChange { level: Level::new(number).unwrap(), quota, assets, orders };
        fresh.access.change_level(change, &Actor::Operator, PRESENT)
    };
    change(3, Some(100_001), None, None).unwrap_err();
    change(3, Some(600), None, None).unwrap();
    change(1, None, None, Some(None)).unwrap();
    assert!(fresh.access.ladder().is_err(), "level 5 is still missing");
    change(5, Some(2_000), Some(Some(4_000_000)), Some(Some(1_600))).unwrap();
    assert_eq!(fresh.access.ladder().unwrap().steps(), fresh.access.steps().unwrap());
    change(3, Some(50), None, None).unwrap_err();
    assert_eq!(fresh.access.usage(id, NOW).unwrap().unwrap().limit, 100);
}

fn history(access: &Access, caller: &access::Caller, text: &str, at: &str) -> Result<(), Refusal> {
    let ticket = access.admit_rate(caller, crate::fixture::START)?;
    let permit = access.admit(Demand::History { ticket, symbol: &symbol(text) }, hk(at))?;
    access.spend(permit, NOW)
}

fn level_rows(fresh: &Fresh, id: AccountId) -> Vec<(String, String)> {
    let filter =
        AuditFilter { account: Some(id), event: Some("level.changed"), limit: 100, ..AuditFilter::default() };
    let rows = fresh.access.audit(&filter).unwrap();
    rows.into_iter().rev().map(|row| (row.actor, row.reason)).collect()
}

#[test]
fn a_level_change_is_recorded_once_by_the_first_request() {
    let fresh = fresh();
    let access = &fresh.access;
    let terms = Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() };
    let caller = fresh.caller("ann", terms);
    let id = caller.account();
    history(access, &caller, "1.HK", "2026-10-30").unwrap();
    assert_eq!(level_rows(&fresh, id), []);
    // A report made on Friday for Friday takes effect on Monday without further action.
    report(access, "ann", "2026-10-30 80000 HKD", present("2026-10-30"));
    history(access, &caller, "1.HK", "2026-11-01 23:59:59").unwrap();
    assert_eq!(level_rows(&fresh, id), []);
    let other = fresh.other();
    for _ in 0..2 {
        history(access, &caller, "1.HK", "2026-11-02 00:00:00").unwrap();
        history(&other, &caller, "1.HK", "2026-11-02 00:00:01").unwrap();
    }
    let monday = "level 1 to 3 on 2026-11-02: assets HKD 80,000.00 on 2026-10-30 reach level 3".to_owned();
    assert_eq!(level_rows(&fresh, id), [("service".to_owned(), monday)]);
    // A correction of a past day takes effect immediately, and the audit names the operator.
    report(&other, "ann", "2026-10-30 5000 HKD", present("2026-11-02"));
    history(access, &caller, "1.HK", "2026-11-02").unwrap();
    let rows = level_rows(&fresh, id);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(
        (rows[1].0.as_str(), rows[1].1.as_str()),
        ("operator", "level 3 to 1 on 2026-11-02: neither assets nor orders reach a higher level")
    );
}

#[test]
fn a_higher_level_admits_a_request_that_was_just_refused() {
    let fresh = fresh();
    let access = &fresh.access;
    let step =
        |number, quota, assets| Step { level: Level::new(number).unwrap(), quota, assets, orders: None };
    access.change_level(step(1, 1, None), &Actor::Operator, PRESENT).unwrap();
    let caller = fresh.caller("ann", Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() });
    report(access, "ann", "2026-10-30 10000 HKD", present("2026-10-30"));
    history(access, &caller, "1.HK", "2026-11-01 23:59:59").unwrap();
    let refusal = history(access, &caller, "2.HK", "2026-11-01 23:59:59").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "this account has used 1 of 1 securities in 2026-11 (level 1): these stay available, others become \
         available on 2026-12-01 (Hong Kong time)"
    );
    history(access, &caller, "2.HK", "2026-11-02 00:00:00").unwrap();
    assert_eq!(access.usage(caller.account(), hk("2026-11-02")).unwrap().unwrap().remaining(), 398);
}

#[test]
fn usage_is_unchanged_when_the_level_falls() {
    let fresh = fresh();
    let access = &fresh.access;
    let step =
        |number, quota, assets| Step { level: Level::new(number).unwrap(), quota, assets, orders: None };
    access.change_level(step(1, 1, None), &Actor::Operator, PRESENT).unwrap();
    let caller = fresh.caller("ann", Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() });
    report(access, "ann", "2026-11-10 10000 HKD", present(LATER));
    report(access, "ann", "2026-11-11 0 HKD", present(LATER));
    for text in ["1.HK", "2.HK", "3.HK"] {
        history(access, &caller, text, "2026-11-11").unwrap();
    }
    let usage = access.usage(caller.account(), hk("2026-11-12")).unwrap().unwrap();
    assert_eq!((usage.used, usage.limit, usage.remaining()), (3, 1, 0));
    history(access, &caller, "3.HK", "2026-11-12").unwrap();
    assert!(matches!(
        history(access, &caller, "4.HK", "2026-11-12"),
        Err(Refusal::QuotaSpent { used: 3, limit: 1, .. })
    ));
    // In December no quota is used, and no quota carries over from November.
    let december = access.usage(caller.account(), hk("2026-12-01 00:00:00")).unwrap().unwrap();
    assert_eq!((december.used, december.remaining()), (0, 1));
}

#[test]
fn a_level_is_served_from_the_cache() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("ann", Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() });
    report(access, "ann", "2026-10-29 80000 HKD", present(LATER));
    history(access, &caller, "1.HK", "2026-10-30").unwrap();
    // The report is deleted directly in the database, so that only the cache still contains it.
    let conn = rusqlite::Connection::open(fresh.dir.path().join("accounts.db")).unwrap();
    conn.execute_batch("delete from asset").unwrap();
    assert_eq!(level(access, caller.account(), "2026-10-30"), 3);
    assert_eq!(level(access, caller.account(), "2026-11-01"), 3, "the same trading day");
    assert_eq!(level(access, caller.account(), "2026-11-02"), 1);
}

#[test]
fn rights_begin_and_end_by_the_market_clock() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("ann", Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() });
    let validity =
        Validity { starts_at: Some(hk("2026-11-02 00:00:00")), ends_at: Some(hk("2026-11-03 00:00:00")) };
    assert!(access.grant(caller.account(), Right::Us, validity, &Actor::Operator, NOW).unwrap());
    let ask = |at: &str| history(access, &caller, "AAPL.US", at);
    assert_eq!(
        ask("2026-11-01 23:59:59").unwrap_err().to_string(),
        "the right US of this account begins 2026-11-01T16:00:00Z: wait, or ask the operator"
    );
    ask("2026-11-02 00:00:00").unwrap();
    ask("2026-11-02 23:59:59").unwrap();
    assert_eq!(
        ask("2026-11-03 00:00:00").unwrap_err().to_string(),
        "the right US of this account ended 2026-11-02T16:00:00Z: ask the operator to renew it"
    );
    history(access, &caller, "700.HK", "2026-11-03").unwrap();
    let events: Vec<String> = access
        .audit(&AuditFilter { account: Some(caller.account()), limit: 100, ..AuditFilter::default() })
        .unwrap()
        .into_iter()
        .map(|row| format!("{} {} {}", row.actor, row.event, row.reason))
        .collect();
    let granted = "operator right.granted US from 2026-11-01T16:00:00Z until 2026-11-02T16:00:00Z";
    assert!(events.iter().any(|event| event == granted), "{events:#?}");
    assert!(!access.withdraw(caller.account(), Right::UsOptions, &Actor::Operator, NOW).unwrap());
    assert!(!access.grant(AccountId(99), Right::Us, validity, &Actor::Operator, NOW).unwrap());
}

#[test]
fn a_preview_shows_the_cost_without_charging() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("ann", Terms { quota: Some(3), ..Terms::default() });
    history(access, &caller, "1.HK", "2026-11-02").unwrap();
    let symbols = ["1.HK", "2.HK", "2.HK", "3.HK"].map(symbol);
    let preview = access.preview(caller.account(), &symbols, hk("2026-11-02")).unwrap().unwrap();
    assert_eq!(preview.new, [symbol("2.HK"), symbol("3.HK")]);
    assert_eq!(preview.counted, [symbol("1.HK")]);
    assert_eq!((preview.usage.used, preview.usage.remaining()), (1, 2));
    assert_eq!(access.usage(caller.account(), hk("2026-11-02")).unwrap().unwrap().used, 1);
    // Securities charged in November are not counted in December.
    let december = access.preview(caller.account(), &symbols, hk("2026-12-01 00:00:00")).unwrap().unwrap();
    assert_eq!((december.new.len(), december.counted.len()), (3, 0));
}
