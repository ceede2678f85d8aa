//! Tests of the column types that different Parquet writers use for the same table.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int32Array,
    Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use expect_test::expect;
use files::ReadOptions;

use crate::common::{check_bytes, options, refusal_of};

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// Returns a file with one row at 09:30 in Hong Kong on 2024-01-02. `replaced` overrides the
/// default columns.
fn table(replaced: Vec<(&'static str, ArrayRef)>) -> Vec<u8> {
    let double = || Arc::new(Float64Array::from(vec![290.2])) as ArrayRef;
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("symbol", Arc::new(StringArray::from(vec!["700.HK"]))),
        ("time", Arc::new(Int64Array::from(vec![1_704_159_000]))),
        ("open", double()),
        ("high", double()),
        ("low", double()),
        ("close", double()),
        ("volume", Arc::new(Int64Array::from(vec![1200]))),
        ("turnover", double()),
    ];
    for (name, array) in replaced {
        match columns.iter_mut().find(|(known, _)| *known == name) {
            Some(column) => column.1 = array,
            None => columns.push((name, array)),
        }
    }
    parquet(columns)
}

#[test]
fn all_column_types_give_the_same_row() {
    let seconds = 1_704_159_000i64;
    let local = seconds + 8 * 3600;
    let variants: Vec<Vec<(&'static str, ArrayRef)>> = vec![
        vec![],
        vec![("time", Arc::new(Int64Array::from(vec![seconds * 1_000_000_000])))],
        vec![("time", Arc::new(Int32Array::from(vec![seconds as i32])))],
        vec![("time", Arc::new(Float64Array::from(vec![seconds as f64])))],
        vec![("time", Arc::new(TimestampMillisecondArray::from(vec![seconds * 1000]).with_timezone("UTC")))],
        vec![(
            "time",
            Arc::new(
                TimestampMicrosecondArray::from(vec![seconds * 1_000_000]).with_timezone("Asia/Hong_Kong"),
            ),
        )],
        vec![("time", Arc::new(TimestampNanosecondArray::from(vec![local * 1_000_000_000])))],
        vec![("time", Arc::new(StringArray::from(vec!["2024-01-02 09:30"])))],
        vec![("symbol", Arc::new(LargeStringArray::from(vec!["00700.HK"])))],
        vec![("symbol", Arc::new(StringViewArray::from(vec!["700.hk"])))],
        vec![(
            "symbol",
            Arc::new(vec!["700.HK"].into_iter().collect::<DictionaryArray<arrow_array::types::Int32Type>>()),
        )],
        vec![
            ("open", Arc::new(Float32Array::from(vec![290.2]))),
            ("turnover", Arc::new(Float32Array::from(vec![290.2]))),
        ],
        vec![("open", Arc::new(StringArray::from(vec!["290.20"])))],
        vec![(
            "open",
            Arc::new(Decimal128Array::from(vec![29_020]).with_precision_and_scale(10, 2).unwrap()),
        )],
        vec![(
            "open",
            Arc::new(
                Decimal128Array::from(vec![29_020_000_000_000]).with_precision_and_scale(20, 11).unwrap(),
            ),
        )],
        vec![("volume", Arc::new(Float64Array::from(vec![1200.0])))],
        vec![("volume", Arc::new(UInt64Array::from(vec![1200])))],
        vec![("volume", Arc::new(Float32Array::from(vec![1200.0])))],
    ];
    for (number, variant) in variants.into_iter().enumerate() {
        let bytes = table(variant);
        let mut reader = crate::common::candles("a.parquet", &bytes, &options());
        let listing = crate::common::listing(&mut reader);
        assert_eq!(
            listing,
            "plain Minute\n1 700.HK 2024-01-02T01:30:00Z 290.200000 290.200000 290.200000 290.200000 1200 290.200 -\n",
            "variant {number}"
        );
    }
}

#[test]
fn parquet_is_detected_by_content() {
    let mut reader = crate::common::candles("a.csv", &table(vec![]), &options());
    assert_eq!(reader.next().unwrap().unwrap().rows.len(), 1);
}

#[test]
fn dates_and_pandas_tuples_are_parsed() {
    let double = || Arc::new(Float64Array::from(vec![185.63999938964844, 2.0])) as ArrayRef;
    let bytes = parquet(vec![
        ("('Date', '')", Arc::new(Date32Array::from(vec![19_724, 19_725]))),
        ("('Close', 'AAPL')", double()),
        ("('High', 'AAPL')", double()),
        ("('Low', 'AAPL')", double()),
        ("('Open', 'AAPL')", double()),
        ("('Volume', 'AAPL')", Arc::new(Int64Array::from(vec![Some(7), None]))),
    ]);
    check_bytes(
        "x.parquet",
        &bytes,
        &options(),
        expect![[r#"
            yahoo Day
            1 AAPL.US 2024-01-02T05:00:00Z 185.640000 185.640000 185.640000 185.640000 7 0.000 -
            rejected 2 : volume is empty
            note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
            note: there is no turnover column; turnovers are 0
            note: single-precision prices with spurious digits, read as the intended decimals: 4
        "#]],
    );
}

#[test]
fn nulls_and_invalid_values_reject_only_their_row() {
    let double = |values: Vec<Option<f64>>| Arc::new(Float64Array::from(values)) as ArrayRef;
    let ones = || double(vec![Some(1.0); 6]);
    let bytes = parquet(vec![
        (
            "symbol",
            Arc::new(StringArray::from(vec![
                Some("700.HK"),
                None,
                Some("700.HK"),
                Some("x"),
                Some("700.HK"),
                Some("700.HK"),
            ])),
        ),
        (
            "time",
            Arc::new(Int64Array::from(vec![
                Some(1_704_159_000),
                Some(1_704_159_060),
                None,
                Some(0),
                Some(1_704_159_240),
                Some(1_704_159_300),
            ])),
        ),
        (
            "open",
            double(vec![Some(f64::NAN), Some(1.0), Some(1.0), Some(1.0), Some(f64::INFINITY), Some(1e300)]),
        ),
        ("high", ones()),
        ("low", ones()),
        ("close", ones()),
        ("volume", double(vec![Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(0.5)])),
    ]);
    check_bytes(
        "x.parquet",
        &bytes,
        &options(),
        expect![[r#"
        plain Minute
        rejected 1 700.HK: open is empty
        rejected 2 : symbol is empty
        rejected 3 700.HK: time is empty
        rejected 4 x: "x" is not a symbol: write ticker.region, like 700.HK, AAPL.US or 600519.SH
        rejected 5 700.HK: open is not a number
        rejected 6 700.HK: open is too large
        note: there is no turnover column; turnovers are 0
    "#]],
    );
}

#[test]
fn a_column_of_the_wrong_type_is_refused() {
    let flags = Arc::new(arrow_array::BooleanArray::from(vec![true])) as ArrayRef;
    assert_eq!(
        refusal_of("a.parquet", &table(vec![("open", flags)]), &options()),
        "a.parquet: not readable as Parquet: a number column has the type Boolean"
    );
}

#[test]
fn a_truncated_file_is_refused() {
    let bytes = table(vec![]);
    let actual = refusal_of("a.parquet", &bytes[..bytes.len() - 20], &ReadOptions::default());
    assert!(actual.starts_with("a.parquet: not readable as Parquet: "), "{actual}");
}
