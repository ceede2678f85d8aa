//! Undoing imports, removing symbols, and dry runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use history::import::{Options, Outcome, Sizes, Undo, UndoError, plan_undo, preview, undo};
use history::{RemovalError, plan_removal, remove};
use market::{Grain, Market, Period, Timestamp};
use store::{ImportId, ImportState};

use crate::common::{Shop, symbol, venues};

const SMALL: Sizes = Sizes { flush_rows: 7, block_rows: 5 };

fn minutes(closes: impl Iterator<Item = (u32, u32)>) -> String {
    let rows = closes.map(|(minute, close)| {
        let (hour, minute) = (9 + (30 + minute) / 60, (30 + minute) % 60);
        format!("700.HK,2024-01-02 {hour:02}:{minute:02},{close},{close},{close},{close},10\n")
    });
    format!("symbol,time,open,high,low,close,volume\n{}", rows.collect::<String>())
}

/// Allows a file to replace any candles, and sets its period explicitly.
fn options(period: Grain) -> Options {
    let read = files::ReadOptions { period: Some(period), ..Default::default() };
    Options { read, replace: true, ..Options::default() }
}

fn import_as(shop: &Shop, name: &str, text: &str, period: Grain) -> ImportId {
    let path = shop.file(name, text);
    let reports = shop.import_with(&[path], &options(period), SMALL, &AtomicBool::new(false));
    assert_eq!(reports[0].outcome, Outcome::Imported, "{reports:?}");
    reports[0].import.unwrap()
}

fn import(shop: &Shop, name: &str, text: &str) -> ImportId {
    import_as(shop, name, text, Grain::Minute)
}

fn planned(shop: &Shop, id: ImportId) -> Result<Undo, UndoError> {
    plan_undo(&shop.store.reader().unwrap().snapshot().unwrap(), id)
}

fn undone(shop: &Shop, id: ImportId) -> Undo {
    let plan = planned(shop, id).unwrap();
    undo(&shop.store, venues(), &plan).unwrap();
    plan
}

#[test]
fn undoing_restores_replaced_candles_and_removes_added_ones() {
    let shop = Shop::new();
    // The first file has every other minute. The second file has all minutes, and changes some
    // candles of the first.
    import(&shop, "a.csv", &minutes((0..80).step_by(2).map(|minute| (minute, 100))));
    let before = shop.content();
    let all = (0..100).map(|minute| (minute, if minute % 8 == 0 { 101 } else { 100 }));
    let id = import(&shop, "b.csv", &minutes(all));
    assert_ne!(shop.content(), before);
    let plan = undone(&shop, id);
    assert_eq!((plan.removed(), plan.restored()), (60, 10));
    // One-minute candles and roll-ups are restored exactly.
    assert_eq!(shop.content(), before);
    let entry = shop.imports().pop().unwrap();
    assert_eq!((entry.state, entry.rows_done), (ImportState::Undone, 0));
    assert!(entry.message.unwrap().contains("60 candles removed, 10"));
    assert!(matches!(planned(&shop, id), Err(UndoError::Undone { .. })));
    // The ledger entry is undone, so the same file is imported from its beginning.
    let again = shop.import_with(
        &[shop.folder.path().join("b.csv")],
        &options(Grain::Minute),
        SMALL,
        &AtomicBool::new(false),
    );
    assert_eq!((again[0].added, again[0].replaced), (60, 10), "{again:?}");
}

#[test]
fn an_import_cannot_be_undone_before_a_later_overlapping_one() {
    let shop = Shop::new();
    let first = import(&shop, "a.csv", &minutes((0..20).map(|minute| (minute, 100))));
    let second = import(&shop, "b.csv", &minutes((10..30).map(|minute| (minute, 101))));
    let refused = planned(&shop, first).unwrap_err();
    let UndoError::ChangedSince { by, .. } = &refused else { panic!("{refused}") };
    assert_eq!(by.id, second);
    assert!(refused.to_string().contains("--undo 2"), "{refused}");
    undone(&shop, second);
    undone(&shop, first);
    // Nothing remains, not even the security that the import created.
    assert_eq!(shop.content(), []);
    assert_eq!(shop.store.reader().unwrap().snapshot().unwrap().securities().unwrap(), []);
}

#[test]
fn an_outdated_plan_is_refused() {
    let shop = Shop::new();
    let first = import(&shop, "a.csv", &minutes((0..20).map(|minute| (minute, 100))));
    let plan = planned(&shop, first).unwrap();
    let second = import(&shop, "b.csv", &minutes((0..5).map(|minute| (minute, 99))));
    let refused = undo(&shop.store, venues(), &plan).unwrap_err();
    assert!(matches!(refused, UndoError::ChangedSince { .. }), "{refused}");
    let removal = plan_removal(&shop.store.reader().unwrap().snapshot().unwrap(), &symbol("700.HK"), None);
    let removal = removal.unwrap();
    undone(&shop, second);
    let refused = remove(&shop.store, venues(), &removal, Timestamp(5)).unwrap_err();
    assert!(matches!(refused, RemovalError::Meanwhile), "{refused}");
    assert!(!shop.content().is_empty());
}

#[test]
fn only_imports_of_candles_can_be_undone() {
    let shop = Shop::new();
    assert!(matches!(planned(&shop, ImportId(7)), Err(UndoError::Unknown { .. })));
    shop.import(&[shop.file("names.csv", "symbol,name_en\n700.HK,TENCENT\n")]);
    let refused = planned(&shop, shop.imports()[0].id).unwrap_err();
    assert!(matches!(&refused, UndoError::Kind { kind, .. } if kind == "securities"), "{refused}");
    // An import without changes cannot be undone either, and remains in the ledger.
    import(&shop, "a.csv", &minutes((0..10).map(|minute| (minute, 100))));
    let same = import(&shop, "b.csv", &minutes((0..5).map(|minute| (minute, 100))));
    assert!(matches!(planned(&shop, same), Err(UndoError::Nothing { .. })));
}

#[test]
fn removals_are_recorded_in_the_ledger() {
    let shop = Shop::new();
    import(&shop, "m.csv", &minutes((0..20).map(|minute| (minute, 100))));
    let days =
        "symbol,time,open,high,low,close,volume\n700.HK,2024-01-02,1,1,1,1,1\n5.HK,2024-01-02,1,1,1,1,1\n";
    import_as(&shop, "d.csv", days, Grain::Day);
    shop.import(&[shop.file("actions.csv", "symbol,ex_date,cash\n700.HK,2024-01-03,1\n")]);
    let plan = |text: &str, period| {
        plan_removal(&shop.store.reader().unwrap().snapshot().unwrap(), &symbol(text), period)
    };
    assert!(matches!(plan("1.HK", None), Err(RemovalError::Unknown(_))));
    let week = Some("week".parse::<Period>().unwrap());
    assert!(matches!(plan("700.HK", week), Err(RemovalError::NoSuchPeriod { .. })));
    // The plan has one-minute candles with their 15-minute and 60-minute roll-ups.
    let minutes = plan("700.HK", Some(Period::MINUTE)).unwrap();
    assert_eq!((minutes.candles(), minutes.series.len()), (20, 3));
    remove(&shop.store, venues(), &minutes, Timestamp(5)).unwrap();
    let left: Vec<String> = shop.content().into_iter().map(|(series, _)| series).collect();
    assert_eq!(left, ["5.HK/1d", "700.HK/1d"]);
    let whole = plan("700.HK", None).unwrap();
    assert_eq!((whole.candles(), whole.actions, whole.sources.len()), (1, 1, 1));
    remove(&shop.store, venues(), &whole, Timestamp(6)).unwrap();
    let mut reader = shop.store.reader().unwrap();
    assert!(reader.snapshot().unwrap().security(&symbol("700.HK")).unwrap().is_none());
    let entry = shop.imports().pop().unwrap();
    assert_eq!((entry.kind.as_str(), entry.file.as_str()), ("removal", "700.HK"));
    assert_eq!(entry.message.as_deref(), Some("removed: 1 candles, 1 corporate actions"));
    assert_eq!(reader.check_tables(store::Depth::Full).unwrap(), []);
    // Removed candles can be imported again from their file.
    let again = Options { again: true, ..Options::default() };
    let path = shop.folder.path().join("m.csv");
    shop.import_with(&[path], &again, Sizes::default(), &AtomicBool::new(false));
    assert_eq!(shop.stored("700.HK/1m").len(), 20);
}

#[test]
fn a_dry_run_reports_the_rows_and_writes_nothing() {
    let shop = Shop::new();
    import(&shop, "a.csv", &minutes((0..10).map(|minute| (minute, 100))));
    let before = (shop.content(), shop.imports().len());
    let path = shop.file("b.csv", minutes((5..15).map(|minute| (minute, 101))));
    let check = |store, options: &Options| {
        let stop = AtomicBool::new(false);
        preview(store, venues(), options, 3, &stop, std::slice::from_ref(&path)).unwrap().remove(0)
    };
    let report = check(Some(&shop.store), &Options { replace: true, ..Options::default() });
    assert_eq!(report.outcome, Outcome::Checked);
    assert_eq!((report.rows, report.added, report.replaced, report.unchanged), (10, 5, 5, 0));
    assert_eq!(report.first_rows.len(), 3);
    assert_eq!(report.first_rows[0].1.time, Timestamp(1_704_159_300));
    let at = |seconds| (Timestamp(seconds), Market::Hk);
    assert_eq!(report.range, Some((at(1_704_159_300), at(1_704_159_840))));
    assert_eq!(report.import, None);
    // In a new store there is nothing to replace.
    assert_eq!(check(None, &Options::default()).added, 10);
    assert_eq!((shop.content(), shop.imports().len()), before);
}

#[test]
fn a_dry_run_counts_trades_like_an_import() {
    let shop = Shop::new();
    let path = shop.file(
        "t.csv",
        "symbol,time,price,volume,direction,type\n\
         700.HK,2026-11-13T09:30:00.125+08:00,612.5,200,up,\n\
         700.HK,2026-11-13T16:08:37+08:00,612,81500,,U\n\
         AAPL.US,2026-11-13T09:30:00-05:00,231.115,17,sell,I\n\
         AAPL.US,2026-11-14T09:30:00-05:00,231.115,17,sell,I\n",
    );
    let check = |store, options: &Options| {
        let stop = AtomicBool::new(false);
        preview(store, venues(), options, 2, &stop, std::slice::from_ref(&path)).unwrap().remove(0)
    };
    for store in [None, Some(&shop.store)] {
        let report = check(store, &Options::default());
        assert_eq!((&report.outcome, report.symbols), (&Outcome::Checked, 2), "{report:?}");
        assert_eq!((report.rows, report.added, report.quarantined), (4, 3, 1), "{report:?}");
        assert_eq!(report.problems[0].0, 5);
        let shown: Vec<String> = report.first_trades.iter().map(|(symbol, _)| symbol.to_string()).collect();
        assert_eq!(shown, ["700.HK", "700.HK"]);
        assert_eq!(report.first_trades[0].1.volume, 200);
    }
    let strict = check(None, &Options { strict: true, ..Options::default() });
    assert!(matches!(&strict.outcome, Outcome::Failed(why) if why.contains("line 5")), "{strict:?}");
    assert!(shop.imports().is_empty());
    let imported = shop.import(std::slice::from_ref(&path)).remove(0);
    assert_eq!((imported.added, imported.quarantined), (3, 1), "{imported:?}");
    let again = check(Some(&shop.store), &Options { again: true, ..Options::default() });
    assert_eq!((again.added, again.replaced, again.unchanged), (0, 0, 3), "{again:?}");
    assert_eq!(again.range, imported.range);
    // Like the import, refuse to build candles from a table without trades.
    let days = shop.file("d.csv", "symbol,time,open,high,low,close,volume\n700.HK,2024-01-02,1,1,1,1,1\n");
    let build = Options { build_candles: true, ..Options::default() };
    let stop = AtomicBool::new(false);
    let refused = preview(None, venues(), &build, 2, &stop, &[days]).unwrap().remove(0);
    assert!(
        matches!(&refused.outcome, Outcome::Failed(why) if why.contains("--build-candles")),
        "{refused:?}"
    );
}

/// Imports every example of the documentation, with the documented options.
#[test]
fn the_documented_examples_are_imported() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../files/tests/examples");
    let of =
        |symbol: &str| files::ReadOptions { symbol: Some(symbol.parse().unwrap()), ..Default::default() };
    let region = files::ReadOptions { region: Some(market::Region::Us), ..Default::default() };
    let plain = files::ReadOptions::default;
    let examples = [
        ("us_dates.csv", plain(), 2),
        ("dollars.csv", plain(), 2),
        ("no_header.csv", of("AAPL.US"), 2),
        ("semicolon.csv", of("AAPL.US"), 2),
        ("wide_yfinance.csv", plain(), 3),
        ("wide_names.csv", region, 3),
        ("prices.zip", plain(), 3),
        ("yfinance.csv", plain(), 2),
        ("aapl_us_d.csv", plain(), 2),
        ("alpaca.csv", plain(), 2),
        ("nasdaq.csv", of("AAPL.US"), 2),
        ("investing.csv", of("AAPL.US"), 2),
        ("tushare.csv", plain(), 2),
        ("futu.csv", plain(), 2),
        ("sdk.csv", plain(), 2),
        ("duckdb.csv", plain(), 2),
    ];
    for (name, read, added) in examples {
        let (shop, options) = (Shop::new(), Options { read, ..Options::default() });
        let paths: [PathBuf; 1] = [folder.join(name)];
        let reports = shop.import_with(&paths, &options, Sizes::default(), &AtomicBool::new(false));
        let imported = |report: &history::import::Report| report.outcome == Outcome::Imported;
        assert!(reports.iter().all(imported), "{name}: {reports:?}");
        assert_eq!(reports.iter().map(|report| report.added).sum::<u64>(), added, "{name}: {reports:?}");
        assert!(reports.iter().all(|report| report.understood.is_some()), "{name}");
    }
}
