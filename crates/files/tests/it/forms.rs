//! Tests of time formats, number formats and encodings.

use std::io::Write;

use expect_test::expect;
use files::{ReadOptions, Scale};
use market::{Grain, Region};

use crate::common::{candles, check, check_bytes, listing, options};

/// Returns the instant of a time cell, or the error.
fn time_of(cell: &str, period: Option<Grain>) -> String {
    let text = format!("symbol;time;open;high;low;close\nAAPL.US;{cell};1;1;1;1\n");
    let mut reader = match crate::common::open("a.csv", text.as_bytes(), &ReadOptions { period, ..options() })
    {
        Ok(files::Table::Candles(reader)) => reader,
        Ok(other) => panic!("{other:?}"),
        Err(error) => return format!("refused: {}", error.problem),
    };
    let batch = reader.next().unwrap().unwrap();
    match (batch.rows.first(), batch.rejected.first()) {
        (Some(row), _) => format!("{:?} {}", reader.grain(), row.time),
        (None, Some(rejected)) => format!("rejected: {}", rejected.reason),
        (None, None) => "nothing".to_owned(),
    }
}

#[test]
fn time_formats_are_parsed() {
    let cells = [
        "2024-07-02T09:30:00-04:00",
        "2024-07-02T13:30:00Z",
        "2024-07-02 13:30:00+00:00",
        "2024-07-02T13:30:00.000Z",
        "2024-07-02T13:30:00.5Z",
        "2024-07-02 13:30:00 UTC",
        "2024-07-02T13:30:00+0000",
        "1719927000",
        "1719927000.0",
        "1719927000000",
        "1719927000000000",
        "1719927000000000000",
        "1719927000123",
        "2024-07-02 09:30",
        "2024-07-02T09:30:00",
        "2024/07/02 09:30:00",
        "2024/7/2 9:30",
        "20240702 09:30:00",
        "20240702 093000",
        "20240702093000",
        "202407020930",
        "20240702093000000",
        "2024-07-02",
        "2024/07/02",
        "20240702",
        "2024-07-02T04:00:00Z",
        "2024-07-02T00:00:00Z",
        "2024-02-30",
        "2024-07-02 25:00",
        "02/07/2024",
        "yesterday",
        "",
        "9999999999999999999",
    ];
    let table: String = cells.iter().map(|cell| format!("{cell:>25} -> {}\n", time_of(cell, None))).collect();
    expect![[r#"
        2024-07-02T09:30:00-04:00 -> Minute 2024-07-02T13:30:00Z
             2024-07-02T13:30:00Z -> Minute 2024-07-02T13:30:00Z
        2024-07-02 13:30:00+00:00 -> Minute 2024-07-02T13:30:00Z
         2024-07-02T13:30:00.000Z -> Minute 2024-07-02T13:30:00Z
           2024-07-02T13:30:00.5Z -> rejected: time has a fraction of a second
          2024-07-02 13:30:00 UTC -> Minute 2024-07-02T13:30:00Z
         2024-07-02T13:30:00+0000 -> Minute 2024-07-02T13:30:00Z
                       1719927000 -> Minute 2024-07-02T13:30:00Z
                     1719927000.0 -> Minute 2024-07-02T13:30:00Z
                    1719927000000 -> Minute 2024-07-02T13:30:00Z
                 1719927000000000 -> Minute 2024-07-02T13:30:00Z
              1719927000000000000 -> Minute 2024-07-02T13:30:00Z
                    1719927000123 -> rejected: time has a fraction of a second, unlike the other rows
                 2024-07-02 09:30 -> Minute 2024-07-02T13:30:00Z
              2024-07-02T09:30:00 -> Minute 2024-07-02T13:30:00Z
              2024/07/02 09:30:00 -> Minute 2024-07-02T13:30:00Z
                    2024/7/2 9:30 -> Minute 2024-07-02T13:30:00Z
                20240702 09:30:00 -> Minute 2024-07-02T13:30:00Z
                  20240702 093000 -> Minute 2024-07-02T13:30:00Z
                   20240702093000 -> Minute 2024-07-02T13:30:00Z
                     202407020930 -> Minute 2024-07-02T13:30:00Z
                20240702093000000 -> Minute 2024-07-02T13:30:00Z
                       2024-07-02 -> Day 2024-07-02T04:00:00Z
                       2024/07/02 -> Day 2024-07-02T04:00:00Z
                         20240702 -> Day 2024-07-02T04:00:00Z
             2024-07-02T04:00:00Z -> Day 2024-07-02T04:00:00Z
             2024-07-02T00:00:00Z -> Day 2024-07-02T04:00:00Z
                       2024-02-30 -> rejected: cannot read "2024-02-30" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
                 2024-07-02 25:00 -> rejected: cannot read "2024-07-02 25:00" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
                       02/07/2024 -> refused: line 2: dates like 2/7/2024 may be read both ways, and no row of the file decides which: pass --time-format mdy (month first) or dmy (day first)
                        yesterday -> rejected: cannot read "yesterday" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
                                  -> rejected: time is empty
              9999999999999999999 -> rejected: cannot read "9999999999999999999" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
    "#]].assert_eq(&table);
}

#[test]
fn with_an_explicit_daily_period_the_local_date_is_used() {
    assert_eq!(time_of("2024-07-02 16:00:00", Some(Grain::Day)), "Day 2024-07-02T04:00:00Z");
    assert_eq!(time_of("2024-07-02T20:00:00Z", Some(Grain::Day)), "Day 2024-07-02T04:00:00Z");
    assert_eq!(time_of("2024-07-02T00:00:00Z", Some(Grain::Day)), "Day 2024-07-02T04:00:00Z");
}

#[test]
fn a_file_has_one_unit_for_unix_times() {
    // The first row alone would be parsed as seconds; the file is in milliseconds.
    check(
        "700.HK.csv",
        "time,open,high,low,close\n86400000,1,1,1,1\n1704124800000,1,1,1,1\n",
        &ReadOptions { period: Some(Grain::Minute), ..options() },
        expect![[r#"
            plain Minute
            2 700.HK 1970-01-02T00:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
            3 700.HK 2024-01-01T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
            note: there is no volume column; volumes are 0
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn separate_date_and_time_columns_are_joined() {
    for (date, clock) in
        [("2024-01-02", "09:30"), ("20240102", "093000"), ("2024/01/02", "93000"), ("20240102", "0930")]
    {
        let text = format!("Date,Time,Open,High,Low,Close\n{date},{clock},1,1,1,1\n");
        let mut reader = candles("700.HK.csv", text.as_bytes(), &options());
        let batch = reader.next().unwrap().unwrap();
        let time = batch.rows.first().map(|row| row.time.to_string());
        assert_eq!(time.as_deref(), Some("2024-01-02T01:30:00Z"), "{date} {clock} {:?}", batch.rejected);
    }
}

#[test]
fn numbers_are_exact_or_the_row_is_rejected() {
    let rows = [
        "1.5,2,1,1.5,1234.0,9.5",
        "1.5,2,1,1.5,1.2e6,1e3",
        "1.5,2,1,1.5,12.5,",
        "1.5,2,1,1.5,,",
        "1.5,2,1,,7,",
        "1.5,2,x,1,7,",
        "1.5,2,1,nan,7,",
        "0.0000014,2,1,185.63999938964844,7,",
        "123456789012.5,2,1,1,7,123456789012345678.123456",
        "10000000000000,2,1,1,7,",
        "-1.5,2,1,1,-7,-3",
        "1.5,2,1,1,99999999999999999999,",
        "\"1.5\",\"2\",\" 1 \",1,7,",
        "1.5,2,1,1,7",
        "1.5,2,1,1,7,1,2",
        "1.5,2,1,1,7,1,",
    ];
    let mut text = "time,open,high,low,close,volume,turnover\n".to_owned();
    for (minute, row) in rows.iter().enumerate() {
        text.push_str(&format!("2024-01-02 10:{minute:02},{row}\n"));
    }
    check(
        "700.HK.csv",
        &text,
        &options(),
        expect![[r#"
            plain Minute
            2 700.HK 2024-01-02T02:00:00Z 1.500000 2.000000 1.000000 1.500000 1234 9.500 -
            3 700.HK 2024-01-02T02:01:00Z 1.500000 2.000000 1.000000 1.500000 1200000 1000.000 -
            9 700.HK 2024-01-02T02:07:00Z 0.000001 2.000000 1.000000 185.640000 7 0.000 -
            10 700.HK 2024-01-02T02:08:00Z 123456789012.500000 2.000000 1.000000 1.000000 7 123456789012345678.123 -
            12 700.HK 2024-01-02T02:10:00Z -1.500000 2.000000 1.000000 1.000000 -7 -3.000 -
            14 700.HK 2024-01-02T02:12:00Z 1.500000 2.000000 1.000000 1.000000 7 0.000 -
            17 700.HK 2024-01-02T02:15:00Z 1.500000 2.000000 1.000000 1.000000 7 1.000 -
            rejected 4 : volume is not a whole number; if it counts lots, pass --scale volume=100
            rejected 5 : volume is empty
            rejected 6 : close is empty
            rejected 7 : low is not a number
            rejected 8 : close is empty
            rejected 11 : open is too large
            rejected 13 : volume is too large
            rejected 15 : 6 cells where the header has 7
            rejected 16 : 8 cells where the header has 7
            note: prices or turnovers rounded to 6 decimals: 1
            note: single-precision prices with spurious digits, read as the intended decimals: 1
        "#]],
    );
}

#[test]
fn scale_factors_are_applied_exactly() {
    let scale: Scale = "price=0.001,volume=100,turnover=1000".parse().unwrap();
    check(
        "600519.SH.csv",
        "time,open,high,low,close,volume,turnover\n\
         20240102,1715000,1718190,1678100,1685010.5,321.56,5440082.548\n20240103,1,1,1,0.0005,0.001,1\n",
        &ReadOptions { scale, ..options() },
        expect![[r#"
            plain Day
            2 600519.SH 2024-01-01T16:00:00Z 1715.000000 1718.190000 1678.100000 1685.010500 32156 5440082548.000 -
            rejected 3 : volume is not a whole number of shares, and fractions of units cannot be stored: leave it out with --map volume=-
            note: prices or turnovers rounded to 6 decimals: 1
        "#]],
    );
}

#[test]
fn turnover_is_estimated_only_if_it_is_missing() {
    let estimate = ReadOptions { estimate_turnover: true, ..options() };
    check(
        "700.HK.csv",
        "time,open,high,low,close,volume,turnover,vwap\n\
         20240102,1,2,1,2,10,5,1.7\n20240103,1,2,1,2,10,,1.7\n20240104,1,2,1,2,10,,\n",
        &estimate,
        expect![[r#"
            plain Day
            2 700.HK 2024-01-01T16:00:00Z 1.000000 2.000000 1.000000 2.000000 10 5.000 -
            3 700.HK 2024-01-02T16:00:00Z 1.000000 2.000000 1.000000 2.000000 10 17.000 -
            4 700.HK 2024-01-03T16:00:00Z 1.000000 2.000000 1.000000 2.000000 10 16.667 -
        "#]],
    );
}

#[test]
fn line_endings_blank_lines_and_comments_are_skipped() {
    check(
        "700.HK.csv",
        "\u{feff}# made by hand\r\n\r\ntime,open,high,low,close\r\n20240102,1,1,1,1\r\n\r\n20240103,2,2,2,2",
        &options(),
        expect![[r#"
            plain Day
            4 700.HK 2024-01-01T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
            6 700.HK 2024-01-02T16:00:00Z 2.000000 2.000000 2.000000 2.000000 0 0.000 -
            note: there is no volume column; volumes are 0
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn numbers_are_parsed_in_files_that_are_not_utf8() {
    // "腾讯" in GBK, in an unused column.
    let mut bytes = b"name,symbol,time,open,high,low,close\n".to_vec();
    bytes.extend_from_slice(&[0xcc, 0xda, 0xd1, 0xb6]);
    bytes.extend_from_slice(b",700.HK,20240102,1,1,1,1\n");
    bytes.extend_from_slice(&[0xcc, 0xda, 0xd1, 0xb6]);
    bytes.extend_from_slice(b",700.HK,20240103,1,1,x,1\n");
    check_bytes(
        "a.csv",
        &bytes,
        &options(),
        expect![[r#"
            plain Day
            2 700.HK 2024-01-01T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
            rejected 3 700.HK: low is not a number
            note: the text is in GBK and was decoded
            note: there is no volume column; volumes are 0
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn compression_is_detected_by_content() {
    let text = b"symbol,time,open,high,low,close\n700.HK,20240102,1,1,1,1\n";
    let plain = listing(&mut candles("a.csv", text, &options()));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(&text[..], 1).unwrap();
    for (name, bytes) in [("a.csv.gz", &gzip), ("a.csv", &gzip), ("a.csv.zst", &zstd), ("a.txt", &zstd)] {
        assert_eq!(listing(&mut candles(name, bytes, &options())), plain, "{name}");
    }
}

#[test]
fn gzip_members_are_concatenated() {
    let mut both = Vec::new();
    for part in
        [&b"symbol,time,open,high,low,close\n700.HK,20240102,1,1,1,1\n"[..], b"700.HK,20240103,1,1,1,1\n"]
    {
        let mut gzip = flate2::write::GzEncoder::new(both, flate2::Compression::fast());
        gzip.write_all(part).unwrap();
        both = gzip.finish().unwrap();
    }
    let mut reader = candles("a.csv.gz", &both, &options());
    assert_eq!(reader.next().unwrap().unwrap().rows.len(), 2);
}

#[test]
fn without_a_symbol_column_the_file_name_is_used() {
    let symbol_of = |name: &str, region| {
        let text = b"time,open,high,low,close\n20240102,1,1,1,1\n";
        match crate::common::open(name, text, &ReadOptions { region, ..options() }) {
            Ok(files::Table::Candles(reader)) => reader.symbols()[0].to_string(),
            Ok(other) => panic!("{other:?}"),
            Err(error) => error.problem.to_string(),
        }
    };
    assert_eq!(symbol_of("700.HK.csv", None), "700.HK");
    assert_eq!(symbol_of("AAPL.US_1m.csv", None), "AAPL.US");
    assert_eq!(symbol_of("aapl.us.txt", None), "AAPL.US");
    assert_eq!(symbol_of("600519.SH-1min.csv", None), "600519.SH");
    assert_eq!(symbol_of("HK.00700_daily.csv", None), "700.HK");
    assert_eq!(symbol_of("AAPL.csv", Some(Region::Us)), "AAPL.US");
    for (name, symbol) in [("AAPL.csv", "AAPL.US"), ("ko.csv", "KO.US"), ("BRK-B_1d.csv", "BRK.B.US")] {
        assert_eq!(symbol_of(name, None), symbol);
    }
    // Digits of a form that only one exchange has are completed; others are refused.
    assert_eq!(symbol_of("00700.csv", None), "700.HK");
    assert_eq!(
        symbol_of("700.csv", None),
        "no symbol: there is no symbol column, and the file's name, \"700\", does not name a security; pass --symbol \
         700.HK"
    );
}

#[test]
fn the_case_of_a_header_does_not_affect_the_symbol() {
    let symbol_of = |name: &str, text: &str| match crate::common::open(name, text.as_bytes(), &options()) {
        Ok(files::Table::Candles(reader)) => reader.symbols()[0].to_string(),
        Ok(other) => panic!("{other:?}"),
        Err(error) => error.problem.to_string(),
    };
    let rows = "2026-11-12,1,2,1,2,100\n2026-11-13,1,2,1,2,100\n";
    let lower = format!("date,open,high,low,close,volume\n{rows}");
    let upper = format!("Date,Open,High,Low,Close,Volume\n{rows}");
    for text in [&lower, &upper] {
        for (name, symbol) in [("AAPL.csv", "AAPL.US"), ("KO.csv", "KO.US"), ("BRK-B.csv", "BRK.B.US")] {
            assert_eq!(symbol_of(name, text), symbol);
        }
        for name in [
            "prices.csv",
            "Data.csv",
            "stock.csv",
            "STOCKS.csv",
            "Book1.csv",
            "candles.csv",
            "history.csv",
            "quotes.csv",
            "ohlc.csv",
            "ohlcv.csv",
            "export.csv",
            "download.csv",
            "download (1).csv",
            "table.csv",
            "Sheet1.csv",
            "Untitled.csv",
            "stock_data-2.csv",
            "us_prices.csv",
            "yahoo.csv",
            "daily.csv",
            "minutes.csv",
        ] {
            let said = symbol_of(name, text);
            assert!(said.contains("does not name a security; pass --symbol"), "{name}: {said}");
        }
    }
}
