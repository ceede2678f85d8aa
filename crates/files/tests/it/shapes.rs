//! The file shapes that traders have: exports as programs and sites write them, opened without
//! options. The numbers are invented.

use std::fmt::Write;

use encoding_rs::GBK;
use expect_test::{Expect, expect};
use files::{ReadOptions, SymbolSource, Table};

use crate::common::{open, options, venues};
use crate::workbooks::{Cell, workbook};

/// Returns what a file is read as: symbol, how it was found, period, times, the number of rows, the
/// first row and everything that is said to the user.
fn read(name: &str, bytes: &[u8], options: &ReadOptions) -> String {
    let mut reader = match open(name, bytes, options) {
        Ok(Table::Candles(reader)) => reader,
        Ok(other) => return format!("{other:?}\n"),
        Err(error) => return format!("refused: {}\n", error.problem),
    };
    let understood = reader.understood();
    let (mut rows, mut rejected, mut first) = (0, 0, None);
    while let Some(batch) = reader.next().unwrap() {
        rows += batch.rows.len();
        rejected += batch.rejected.len();
        first = first.or(batch.rows.first().copied());
    }
    let symbols: Vec<&str> = reader.symbols().iter().map(|symbol| symbol.as_str()).collect();
    let guess = if understood.symbol.is_guess() { " (a guess)" } else { "" };
    let mut text = format!(
        "{}{guess} from {:?}, {} by {:?}, {:?}, {rows} rows, {rejected} rejected\n",
        symbols.join(","),
        understood.symbol,
        understood.period.period,
        understood.period.by,
        understood.times,
    );
    if let Some(row) = first {
        let zone = venues().of(reader.symbols()[row.symbol as usize].market()).zone().clone();
        let prices =
            [row.open, row.high, row.low, row.close].map(|price| price.text(2).to_string()).join(" ");
        writeln!(text, "{} {prices} {} {}", zone.rfc3339(row.time), row.volume, row.turnover.text()).unwrap();
    }
    reader.notes().iter().for_each(|note| writeln!(text, "note: {note}").unwrap());
    text
}

fn check(name: &str, bytes: &[u8], expected: Expect) {
    expected.assert_eq(&read(name, bytes, &options()));
}

/// Five trading days with prices, as lines of `date,open,high,low,close,volume`.
const DAYS: [[&str; 6]; 5] = [
    ["2026-11-09", "100.5", "102.25", "99.75", "101", "1200300"],
    ["2026-11-10", "101", "103", "100.5", "102.5", "1300400"],
    ["2026-11-11", "102.5", "104.75", "102", "104", "1400500"],
    ["2026-11-12", "104", "104.5", "101.25", "102", "1500600"],
    ["2026-11-13", "102", "103.5", "101.5", "103", "1600700"],
];

/// Writes the days as lines: a header and the cells of each day, joined.
fn lines(header: &str, cells: impl Fn([&str; 6]) -> String) -> String {
    let rows: String = DAYS.iter().map(|day| format!("{}\n", cells(*day))).collect();
    format!("{header}\n{rows}")
}

#[test]
fn shape_1_a_download_of_yfinance() {
    let text = lines(
        "Price,Close,High,Low,Open,Volume\nTicker,AAPL,AAPL,AAPL,AAPL,AAPL\nDate,,,,,",
        |[date, open, high, low, close, volume]| format!("{date},{close},{high},{low},{open},{volume}"),
    );
    check(
        "AAPL.csv",
        text.as_bytes(),
        expect![[r#"
        AAPL.US from Header, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
        note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
        note: there is no turnover column; turnovers are 0
    "#]],
    );
}

#[test]
fn shape_2_five_minutes_of_yfinance() {
    let rows: String = (0..12)
        .map(|n| {
            format!(
                "2026-11-13 14:{:02}:00+00:00,101,102,100,100.5,{}\n",
                30 + n * 5 - n / 6 * 30 - n / 6 * 30,
                1000 + n
            )
        })
        .take(6)
        .collect();
    let text =
        format!("Price,Close,High,Low,Open,Volume\nTicker,AAPL,AAPL,AAPL,AAPL,AAPL\nDatetime,,,,,\n{rows}");
    check(
        "AAPL_5m.csv",
        text.as_bytes(),
        expect![[r#"
        AAPL.US from Header, 5m by Steps, Instants, 6 rows, 0 rejected
        2026-11-13T09:30:00-05:00 100.50 102.00 100.00 101.00 1000 0.000
        note: treated as 5-minute candles, a guess from the distance between rows; pass --period to set it
        note: there is no turnover column; turnovers are 0
    "#]],
    );
}

#[test]
fn shape_3_stooq() {
    check(
        "aapl_us_d.csv",
        lines("Date,Open,High,Low,Close,Volume", |day| day.join(",")).as_bytes(),
        expect![[r#"
            AAPL.US from FileName, day by Steps, Dates, 5 rows, 0 rejected
            2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
            note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn shape_4_alpaca() {
    let text = lines(
        "symbol,timestamp,open,high,low,close,volume,trade_count,vwap",
        |[date, open, high, low, close, volume]| {
            format!("AAPL,{date} 05:00:00+00:00,{open},{high},{low},{close},{volume},900,101.1")
        },
    );
    check(
        "bars.csv",
        text.as_bytes(),
        expect![[r#"
        AAPL.US from Column, day by Steps, Instants, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
        note: there is no turnover column; turnovers are 0
    "#]],
    );
}

#[test]
fn shape_5_tushare() {
    let text = lines(
        "ts_code,trade_date,open,high,low,close,pre_close,change,pct_chg,vol,amount",
        |[date, open, high, low, close, _]| {
            let date = date.replace('-', "");
            format!("600519.SH,{date},{open},{high},{low},{close},100,1,1,20221.51,205146.702")
        },
    );
    check(
        "600519.csv",
        text.as_bytes(),
        expect![[r#"
        600519.SH from Column, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00+08:00 100.50 102.25 99.75 101.00 2022151 205146702.000
        note: volumes are in lots of 100 and turnovers in thousands in this export, and were multiplied by 100 and 1,000; pass --scale volume=1 to import both unchanged
    "#]],
    );
}

#[test]
fn shape_6_futu() {
    let text = lines(
        "code,name,time_key,open,close,high,low,volume,turnover",
        |[date, open, high, low, close, volume]| {
            format!("HK.00700,TENCENT,{date} 00:00:00,{open},{close},{high},{low},{volume},121230300.0")
        },
    );
    check(
        "bars.csv",
        text.as_bytes(),
        expect![[r#"
        700.HK from Column, day by Steps, WallClock, 5 rows, 0 rejected
        2026-11-09T00:00:00+08:00 100.50 102.25 99.75 101.00 1200300 121230300.000
        note: Futu's prices are forward-adjusted unless they were requested with autype NONE
    "#]],
    );
}

#[test]
fn shape_7_a_symbol_column_in_any_case() {
    for header in ["Date,Symbol,Open,High,Low,Close,Volume", "date,ticker,open,high,low,close,volume"] {
        let text = lines(header, |[date, open, high, low, close, volume]| {
            format!(
                "{date},AAPL,{open},{high},{low},{close},{volume}\n{date},MSFT,{open},{high},{low},{close},{volume}"
            )
        });
        let said = read("stocks.csv", text.as_bytes(), &options());
        assert!(said.starts_with("AAPL.US,MSFT.US from Column, day by "), "{said}");
        assert!(said.contains("10 rows, 0 rejected"), "{said}");
    }
}

#[test]
fn shape_8_dates_of_a_spreadsheet() {
    let text = lines("Date,Open,High,Low,Close,Volume", |day| {
        day.join(",").replacen("-11-0", "/11/", 1).replacen("-11-", "/11/", 1)
    });
    check(
        "AAPL.csv",
        text.as_bytes(),
        expect![[r#"
        AAPL.US (a guess) from FileNameWithoutRegion, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
        note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
        note: there is no turnover column; turnovers are 0
    "#]],
    );
}

#[test]
fn shape_9_investing_com() {
    let text = lines(
        "\u{feff}\"Date\",\"Price\",\"Open\",\"High\",\"Low\",\"Vol.\",\"Change %\"",
        |[date, open, high, low, close, _]| {
            let (month, day) = (&date[5..7], &date[8..]);
            format!("\"{month}/{day}/2026\",\"{close}\",\"{open}\",\"{high}\",\"{low}\",\"1.25M\",\"0.5%\"")
        },
    );
    check(
        "AAPL Historical Data.csv",
        text.as_bytes(),
        expect![[r#"
        AAPL.US (a guess) from WordOfFileName, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1250000 0.000
        note: the symbol AAPL.US is a guess from the file name; pass --symbol to set it
        note: prices of this source are adjusted for splits already; import no splits for their dates
        note: there is no turnover column; turnovers are 0
        note: numbers written short, like 1.5M, and possibly rounded at the source: 5
    "#]],
    );
}

#[test]
fn shape_10_nasdaq_com_has_no_symbol_anywhere() {
    let text = lines("Date,Close/Last,Volume,Open,High,Low", |[date, open, high, low, close, volume]| {
        let (month, day) = (&date[5..7], &date[8..]);
        format!("{month}/{day}/2026,${close},{volume},${open},${high},${low}")
    });
    check(
        "HistoricalData_1731628800000.csv",
        text.as_bytes(),
        expect![[r#"
        refused: no symbol: there is no symbol column, and the file's name, "HistoricalData_1731628800000", does not name a security; pass --symbol
    "#]],
    );
    // The region is known from the source, so a bare ticker is enough.
    let aapl = ReadOptions { symbol: Some("aapl".parse().unwrap()), ..options() };
    let said = read("HistoricalData_1731628800000.csv", text.as_bytes(), &aapl);
    assert!(said.starts_with("AAPL.US from Option, day"), "{said}");
}

#[test]
fn shape_11_metatrader_4_and_5() {
    let of_four: String = DAYS
        .iter()
        .map(|[date, open, high, low, close, volume]| {
            format!("{},00:00,{open},{high},{low},{close},{volume}\n", date.replace('-', "."))
        })
        .collect();
    check(
        "AAPL1440.csv",
        of_four.as_bytes(),
        expect![[r#"
        AAPL.US (a guess) from WordOfFileName, day by Steps, WallClock, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
        note: the symbol AAPL.US is a guess from the file name; pass --symbol to set it
        note: there is no header; the columns are a guess; pass --columns to name them
        note: there is no turnover column; turnovers are 0
    "#]],
    );
    let of_five = lines(
        "<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>",
        |[date, open, high, low, close, volume]| {
            format!("{}\t{open}\t{high}\t{low}\t{close}\t901\t{volume}\t1", date.replace('-', "."))
        },
    );
    check(
        "AAPL_Daily_202611090000_202611130000.csv",
        of_five.as_bytes(),
        expect![[r#"
        AAPL.US (a guess) from WordOfFileName, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
        note: the symbol AAPL.US is a guess from the file name; pass --symbol to set it
        note: there is no turnover column; turnovers are 0
    "#]],
    );
}

#[test]
fn shape_12_tradingview_days_as_unix_time() {
    let rows: String = DAYS
        .iter()
        .enumerate()
        .map(|(n, [_, open, high, low, close, volume])| {
            // 2026-11-09 09:30 in New York, and the same time of the next days.
            format!("{},{open},{high},{low},{close},{volume}\n", 1_794_234_600 + n * 86_400)
        })
        .collect();
    let text = format!("time,open,high,low,close,Volume\n{rows}");
    check(
        "NASDAQ_AAPL, 1D.csv",
        text.as_bytes(),
        expect![[r#"
        AAPL.US from FileName, day by FileName, Instants, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
        note: treated as daily candles by the file's name; pass --period to set it
        note: there is no turnover column; turnovers are 0
    "#]],
    );
    let hour = "time,open,high,low,close,Volume\n1794234600,100,101,99,100.5,900\n1794238200,100.5,102,100,101,800\n";
    check(
        "BATS_SPY, 60.csv",
        hour.as_bytes(),
        expect![[r#"
        SPY.US from FileName, 60m by FileName, Instants, 2 rows, 0 rejected
        2026-11-09T09:30:00-05:00 100.00 101.00 99.00 100.50 900 0.000
        note: treated as 60-minute candles by the file's name; pass --period to set it
        note: there is no turnover column; turnovers are 0
    "#]],
    );
    check(
        "HKEX_700, 1W.csv",
        lines("time,open,high,low,close,Volume", |day| day.join(","))
            .lines()
            .take(2)
            .collect::<Vec<_>>()
            .join("\n")
            .as_bytes(),
        expect![[r#"
            refused: looks like weekly candles, which are computed from daily ones and not imported: export daily candles from the source, or pass --period day if each row is one day
        "#]],
    );
}

#[test]
fn shape_13_interactive_brokers() {
    let rows: String = (0..6)
        .map(|n| format!("AAPL,20261113  09:{:02}:00,101,102,100,100.5,{},101.2,7\n", 30 + n, 1000 + n))
        .collect();
    let text = format!("symbol,date,open,high,low,close,volume,average,barCount\n{rows}");
    check(
        "ib.csv",
        text.as_bytes(),
        expect![[r#"
        AAPL.US from Column, 1m by Steps, WallClock, 6 rows, 0 rejected
        2026-11-13T09:30:00-05:00 101.00 102.00 100.00 100.50 1000 0.000
        note: there is no turnover column; turnovers are 0
        note: tickers without a market were completed, as in AAPL.US; pass --region to set it
    "#]],
    );
    let zoned = text.replace(":00,", ":00 US/Eastern,");
    assert_eq!(
        read("ib.csv", zoned.as_bytes(), &options()),
        read("ib.csv", text.as_bytes(), &options()).replace("WallClock", "Instants")
    );
}

#[test]
fn shape_14_german_headers() {
    let text =
        lines("Datum;Eröffnung;Hoch;Tief;Schluss;Volumen", |[date, open, high, low, close, volume]| {
            let (month, day) = (&date[5..7], &date[8..]);
            let comma = |price: &str| price.replace('.', ",");
            format!(
                "{day}.{month}.2026;{};{};{};{};{volume}",
                comma(open),
                comma(high),
                comma(low),
                comma(close)
            )
        });
    check(
        "AAPL.csv",
        text.as_bytes(),
        expect![[r#"
        AAPL.US (a guess) from FileNameWithoutRegion, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
        note: decimals are written with a comma; pass --decimal to set it
        note: there is no turnover column; turnovers are 0
    "#]],
    );
    // As Excel saves it: in the code page of Windows.
    let encoded = encoding_rs::WINDOWS_1252.encode(&text).0;
    let said = read("AAPL.csv", &encoded, &options());
    assert!(said.contains("5 rows, 0 rejected") && said.contains("windows-1252 and was decoded"), "{said}");
}

#[test]
fn shape_15_chinese_headers_in_gbk() {
    let text = lines(
        "日期,开盘,收盘,最高,最低,成交量,成交额",
        |[date, open, high, low, close, _]| format!("{date},{open},{close},{high},{low},12003,121230300"),
    );
    check(
        "600519.csv",
        &GBK.encode(&text).0,
        expect![[r#"
        600519.SH (a guess) from FileNameWithoutRegion, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00+08:00 100.50 102.25 99.75 101.00 1200300 121230300.000
        note: the text is in GBK and was decoded
        note: volumes are in lots of 100 in this export and were multiplied by 100; pass --scale volume=1 to import them unchanged
    "#]],
    );
    // Volumes that are shares already stay.
    let shares = text.replace(",12003,", ",1200300,");
    let said = read("600519.csv", &GBK.encode(&shares).0, &options());
    assert!(said.contains(" 1200300 121230300.000") && !said.contains("multiplied"), "{said}");
    let unchanged = ReadOptions { scale: "volume=1".parse().unwrap(), ..options() };
    let said = read("600519.csv", &GBK.encode(&text).0, &unchanged);
    assert!(said.contains(" 12003 121230300.000") && !said.contains("multiplied"), "{said}");
}

#[test]
fn beyond_tongdaxin() {
    let days = lines(
        "      日期\t    开盘\t    最高\t    最低\t    收盘\t    成交量\t    成交额",
        |[date, open, high, low, close, volume]| {
            format!("{}\t{open}\t{high}\t{low}\t{close}\t{volume}\t121230300.00", date.replace('-', "/"))
        },
    );
    let text = format!("600519 贵州茅台 日线 前复权\r\n{days}#数据来源:通达信\r\n");
    check(
        "SH#600519.txt",
        &GBK.encode(&text).0,
        expect![[r#"
        600519.SH from FileName, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00+08:00 100.50 102.25 99.75 101.00 1200300 121230300.000
        note: the text is in GBK and was decoded
        note: the text above the header was skipped: "600519 贵州茅台 日线 前复权"
    "#]],
    );
    // The title has the code, too.
    let said = read("export.txt", &GBK.encode(&text).0, &options());
    assert!(said.starts_with("600519.SH from Header"), "{said}");
}

#[test]
fn beyond_utf_16() {
    let text = lines("Date\tOpen\tHigh\tLow\tClose\tVolume", |day| day.join("\t"));
    let encoded: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    check(
        "AAPL.txt",
        &encoded,
        expect![[r#"
        AAPL.US (a guess) from FileNameWithoutRegion, day by Steps, Dates, 5 rows, 0 rejected
        2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
        note: the text is in UTF-16LE and was decoded
        note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
        note: there is no turnover column; turnovers are 0
    "#]],
    );
    assert_eq!(read("AAPL.txt", &encoded[2..], &options()), read("AAPL.txt", &encoded, &options()));
}

#[test]
fn beyond_workbooks() {
    let header = ["Date", "Open", "High", "Low", "Close", "Volume"].map(Cell::Text).to_vec();
    let mut rows = vec![vec![Cell::Text("Apple Inc.")], header];
    rows.extend(DAYS.iter().enumerate().map(|(n, [_, prices @ ..])| {
        let numbers = prices.iter().map(|number| Cell::Number(number));
        // 2026-11-09 is day 46335.
        std::iter::once(Cell::Date(46_335.0 + n as f64)).chain(numbers).collect()
    }));
    check(
        "AAPL.xlsx",
        &workbook(&[("Daily", &rows), ("Notes", &[])]),
        expect![[r#"
            AAPL.US (a guess) from FileNameWithoutRegion, day by Steps, Dates, 5 rows, 0 rejected
            2026-11-09T00:00:00-05:00 100.50 102.25 99.75 101.00 1200300 0.000
            note: read as a workbook: sheet "Daily"; the other sheets of its 2 were not read
            note: the text above the header was skipped: "Apple Inc."
            note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn beyond_weeks_and_months_are_never_days() {
    let of = |dates: &[&str]| {
        let rows: String = dates.iter().map(|date| format!("{date},1,2,1,2,100\n")).collect();
        format!("Date,Open,High,Low,Close,Volume\n{rows}")
    };
    let weeks = of(&["2026-10-05", "2026-10-12", "2026-10-19", "2026-10-26", "2026-11-02"]);
    check(
        "AAPL.csv",
        weeks.as_bytes(),
        expect![[r#"
            refused: looks like weekly candles, which are computed from daily ones and not imported: export daily candles from the source, or pass --period day if each row is one day
        "#]],
    );
    check(
        "weekly_adjusted_IBM.csv",
        of(&["2026-10-09"]).as_bytes(),
        expect![[r#"
            refused: looks like weekly candles, which are computed from daily ones and not imported: export daily candles from the source, or pass --period day if each row is one day
        "#]],
    );
    check(
        "KO_monthly.csv",
        of(&["2026-09-30", "2026-10-30"]).as_bytes(),
        expect![[r#"
            refused: looks like monthly candles, which are computed from daily ones and not imported: export daily candles from the source, or pass --period day if each row is one day
        "#]],
    );
}

#[test]
fn other_formats_are_named() {
    let table: [(&str, &[u8]); 8] = [
        ("a.csv", b"%PDF-1.7\n%\xe2\xe3"),
        ("a.csv", b"[{\"date\": \"2026-11-13\", \"open\": 1}]"),
        ("a.json", b"{\"chart\": {\"result\": []}}"),
        ("a.csv", b"<!DOCTYPE html><html><body>Sign in</body></html>"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0"),
        ("sh600519.day", b"\x01\x02\0\0\x03\x04\0\0\x01\x02\0\0"),
        ("a.csv", b"\0\0\0\0\x01\x02\x03"),
        ("empty.zip", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    ];
    let said: String =
        table.iter().map(|(name, bytes)| format!("{name}: {}", read(name, bytes, &options()))).collect();
    expect![[r#"
        a.csv: refused: a PDF document: export the table as CSV or XLSX where the PDF comes from
        a.csv: refused: a JSON document: write it as CSV, for example with pandas: pandas.read_json(…).to_csv(…); lines of JSON can be read with --follow
        a.json: refused: a JSON document: write it as CSV, for example with pandas: pandas.read_json(…).to_csv(…); lines of JSON can be read with --follow
        a.csv: refused: a web page (HTML): download the table as CSV instead
        a.xls: refused: an old Excel workbook (.xls), or one with a password: save it as XLSX or CSV
        sh600519.day: refused: binary data of TongDaXin (.day, .lc5): export the candles as text there
        a.csv: refused: binary data, and not CSV, XLSX, Parquet, gzip, zstd or ZIP: is this a table?
        empty.zip: refused: a ZIP archive without CSV files: of those inside, .csv, .tsv and .txt are read
    "#]].assert_eq(&said);
}

#[test]
fn a_symbol_that_is_given_counts_more_than_a_name() {
    let text = lines("Date,Open,High,Low,Close,Volume", |day| day.join(","));
    let with = |symbol: &str, region| {
        let given = ReadOptions { symbol: Some(symbol.parse().unwrap()), region, ..options() };
        read("prices.csv", text.as_bytes(), &given).lines().next().unwrap_or_default().to_owned()
    };
    let hk = Some(market::Region::Hk);
    assert!(with("700.HK", None).starts_with("700.HK from Option"));
    assert!(with("700", hk).starts_with("700.HK from Option"));
    assert!(with("aapl", None).starts_with("AAPL.US (a guess) from TickerOption"));
    assert!(with("600519", None).starts_with("600519.SH (a guess) from TickerOption"));
    assert_eq!(
        with("700", None),
        "refused: no symbol: \"700\" has no market: write it as in 700.HK, or set its region with --region; pass --symbol 700.HK"
    );
    assert!("AAPL.XX".parse::<files::GivenSymbol>().is_err() && "".parse::<files::GivenSymbol>().is_err());
    assert!(SymbolSource::TickerOption.is_guess());
}
