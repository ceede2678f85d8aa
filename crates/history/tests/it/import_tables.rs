//! Imports of securities, corporate actions and margin factors.

use history::import::Outcome;
use market::SecurityKind;

use crate::common::{Shop, symbol};

#[test]
fn missing_security_columns_change_nothing() {
    let shop = Shop::new();
    let full = "symbol,name_en,name_cn,exchange,currency,lot_size,decimals\n700.HK,TENCENT,腾讯控股,SEHK,HKD,100,3\n5.HK,HSBC,,SEHK,HKD,400,3\n";
    let report = &shop.import(&[shop.file("full.csv", full)])[0];
    assert_eq!((report.kind, report.outcome.clone(), report.added), ("securities", Outcome::Imported, 2));
    let part = "symbol,name_en,lot_size\n700.HK,Tencent,\n5.HK,HSBC,400\n9.HK,New,1000\n";
    let report = &shop.import(&[shop.file("part.csv", part)])[0];
    assert_eq!((report.added, report.replaced, report.unchanged), (1, 1, 1));
    assert_eq!(shop.ledger(), ["done read 2 = +2 ~0 =0 !0", "done read 3 = +1 ~1 =1 !0"]);
    let mut reader = shop.store.reader().unwrap();
    let tencent = reader.snapshot().unwrap().security(&symbol("700.HK")).unwrap().unwrap();
    assert_eq!(tencent.name_en.as_deref(), Some("Tencent"));
    assert_eq!(tencent.name_cn.as_deref(), Some("腾讯控股"));
    assert_eq!((tencent.lot_size, tencent.currency.as_deref()), (Some(100), Some("HKD")));
}

#[test]
fn a_symbol_with_several_rows_is_counted_once() {
    let shop = Shop::new();
    let dated = "symbol,from,eps\n700.HK,2025-03-19,20.5\n700.HK,2026-03-18,22.1\n5.HK,2026-02-25,9.3\n";
    let report = &shop.import(&[shop.file("dated.csv", dated)])[0];
    assert_eq!((report.rows, report.symbols, report.quarantined), (3, 2, 0), "{report:?}");
}

#[test]
fn an_invalid_security_kind_is_quarantined() {
    let shop = Shop::new();
    let kind = |text: &str| {
        let mut reader = shop.store.reader().unwrap();
        reader.snapshot().unwrap().security(&symbol(text)).unwrap().unwrap().kind
    };
    let first = "symbol,kind,lot_size\n2800.HK,etf,500\n823.HK,trust,100\n5.HK,,400\n";
    let report = &shop.import(&[shop.file("first.csv", first)])[0];
    assert_eq!((report.added, report.quarantined), (2, 1));
    assert_eq!(shop.quarantine(), ["3: kind \"trust\" is not one of equity, etf, reit, warrant"]);
    assert_eq!((kind("2800.HK"), kind("5.HK")), (Some(SecurityKind::Etf), None));
    let part = "symbol,name_en,delisted_on\n2800.HK,Tracker,2031-01-02\n";
    shop.import(&[shop.file("part.csv", part)]);
    assert_eq!(kind("2800.HK"), Some(SecurityKind::Etf));
    let report = &shop.import(&[shop.file("blank.csv", "symbol,kind\n2800.HK,\n5.HK,Equity\n")])[0];
    assert_eq!((report.replaced, report.unchanged), (1, 1));
    assert_eq!((kind("2800.HK"), kind("5.HK")), (Some(SecurityKind::Etf), Some(SecurityKind::Equity)));
    let mut reader = shop.store.reader().unwrap();
    let tracker = reader.snapshot().unwrap().security(&symbol("2800.HK")).unwrap().unwrap();
    assert_eq!(tracker.delisted_on, Some("2031-01-02".parse().unwrap()));
}

#[test]
fn actions_of_a_date_are_replaced_and_counted() {
    let shop = Shop::new();
    let header = "symbol,ex_date,cash,split,bonus,rights,rights_price\n";
    let first = format!(
        "{header}700.HK,2026-03-04,0.5,,1/10,1/5,6\n700.HK,2026-03-06,,2,,,\n700.HK,2026-13-06,,2,,,\n"
    );
    let report = &shop.import(&[shop.file("first.csv", first)])[0];
    assert_eq!((report.kind, report.added, report.quarantined, report.rows), ("actions", 2, 1, 3));
    let second = format!(
        "{header}700.HK,2026-03-04,0.6,,1/10,1/5,6\n700.HK,2026-03-06,,2,,,\n5.HK,2026-03-06,1,,,,\n"
    );
    let report = &shop.import(&[shop.file("second.csv", second)])[0];
    assert_eq!((report.added, report.replaced, report.unchanged), (1, 1, 1));
    assert_eq!(shop.ledger(), ["done read 3 = +2 ~0 =0 !1", "done read 3 = +1 ~1 =1 !0"]);
    let mut reader = shop.store.reader().unwrap();
    let actions = reader.snapshot().unwrap().actions(&symbol("700.HK")).unwrap();
    assert_eq!(
        actions.iter().map(|a| (a.cash.to_string(), a.split.to_string())).collect::<Vec<_>>(),
        [("0.6".to_owned(), "1".to_owned()), ("0".to_owned(), "2".to_owned())]
    );
    assert_eq!(shop.quarantine().len(), 1);
}

#[test]
fn pay_dates_are_replaced_with_their_actions() {
    let shop = Shop::new();
    let stored = || {
        let mut reader = shop.store.reader().unwrap();
        let all = reader.snapshot().unwrap().stored_actions(&symbol("700.HK")).unwrap();
        let line = |stored: &store::StoredAction| format!("{} {:?}", stored.action.cash, stored.pay_date);
        all.iter().map(line).collect::<Vec<_>>()
    };
    let first = "symbol,ex_date,pay_date,cash\n700.HK,2026-03-04,2026-03-20,0.5\n700.HK,2026-03-06,,0.6\n700.HK,2026-03-07,2026-03-06,1\n";
    let report = &shop.import(&[shop.file("first.csv", first)])[0];
    assert_eq!((report.kind, report.added, report.quarantined), ("actions", 2, 1));
    assert_eq!(shop.quarantine(), ["4: pay_date is before ex_date"]);
    assert_eq!(stored(), ["0.5 Some(2026-03-20)", "0.6 None"]);
    let second =
        "symbol,ex_date,cash,pay_date\n700.HK,2026-03-04,0.5,2026-03-20\n700.HK,2026-03-06,0.60,2026-03-23\n";
    let report = &shop.import(&[shop.file("second.csv", second)])[0];
    assert_eq!((report.added, report.replaced, report.unchanged), (0, 1, 1));
    assert_eq!(stored(), ["0.5 Some(2026-03-20)", "0.6 Some(2026-03-23)"]);
    // Rows replace all actions of their date, even if the file has fewer columns.
    shop.import(&[shop.file("third.csv", "symbol,ex_date,cash\n700.HK,2026-03-04,0.5\n")]);
    assert_eq!(stored(), ["0.5 None", "0.6 Some(2026-03-23)"]);
}

#[test]
fn margin_factors_are_replaced_by_symbol_and_counted() {
    let shop = Shop::new();
    let factors = || {
        let mut reader = shop.store.reader().unwrap();
        let all = reader.snapshot().unwrap().margins().unwrap();
        let line = |m: &store::Margin| format!("{} {} {} {}", m.symbol, m.im, m.mm, m.fm);
        all.iter().map(line).collect::<Vec<_>>()
    };
    let first = "symbol,im,mm,fm\n700.HK,0.35,0.3,0.25\n5.HK,0.3,0.25,0.2\n5.HK,1,1,1\nAAPL.US,11,1,1\n";
    let report = &shop.import(&[shop.file("first.csv", first)])[0];
    assert_eq!((report.kind, report.outcome.clone()), ("margins", Outcome::Imported));
    assert_eq!((report.rows, report.symbols, report.added, report.quarantined), (4, 2, 2, 2));
    assert_eq!(
        shop.quarantine(),
        ["4: duplicate symbol in the file", "5: im \"11\" is not a number from 0 to 10"]
    );
    assert_eq!(factors(), ["5.HK 0.3 0.25 0.2", "700.HK 0.35 0.3 0.25"]);
    let second = "symbol,im,mm,fm\n700.HK,0.5,0.4,0.3\n5.HK,0.30,0.25,0.2\nAAPL.US,0.5,0.3,0.25\n";
    let report = &shop.import(&[shop.file("second.csv", second)])[0];
    assert_eq!((report.added, report.replaced, report.unchanged), (1, 1, 1));
    assert_eq!(factors(), ["5.HK 0.3 0.25 0.2", "700.HK 0.5 0.4 0.3", "AAPL.US 0.5 0.3 0.25"]);
    assert_eq!(shop.ledger(), ["done read 4 = +2 ~0 =0 !2", "done read 3 = +1 ~1 =1 !0"]);
    assert_eq!(shop.imports()[0].kind, "margins");
    // The ledger has the file, so it is not imported again.
    let again = shop.import(&[shop.folder.path().join("first.csv")]);
    assert!(matches!(again[0].outcome, Outcome::Known { .. }), "{again:?}");
    assert_eq!(factors()[1], "700.HK 0.5 0.4 0.3");
    // Margin factors do not create a security.
    assert!(shop.store.reader().unwrap().snapshot().unwrap().securities().unwrap().is_empty());
}

#[test]
fn strict_mode_refuses_wrong_margin_factors() {
    let shop = Shop::new();
    let file = shop.file("m.csv", "symbol,im,mm,fm\n700.HK,0.35,0.3,0.25\n5.HK,0.35,0.3,-1\n");
    let options = history::import::Options { strict: true, ..Default::default() };
    let reports = shop.import_with(&[file], &options, Default::default(), &Default::default());
    assert!(matches!(&reports[0].outcome, Outcome::Failed(m) if m.contains("line 3")), "{reports:?}");
    assert!(shop.imports().is_empty());
    assert!(shop.store.reader().unwrap().snapshot().unwrap().margins().unwrap().is_empty());
}

#[test]
fn strict_mode_refuses_small_tables_with_bad_rows() {
    let shop = Shop::new();
    let file = shop.file("s.csv", "symbol,ex_date,cash\n700.HK,2026-03-04,0.5\n700.HK,never,0.5\n");
    let options = history::import::Options { strict: true, ..Default::default() };
    let reports = shop.import_with(&[file], &options, Default::default(), &Default::default());
    assert!(matches!(&reports[0].outcome, Outcome::Failed(m) if m.contains("line 3")), "{reports:?}");
    assert!(shop.imports().is_empty());
    assert!(shop.store.reader().unwrap().snapshot().unwrap().securities().unwrap().is_empty());
}

#[test]
fn the_number_of_stored_quarantined_rows_is_limited() {
    let shop = Shop::new();
    let rows: String = (0..10_050).map(|n| format!("700.HK,never{n},0.5\n")).collect();
    let report = &shop.import(&[shop.file("s.csv", format!("symbol,ex_date,cash\n{rows}"))])[0];
    assert_eq!(report.quarantined, 10_050);
    let mut reader = shop.store.reader().unwrap();
    assert_eq!(reader.snapshot().unwrap().quarantine_count(store::QuarantineOf::All).unwrap(), 10_000);
}
