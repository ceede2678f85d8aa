//! Reports are accepted or rejected as a whole, and errors name the line.

use access::{AccessError, Actor, AuditFilter, Table, Terms};

use crate::fixture::{Fresh, PRESENT, fresh};

/// Submits a report of assets, orders or exchange rates, depending on its columns.
fn report(fresh: &Fresh, text: &str) -> Result<(usize, usize), AccessError> {
    let table = Table::csv(text.as_bytes())?;
    let header = text.lines().next().unwrap_or_default();
    let reported = if header.contains("amount") {
        fresh.access.report_assets(&table, &Actor::Operator, PRESENT)
    } else if header.contains("rate") {
        fresh.access.report_rates(&table, &Actor::Operator, PRESENT)
    } else {
        fresh.access.report_orders(&table, &Actor::Operator, PRESENT)
    }?;
    Ok((reported.rows, reported.accounts))
}

fn refused(fresh: &Fresh, text: &str) -> String {
    match report(fresh, text).unwrap_err() {
        AccessError::Report(error) => error.to_string(),
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn accounts_and_days_are_accepted_in_all_formats() {
    let fresh = fresh();
    let ann = fresh.create("ann", Terms::default()).account_id;
    let bob = fresh.create("Bob, Ltd", Terms::default()).account_id;
    let text = format!(
        "account,day,currency,amount\nann,2026-08-13,hkd,80000\n{},20260813,HKD,1.5\n\"Bob, Ltd\",2026-08-12,HKD,0\n",
        bob.0
    );
    assert_eq!(report(&fresh, &text).unwrap(), (3, 2));
    let describe = |id| {
        let assets = fresh.access.reported_assets(id, 10).unwrap();
        assets
            .into_iter()
            .map(|one| format!("{} {} {}", one.day, one.amount, one.currency))
            .collect::<Vec<_>>()
    };
    assert_eq!(describe(ann), ["2026-08-13 80000.00 HKD"]);
    assert_eq!(describe(bob), ["2026-08-13 1.50 HKD", "2026-08-12 0.00 HKD"]);
    // The default day is today in Hong Kong.
    assert_eq!(report(&fresh, "account,currency,amount\nann,HKD,0.0001\n").unwrap(), (1, 1));
    assert_eq!(describe(ann), ["2026-08-14 0.0001 HKD", "2026-08-13 80000.00 HKD"]);
}

#[test]
fn an_amount_without_a_rate_rejects_the_whole_report() {
    let fresh = fresh();
    let ann = fresh.create("ann", Terms::default()).account_id;
    report(&fresh, "currency,day,rate\nEUR,2026-08-11,7.8\n").unwrap();
    let text =
        "account,day,currency,amount\nann,2026-08-11,EUR,5\nann,2026-08-12,HKD,5\nann,2026-08-10,EUR,5\n";
    assert_eq!(
        refused(&fresh, text),
        "line 4: there is no exchange rate of EUR on or before 2026-08-10: report one first, for example \
         with `chandler account rates EUR RATE --day 2026-08-10`"
    );
    assert_eq!(fresh.access.reported_assets(ann, 10).unwrap(), []);
    report(&fresh, "currency,day,rate\nEUR,2026-08-10,7.75\n").unwrap();
    assert_eq!(report(&fresh, text).unwrap(), (3, 1));
    let rates: Vec<String> =
        fresh.access.rates(Some("EUR"), 10).unwrap().into_iter().map(|one| one.rate).collect();
    assert_eq!(rates, ["7.80", "7.75"]);
}

#[test]
fn built_in_rates_are_listed_after_reported_rates() {
    let fresh = fresh();
    fresh.create("ann", Terms::default());
    assert_eq!(report(&fresh, "account,day,currency,amount\nann,2026-08-11,USD,5\n").unwrap(), (1, 1));
    report(&fresh, "currency,day,rate\nUSD,2026-08-10,7.75\nEUR,2026-08-10,9\n").unwrap();
    let listed = |currency: Option<&str>, limit: u32| -> Vec<String> {
        let row = |one: access::RateEntry| {
            let mark = if one.builtin { " builtin" } else { "" };
            format!("{} {} {}{mark}", one.currency, one.day, one.rate)
        };
        fresh.access.rates(currency, limit).unwrap().into_iter().map(row).collect()
    };
    let all = [
        "CNH 1983-10-17 1.10 builtin",
        "CNY 1983-10-17 1.10 builtin",
        "EUR 2026-08-10 9.00",
        "SGD 1983-10-17 5.80 builtin",
        "USD 2026-08-10 7.75",
        "USD 1983-10-17 7.80 builtin",
    ];
    assert_eq!(listed(None, 10), all);
    assert_eq!(listed(None, 4), all[..4]);
    assert_eq!(listed(Some("USD"), 10), all[4..]);
    assert_eq!(listed(Some("EUR"), 10), all[2..3]);
    assert_eq!(listed(Some("JPY"), 10), [""; 0]);
}

#[test]
fn each_error_names_its_line() {
    let fresh = fresh();
    fresh.create("ann", Terms::default());
    let rows = |columns: &str, row: &str| format!("{columns}\n{row}\n");
    let assets = |row: &str| rows("account,day,currency,amount", row);
    for (text, says) in [
        (assets("eve,2026-08-13,HKD,1"), "line 2: there is no account \"eve\""),
        (assets("999,2026-08-13,HKD,1"), "line 2: there is no account \"999\""),
        (assets(",2026-08-13,HKD,1"), "line 2: account is blank"),
        (
            assets("ann,2026-08-15,HKD,1"),
            "line 2: 2026-08-15 is in the future: today is 2026-08-14 in Hong Kong",
        ),
        (assets("ann,1989-12-31,HKD,1"), "line 2: 1989-12-31 is before"),
        (assets("ann,2026-02-30,HKD,1"), "line 2: \"2026-02-30\" is not a date"),
        (assets("ann,yesterday,HKD,1"), "is not a date"),
        (assets("ann,2026-08-13,DOLLAR,1"), "\"DOLLAR\" is not a currency"),
        (assets("ann,2026-08-13,U$D,1"), "is not a currency"),
        (assets("ann,2026-08-13,HKD,1.00001"), "more than 4 decimals"),
        (assets("ann,2026-08-13,HKD,-1"), "less than 0"),
        (assets("ann,2026-08-13,HKD,10000000000000.0001"), "too large"),
        (assets("ann,2026-08-13,HKD,1e400"), "too large"),
        (assets("ann,2026-08-13,HKD,much"), "not a number"),
        (assets("ann,2026-08-13,HKD,1\nann,20260813,hkd,2"), "line 3: HKD of 2026-08-13 is reported twice"),
        (
            rows("account,day,amount,currency,note", "ann,2026-08-13,1,HKD,x"),
            "\"note\" is not a known column",
        ),
        (rows("account,day,amount", "ann,2026-08-13,1"), "\"currency\" is missing"),
        (rows("currency,day,rate", "USD,2026-08-13,0"), "above 0"),
        (rows("currency,day,rate", "HKD,2026-08-13,1"), "has no rate"),
        (rows("currency,day,rate", "USD,2026-08-13,1000000.00000001"), "too large"),
        (rows("currency,day,rate", "USD,2026-08-13,7.800000001"), "more than 8 decimals"),
        (rows("currency,day,rate", "USD,2026-08-13,7\nUSD,2026-08-13,8"), "reported twice"),
        (rows("account,day,count", "ann,2026-08-13,-1"), "is not a count of orders"),
        (rows("account,day,count", "ann,2026-08-13,1000001"), "is not a count of orders"),
        (rows("account,day,count", "ann,2026-08-13,1\nann,2026-08-13,2"), "reported twice"),
        (rows("account,day,order_id", "ann,2026-08-13,a b"), "no blanks"),
        (rows("account,day,count,order_id", "ann,2026-08-13,1,a"), "either a count or an order_id"),
        (rows("account,day,count,order_id", "ann,2026-08-13,,"), "either a count or an order_id"),
    ] {
        let error = refused(&fresh, &text);
        assert!(error.contains(says), "{text:?}: {error}");
    }
}

#[test]
fn a_report_writes_one_audit_row() {
    let fresh = fresh();
    fresh.create("ann", Terms::default());
    fresh.create("bob", Terms::default());
    report(&fresh, "account,day,currency,amount\nann,2026-08-12,HKD,1\nann,2026-08-13,HKD,1\n").unwrap();
    report(&fresh, "account,day,order_id\nann,2026-08-12,x\nbob,2026-08-12,x\n").unwrap();
    let rows = fresh.access.audit(&AuditFilter { limit: 2, ..AuditFilter::default() }).unwrap();
    let rows: Vec<_> =
        rows.iter().map(|row| (row.event.as_str(), row.account.is_some(), row.reason.as_str())).collect();
    assert_eq!(
        rows,
        [
            ("orders.reported", false, "2 rows for 2026-08-12"),
            ("assets.reported", true, "2 rows for 2026-08-12 to 2026-08-13"),
        ]
    );
}
