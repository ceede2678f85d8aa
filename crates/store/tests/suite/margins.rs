use store::Change;

use crate::fixture::{fresh, margin, symbol};

#[test]
fn margin_factors_are_replaced_by_symbol() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let first = margin("700.HK", "0.35", "0.3", "0.25");
    for (given, expected) in [
        (first.clone(), Change::Added),
        (first.clone(), Change::Unchanged),
        (margin("700.HK", "0.350", "0.30", "0.25"), Change::Unchanged),
        (margin("700.HK", "0.35", "0.3", "0.2"), Change::Replaced),
        (margin("5.HK", "0", "10", "0.000001"), Change::Added),
    ] {
        assert_eq!(batch.put_margin(&given).unwrap(), expected, "{given:?}");
    }
    assert_eq!(batch.margin(&symbol("AAPL.US")).unwrap(), None);
    batch.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let (hsbc, tencent) = (margin("5.HK", "0", "10", "0.000001"), margin("700.HK", "0.35", "0.3", "0.2"));
    assert_eq!(snapshot.margins().unwrap(), [hsbc.clone(), tencent]);
    assert_eq!(snapshot.margin(&symbol("5.HK")).unwrap(), Some(hsbc));
    assert_eq!(snapshot.margin(&symbol("AAPL.US")).unwrap(), None);
    // Storing margin factors does not create a security.
    assert!(snapshot.securities().unwrap().is_empty());
}

#[test]
fn unchanged_factors_do_not_raise_the_version() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut versions = Vec::new();
    for im in ["0.35", "0.350", "0.4"] {
        let mut batch = writer.begin().unwrap();
        batch.put_margin(&margin("700.HK", im, "0.3", "0.25")).unwrap();
        batch.commit().unwrap();
        versions.push(writer.begin().unwrap().version().unwrap());
    }
    assert_eq!(versions, [1, 1, 2]);
}

#[test]
fn factors_of_an_abandoned_batch_are_not_stored() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.put_margin(&margin("700.HK", "1", "1", "1")).unwrap();
    drop(batch);
    assert_eq!(writer.begin().unwrap().margin(&symbol("700.HK")).unwrap(), None);
    assert_eq!(writer.begin().unwrap().margins().unwrap(), []);
}
