use market::adjust::Amount;
use market::{Action, Grain, Timestamp};
use store::{ActionChanges, Batch, Lane, NewBlock, Series, StoredAction};

use crate::fixture::{fresh, symbol};

fn cash(date: &str, amount: &str) -> Action {
    Action { cash: Amount::parse(amount).unwrap(), ..Action::none(date.parse().unwrap()) }
}

fn changes(added: u64, replaced: u64, unchanged: u64, removed: u64) -> ActionChanges {
    ActionChanges { added, replaced, unchanged, removed }
}

#[test]
fn actions_are_read_back_by_date_with_exact_amounts() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let amount = |text: &str| Amount::parse(text).unwrap();
    let all = Action {
        ex_date: "2014-05-15".parse().unwrap(),
        cash: amount("0.000000000001"),
        split: amount("5"),
        bonus: amount("3/10"),
        rights: amount("1/3"),
        rights_price: amount("12345678.9"),
    };
    let given = [cash("2024-05-17", "3.4"), all.clone(), cash("2024-05-17", "0.1")];
    assert_eq!(batch.replace_actions(&symbol("700.HK"), &given).unwrap(), changes(3, 0, 0, 0));
    batch.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let expected = [all, cash("2024-05-17", "0.1"), cash("2024-05-17", "3.4")];
    assert_eq!(snapshot.actions(&symbol("700.HK")).unwrap(), expected);
    assert_eq!(snapshot.actions(&symbol("5.HK")).unwrap(), []);
    assert!(snapshot.security(&symbol("700.HK")).unwrap().is_some());
}

#[test]
fn only_actions_on_the_given_dates_are_replaced() {
    let fresh = fresh();
    let tencent = symbol("700.HK");
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_actions(&symbol("5.HK"), &[cash("2024-05-17", "1")]).unwrap();
    let first = [cash("2023-05-17", "2.4"), cash("2024-05-17", "3.4"), cash("2024-05-17", "1")];
    batch.replace_actions(&tencent, &first).unwrap();
    for (given, expected) in [
        (vec![], changes(0, 0, 0, 0)),
        (vec![cash("2024-05-17", "3.4"), cash("2024-05-17", "1")], changes(0, 0, 2, 0)),
        (vec![cash("2024-05-17", "3.4"), cash("2024-05-17", "2")], changes(0, 1, 1, 0)),
        (vec![cash("2024-05-17", "3.4")], changes(0, 0, 1, 1)),
        (vec![cash("2024-05-17", "3.5")], changes(0, 1, 0, 0)),
        (vec![cash("2024-05-17", "3.5"), cash("2024-05-17", "3.50")], changes(0, 0, 1, 0)),
        (vec![cash("2024-05-17", "3.5"), cash("2024-05-17", "9")], changes(1, 0, 1, 0)),
        (vec![cash("2025-05-17", "1")], changes(1, 0, 0, 0)),
    ] {
        assert_eq!(batch.replace_actions(&tencent, &given).unwrap(), expected, "{given:?}");
    }
    let expected = [
        cash("2023-05-17", "2.4"),
        cash("2024-05-17", "3.5"),
        cash("2024-05-17", "9"),
        cash("2025-05-17", "1"),
    ];
    assert_eq!(batch.actions(&tencent).unwrap(), expected);
    assert_eq!(batch.actions(&symbol("5.HK")).unwrap(), [cash("2024-05-17", "1")]);
}

#[test]
fn repeating_the_same_actions_does_not_raise_the_version() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut versions = Vec::new();
    for amount in ["1", "1.0", "2"] {
        let mut batch = writer.begin().unwrap();
        batch.replace_actions(&symbol("700.HK"), &[cash("2024-05-17", amount)]).unwrap();
        batch.commit().unwrap();
        versions.push(writer.begin().unwrap().version().unwrap());
    }
    assert_eq!(versions, [1, 1, 2]);
}

#[test]
fn a_pay_date_is_stored_with_an_action_and_ignored_by_adjustment() {
    let fresh = fresh();
    let tencent = symbol("700.HK");
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let paid = |amount: &str, pay_date: Option<&str>| StoredAction {
        action: cash("2024-05-17", amount),
        pay_date: pay_date.map(|date| date.parse().unwrap()),
    };
    for (given, expected) in [
        (vec![paid("3.4", Some("2024-05-30")), paid("1", None)], changes(2, 0, 0, 0)),
        (vec![paid("3.4", Some("2024-05-30")), paid("1", None)], changes(0, 0, 2, 0)),
        (vec![paid("3.4", Some("2024-06-03")), paid("1", None)], changes(0, 1, 1, 0)),
        // Of several actions that differ only in the pay date, the first is stored.
        (vec![paid("3.4", None), paid("3.4", Some("2024-06-03")), paid("1", None)], changes(0, 1, 1, 0)),
        (vec![paid("3.4", Some("2024-06-03"))], changes(0, 1, 0, 1)),
    ] {
        assert_eq!(batch.replace_actions(&tencent, &given).unwrap(), expected, "{given:?}");
    }
    assert_eq!(batch.stored_actions(&tencent).unwrap(), [paid("3.4", Some("2024-06-03"))]);
    assert_eq!(batch.actions(&tencent).unwrap(), [cash("2024-05-17", "3.4")]);
    batch.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    let stored = reader.snapshot().unwrap().stored_actions(&tencent).unwrap();
    assert_eq!(stored, [paid("3.4", Some("2024-06-03"))]);
}

#[test]
fn the_longest_amounts_are_read_back() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let long = ["99999999999999.999999999989/7.000000000001", "99999999999999999999999999", "0.000000000001"];
    for text in long {
        let action =
            Action { bonus: Amount::parse(text).unwrap(), ..Action::none("2024-05-17".parse().unwrap()) };
        batch.replace_actions(&symbol("700.HK"), std::slice::from_ref(&action)).unwrap();
        assert_eq!(batch.actions(&symbol("700.HK")).unwrap(), [action]);
    }
}

#[test]
fn an_action_or_a_daily_candle_invalidates_factors() {
    let fresh = fresh();
    let tencent = symbol("700.HK");
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_actions(&tencent, &[cash("2024-05-17", "3.4")]).unwrap();
    batch.replace_actions(&symbol("5.HK"), &[cash("2024-05-17", "1")]).unwrap();
    assert_eq!(batch.without_factors().unwrap(), [symbol("5.HK"), tencent.clone()]);

    let retain = |batch: &mut Batch<'_>| {
        batch.put_factors(&tencent, b"older").unwrap();
        batch.put_factors(&tencent, b"kept").unwrap();
        assert_eq!(batch.factors(&tencent).unwrap().as_deref(), Some(b"kept".as_slice()));
        assert_eq!(batch.without_factors().unwrap(), [symbol("5.HK")]);
    };
    let block = |at: i64| NewBlock { first: Timestamp(at), last: Timestamp(at), rows: 1, bytes: vec![7] };
    let series = |grain: Grain| Series { symbol: tencent.clone(), grain, lane: Lane::Regular };
    retain(&mut batch);
    batch.replace_blocks(&series(Grain::Minute), &[], &[block(1)]).unwrap();
    batch.replace_actions(&symbol("5.HK"), &[cash("2025-05-17", "1")]).unwrap();
    assert!(batch.factors(&tencent).unwrap().is_some());
    batch.replace_blocks(&series(Grain::Day), &[], &[block(1)]).unwrap();
    assert_eq!(batch.factors(&tencent).unwrap(), None);
    retain(&mut batch);
    batch.replace_actions(&tencent, &[cash("2025-05-17", "1")]).unwrap();
    assert_eq!(batch.factors(&tencent).unwrap(), None);
}
