use market::SecurityKind;
use store::{Change, DatedFigures, FIGURES_MAX, Security, StoreError, Suspension};

use crate::fixture::{block, fresh, minutes, put, symbol};

/// Returns figures with some fields set.
fn figures(from: &str) -> DatedFigures {
    DatedFigures {
        from: from.parse().unwrap(),
        total_shares: Some(9_100_000_000),
        eps: Some("-0.5".to_owned()),
        ..DatedFigures::default()
    }
}

fn tencent() -> Security {
    Security {
        symbol: symbol("700.HK"),
        name_en: Some("TENCENT".to_owned()),
        name_cn: Some("腾讯控股".to_owned()),
        name_hk: Some("騰訊控股".to_owned()),
        exchange: Some("SEHK".to_owned()),
        currency: Some("HKD".to_owned()),
        lot_size: Some(100),
        board: Some("HKEquity".to_owned()),
        listing_date: Some("2004-06-16".parse().unwrap()),
        decimals: 2,
        total_shares: Some(9_000_000_001),
        circulating_shares: Some(9_000_000_002),
        hk_shares: Some(9_000_000_003),
        eps: Some("21.1".to_owned()),
        eps_ttm: Some("22.2".to_owned()),
        bps: Some("110.30".to_owned()),
        dividend_yield: Some("4.5".to_owned()),
        kind: Some(SecurityKind::Equity),
        delisted_on: Some("2031-01-02".parse().unwrap()),
        dated: vec![figures("2026-03-01"), figures("2026-06-01")],
        suspensions: vec![
            Suspension { from: "2026-03-02".parse().unwrap(), to: "2026-03-05".parse().ok() },
            Suspension { from: "2026-07-01".parse().unwrap(), to: None },
        ],
    }
}

#[test]
fn all_fields_of_a_security_are_read_back() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    assert_eq!(batch.put_security(&tencent()).unwrap(), Change::Added);
    assert_eq!(batch.put_security(&tencent()).unwrap(), Change::Unchanged);
    let bare = Security::new(symbol("AAPL.US"));
    batch.put_security(&bare).unwrap();
    batch.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.security(&symbol("700.HK")).unwrap(), Some(tencent()));
    assert_eq!(snapshot.securities().unwrap(), [tencent(), bare]);
    assert_eq!(snapshot.security(&symbol("5.HK")).unwrap(), None);
}

#[test]
fn the_number_of_dated_figures_is_limited() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let mut long = tencent();
    long.dated = vec![figures("2026-03-01"); FIGURES_MAX + 1];
    assert!(batch.put_security(&long).is_err());
}

#[test]
fn storing_a_security_replaces_all_of_its_fields() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.put_security(&tencent()).unwrap();
    let bare = Security::new(symbol("700.HK"));
    assert_eq!(batch.put_security(&bare).unwrap(), Change::Replaced);
    assert_eq!(batch.security(&symbol("700.HK")).unwrap(), Some(bare));
}

#[test]
fn storing_candles_creates_the_security() {
    let fresh = fresh();
    put(&fresh.store, &minutes("5.HK"), &[], &[block(1, 2)]);
    let mut reader = fresh.store.reader().unwrap();
    let security = reader.snapshot().unwrap().security(&symbol("5.HK")).unwrap().unwrap();
    assert_eq!(security, Security::new(symbol("5.HK")));
    assert_eq!(security.decimals, 3);
}

#[test]
fn ensuring_an_existing_security_changes_nothing() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.put_security(&tencent()).unwrap();
    batch.ensure_security(&symbol("700.HK")).unwrap();
    batch.ensure_security(&symbol("1.HK")).unwrap();
    batch.ensure_security(&symbol("1.HK")).unwrap();
    assert_eq!(batch.security(&symbol("700.HK")).unwrap(), Some(tencent()));
    assert_eq!(batch.securities().unwrap().len(), 2);
}

#[test]
fn every_kind_of_security_is_read_back() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    for kind in SecurityKind::ALL.map(Some).into_iter().chain([None]) {
        batch.put_security(&Security { kind, ..tencent() }).unwrap();
        assert_eq!(batch.security(&symbol("700.HK")).unwrap().unwrap().kind, kind);
    }
}

#[test]
fn too_many_decimals_are_refused() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let error = writer.begin().unwrap().put_security(&Security { decimals: 7, ..tencent() }).unwrap_err();
    assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
    writer.begin().unwrap().put_security(&Security { decimals: 6, ..tencent() }).unwrap();
}

#[test]
fn an_unchanged_security_does_not_raise_the_version() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut version = 0;
    let changed = Security { lot_size: Some(200), ..tencent() };
    for (security, raised) in [(tencent(), 1), (tencent(), 0), (changed.clone(), 1), (changed, 0)] {
        let mut batch = writer.begin().unwrap();
        batch.put_security(&security).unwrap();
        batch.ensure_security(&security.symbol).unwrap();
        batch.commit().unwrap();
        version += raised;
        assert_eq!(writer.begin().unwrap().version().unwrap(), version);
    }
}
