use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Barrier;

use market::Timestamp;
use store::{
    AccountId, AccountTerms, Accounts, AssetReportOutcome, AuditFilter, AuditNote, Credential, LevelChange,
    MonthUsage, NewAccountRow, OrderReport, RateRow, RecordedLevel, ReportedAssetsRow, ReportedOrdersRow,
    RightRow, Spend, StoreError, StoreUrl,
};

use crate::fixture::{Home, NOW, fresh, symbol};

const MONTH: &str = "2025-11";

pub(crate) fn terms() -> AccountTerms {
    AccountTerms {
        level: 0,
        quota: None,
        rate: None,
        connections: 10,
        subscriptions: 500,
        floors: None,
        read_only: false,
        api_date: None,
    }
}

pub(crate) fn add(accounts: &Accounts, name: &str) -> Result<AccountId, StoreError> {
    let id = accounts.take_id()?;
    let account = NewAccountRow {
        name: name.to_owned(),
        region: "ap".to_owned(),
        role: "user".to_owned(),
        created_at: NOW,
        terms: terms(),
        rights: vec![right("HK")],
    };
    accounts.add(id, &account, &credential(id, name), &note(NOW))?;
    Ok(id)
}

fn credential(id: AccountId, name: &str) -> Credential {
    Credential {
        app_key: format!("key of {name}"),
        account: id,
        app_secret: vec![1, 2, 3],
        token_hash: [u8::try_from(id.0).unwrap(); 32],
        token_expires_at: Timestamp(NOW.0 + 1_000),
        created_at: NOW,
    }
}

fn right(package: &str) -> RightRow {
    RightRow { package: package.to_owned(), starts_at: Some(NOW), ends_at: None }
}

pub(crate) fn note(at: Timestamp) -> AuditNote<'static> {
    AuditNote { at, actor: "operator", reason: "a test" }
}

fn open(home: &Home) -> Accounts {
    Accounts::open(home, NOW).unwrap()
}

#[test]
fn an_account_is_found_by_number_name_key_and_token() {
    let home = Home::new();
    let accounts = open(&home);
    assert!(accounts.is_empty().unwrap());
    let id = add(&accounts, "alice").unwrap();
    let other = add(&accounts, "bob").unwrap();
    assert!(!accounts.is_empty().unwrap());
    assert_ne!(id, other);

    let row = accounts.account(id).unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.region.as_str(), row.epoch), ("alice", "ap", 0));
    assert_eq!((row.created_at, row.revoked_at), (NOW, None));
    assert_eq!(row.terms, terms());
    assert_eq!(accounts.account_named("alice").unwrap().as_ref(), Some(&row));
    assert_eq!(accounts.account_named("Alice").unwrap(), None);
    assert_eq!(accounts.accounts().unwrap().iter().map(|row| row.id).collect::<Vec<_>>(), [id, other]);

    let found = accounts.credential_by_key("key of alice").unwrap().unwrap();
    assert_eq!(found, credential(id, "alice"));
    assert_eq!(accounts.credential_by_token(&found.token_hash).unwrap(), Some(found.clone()));
    assert_eq!(accounts.credentials_of(id).unwrap(), [found]);
    assert_eq!(accounts.credential_by_key("nobody's").unwrap(), None);
    assert_eq!(accounts.credential_by_token(&[0xff; 32]).unwrap(), None);
}

#[test]
fn names_are_unique_and_a_refused_account_is_not_stored() {
    let home = Home::new();
    let accounts = open(&home);
    add(&accounts, "alice").unwrap();
    let version = accounts.version().unwrap();
    let error = add(&accounts, "alice").unwrap_err();
    assert!(matches!(&error, StoreError::Taken { name } if name == "alice"), "{error:?}");
    assert_eq!(accounts.accounts().unwrap().len(), 1);
    assert_eq!(accounts.version().unwrap(), version);
    // The id that was allocated for the refused account is skipped.
    assert_eq!(add(&accounts, "bob").unwrap(), AccountId(3));
}

#[test]
fn an_account_is_revoked_only_once() {
    let home = Home::new();
    let accounts = open(&home);
    let id = add(&accounts, "alice").unwrap();
    assert!(accounts.revoke(id, &note(Timestamp(5))).unwrap());
    assert!(!accounts.revoke(id, &note(Timestamp(6))).unwrap());
    assert!(!accounts.revoke(AccountId(99), &note(Timestamp(6))).unwrap());
    let row = accounts.account(id).unwrap().unwrap();
    assert_eq!((row.revoked_at, row.epoch), (Some(Timestamp(5)), 1));
}

fn change(accounts: &Accounts, id: AccountId, terms: &AccountTerms) -> Result<bool, StoreError> {
    accounts.change_terms(id, (NOW, "operator"), |_| Ok((terms.clone(), String::new())))
}

#[test]
fn terms_are_stored_as_given() {
    let home = Home::new();
    let accounts = open(&home);
    let id = add(&accounts, "alice").unwrap();
    let other = AccountTerms {
        level: 6,
        quota: Some(0),
        rate: Some("unlimited".to_owned()),
        connections: 1,
        subscriptions: 0,
        floors: Some("none".to_owned()),
        read_only: true,
        api_date: Some("2024-08-01".to_owned()),
    };
    assert!(change(&accounts, id, &other).unwrap());
    assert!(!change(&accounts, AccountId(99), &other).unwrap());
    assert_eq!(accounts.account(id).unwrap().unwrap().terms, other);
    let endless = AccountTerms { rate: Some("x".repeat(2_000)), ..other };
    let error = change(&accounts, id, &endless).unwrap_err();
    assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
}

#[test]
fn the_version_rises_with_each_change_but_not_with_usage() {
    let home = Home::new();
    let (server, other) = (open(&home), open(&home));
    let mut last = server.version().unwrap();
    let mut rises = |accounts: &Accounts| {
        let before = std::mem::replace(&mut last, accounts.version().unwrap());
        last > before
    };
    let id = add(&other, "alice").unwrap();
    assert!(rises(&server));
    assert!(!rises(&server));
    change(&other, id, &AccountTerms { level: 2, ..terms() }).unwrap();
    assert!(rises(&server));
    other.revoke(id, &note(NOW)).unwrap();
    assert!(rises(&server));
    add(&server, "bob").unwrap();
    assert!(rises(&server));
    other.spend(id, MONTH, &symbol("700.HK"), 1, (NOW, NOW)).unwrap();
    server.spend(id, MONTH, &symbol("5.HK"), 2, (NOW, NOW)).unwrap();
    assert!(!rises(&server));
}

#[test]
fn a_security_is_counted_once_a_month() {
    let home = Home::new();
    let accounts = open(&home);
    let (alice, bob) = (add(&accounts, "alice").unwrap(), add(&accounts, "bob").unwrap());
    let spend = |id, month, text| accounts.spend(id, month, &symbol(text), 2, (NOW, NOW)).unwrap();
    assert_eq!(spend(alice, MONTH, "700.HK"), Spend::Charged { used: 1 });
    assert_eq!(spend(alice, MONTH, "00700.hk"), Spend::Free);
    assert_eq!(spend(alice, MONTH, "AAPL.US"), Spend::Charged { used: 2 });
    assert_eq!(spend(alice, MONTH, "5.HK"), Spend::Refused { used: 2 });
    assert_eq!(spend(alice, MONTH, "AAPL.US"), Spend::Free);
    // Other months and other accounts are not affected.
    assert_eq!(spend(alice, "2025-12", "5.HK"), Spend::Charged { used: 1 });
    assert_eq!(spend(bob, MONTH, "5.HK"), Spend::Charged { used: 1 });

    let used = |text| accounts.used(alice, MONTH, &symbol(text)).unwrap();
    assert_eq!(used("700.HK"), MonthUsage { counted: true, total: 2 });
    assert_eq!(used("5.HK"), MonthUsage { counted: false, total: 2 });
    let usage = accounts.usage(alice, MONTH).unwrap();
    assert_eq!(usage, [(symbol("700.HK"), NOW), (symbol("AAPL.US"), NOW)]);
}

#[test]
fn charges_persist_after_reopening() {
    let home = Home::new();
    let id = {
        let accounts = open(&home);
        let id = add(&accounts, "alice").unwrap();
        accounts.spend(id, MONTH, &symbol("700.HK"), 1, (NOW, NOW)).unwrap();
        id
    };
    let accounts = open(&home);
    assert_eq!(accounts.spend(id, MONTH, &symbol("700.HK"), 1, (NOW, NOW)).unwrap(), Spend::Free);
    assert_eq!(
        accounts.spend(id, MONTH, &symbol("5.HK"), 1, (NOW, NOW)).unwrap(),
        Spend::Refused { used: 1 }
    );
}

#[test]
fn an_unknown_account_cannot_be_charged() {
    let home = Home::new();
    let accounts = open(&home);
    accounts.spend(AccountId(7), MONTH, &symbol("700.HK"), 1, (NOW, NOW)).unwrap_err();
    // The failed charge left no open transaction.
    let id = add(&accounts, "alice").unwrap();
    assert_eq!(
        accounts.spend(id, MONTH, &symbol("5.HK"), 1, (NOW, NOW)).unwrap(),
        Spend::Charged { used: 1 }
    );
}

/// Charges `count` symbols, beginning with `from`. Returns the number of symbols that were charged.
fn spend_many(accounts: &Accounts, id: AccountId, from: u32, count: u32, limit: u32) -> usize {
    (from..from + count)
        .map(|ticker| symbol(&format!("{ticker}.HK")))
        .map(|symbol| accounts.spend(id, MONTH, &symbol, limit, (NOW, NOW)).unwrap())
        .filter(|spend| matches!(spend, Spend::Charged { .. }))
        .count()
}

#[test]
fn concurrent_threads_are_charged_exactly_up_to_the_quota() {
    const LIMIT: u32 = 40;
    let home = Home::new();
    let shared = open(&home);
    let id = add(&shared, "alice").unwrap();
    let start = Barrier::new(6);
    let granted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread: u32| {
                let (start, shared, home) = (&start, &shared, &home);
                scope.spawn(move || {
                    let own = thread.is_multiple_of(2).then(|| open(home));
                    start.wait();
                    // The ranges overlap, so that threads also race for the same symbol.
                    spend_many(own.as_ref().unwrap_or(shared), id, 1 + thread * 10, 20, LIMIT)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, LIMIT as usize);
    let usage: BTreeSet<_> = shared.usage(id, MONTH).unwrap().into_iter().map(|(symbol, _)| symbol).collect();
    assert_eq!(usage.len(), LIMIT as usize);
}

#[test]
fn concurrent_processes_are_charged_exactly_up_to_the_quota() {
    const LIMIT: usize = 30;
    let home = Home::new();
    let accounts = open(&home);
    let id = add(&accounts, "alice").unwrap();
    let children: Vec<_> = [1, 1_000]
        .map(|from: u32| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--ignored", "--exact", "accounts::a_process_that_spends", "--nocapture"])
                .env("SPEND_IN", home.text())
                .env("SPEND_FROM", from.to_string())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .into_iter()
        .collect();
    let mut granted = spend_many(&accounts, id, 2_000, 30, 30);
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let count = text.lines().find_map(|line| line.split_once("granted=")).unwrap().1;
        granted += count.trim().parse::<usize>().unwrap();
    }
    assert_eq!(granted, LIMIT);
    assert_eq!(accounts.usage(id, MONTH).unwrap().len(), LIMIT);
}

#[test]
#[ignore = "the other process of the test above"]
fn a_process_that_spends() {
    let place: StoreUrl = std::env::var("SPEND_IN").unwrap().parse().unwrap();
    let accounts = Accounts::open(&place, NOW).unwrap();
    let from = std::env::var("SPEND_FROM").unwrap().parse().unwrap();
    let id = accounts.account_named("alice").unwrap().unwrap().id;
    println!("granted={}", spend_many(&accounts, id, from, 30, 30));
}

#[test]
fn accounts_are_created_once_by_concurrent_opens() {
    let home = Home::new();
    let start = Barrier::new(6);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (start, home) = (&start, &home);
            scope.spawn(move || {
                start.wait();
                add(&open(home), &format!("account {thread}")).unwrap();
            });
        }
    });
    let ids: Vec<i64> = open(&home).accounts().unwrap().iter().map(|row| row.id.0).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn accounts_can_change_during_an_import() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let batch = writer.begin().unwrap();
    let accounts = open(&fresh.home);
    let id = add(&accounts, "alice").unwrap();
    accounts.spend(id, MONTH, &symbol("700.HK"), 1, (NOW, NOW)).unwrap();
    assert!(accounts.revoke(id, &note(NOW)).unwrap());
    batch.commit().unwrap();
}

#[test]
fn rights_are_granted_with_their_times_and_withdrawn() {
    let home = Home::new();
    let accounts = open(&home);
    let id = add(&accounts, "alice").unwrap();
    let rights = || accounts.account(id).unwrap().unwrap().rights;
    assert_eq!(rights(), [right("HK")]);
    let version = accounts.version().unwrap();
    let until = RightRow { ends_at: Some(Timestamp(NOW.0 + 60)), ..right("US") };
    assert!(accounts.grant(id, &until, &note(NOW)).unwrap());
    assert!(accounts.version().unwrap() > version);
    assert_eq!(rights(), [right("HK"), until.clone()]);
    let longer = RightRow { ends_at: None, ..until };
    assert!(accounts.grant(id, &longer, &note(NOW)).unwrap());
    assert_eq!(rights(), [right("HK"), longer.clone()]);
    assert!(accounts.withdraw(id, "HK", &note(NOW)).unwrap());
    assert!(!accounts.withdraw(id, "HK", &note(NOW)).unwrap());
    assert!(!accounts.grant(AccountId(99), &longer, &note(NOW)).unwrap());
    assert_eq!(accounts.account_named("alice").unwrap().unwrap().rights, [longer]);
}

#[test]
fn every_change_is_audited() {
    let home = Home::new();
    let accounts = open(&home);
    let (id, other) = (add(&accounts, "alice").unwrap(), add(&accounts, "bob").unwrap());
    accounts.grant(id, &right("US"), &note(NOW)).unwrap();
    accounts.withdraw(id, "US", &note(NOW)).unwrap();
    accounts.withdraw(id, "US", &note(NOW)).unwrap();
    change(&accounts, id, &terms()).unwrap();
    accounts.spend(id, MONTH, &symbol("700.HK"), 1, (NOW, Timestamp(NOW.0 + 9))).unwrap();
    accounts.spend(id, MONTH, &symbol("700.HK"), 1, (NOW, NOW)).unwrap();
    accounts.spend(id, MONTH, &symbol("5.HK"), 1, (NOW, NOW)).unwrap();
    accounts
        .note(None, "login.refused", &AuditNote { at: NOW, actor: "service", reason: "two\nlines" })
        .unwrap();
    accounts.revoke(id, &note(NOW)).unwrap();
    accounts.revoke(id, &note(NOW)).unwrap();
    let all = AuditFilter { limit: 100, ..AuditFilter::default() };
    let events = |filter: &AuditFilter<'_>| -> Vec<String> {
        accounts.audit(filter).unwrap().into_iter().map(|row| row.event).collect()
    };
    let of_alice = AuditFilter { account: Some(id), ..all.clone() };
    assert_eq!(
        events(&of_alice),
        [
            "account.revoked",
            "quota.spent",
            "account.changed",
            "right.withdrawn",
            "right.granted",
            "account.created"
        ]
    );
    assert_eq!(events(&AuditFilter { account: Some(other), ..all.clone() }), ["account.created"]);
    let spent = accounts.audit(&AuditFilter { event: Some("quota.spent"), ..all.clone() }).unwrap();
    assert_eq!(spent.len(), 1);
    let row = &spent[0];
    assert_eq!((row.at, row.actor.as_str()), (Timestamp(NOW.0 + 9), format!("account {}", id.0).as_str()));
    assert_eq!(row.reason, "700.HK is 1 of 1 in 2025-11");
    let refused = accounts.audit(&AuditFilter { event: Some("login.refused"), ..all.clone() }).unwrap();
    assert_eq!((refused[0].account, refused[0].reason.as_str()), (None, "two lines"));
    let page = accounts.audit(&AuditFilter { limit: 2, ..all.clone() }).unwrap();
    let rest = AuditFilter { before: Some(page[1].id), ..all.clone() };
    assert_eq!(page.len() + events(&rest).len(), events(&all).len());
    assert_eq!(events(&AuditFilter { since: Some(Timestamp(NOW.0 + 1)), ..all }), ["quota.spent"]);
}

fn day(text: &str) -> market::Date {
    text.parse().unwrap()
}

#[test]
fn reported_assets_use_the_rates_of_their_day() {
    let home = Home::new();
    let accounts = open(&home);
    let id = add(&accounts, "alice").unwrap();
    let rate = |day_text: &str, rate| RateRow { currency: "USD".to_owned(), day: day(day_text), rate };
    accounts.put_rates(&[rate("2025-11-03", 7), rate("2025-11-05", 8)], &note(NOW)).unwrap();
    let asset = |day_text: &str, currency: &str, amount| ReportedAssetsRow {
        account: id,
        day: day(day_text),
        currency: currency.to_owned(),
        amount,
    };
    let rows = [asset("2025-11-04", "USD", 5), asset("2025-11-04", "HKD", 6), asset("2025-11-06", "USD", 9)];
    assert_eq!(accounts.put_reported_assets(&rows, "HKD", &note(NOW)).unwrap(), AssetReportOutcome::Done);
    let as_of = |text: &str| {
        let holdings = accounts.reported_assets_as_of(id, day(text)).unwrap();
        holdings.into_iter().map(|one| (one.currency, one.amount, one.rate)).collect::<Vec<_>>()
    };
    assert_eq!(as_of("2025-11-03"), []);
    // Before the first reported rate, the built-in rate is used.
    let early = [asset("2025-11-02", "USD", 4)];
    assert_eq!(accounts.put_reported_assets(&early, "HKD", &note(NOW)).unwrap(), AssetReportOutcome::Done);
    assert_eq!(as_of("2025-11-03"), [("USD".to_owned(), 4, Some(780_000_000))]);
    let fourth = [("HKD".to_owned(), 6, None), ("USD".to_owned(), 5, Some(7))];
    assert_eq!((as_of("2025-11-04"), as_of("2025-11-05")), (fourth.to_vec(), fourth.to_vec()));
    assert_eq!(as_of("2025-12-31"), [("USD".to_owned(), 9, Some(8))]);
    // A report with an amount that cannot be converted writes nothing, and does not raise the
    // version.
    let version = accounts.version().unwrap();
    let unrated = [asset("2025-11-07", "HKD", 1), asset("2025-11-02", "EUR", 1)];
    assert_eq!(
        accounts.put_reported_assets(&unrated, "HKD", &note(NOW)).unwrap(),
        AssetReportOutcome::Unrated(1)
    );
    assert_eq!((as_of("2025-12-31").len(), accounts.version().unwrap()), (1, version));
}

#[test]
fn reported_orders_are_counted_over_a_range() {
    let home = Home::new();
    let accounts = open(&home);
    let id = add(&accounts, "alice").unwrap();
    let other = add(&accounts, "bob").unwrap();
    let row = |account, day_text: &str, report| ReportedOrdersRow { account, day: day(day_text), report };
    let order = |text: &str| OrderReport::Order(text.to_owned());
    let rows = [
        row(id, "2025-11-01", OrderReport::Count(5)),
        row(id, "2025-11-30", order("A")),
        row(id, "2025-12-01", order("A")),
        row(id, "2025-12-01", order("B")),
        row(other, "2025-11-30", order("A")),
        row(id, "2025-11-01", OrderReport::Count(3)),
    ];
    accounts.put_reported_orders(&rows, &note(NOW)).unwrap();
    let between = |from: &str, to: &str| accounts.reported_orders_between(id, day(from), day(to)).unwrap();
    assert_eq!(between("2025-11-01", "2025-12-01"), 4);
    assert_eq!(between("2025-12-01", "2026-01-01"), 1);
    assert_eq!((between("2025-11-02", "2025-11-30"), between("2025-11-01", "2025-11-01")), (0, 0));
    assert_eq!(accounts.reported_orders_of(id, 2).unwrap(), [(day("2025-12-01"), 1), (day("2025-11-30"), 1)]);
}

#[test]
fn a_level_change_is_recorded_by_the_first_process() {
    let home = Home::new();
    let accounts = open(&home);
    let id = add(&accounts, "alice").unwrap();
    let seen = |level| RecordedLevel { level, since: day("2025-11-03") };
    let change = |from, to| LevelChange { account: id, from, to: seen(to), reason: format!("to level {to}") };
    let start = Barrier::new(4);
    let written: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (start, home, change) = (&start, &home, change(None, 3));
                scope.spawn(move || {
                    let accounts = open(home);
                    start.wait();
                    accounts.record_levels(&[change], NOW, "service").unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(written, 1);
    assert_eq!(accounts.recorded_level(id).unwrap(), Some(seen(3)));
    assert_eq!(accounts.record_levels(&[change(Some(seen(2)), 4)], NOW, "service").unwrap(), 0);
    assert_eq!(accounts.record_levels(&[change(Some(seen(3)), 4)], NOW, "service").unwrap(), 1);
    let filter = AuditFilter { event: Some("level.changed"), limit: 10, ..AuditFilter::default() };
    let reasons: Vec<String> = accounts.audit(&filter).unwrap().into_iter().map(|row| row.reason).collect();
    assert_eq!(reasons, ["to level 4", "to level 3"]);
}

#[test]
fn a_failed_decision_writes_nothing() {
    #[derive(Debug)]
    struct No;
    impl From<StoreError> for No {
        fn from(_: StoreError) -> No {
            No
        }
    }
    let home = Home::new();
    let accounts = open(&home);
    let id = add(&accounts, "alice").unwrap();
    std::thread::scope(|scope| {
        for number in 1..=8_u32 {
            let accounts = open(&home);
            scope.spawn(move || {
                let more = |terms: AccountTerms| {
                    let connections = terms.connections + number;
                    Ok::<_, StoreError>((AccountTerms { connections, ..terms }, String::new()))
                };
                assert!(accounts.change_terms(id, (NOW, "operator"), more).unwrap());
            });
        }
    });
    let found = accounts.account(id).unwrap().unwrap().terms;
    assert_eq!(found.connections, terms().connections + 36, "none of eight changes at once is lost");
    let version = accounts.version().unwrap();
    assert!(accounts.change_terms(id, (NOW, "operator"), |_| Err(No)).is_err());
    assert!(accounts.change_level((NOW, "operator"), |_| Err(No)).is_err());
    assert_eq!(accounts.account(id).unwrap().unwrap().terms, found);
    assert_eq!(accounts.version().unwrap(), version);
}

#[test]
fn pruning_old_audit_rows_is_recorded() {
    let home = Home::new();
    let accounts = open(&home);
    for at in [10, 20, 30] {
        accounts.note(None, "login.refused", &note(Timestamp(at))).unwrap();
    }
    let events = || -> Vec<(i64, String)> {
        let filter = AuditFilter { limit: 100, ..AuditFilter::default() };
        accounts.audit(&filter).unwrap().into_iter().map(|row| (row.at.0, row.event)).collect()
    };
    assert_eq!(accounts.prune_audit(Timestamp(30), (Timestamp(40), "operator")).unwrap(), 2);
    assert_eq!(events(), [(40, "audit.pruned".to_owned()), (30, "login.refused".to_owned())]);
    assert_eq!(accounts.prune_audit(Timestamp(30), (Timestamp(50), "operator")).unwrap(), 0);
    // Rows at or after the current time are not pruned, so that pruning terminates.
    assert_eq!(accounts.prune_audit(Timestamp(i64::MAX), (Timestamp(40), "operator")).unwrap(), 1);
    assert_eq!(events().len(), 2);
}

#[test]
fn events_caused_by_an_account_are_rate_limited() {
    let home = Home::new();
    let accounts = open(&home);
    let (id, other) = (add(&accounts, "alice").unwrap(), add(&accounts, "bob").unwrap());
    let (mine, theirs) = (format!("account {}", id.0), format!("account {}", other.0));
    let deny = |id, actor: &str, at: i64| {
        accounts.note(Some(id), "code.denied", &AuditNote { at: Timestamp(at), actor, reason: "" })
    };
    for at in 0..60 {
        deny(id, &mine, at).unwrap();
    }
    let refused = deny(id, &mine, 60).unwrap_err();
    assert!(matches!(refused, StoreError::TooOften { retry_after_s: 3_540, .. }), "{refused:?}");
    deny(other, &theirs, 60).unwrap();
    deny(id, "operator", 60).unwrap();
    // Sign-outs and actions by other actors are always recorded.
    accounts.note(Some(id), "logout", &AuditNote { at: Timestamp(61), actor: &mine, reason: "" }).unwrap();
    let late = deny(id, &mine, 3_599).unwrap_err();
    assert!(matches!(late, StoreError::TooOften { retry_after_s: 1, .. }), "{late:?}");
    deny(id, &mine, 3_600).unwrap();
}
