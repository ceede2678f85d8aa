//! Tests of trade tables: how they are recognised, how cells are parsed, and which rows are
//! rejected.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use expect_test::{Expect, expect};
use files::{ReadOptions, Table, TradeReader};
use parquet::arrow::ArrowWriter;

use crate::common::{open, options};

fn reader(name: &str, bytes: &[u8], options: &ReadOptions) -> TradeReader {
    match open(name, bytes, options) {
        Ok(Table::Trades(reader)) => reader,
        other => panic!("{other:?}"),
    }
}

fn listing(mut reader: TradeReader) -> String {
    let mut text = String::new();
    while let Some(batch) = reader.next().unwrap() {
        for row in batch.rows {
            let (symbol, trade) = (&reader.symbols()[row.symbol as usize], row.trade);
            let (price, direction) = (trade.price.text(6), trade.direction);
            writeln!(
                text,
                "{} {symbol} {} {price} {} {direction:?} {:?}",
                row.line,
                trade.time,
                trade.volume,
                trade.kind.to_string()
            )
            .unwrap();
        }
        for row in batch.rejected {
            writeln!(text, "{} refused: {}", row.line, row.reason).unwrap();
        }
    }
    for note in reader.notes() {
        writeln!(text, "note: {note}").unwrap();
    }
    text
}

fn check(name: &str, text: &str, expected: Expect) {
    expected.assert_eq(&listing(reader(name, text.as_bytes(), &options())));
}

#[test]
fn a_table_with_price_and_volume_columns_is_read_as_trades() {
    check(
        "trades.csv",
        "symbol,time,price,volume,direction,type\n\
         700.HK,2026-03-18T09:30:00+08:00,612.5,100,2,\n\
         AAPL.US,2026-03-18T09:30:00.123456-04:00,200.1234,7,sell,I\n\
         600519.SH,2026-03-18 09:30:00,1500,100,B,\n",
        expect![[r#"
            2 700.HK 2026-03-18T01:30:00Z 612.500000 100 Up ""
            3 AAPL.US 2026-03-18T13:30:00Z 200.123400 7 Down "I"
            4 600519.SH 2026-03-18T01:30:00Z 1500.000000 100 Up ""
        "#]],
    );
    check(
        "700.HK.csv",
        "time,price,size\n1773797400123,612.5,100\n1773797401999,612,200\n",
        expect![[r#"
            2 700.HK 2026-03-18T01:30:00Z 612.500000 100 Untold ""
            3 700.HK 2026-03-18T01:30:01Z 612.000000 200 Untold ""
            note: there is no direction column; sides are inferred by the tick rule
            note: there is no type column; all trades are treated as ordinary
        "#]],
    );
}

#[test]
fn unreadable_rows_are_rejected_with_their_line() {
    check(
        "trades.csv",
        "symbol,time,price,volume,direction,type\n\
         700.HK,2026-03-18T09:30:00+08:00,NaN,100,2,\n\
         700.HK,2026-03-18T09:30:00+08:00,,100,2,\n\
         700.HK,2026-03-18T09:30:00+08:00,612.5,1.5,2,\n\
         700.HK,2026-03-18T09:30:00+08:00,612.5,100,sideways,\n\
         700.HK,2026-03-18T09:30:00+08:00,612.5,100,3,\n\
         700.HK,2026-03-18T09:30:00+08:00,612.5,100,2,Z\n\
         700.HK,2026-03-18T09:30:00+08:00,612.5,100,2,UU\n\
         700.HK,yesterday,612.5,100,2,\n\
         700.HK,2026-03-18,612.5,100,2,\n\
         700,2026-03-18T09:30:00+08:00,612.5,100,2,\n\
         700.HK,2026-03-18T09:30:00+08:00,612.5,100\n\
         700.HK,2026-03-18T09:30:00+08:00,-1,-100,0,*\n",
        expect![[r#"
            13 700.HK 2026-03-18T01:30:00Z -1.000000 -100 Neutral "*"
            2 refused: price is empty
            3 refused: price is empty
            4 refused: volume is not a whole number; if it counts lots, pass --scale volume=100
            5 refused: direction "sideways" is not one of 0 neutral, 1 down, 2 up
            6 refused: direction "3" is not one of 0 neutral, 1 down, 2 up
            7 refused: type "Z" is not a trade type of HK
            8 refused: type "UU" is not a trade type of HK
            9 refused: cannot read "yesterday" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
            10 refused: cannot be read as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
            11 refused: "700" is not a symbol: write ticker.region, like 700.HK, AAPL.US or 600519.SH
            12 refused: 4 cells where the header has 6
        "#]],
    );
}

#[test]
fn trade_columns_can_be_mapped() {
    let map = files::ColumnMap::parse("time=when,price=deal,volume=shares,direction=bs,type=flag").unwrap();
    let options = ReadOptions { map: map.fields, ..options() };
    let text = b"when,deal,shares,bs,flag\n2026-03-18 09:30:00,10,100,S,u\n";
    let read = listing(reader("700.HK.csv", text, &options));
    assert_eq!(read, "2 700.HK 2026-03-18T01:30:00Z 10.000000 100 Down \"U\"\n");
    let candles = b"time,open,high,low,close,price,volume\n2026-03-18,1,2,1,2,2,5\n2026-03-19,1,2,1,2,2,5\n";
    assert!(matches!(open("700.HK.csv", candles, &crate::common::options()), Ok(Table::Candles(_))));
    let lame = b"time,open,high,low,volume\n2026-03-18,1,2,1,5\n";
    let error = open("700.HK.csv", lame, &crate::common::options()).unwrap_err().to_string();
    assert!(error.contains("missing close"), "{error}");
}

#[test]
fn trades_are_read_from_parquet() {
    let columns: [(&str, ArrayRef); 6] = [
        ("symbol", Arc::new(StringArray::from(vec!["700.HK", "700.HK", "700.HK"]))),
        (
            "time",
            Arc::new(
                TimestampMillisecondArray::from(vec![
                    1_773_797_400_999,
                    1_773_797_401_000,
                    1_773_797_402_000,
                ])
                .with_timezone("UTC"),
            ),
        ),
        ("price", Arc::new(Float64Array::from(vec![612.5, f64::NAN, 612.55]))),
        ("volume", Arc::new(Int64Array::from(vec![100, 200, 300]))),
        ("direction", Arc::new(Int32Array::from(vec![2, 1, 0]))),
        ("trade_type", Arc::new(StringArray::from(vec![None, Some("U"), Some("D")]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let read = listing(reader("t.parquet", &bytes, &options()));
    expect![[r#"
        1 700.HK 2026-03-18T01:30:00Z 612.500000 100 Up ""
        3 700.HK 2026-03-18T01:30:02Z 612.550000 300 Neutral "D"
        2 refused: price is empty
    "#]]
    .assert_eq(&read);
}
