//! Imports of files: stored candles, quarantined rows with their reasons, and ledger entries.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use history::import::{Options, Outcome, Sizes};
use store::ImportState;

use crate::common::Shop;

const HEADER: &str = "symbol,time,open,high,low,close,volume,turnover,session\n";

/// Returns a CSV file of one-minute candles of 700.HK on 2026-03-18, from `(HH:MM, close)` pairs.
fn minutes(rows: &[(&str, &str)]) -> String {
    let line = |(time, close): &(&str, &str)| {
        format!("700.HK,2026-03-18 {time},{close},{close},{close},{close},100,1000,\n")
    };
    HEADER.to_owned() + &rows.iter().map(line).collect::<String>()
}

fn closes(shop: &Shop, series: &str) -> String {
    let zone = crate::common::venue(market::Market::Hk).zone();
    let text = |c: market::Candle| format!("{} {}", &zone.rfc3339(c.time)[11..16], c.close.text(2));
    shop.stored(series).iter().map(text).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_same_file_twice_changes_nothing() {
    let shop = Shop::new();
    let file = shop.file("a.csv", minutes(&[("09:30", "10"), ("09:31", "11")]));
    let first = shop.import(std::slice::from_ref(&file));
    assert_eq!((first[0].outcome.clone(), first[0].added), (Outcome::Imported, 2));
    let before = shop.directory();
    let second = shop.import(std::slice::from_ref(&file));
    assert!(matches!(second[0].outcome, Outcome::Known { .. }), "{second:?}");
    // A copy under another name and an import that ignores the ledger change nothing either.
    let copy = shop.file("b.csv", std::fs::read(&file).unwrap());
    assert!(matches!(shop.import(&[copy])[0].outcome, Outcome::Known { .. }));
    let again = Options { again: true, ..Options::default() };
    let third = shop.import_with(&[file], &again, Sizes::default(), &AtomicBool::new(false));
    assert_eq!((third[0].outcome.clone(), third[0].unchanged, third[0].added), (Outcome::Imported, 2, 0));
    assert_eq!(shop.directory(), before);
    assert_eq!(shop.ledger(), ["done read 2 = +2 ~0 =0 !0", "done read 2 = +0 ~0 =2 !0"]);
}

#[test]
fn a_file_listed_twice_is_imported_once() {
    let shop = Shop::new();
    let file = shop.file("a.csv", minutes(&[("09:30", "10")]));
    let reports = shop.import(&[file.clone(), file]);
    assert!(matches!(reports[1].outcome, Outcome::Known { .. }), "{reports:?}");
    assert_eq!(shop.ledger(), ["done read 1 = +1 ~0 =0 !0"]);
}

#[test]
fn a_file_named_for_another_symbol_is_another_import() {
    let shop = Shop::new();
    let content = "Date,Open,High,Low,Close,Volume\n2026-03-17,1,2,1,2,5\n2026-03-18,1,2,1,2,5\n";
    let (a, b) = (shop.file("AAPL.US.csv", content), shop.file("MSFT.US.csv", content));
    let reports = shop.import(&[a, b]);
    assert!(reports.iter().all(|r| r.outcome == Outcome::Imported), "{reports:?}");
    assert_eq!(shop.stored("AAPL.US/1d"), shop.stored("MSFT.US/1d"));
    assert_eq!(shop.stored("MSFT.US/1d").len(), 2);
}

#[test]
fn replaced_candles_are_counted_in_the_ledger() {
    let shop = Shop::new();
    shop.import(&[shop.file("a.csv", minutes(&[("09:30", "10"), ("09:31", "11"), ("09:32", "12")]))]);
    let report =
        &shop.import(&[shop.file("b.csv", minutes(&[("09:31", "99"), ("09:32", "12"), ("09:33", "13")]))])[0];
    assert_eq!((report.added, report.replaced, report.unchanged), (1, 1, 1));
    assert_eq!(shop.ledger()[1], "done read 3 = +1 ~1 =1 !0");
    assert_eq!(closes(&shop, "700.HK/1m"), "09:30 10.00, 09:31 99.00, 09:32 12.00, 09:33 13.00");
    assert_eq!(closes(&shop, "700.HK/15m"), "09:30 13.00");
}

#[test]
fn later_files_of_a_command_replace_earlier_candles() {
    let shop = Shop::new();
    let a = shop.file("a.csv", minutes(&[("09:30", "10"), ("09:31", "11")]));
    let b = shop.file("b.csv", minutes(&[("09:31", "22"), ("09:32", "23")]));
    let reports = shop.import(&[a, b]);
    assert_eq!((reports[0].added, reports[1].added, reports[1].replaced), (2, 1, 1));
    assert_eq!(closes(&shop, "700.HK/1m"), "09:30 10.00, 09:31 22.00, 09:32 23.00");
    assert_eq!(shop.ledger(), ["done read 2 = +2 ~0 =0 !0", "done read 2 = +1 ~1 =0 !0"]);
}

/// Imports rows and checks the reason for which each row is quarantined. An empty reason means that
/// the row is imported.
fn check_quarantine(header: &str, rows: &[(&str, &str)]) {
    let shop = Shop::new();
    let content = header.to_owned() + &rows.iter().map(|(row, _)| format!("{row}\n")).collect::<String>();
    let file = shop.file("rows.csv", content);
    let options =
        Options { read: files::ReadOptions { period: None, ..Default::default() }, ..Options::default() };
    let report = &shop.import_with(&[file], &options, Sizes::default(), &AtomicBool::new(false))[0];
    let refused = rows.iter().enumerate().filter(|(_, (_, reason))| !reason.is_empty());
    let expected: Vec<String> = refused.map(|(at, (_, reason))| format!("{}: {reason}", at + 2)).collect();
    assert_eq!(shop.quarantine(), expected);
    assert_eq!(report.quarantined, expected.len() as u64);
    assert_eq!(report.added, (rows.len() - expected.len()) as u64);
    let first: Vec<String> =
        report.problems.iter().map(|(line, reason)| format!("{line}: {reason}")).collect();
    assert_eq!(first, expected[..expected.len().min(5)]);
}

#[test]
fn invalid_minute_candles_are_quarantined() {
    const RANGE: &str = "low is above open, close or high, or high below them";
    const NO_SESSION: &str = "no session of the market has this minute";
    const DUPLICATE: &str = "duplicate timestamp in the file";
    check_quarantine(
        HEADER,
        &[
            ("700.HK,2026-03-18 09:30,10,11,9,10,1,1,", ""),
            ("700.HK,2026-03-18 09:31,10,11,9,12,1,1,", RANGE),
            ("700.HK,2026-03-18 09:31,10,9,11,10,1,1,", RANGE),
            // The range is checked before the sign: a single negative price is out of range first.
            ("700.HK,2026-03-18 09:31,10,11,0,10,1,1,", "a price is not above zero"),
            ("700.HK,2026-03-18 09:31,10,11,9,10,-1,1,", "volume or turnover is negative"),
            ("700.HK,2026-03-18 09:31,10,11,9,10,1,-1,", "volume or turnover is negative"),
            // A row with the stamp of a quarantined row is not a duplicate.
            ("700.HK,2026-03-18 09:31,10,11,9,10,1,1,", ""),
            ("700.HK,2026-03-18 09:30,10,11,9,10,1,1,", DUPLICATE),
            ("700.HK,2026-03-18 09:30,10,11,9,12,1,1,", RANGE),
            ("AAPL.US,2026-03-18 09:30,10,11,9,10,1,1,", ""),
            ("AAPL.US,2026-03-18 09:31,10,11,9,10,1,1,pre", "the session column contradicts the time"),
            ("AAPL.US,2026-03-18 09:31,10,11,9,10,1,1,intraday", ""),
            ("700.HK,2026-03-18 09:29,10,11,9,10,1,1,", NO_SESSION),
            ("700.HK,2026-03-18 12:00,10,11,9,10,1,1,", NO_SESSION),
            ("700.HK,2026-03-18 16:00,10,11,9,10,1,1,", ""),
            ("700.HK,2026-03-18 16:01,10,11,9,10,1,1,", NO_SESSION),
            ("700.HK,2026-03-15 10:00,10,11,9,10,1,1,", NO_SESSION),
            ("600519.SH,2026-03-18 11:30,10,11,9,10,1,1,", NO_SESSION),
            ("600519.SH,2026-03-18 15:00,10,11,9,10,1,1,", ""),
            ("AAPL.US,2026-03-20 20:00,10,11,9,10,1,1,", NO_SESSION),
            ("AAPL.US,2026-03-19 20:00,10,11,9,10,1,1,", ""),
            ("700.HK,2026-03-18 09:32:30,10,11,9,10,1,1,", "not the start of a minute"),
        ],
    );
}

#[test]
fn the_quarantine_stores_the_file_and_the_text_of_a_row() {
    let shop = Shop::new();
    let file = shop.file("bad.csv", minutes(&[("09:30", "10"), ("12:30", "11")]));
    shop.import(std::slice::from_ref(&file));
    let mut reader = shop.store.reader().unwrap();
    let rows = reader.snapshot().unwrap().quarantine(store::QuarantineOf::Symbol("700.HK"), 9).unwrap();
    assert_eq!(rows[0].file, file.display().to_string());
    assert_eq!(rows[0].row.line, 3);
    assert!(
        rows[0].row.text.starts_with("700.HK,2026-03-18T12:30:00+08:00,11.000000"),
        "{}",
        rows[0].row.text
    );
}

#[test]
fn strict_refuses_the_whole_file() {
    let shop = Shop::new();
    let bad = shop.file("bad.csv", minutes(&[("09:30", "10"), ("12:30", "11"), ("12:31", "11")]));
    let good = shop.file("good.csv", minutes(&[("09:31", "10")]));
    let strict = Options { strict: true, ..Options::default() };
    let reports = shop.import_with(&[bad, good], &strict, Sizes::default(), &AtomicBool::new(false));
    let Outcome::Failed(message) = &reports[0].outcome else { panic!("{reports:?}") };
    assert!(message.contains("2 rows break a rule, the first in line 3"), "{message}");
    assert_eq!(reports[1].outcome, Outcome::Imported);
    assert_eq!(closes(&shop, "700.HK/1m"), "09:31 10.00");
    assert_eq!((shop.quarantine().len(), shop.ledger().len()), (0, 1));
}

#[test]
fn symbols_may_be_interleaved_and_rows_unsorted() {
    let shop = Shop::new();
    let mut content = HEADER.to_owned();
    for minute in [45, 31, 33, 30, 44, 32] {
        for name in ["5.HK", "700.HK", "AAPL.US", "600519.SH"] {
            content += &format!("{name},2026-03-18 09:{minute},{minute},{minute},{minute},{minute},1,1,\n");
        }
    }
    let report = &shop.import(&[shop.file("mixed.csv", content)])[0];
    assert_eq!((report.added, report.symbols, report.quarantined), (24, 4, 0));
    let expected = "09:30 30.00, 09:31 31.00, 09:32 32.00, 09:33 33.00, 09:44 44.00, 09:45 45.00";
    assert_eq!(closes(&shop, "700.HK/1m"), expected);
    assert_eq!(closes(&shop, "600519.SH/1m"), expected);
    assert_eq!(shop.stored("AAPL.US/1m").len(), 6);
    assert_eq!(closes(&shop, "5.HK/15m"), "09:30 44.00, 09:45 45.00");
}

fn many_minutes(rows: usize) -> String {
    let all = crate::common::minutes(market::Market::Hk, "2023-01-03", "2025-01-03");
    let mut content = "symbol,time,open,high,low,close,volume\n".to_owned();
    for time in all.time.iter().take(rows) {
        content += &format!("700.HK,{time},10,10,10,10,1\n");
    }
    content
}

#[test]
fn a_truncated_file_does_not_affect_other_files() {
    let shop = Shop::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(many_minutes(60_000).as_bytes()).unwrap();
    let whole = gzip.finish().unwrap();
    let before = shop.file("before.csv", minutes(&[("09:30", "10")]));
    let broken = shop.file("broken.csv.gz", &whole[..whole.len() * 9 / 10]);
    let after = shop.file("after.csv", minutes(&[("09:31", "11")]));
    let sizes = Sizes { flush_rows: 10_000, ..Sizes::default() };
    let files = [before, broken, after];
    let reports = shop.import_with(&files, &Options::default(), sizes, &AtomicBool::new(false));
    assert_eq!((&reports[0].outcome, &reports[2].outcome), (&Outcome::Imported, &Outcome::Imported));
    assert!(matches!(reports[1].outcome, Outcome::Failed(_)));
    let imports = shop.imports();
    let mut failed = imports.iter().filter(|r| r.state == ImportState::Failed);
    let record = failed.next().unwrap();
    assert!(
        record.file.ends_with("broken.csv.gz")
            && record.message.as_ref().is_some_and(|m| m.contains("cannot read"))
    );
    // All rows up to the ledger's checkpoint are stored.
    assert!(record.rows_done >= 10_000 && record.added == record.rows_done, "{record:?}");
    assert_eq!(shop.stored("700.HK/1m").len() as u64, record.added + 2);
    // A retry changes nothing, and fails in the same ledger entry.
    let stored = shop.directory();
    shop.import_with(&files, &Options::default(), sizes, &AtomicBool::new(false));
    assert_eq!((shop.directory(), shop.imports().len()), (stored, 3));
}

#[test]
fn an_unreadable_table_is_recorded_as_failed() {
    let shop = Shop::new();
    let reports =
        shop.import(&[shop.file("x.csv", "a,b\n1,2\n"), shop.file("y.csv", minutes(&[("09:30", "10")]))]);
    assert!(matches!(reports[0].outcome, Outcome::Failed(_)));
    assert_eq!(shop.ledger(), ["failed read 0 = +0 ~0 =0 !0", "done read 1 = +1 ~0 =0 !0"]);
    let missing = shop.import(&[shop.folder.path().join("none.csv")]);
    assert!(matches!(missing[0].outcome, Outcome::Failed(_)));
    assert_eq!(shop.imports().len(), 2);
}

#[test]
fn turnover_is_zero_unless_it_is_estimated() {
    let content = "symbol,time,open,high,low,close,volume\n700.HK,2026-03-18 09:30,10,12,9,12,100\n700.HK,2026-03-18 09:31,10,12,9,12,100\n";
    for (estimate_turnover, expected) in [(false, "0.000"), (true, "1100.000")] {
        let shop = Shop::new();
        let read = files::ReadOptions { estimate_turnover, ..Default::default() };
        let options = Options { read, ..Options::default() };
        shop.import_with(&[shop.file("a.csv", content)], &options, Sizes::default(), &AtomicBool::new(false));
        assert_eq!(shop.stored("700.HK/1m").last().unwrap().turnover.text().to_string(), expected);
    }
}

#[test]
fn an_overflowing_volume_fails_only_its_file() {
    let shop = Shop::new();
    let huge = i64::MAX;
    let row = |time: &str| format!("700.HK,2026-03-18 {time},10,10,10,10,{huge},1,\n");
    // Neither the file's rows of other symbols nor its quarantined rows are stored.
    let other = "5.HK,2026-03-18 09:30,10,10,10,10,1,1,\n5.HK,2026-03-18 09:31,10,9,10,10,1,1,\n";
    let content = HEADER.to_owned() + other + &row("09:30") + &row("09:31");
    let before = shop.file("before.csv", minutes(&[("10:30", "10")]));
    let after = shop.file("after.csv", minutes(&[("10:31", "11")]));
    let files = [before, shop.file("huge.csv", content), after];
    for _ in 0..2 {
        let reports = shop.import(&files);
        let Outcome::Failed(message) = &reports[1].outcome else { panic!("{:?}", reports[1]) };
        let expected =
            "rolling up 700.HK/1m: the volume of the candle at 2026-03-18T01:30:00Z does not fit 64 bits";
        assert_eq!(message, expected);
        assert!(reports[0].outcome != reports[1].outcome && reports[2].outcome != reports[1].outcome);
        // A retry fails in the same ledger entry.
        assert_eq!(
            shop.ledger(),
            ["done read 1 = +1 ~0 =0 !0", "failed read 0 = +0 ~0 =0 !0", "done read 1 = +1 ~0 =0 !0"]
        );
        assert_eq!(shop.imports()[1].message.as_deref(), Some(expected));
    }
    assert_eq!(closes(&shop, "700.HK/1m"), "10:30 10.00, 10:31 11.00");
    assert!(shop.stored("5.HK/1m").is_empty() && shop.quarantine().is_empty());
}

#[test]
fn flushes_before_an_overflow_stay_committed() {
    let shop = Shop::new();
    let many = many_minutes(60_000);
    let (head, tail) = many.split_at(many.match_indices('\n').nth(40_000).unwrap().0 + 1);
    let huge = i64::MAX;
    let huge: String = (30..32).map(|m| format!("5.HK,2026-03-18 09:{m},10,10,10,10,{huge}\n")).collect();
    let file = shop.file("huge.csv", format!("{head}{huge}{tail}"));
    let after = shop.file("after.csv", minutes(&[("09:31", "11")]));
    let sizes = Sizes { flush_rows: 10_000, ..Sizes::default() };
    let reports = shop.import_with(&[file, after], &Options::default(), sizes, &AtomicBool::new(false));
    assert!(matches!(&reports[0].outcome, Outcome::Failed(message) if message.contains("5.HK")));
    assert_eq!(reports[1].outcome, Outcome::Imported);
    let record = shop.imports().into_iter().find(|record| record.file.ends_with("huge.csv")).unwrap();
    assert_eq!(record.state, ImportState::Failed);
    assert!((10_000..=40_000).contains(&record.rows_done) && record.added == record.rows_done, "{record:?}");
    assert_eq!(reports[0].added, record.added);
    assert_eq!(shop.stored("700.HK/1m").len() as u64, record.added + 1);
    assert!(shop.stored("5.HK/1m").is_empty());
}
