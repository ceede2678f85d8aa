//! Round trips: exported tables are imported unchanged.

use files::{CandleSink, Format, ReadOptions, Table};
use market::{Candle, Candles, Grain, Market, Price, Session, Symbol, Timestamp, Turnover};
use proptest::prelude::*;

use crate::common::{file, venues};

fn minutes(rows: i64) -> Candles {
    let candle = |row: i64| Candle {
        time: Timestamp(1_704_205_800 + row * 60),
        open: Price(185_640_000 + row),
        high: Price(185_700_001 + row),
        low: Price(185_600_000 - row),
        close: Price(185_650_010),
        volume: row * 100,
        turnover: Turnover(i128::from(row) * 1_234_567_890_123),
        session: if row % 2 == 0 { Session::Intraday } else { Session::Post },
    };
    (0..rows).map(candle).collect()
}

fn exported(format: Format, parts: &[(&str, Candles)]) -> Vec<u8> {
    let venues = venues();
    let mut sink = CandleSink::create(format, Vec::new()).unwrap();
    for (symbol, candles) in parts {
        let symbol: Symbol = symbol.parse().unwrap();
        sink.write(&symbol, venues.of(symbol.market()).zone(), 2, candles).unwrap();
    }
    sink.finish().unwrap()
}

fn imported(name: &str, bytes: &[u8], options: &ReadOptions) -> (Grain, Vec<(String, Candle)>) {
    let (_folder, path) = file(name, bytes);
    let Table::Candles(mut reader) = files::open(&path, &venues(), options).unwrap() else {
        panic!("no candles")
    };
    let mut all = Vec::new();
    while let Some(batch) = reader.next().unwrap() {
        assert_eq!(batch.rejected, []);
        for row in batch.rows {
            let candle = Candle {
                time: row.time,
                open: row.open,
                high: row.high,
                low: row.low,
                close: row.close,
                volume: row.volume,
                turnover: row.turnover,
                session: row.session.unwrap(),
            };
            all.push((reader.symbols()[row.symbol as usize].to_string(), candle));
        }
    }
    (reader.grain(), all)
}

fn flat(parts: &[(&str, Candles)]) -> Vec<(String, Candle)> {
    parts.iter().flat_map(|(symbol, candles)| candles.iter().map(|c| (symbol.to_string(), c))).collect()
}

#[test]
fn minute_candles_round_trip() {
    let parts = [("AAPL.US", minutes(40_000)), ("700.HK", minutes(3)), (".VIX.US", minutes(200))];
    for (format, name) in [(Format::Csv, "a.csv"), (Format::Parquet, "a.parquet")] {
        let (grain, rows) = imported(name, &exported(format, &parts), &ReadOptions::default());
        assert_eq!(grain, Grain::Minute);
        assert!(rows == flat(&parts), "{name}");
    }
}

#[test]
fn daily_candles_round_trip_across_clock_changes() {
    let zone = market::Zone::of(Market::Us);
    let mut date = market::Date::constant(2024, 3, 1);
    let mut days = minutes(30);
    for time in &mut days.time {
        *time = zone.midnight(date).0;
        date = date.tomorrow().unwrap();
    }
    let parts = [("AAPL.US", days)];
    for (format, name) in [(Format::Csv, "a.csv"), (Format::Parquet, "a.parquet")] {
        let (grain, rows) = imported(name, &exported(format, &parts), &ReadOptions::default());
        assert_eq!(grain, Grain::Day);
        assert_eq!(rows, flat(&parts));
    }
}

#[test]
fn csv_has_local_times_and_the_minimum_decimals() {
    let text = String::from_utf8(exported(Format::Csv, &[("AAPL.US", minutes(2))])).unwrap();
    assert_eq!(
        text,
        "symbol,time,open,high,low,close,volume,turnover,session\n\
         AAPL.US,2024-01-02T09:30:00-05:00,185.64,185.700001,185.60,185.65001,0,0,intraday\n\
         AAPL.US,2024-01-02T09:31:00-05:00,185.640001,185.700002,185.599999,185.65001,100,1234567.890123,post\n"
    );
}

#[test]
fn arrow_exports_have_the_expected_schema() {
    let bytes = exported(Format::ArrowIpc, &[("AAPL.US", minutes(40_000))]);
    let reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let names: Vec<String> =
        reader.schema().fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    assert_eq!(
        names,
        [
            "symbol Utf8",
            "time Timestamp(ms, \"UTC\")",
            "open Decimal128(18, 6)",
            "high Decimal128(18, 6)",
            "low Decimal128(18, 6)",
            "close Decimal128(18, 6)",
            "volume Int64",
            "turnover Decimal128(30, 6)",
            "session Utf8"
        ]
    );
    let batches: Vec<_> = reader.map(Result::unwrap).collect();
    assert!(batches.len() > 1, "memory stays bounded");
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 40_000);
}

#[test]
fn a_price_out_of_range_is_an_error() {
    let mut candles = minutes(1);
    candles.high = vec![i64::MAX];
    let symbol: Symbol = "AAPL.US".parse().unwrap();
    let mut sink = CandleSink::create(Format::Parquet, Vec::new()).unwrap();
    sink.write(&symbol, &market::Zone::of(Market::Us), 2, &candles).unwrap();
    assert!(sink.finish().is_err());
}

#[test]
fn an_empty_export_has_a_header() {
    for format in [Format::Csv, Format::Parquet, Format::ArrowIpc] {
        assert!(!exported(format, &[]).is_empty(), "{format:?}");
    }
}

#[test]
fn a_long_parquet_file_is_read_in_order() {
    let bytes = exported(Format::Parquet, &[("AAPL.US", minutes(140_000))]);
    let (_folder, path) = file("a.parquet", &bytes);
    let Table::Candles(mut reader) = files::open(&path, &venues(), &ReadOptions::default()).unwrap() else {
        panic!("no candles")
    };
    let mut next = 0;
    while let Some(batch) = reader.next().unwrap() {
        for row in batch.rows {
            assert_eq!((row.line, row.volume), (next + 1, next as i64 * 100));
            next += 1;
        }
    }
    assert_eq!((next, reader.rows_read()), (140_000, 140_000));
    assert_eq!(reader.position().consumed, reader.position().total);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_prices_round_trip(rows in prop::collection::vec((1i64..=999_999_999_999_999_999, 0i64.., 0i128..10i128.pow(24)), 1..20)) {
        let candles: Candles = rows.iter().enumerate().map(|(row, (price, volume, turnover))| {
            let price = Price(*price);
            Candle {
                time: Timestamp(1_704_205_800 + row as i64 * 60),
                open: price, high: price, low: price, close: price,
                volume: *volume, turnover: Turnover(*turnover), session: Session::Intraday,
            }
        }).collect();
        let parts = [("AAPL.US", candles)];
        for (format, name) in [(Format::Csv, "a.csv"), (Format::Parquet, "a.parquet")] {
            let (_, back) = imported(name, &exported(format, &parts), &ReadOptions::default());
            prop_assert_eq!(&back, &flat(&parts));
        }
    }
}
