//! Tests that read the example files of the formats and vendors in `docs/importing.md`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use files::{
    Basis, DateOrder, DecimalMark, Problem, ReadOptions, SymbolSource, Table, TimeFormat, TimesAre,
    Understood,
};
use market::Region;

use crate::common::{options, venues};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples").join(name)
}

/// Returns how a file was interpreted, and its rows: symbol, time, prices and volume.
fn read(name: &str, options: &ReadOptions) -> (Understood, String) {
    let path = example(name);
    let table = files::open(&path, &venues(), options).unwrap_or_else(|error| panic!("{error}"));
    let Table::Candles(mut reader) = table else { panic!("{name} has no candles") };
    let mut text = String::new();
    while let Some(batch) = reader.next().unwrap() {
        for row in batch.rows {
            let symbol = &reader.symbols()[row.symbol as usize];
            let prices = [row.open, row.high, row.low, row.close].map(|price| {
                let text = price.text(6).to_string();
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            });
            writeln!(text, "{symbol} {} {} {}", row.time, prices.join(" "), row.volume).unwrap();
        }
        for row in batch.rejected {
            writeln!(text, "line {} {}: {}", row.line, row.symbol.unwrap_or_default(), row.reason).unwrap();
        }
    }
    (reader.understood(), text)
}

fn refusal(name: &str, options: &ReadOptions) -> Problem {
    match files::open(&example(name), &venues(), options) {
        Err(error) => error.problem,
        Ok(table) => panic!("{name}: {table:?}"),
    }
}

fn of_apple() -> ReadOptions {
    ReadOptions { symbol: Some("AAPL.US".parse().unwrap()), ..options() }
}

const SECOND: &str = "AAPL.US 2024-01-02T05:00:00Z 187.15 188.44 183.88 185.64 82488700\n";
const THIRD: &str = "AAPL.US 2024-01-03T05:00:00Z 184.22 185.88 183.43 184.25 58414500\n";
const SIXTEENTH: &str = "AAPL.US 2024-01-16T05:00:00Z 182.16 184.26 180.93 183.63 65603000\n";

#[test]
fn the_date_order_is_detected_or_set_by_the_user() {
    let (understood, rows) = read("us_dates.csv", &options());
    assert_eq!(rows, format!("{SECOND}{SIXTEENTH}"));
    assert_eq!((understood.order, understood.times), (Some(DateOrder::MonthFirst), TimesAre::Dates));
    assert_eq!(understood.symbol, SymbolSource::Column);
    let refused = refusal("ambiguous_dates.csv", &options());
    assert!(matches!(refused, Problem::AmbiguousDates { line: 2, .. }), "{refused}");
    let format = TimeFormat::Order(DateOrder::MonthFirst);
    let (_, rows) = read("ambiguous_dates.csv", &ReadOptions { time_format: Some(format), ..options() });
    assert_eq!(rows, format!("{SECOND}{THIRD}"));
}

#[test]
fn currencies_separators_and_suffixes_are_parsed() {
    let (_, rows) = read("dollars.csv", &options());
    assert_eq!(
        rows,
        "AAPL.US 2024-01-02T05:00:00Z 1187.15 1188.44 1183.88 1185.64 1500000\n\
         AAPL.US 2024-01-03T05:00:00Z 1184.22 1185.88 1183.43 1184.25 58414500\n"
    );
}

#[test]
fn columns_without_a_header_are_guessed_or_set_by_the_user() {
    let (understood, rows) = read("no_header.csv", &of_apple());
    assert_eq!(rows, format!("{SECOND}{THIRD}"));
    assert!(understood.are_columns_guessed);
    let columns =
        |names: &str| ReadOptions { columns: names.split(',').map(str::to_owned).collect(), ..of_apple() };
    let (understood, rows) = read("no_header.csv", &columns("date,open,high,low,close,volume"));
    assert_eq!(rows, format!("{SECOND}{THIRD}"));
    assert!(!understood.are_columns_guessed);
    // The close is the first price column, so guessed names would be wrong and the file is refused.
    let refused = refusal("no_header_wrong_order.csv", &of_apple());
    assert!(matches!(refused, Problem::NoHeader(1)), "{refused}");
    let (_, rows) = read("no_header_wrong_order.csv", &columns("date,close,open,high,low,volume"));
    assert_eq!(rows, format!("{SECOND}{THIRD}"));
}

#[test]
fn semicolons_and_decimal_commas_are_detected() {
    let (understood, rows) = read("semicolon.csv", &of_apple());
    assert_eq!(
        rows,
        format!("{SECOND}AAPL.US 2024-01-16T05:00:00Z 1182.16 1184.26 1180.93 1183.63 65603000\n")
    );
    assert_eq!((understood.decimal, understood.order), (DecimalMark::Comma, Some(DateOrder::DayFirst)));
    let mixed = refusal("mixed_decimals.csv", &of_apple());
    assert!(matches!(mixed, Problem::MixedDecimals { point: 3, comma: 2 }), "{mixed}");
    let with = |mark| ReadOptions { decimal: Some(mark), ..of_apple() };
    let (_, rows) = read("mixed_decimals.csv", &with(DecimalMark::Comma));
    assert_eq!(rows, format!("{SECOND}line 3 : open is not a number\n"));
    let either = refusal("ambiguous_decimals.csv", &of_apple());
    assert!(matches!(either, Problem::AmbiguousDecimals { line: 2, .. }), "{either}");
    let (_, rows) = read("ambiguous_decimals.csv", &with(DecimalMark::Point));
    assert!(rows.contains(" 1187 1188 1183 1185 "), "{rows}");
}

#[test]
fn symbols_side_by_side_are_read_with_one_or_three_header_lines() {
    let (understood, rows) = read("wide_yfinance.csv", &options());
    assert_eq!(understood.symbol, SymbolSource::Header);
    assert_eq!(
        rows,
        format!(
            "{SECOND}700.HK 2024-01-01T16:00:00Z 296.4 296.4 290 290.8 16231000\n\
             700.HK 2024-01-14T16:00:00Z 291 293.8 289.4 292 11023000\n"
        )
    );
    // An invalid cell rejects only the row of its symbol.
    let in_the_us = ReadOptions { region: Some(Region::Us), ..options() };
    let (_, rows) = read("wide_names.csv", &in_the_us);
    assert_eq!(
        rows,
        format!(
            "{SECOND}MSFT.US 2024-01-02T05:00:00Z 373.86 375.9 366.77 370.87 25258600\n{THIRD}\
             line 3 MSFT.US: high is not a number\n"
        )
    );
    let broken = refusal("wide_broken.csv", &in_the_us);
    let Problem::WideColumns { line: 1, ticker, missing } = &broken else { panic!("{broken}") };
    assert_eq!((ticker.as_str(), missing.as_str()), ("MSFT", "low"));
}

#[test]
fn every_table_in_a_zip_archive_is_listed_and_read() {
    let paths = files::tables_in(&example("prices.zip")).unwrap();
    assert_eq!(paths, ["prices.zip/prices/AAPL.US.csv", "prices.zip/prices/MSFT.US.csv"].map(example));
    let (understood, rows) = read("prices.zip/prices/AAPL.US.csv", &options());
    assert_eq!(rows, format!("{SECOND}{THIRD}"));
    assert_eq!(understood.symbol, SymbolSource::FileName);
    assert_eq!(files::tables_in(&example("dollars.csv")).unwrap(), [example("dollars.csv")]);
    let several = refusal("prices.zip", &options()).to_string();
    assert!(several.contains("2 tables"), "{several}");
    let absent = refusal("prices.zip/AAPL.US.csv", &options()).to_string();
    assert!(absent.contains("no \"AAPL.US.csv\""), "{absent}");
}

#[test]
fn decompression_bombs_and_incomplete_archives_are_refused() {
    let bomb = files::tables_in(&example("bomb.zip")).unwrap_err().problem.to_string();
    assert!(bomb.contains("AAPL.US.csv") && bomb.contains("times its size"), "{bomb}");
    let whole = std::fs::read(example("prices.zip")).unwrap();
    let describe = |bytes: &[u8]| {
        let (_folder, path) = crate::common::file("a.zip", bytes);
        let paths = match files::tables_in(&path) {
            Ok(paths) => paths,
            Err(error) => return error.problem.to_string(),
        };
        match files::open(&paths[0], &venues(), &options()) {
            Err(error) => error.problem.to_string(),
            Ok(_) => "read".to_owned(),
        }
    };
    assert_eq!(describe(&whole), "read");
    // In order: the end of the directory is missing, a file was modified, and the directory
    // announces more files than it lists.
    assert!(describe(&whole[..whole.len() - 30]).contains("it has no end"));
    let at = whole.windows(4).position(|four| four == b"PK\x03\x04").unwrap();
    let mut changed = whole.clone();
    changed[at + 60] ^= 0x55;
    assert_ne!(describe(&changed), "read");
    let end = whole.windows(4).rposition(|four| four == b"PK\x05\x06").unwrap();
    let mut counted = whole.clone();
    counted[end + 10] = 200;
    assert!(describe(&counted).contains("truncated"));
    // Patches the second directory entry: a password, an unsupported method, and the offset of the
    // first file.
    let mut entries = (0..whole.len()).filter(|at| whole[*at..].starts_with(b"PK\x01\x02"));
    let entry = entries.nth(1).unwrap();
    let patched = |at: usize, bytes: &[u8]| {
        let mut patched = whole.clone();
        patched[entry + at..][..bytes.len()].copy_from_slice(bytes);
        let (_folder, path) = crate::common::file("a.zip", &patched);
        let last = files::tables_in(&path).map_err(|error| error.problem.to_string())?.pop().unwrap();
        files::open(&last, &venues(), &options()).map_err(|error| error.problem.to_string()).map(drop)
    };
    assert_eq!(patched(8, &[0]), Ok(()));
    assert!(patched(8, &[1]).unwrap_err().contains("has a password"));
    assert!(patched(10, &[12]).unwrap_err().contains("uses an unsupported compression"));
    assert!(patched(42, &[0; 4]).unwrap_err().contains("its files overlap"));
    let mut large = whole;
    large.splice(end..end, *b"PK\x06\x07");
    assert!(describe(&large).contains("more than 4 GiB"));
}

#[test]
fn an_archive_with_too_many_files_is_refused() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for n in 0..=10_000 {
        archive.start_file(format!("{n}.csv"), stored).unwrap();
    }
    let (_folder, path) = crate::common::file("many.zip", &archive.finish().unwrap().into_inner());
    let many = files::tables_in(&path).unwrap_err().problem.to_string();
    assert_eq!(many, "a ZIP archive of 10001 files: at most 10000 are read");
}

#[test]
fn examples_of_all_documented_vendors_are_read() {
    let days = |rows: &str| format!("{SECOND}{rows}").replace("183.88 ", "183.885 ");
    let (yahoo, rows) = read("yfinance.csv", &options());
    assert_eq!(rows, format!("{}{THIRD}", SECOND.replace("183.88 ", "183.89 ")));
    assert_eq!((yahoo.basis, yahoo.symbol), (Basis::SplitAdjusted, SymbolSource::Header));
    let (stooq, rows) = read("aapl_us_d.csv", &options());
    assert_eq!(rows, days(THIRD).replace("82488700", "81964874").replace("58414500", "58414460"));
    assert_eq!(stooq.symbol, SymbolSource::FileName);
    let (nasdaq, rows) = read("nasdaq.csv", &of_apple());
    assert_eq!(rows, format!("{}{}", SIXTEENTH.replace("180.93 ", "180.934 "), days("")));
    assert_eq!(nasdaq.basis, Basis::SplitAdjusted);
    let (_, rows) = read("investing.csv", &of_apple());
    assert_eq!(
        rows,
        format!("{}{}", SIXTEENTH.replace("65603000", "65600000"), SECOND.replace("82488700", "82490000"))
    );
    let (alpaca, rows) = read("alpaca.csv", &options());
    assert!(rows.starts_with("AAPL.US 2024-01-02T14:30:00Z 187.15 187.2 186.8 187 1234567\n"), "{rows}");
    assert_eq!(alpaca.times, TimesAre::Instants);
    let lots = ReadOptions { scale: "volume=100,turnover=1000".parse().unwrap(), ..options() };
    let (_, rows) = read("tushare.csv", &lots);
    assert!(
        rows.starts_with("600519.SH 2024-01-02T16:00:00Z 1681.11 1695.22 1676.33 1694 2022151\n"),
        "{rows}"
    );
    let tencent = "700.HK 2024-01-02T01:30:00Z 296.4 296.8 295.4 295.6 215600\n\
                   700.HK 2024-01-02T01:31:00Z 295.6 295.8 295 295.2 101300\n";
    let (futu, rows) = read("futu.csv", &options());
    assert_eq!((rows.as_str(), futu.basis), (tencent, Basis::ForwardAdjusted));
    let (sdk, rows) = read("sdk.csv", &options());
    assert_eq!((rows.as_str(), sdk.times), (tencent, TimesAre::Instants));
    let (duckdb, rows) = read("duckdb.csv", &options());
    assert!(rows.starts_with("AAPL.US 2024-01-02T14:30:00Z 187.15 187.2 186.8 187 1234567\n"), "{rows}");
    assert_eq!((duckdb.times, duckdb.basis), (TimesAre::WallClock, Basis::AsTraded));
}

#[test]
fn a_symbol_from_a_file_name_without_a_region_is_a_guess() {
    let text = b"Date,Open,High,Low,Close,Volume\n2024-01-02,1,1,1,1,1\n";
    let source = |name: &str, region| {
        let options = ReadOptions { region, ..options() };
        crate::common::candles(name, text, &options).understood().symbol
    };
    assert_eq!(source("semi.csv", None), SymbolSource::FileNameWithoutRegion);
    assert!(source("semi.csv", None).is_guess());
    assert_eq!(source("semi.csv", Some(Region::Us)), SymbolSource::FileName);
    assert_eq!(source("0700.HK.csv", None), SymbolSource::FileName);
    assert_eq!(source("600519.SS.csv", None), SymbolSource::FileName);
    assert_eq!(source("NVDL_US_Min_1_2024.csv", None), SymbolSource::WordOfFileName);
}
