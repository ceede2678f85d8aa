//! Tests of alerts and drawings: limits, and changes by several servers.

use market::{Price, Timestamp};
use store::{
    ALERT_FIRINGS_MAX, AccountId, Accounts, AlertId, AlertRow, AlertSeen, Depth, NewAlert, StoreError,
};

use crate::accounts::add;
use crate::fixture::{Home, NOW, symbol};

fn open() -> (Home, Accounts, AccountId) {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    (home, accounts, ann)
}

fn seen(at: i64) -> AlertSeen {
    let day = "2026-03-18".parse().unwrap();
    AlertSeen { at: Timestamp(at), day, high: Price(3), low: Price(1), last: Price(2) }
}

fn new(account: AccountId, text: &str) -> NewAlert {
    NewAlert {
        account,
        symbol: symbol(text),
        condition: "price_rise".to_owned(),
        value: Price(305_000_000),
        frequency: "once".to_owned(),
        created_at: NOW,
        is_met: false,
        seen: None,
    }
}

fn read(accounts: &Accounts, account: AccountId, id: AlertId) -> AlertRow {
    accounts.alerts(account).unwrap().into_iter().find(|row| row.id == id).unwrap()
}

#[test]
fn alerts_are_added_changed_and_removed() {
    let (home, accounts, ann) = open();
    let bob = add(&accounts, "bob").unwrap();
    let version = accounts.version().unwrap();
    let first = accounts.add_alert(&new(ann, "700.HK"), 2).unwrap().unwrap();
    let seen_first = NewAlert { seen: Some(seen(5)), is_met: true, ..new(ann, "AAPL.US") };
    let second = accounts.add_alert(&seen_first, 2).unwrap().unwrap();
    assert_eq!(accounts.add_alert(&new(ann, "5.HK"), 2).unwrap(), None, "the limit");
    let third = accounts.add_alert(&new(bob, "5.HK"), 2).unwrap().unwrap();
    assert!(first < second && second < third);
    assert!(accounts.version().unwrap() > version, "servers reload alerts");
    let row = read(&accounts, ann, second);
    assert_eq!((row.seen, row.is_met, row.is_enabled, row.revision), (Some(seen(5)), true, true, 1));

    let changed = AlertRow { is_enabled: false, value: Price(7), fired_on: Some(seen(0).day), ..row.clone() };
    assert!(accounts.change_alert(&changed).unwrap());
    assert!(!accounts.change_alert(&changed).unwrap(), "the row has another revision");
    assert_eq!(read(&accounts, ann, second), AlertRow { revision: 2, ..changed });
    let enabled: Vec<AlertId> = accounts.enabled_alerts().unwrap().iter().map(|row| row.id).collect();
    assert_eq!(enabled, [first, third]);

    assert_eq!(accounts.remove_alerts(ann, &[first, third, AlertId(999)]).unwrap(), 1);
    assert_eq!((accounts.alerts(ann).unwrap().len(), accounts.alerts(bob).unwrap().len()), (1, 1));
    // The rows are sealed.
    drop(accounts);
    let accounts = Accounts::open(&home, NOW).unwrap();
    assert!(accounts.check(Depth::Full).unwrap().is_empty());
}

#[test]
fn an_alert_fires_once_although_two_servers_compare_the_same_quote() {
    let (home, accounts, ann) = open();
    let id = accounts.add_alert(&new(ann, "700.HK"), 9).unwrap().unwrap();
    let other = Accounts::open(&home, NOW).unwrap();
    let after = AlertRow { seen: Some(seen(60)), is_enabled: false, ..read(&accounts, ann, id) };
    let fired = Some((Timestamp(60), Price(305_200_000)));
    assert!(accounts.follow_alert(&after, fired).unwrap());
    assert!(!other.follow_alert(&after, fired).unwrap());
    let firings = other.alert_firings(ann, Timestamp(60)).unwrap();
    let [firing] = firings.as_slice() else { panic!("{firings:?}") };
    assert_eq!((firing.number, firing.alert, firing.price), (1, id, Price(305_200_000)));
    assert_eq!(firing.symbol, symbol("700.HK"));
    assert_eq!(accounts.alert_firings(ann, Timestamp(59)).unwrap(), [], "later than the clock");
    assert_eq!(read(&accounts, ann, id), AlertRow { revision: 2, ..after });
}

#[test]
fn the_last_firings_are_stored() {
    let (_home, accounts, ann) = open();
    let id = accounts.add_alert(&new(ann, "700.HK"), 9).unwrap().unwrap();
    for at in 1..=i64::from(ALERT_FIRINGS_MAX) + 5 {
        let row = read(&accounts, ann, id);
        assert!(accounts.follow_alert(&row, Some((Timestamp(at), Price(at)))).unwrap());
    }
    let firings = accounts.alert_firings(ann, Timestamp(i64::MAX)).unwrap();
    let [newest, .., oldest] = firings.as_slice() else { panic!("{firings:?}") };
    assert_eq!((firings.len(), newest.at, oldest.at), (200, Timestamp(205), Timestamp(6)));
}

#[test]
fn drawings_are_stored_by_account_and_security() {
    let (_home, accounts, ann) = open();
    let bob = add(&accounts, "bob").unwrap();
    let put = |account, text: &str, items: &str| {
        accounts.put_drawings(account, &symbol(text), items, (NOW, 2)).unwrap()
    };
    assert!(put(ann, "700.HK", "one") && put(ann, "5.HK", "two") && put(bob, "700.HK", "his"));
    assert!(!put(ann, "9.HK", "three"), "drawings on two charts at most");
    assert!(put(ann, "700.HK", "other") && put(ann, "5.HK", "") && put(ann, "9.HK", "three"));
    let read = |account, text: &str| accounts.drawings(account, &symbol(text)).unwrap();
    assert_eq!(read(ann, "700.HK").as_deref(), Some("other"));
    assert_eq!((read(ann, "5.HK"), read(bob, "700.HK").as_deref()), (None, Some("his")));
    let long = accounts.put_drawings(ann, &symbol("700.HK"), &"x".repeat(40_000), (NOW, 2));
    assert!(matches!(long, Err(StoreError::Unfit { .. })), "{long:?}");
    assert!(accounts.check(Depth::Full).unwrap().is_empty());
}
