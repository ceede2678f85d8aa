//! Tests of files that are too large, damaged or not tables.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray};
use expect_test::expect;
use files::{BATCH_ROWS, LINE_MAX, REJECTED_TEXT_MAX, SYMBOLS_MAX, Table};
use market::Venues;

use crate::common::{candles, check, file, options, refusal, refusal_of, venues};

const HEADER: &str = "symbol,time,open,high,low,close\n";

#[test]
fn an_endless_line_is_refused() {
    let long = "a.csv: line 1 is longer than 64 KiB: is this a text table?";
    assert_eq!(refusal_of("a.csv", &vec![b'x'; LINE_MAX + 1], &options()), long);
    let second = format!("{HEADER}{}", "1".repeat(LINE_MAX + 1));
    assert_eq!(refusal_of("a.csv", second.as_bytes(), &options()), long.replace('1', "2"));
    // A line of 200 MB compresses to a file of a few kilobytes.
    let mut bomb = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    bomb.write_all(HEADER.as_bytes()).unwrap();
    for _ in 0..200 {
        bomb.write_all(&vec![b'7'; 1_000_000]).unwrap();
    }
    assert_eq!(
        refusal_of("a.csv.zst", &bomb.finish().unwrap(), &options()),
        "a.csv.zst: line 2 is longer than 64 KiB: is this a text table?"
    );
}

#[test]
fn a_line_of_the_maximum_length_is_read() {
    let row = format!("700.HK,20240102,1,1,1,1{}\n", " ".repeat(LINE_MAX - 23));
    let mut reader = candles("a.csv", format!("{HEADER}{row}{row}").as_bytes(), &options());
    assert_eq!(reader.next().unwrap().unwrap().rows.len(), 2);
}

#[test]
fn an_unclosed_quote_rejects_only_its_row() {
    check(
        "a.csv",
        &format!("{HEADER}\"700.HK,20240102,1,1,1,1\n700.HK,20240103,1,1,1,1\n"),
        &options(),
        expect![[r#"
            plain Day
            3 700.HK 2024-01-02T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
            rejected 2 700.HK,20240102,1,1,1,1: a quote is not closed on its line
            note: there is no volume column; volumes are 0
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn files_that_are_not_tables_are_refused() {
    let describe = |name: &str, bytes: &[u8]| refusal_of(name, bytes, &options());
    assert_eq!(describe("a.csv", b""), "a.csv: the file is empty");
    assert_eq!(describe("a.csv", b"\n\n"), "a.csv: the file is empty");
    assert_eq!(describe("a.csv", HEADER.as_bytes()), "a.csv: there is a header but no row");
    assert_eq!(
        describe("a.parquet", HEADER.as_bytes()),
        "a.parquet: not readable as Parquet: it does not start like a Parquet file"
    );
    assert_eq!(
        describe("a.csv", &[7, 0, 1, 255, 3, 0, 0, 9, 10, 44]),
        "a.csv: binary data, and not CSV, XLSX, Parquet, gzip, zstd or ZIP: is this a table?"
    );
    // UTF-16 is decoded before its header is read.
    assert!(
        describe("a.csv", b"\xff\xfes\0y\0").starts_with("a.csv: unknown header: found \"sy\"; missing time")
    );
    assert_eq!(
        describe("a.csv", b"PK\x03\x04rest of a spreadsheet"),
        "a.csv: not readable as a ZIP archive: it has no end"
    );
    assert!(
        describe("a.csv", b"PAR1 and then nothing of the kind")
            .starts_with("a.csv: not readable as Parquet: ")
    );
    let mut cut = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    cut.write_all(format!("{HEADER}700.HK,20240102,1,1,1,1\n").repeat(100).as_bytes()).unwrap();
    let whole = cut.finish().unwrap();
    assert!(describe("a.csv.gz", &whole[..whole.len() / 2]).starts_with("a.csv.gz: cannot read: "));
}

#[test]
fn a_missing_file_is_an_error_with_its_name() {
    let error =
        files::open(std::path::Path::new("nowhere.csv"), &crate::common::venues(), &options()).unwrap_err();
    assert!(error.to_string().starts_with("nowhere.csv: cannot read: "), "{error}");
}

#[test]
fn too_many_columns_are_refused() {
    let header = vec!["c"; 1025].join(",");
    refusal(
        "a.csv",
        &format!("{header}\n"),
        &options(),
        expect!["a.csv: 1025 columns: at most 1024 are read"],
    );
}

#[test]
fn too_many_symbols_are_refused() {
    let mut text = HEADER.to_owned();
    for n in 0..=SYMBOLS_MAX {
        text.push_str(&format!("T{n}.US,20240102,1,1,1,1\n"));
    }
    refusal("a.csv", &text, &options(), expect!["a.csv: more than 100000 symbols"]);
}

#[test]
fn the_text_of_a_rejected_row_is_truncated() {
    let text = format!("{HEADER}700.HK,20240102,1,1,1,{}\n", "x".repeat(2000));
    let mut reader = candles("a.csv", text.as_bytes(), &options());
    let batch = reader.next().unwrap().unwrap();
    let [rejected] = batch.rejected.as_slice() else { panic!("{batch:?}") };
    assert_eq!((rejected.line, rejected.reason.as_str()), (2, "close is not a number"));
    assert_eq!(rejected.text.chars().count(), REJECTED_TEXT_MAX);
    assert_eq!(rejected.symbol.as_deref(), Some("700.HK"));
}

/// Returns a file of several batches, with some invalid rows and blank lines.
fn long_file() -> String {
    let mut text = HEADER.to_owned();
    for row in 0..50_000i64 {
        let close = if row % 1000 == 7 { "bad".to_owned() } else { format!("{}.25", row + 1) };
        let blank = if row % 777 == 0 { "\n" } else { "" };
        text.push_str(&format!("{blank}AAPL.US,{},1,1,1,{close}\n", 1_704_205_800 + row * 60));
    }
    text
}

#[test]
fn a_long_file_is_read_in_batches() {
    let text = long_file();
    let mut whole = candles("a.csv", text.as_bytes(), &options());
    let (mut rows, mut rejected) = (0, 0);
    while let Some(batch) = whole.next().unwrap() {
        assert!(batch.rows.len() + batch.rejected.len() <= BATCH_ROWS);
        rows += batch.rows.len();
        rejected += batch.rejected.len();
        assert!(whole.position().consumed <= whole.position().total);
    }
    assert_eq!((rows, rejected, whole.rows_read()), (49_950, 50, 50_000));
    assert_eq!(whole.position().consumed, whole.position().total);
}

#[test]
fn a_reader_is_send() {
    fn moves<T: Send>(_: &T) {}
    moves(&candles("a.csv", format!("{HEADER}700.HK,20240102,1,1,1,1\n").as_bytes(), &options()));
}

/// Reads a whole file and returns its number of rows, including rejected ones.
fn rows_of(name: &str, bytes: &[u8], venues: &Venues) -> Result<u64, files::Problem> {
    let (_folder, path) = file(name, bytes);
    let table = files::open(&path, venues, &options()).map_err(|error| error.problem)?;
    let mut count = 0;
    match table {
        Table::Candles(mut reader) => {
            while let Some(batch) = reader.next().map_err(|error| error.problem)? {
                count += batch.rows_read();
            }
        }
        Table::Trades(mut reader) => {
            while let Some(batch) = reader.next().map_err(|error| error.problem)? {
                count += batch.rows_read();
            }
        }
        other => panic!("{other:?}"),
    }
    Ok(count)
}

#[test]
fn the_compression_ratio_is_limited() {
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let venues = venues();
    let junk = |rows: usize| format!("{HEADER}{}", "a,\n".repeat(rows));
    for packed in [gzip(&junk(1_000_000)), zstd(&junk(1_000_000))] {
        assert!(packed.len() < 3_000_000 / 200);
        let refusal = rows_of("a.csv", &packed, &venues).unwrap_err().to_string();
        let says = "cannot read: it unpacks to more than 200 times its size; unpack it first if it is meant";
        assert_eq!(refusal, says);
    }
    // Below a megabyte, the compression ratio is not limited.
    for packed in [gzip(&junk(300_000)), zstd(&junk(300_000))] {
        assert_eq!(rows_of("a.csv", &packed, &venues).unwrap(), 300_000);
    }
    // One-minute candles without trades are the most compressible real data.
    let row = |at: u32| format!("700.HK,{},300.2,300.2,300.2,300.2\n", 1_704_159_000 + 60 * i64::from(at));
    let quiet: String = std::iter::once(HEADER.to_owned()).chain((0..60_000).map(row)).collect();
    for packed in [gzip(&quiet), zstd(&quiet)] {
        assert!(quiet.len() > 2_000_000 && quiet.len() / packed.len() > 8, "{}", quiet.len() / packed.len());
        assert_eq!(rows_of("a.csv", &packed, &venues).unwrap(), 60_000);
    }
}

/// A deterministic random number generator.
fn next_random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 33).unwrap()
}

/// The Parquet reader panics on some of these files.
#[test]
fn a_damaged_parquet_file_is_refused_without_a_panic() {
    let (venues, rows) = (venues(), 64);
    let decimals = || {
        // A dictionary of 33 entries has 6-bit keys, so that a damaged key can exceed the
        // dictionary.
        let cells = (0..rows).map(|at| 290_200_000 + i128::from(at % 33));
        Arc::new(Decimal128Array::from_iter_values(cells).with_precision_and_scale(38, 6).unwrap())
            as ArrayRef
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("symbol", Arc::new(StringArray::from(vec!["700.HK"; 64]))),
        ("time", Arc::new(Int64Array::from_iter_values((0..rows).map(|at| 1_704_159_000 + 60 * at)))),
        ("open", decimals()),
        ("high", decimals()),
        ("low", decimals()),
        ("close", decimals()),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let (mut random, mut damaged, mut refused) = (0x2545_f491_4f6c_dd1d, 0, 0);
    for has_dictionary in [true, false] {
        let properties = parquet::file::properties::WriterProperties::builder()
            .set_dictionary_enabled(has_dictionary)
            .build();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let whole = writer.into_inner().unwrap();
        assert_eq!(rows_of("a.parquet", &whole, &venues).unwrap(), 64);
        for _ in 0..500 {
            let mut bytes = whole.clone();
            for _ in 0..1 + next_random(&mut random) % 4 {
                // The magic numbers at both ends remain intact.
                let at = 4 + next_random(&mut random) % (bytes.len() - 8);
                bytes[at] = u8::try_from(next_random(&mut random) % 256).unwrap();
            }
            match rows_of("a.parquet", &bytes, &venues) {
                Ok(_) => {}
                Err(problem @ files::Problem::Damaged) => {
                    assert_eq!(problem.to_string(), "this file is damaged: it cannot be read as Parquet");
                    damaged += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(damaged > 0 && refused > damaged, "{damaged} panics, {refused} errors");
}
