//! Tests of tables with securities, corporate actions and margin factors.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use files::{ReadOptions, Records, SecurityRow, Table};
use market::adjust::Amount;

use crate::common::{open, options};

fn securities(text: &str) -> Records<SecurityRow> {
    match open("s.csv", text.as_bytes(), &options()) {
        Ok(Table::Securities(records)) => records,
        other => panic!("{other:?}"),
    }
}

/// Returns a line for each action (symbol, date, cash, split, bonus, rights, price), followed by
/// the rejected rows.
fn actions(name: &str, bytes: &[u8]) -> Vec<String> {
    let Ok(Table::Actions(records)) = open(name, bytes, &options()) else { panic!("no actions") };
    let read = records.rows.iter().map(|row| {
        let a = &row.action;
        format!(
            "{} {} {} {} {} {} {}",
            row.symbol, a.ex_date, a.cash, a.split, a.bonus, a.rights, a.rights_price
        )
    });
    read.chain(records.rejected.iter().map(|r| format!("{}: {}", r.line, r.reason))).collect()
}

#[test]
fn securities_are_read_from_any_subset_of_columns() {
    let records = securities(
        "Symbol,name_en,name_cn,lot_size,listing_date,decimals,total_shares,eps,extra\n\
         00700.hk,TENCENT,腾讯控股,100,2004-06-16,3,9.2e9,-12.5,x\n\
         AAPL.US,\"Apple, Inc.\",,,19801212,,,,\n",
    );
    assert_eq!(records.rejected, []);
    let [tencent, apple] = records.rows.as_slice() else { panic!("{records:?}") };
    assert_eq!(tencent.symbol.as_str(), "700.HK");
    assert_eq!(tencent.name_cn.as_deref(), Some("腾讯控股"));
    assert_eq!(
        (tencent.lot_size, tencent.decimals, tencent.total_shares),
        (Some(100), Some(3), Some(9_200_000_000))
    );
    assert_eq!(tencent.eps.as_deref(), Some("-12.5"));
    assert_eq!(tencent.listing_date.unwrap().to_string(), "2004-06-16");
    assert_eq!(
        (apple.name_en.as_deref(), apple.lot_size, apple.board.as_ref()),
        (Some("Apple, Inc."), None, None)
    );
    assert_eq!(apple.listing_date.unwrap().to_string(), "1980-12-12");
}

#[test]
fn a_bad_security_is_reported_with_its_line() {
    let records = securities(
        "symbol,name_en,lot_size,decimals,eps\nX,a,1,2,1\n700.HK,a,0,2,1\n700.HK,a,-5,2,1\n700.HK,a,1,9,1\n700.HK,a,1,2,x\n700.HK\n",
    );
    let actual: Vec<String> = records.rejected.iter().map(|r| format!("{}: {}", r.line, r.reason)).collect();
    assert_eq!(
        actual,
        [
            "2: \"X\" is not a symbol: write ticker.region, like 700.HK, AAPL.US or 600519.SH",
            "3: lot_size is zero",
            "4: lot_size is not a whole number of at least zero",
            "5: decimals is above 6",
            "6: eps is not a number",
            "7: 1 cells where the header has 5",
        ]
    );
    assert_eq!(records.rows, []);
}

#[test]
fn share_counts_and_figures_can_be_dated() {
    let records = securities(
        "symbol,from,total_shares,eps_ttm,dividend_yield\n700.HK,,9000,,\n700.HK,2026-03-01,9100,1.5,0\n\
         700.HK,20260601,,-2,\n700.HK,2026-09-01,,,\n700.HK,soon,1,,\n",
    );
    let read: Vec<String> = records
        .rows
        .iter()
        .map(|row| {
            format!("{:?} {:?} {:?} {:?}", row.from, row.total_shares, row.eps_ttm, row.dividend_yield)
        })
        .collect();
    assert_eq!(
        read,
        [
            "None Some(9000) None None",
            "Some(2026-03-01) Some(9100) Some(\"1.5\") Some(\"0\")",
            "Some(2026-06-01) None Some(\"-2\") None",
        ]
    );
    let reasons: Vec<String> = records.rejected.iter().map(|r| format!("{}: {}", r.line, r.reason)).collect();
    assert_eq!(
        reasons,
        [
            "5: from without shares or per-share figures: nothing takes effect on that day",
            "6: from is not a date: write YYYY-MM-DD",
        ]
    );
}

#[test]
fn unknown_security_kinds_are_refused() {
    let records = securities(
        "symbol,kind,listing_date,delisted_on\n700.HK,equity,,\n2800.HK,ETF,,\n823.HK, reit ,,2031-01-02\n12345.HK,warrant,,\n\
         5.HK,,,\n9.HK,stock,,\n9.HK,index,,\n9.HK,etf,2020-01-02,2020-01-01\n9.HK,etf,,soon\n",
    );
    let read: Vec<String> = records
        .rows
        .iter()
        .map(|row| format!("{} {:?} {:?}", row.symbol, row.kind.map(|kind| kind.as_str()), row.delisted_on))
        .collect();
    assert_eq!(
        read,
        [
            "700.HK Some(\"equity\") None",
            "2800.HK Some(\"etf\") None",
            "823.HK Some(\"reit\") Some(2031-01-02)",
            "12345.HK Some(\"warrant\") None",
            "5.HK None None",
        ]
    );
    let actual: Vec<String> = records.rejected.iter().map(|r| format!("{}: {}", r.line, r.reason)).collect();
    assert_eq!(
        actual,
        [
            "7: kind \"stock\" is not one of equity, etf, reit, warrant",
            "8: kind \"index\" is not one of equity, etf, reit, warrant",
            "9: delisted_on is before listing_date",
            "10: delisted_on is not a date: write YYYY-MM-DD",
        ]
    );
    // A security's kind is `None` if the file has no such column.
    assert_eq!(securities("symbol,name_en\n700.HK,a\n").rows[0].kind, None);
}

#[test]
fn actions_are_read_with_blanks_fractions_and_ratios() {
    let text = "symbol,ex_date,cash,split,bonus,rights,rights_price\n\
                700.HK,2024-05-17,3.4,,,,\n\
                AAPL.US,2020-08-31,,4:1,,,\n\
                AAPL.US,2020-08-31,,4-for-1,,,\n\
                1.HK,20200831,,1/10,3/10,0.5,12.25\n\
                1.HK,2020-08-31,-1,,,,\n\
                1.HK,2020-08-31,,0,,,\n\
                1.HK,2020-08-31,,2:0,,,\n\
                1.HK,2020-08-31,,,,,\n\
                1.HK,,1,,,,\n\
                1.HK,soon,1,,,,\n";
    assert_eq!(
        actions("a.csv", text.as_bytes()),
        [
            "700.HK 2024-05-17 3.4 1 0 0 0",
            "AAPL.US 2020-08-31 0 4 0 0 0",
            "AAPL.US 2020-08-31 0 4 0 0 0",
            "1.HK 2020-08-31 0 0.1 0.3 0.5 12.25",
            "6: cash: \"-1\" is not an amount: write a number like 0.35 or a fraction like 3/10",
            "7: split is zero",
            "8: split: \"2:0\" is not a ratio: write 2, 2:1 or 1/10",
            "9: no effect: every amount is blank",
            "10: ex_date is empty",
            "11: ex_date is not a date: write YYYY-MM-DD",
        ]
    );
}

#[test]
fn actions_and_securities_are_read_from_parquet() {
    let date = Date32Array::from(vec![19_860]);
    let columns: [(&str, ArrayRef); 4] = [
        ("symbol", Arc::new(StringArray::from(vec!["700.HK"]))),
        ("ex_date", Arc::new(date)),
        ("cash", Arc::new(Float64Array::from(vec![3.4]))),
        ("split", Arc::new(Int64Array::from(vec![None]))),
    ];
    let bytes = parquet(RecordBatch::try_from_iter(columns.map(|(name, array)| (name, array))).unwrap());
    assert_eq!(actions("a.parquet", &bytes), ["700.HK 2024-05-17 3.4 1 0 0 0"]);
    assert_ne!(Amount::parse("3.4").unwrap(), Amount::parse("3.40000001").unwrap());
}

#[test]
fn a_pay_date_before_the_ex_date_is_refused() {
    let text = "symbol,ex_date,pay_date,cash\n700.HK,2024-05-17,2024-05-30,3.4\n700.HK,2024-05-18,2024-05-18,1\n\
                700.HK,2024-05-19,,1\n700.HK,2024-05-20,2024-05-19,1\n700.HK,2024-05-21,later,1\n700.HK,2024-05-22,2024-05-23,\n";
    let Ok(Table::Actions(records)) = open("a.csv", text.as_bytes(), &options()) else {
        panic!("no actions")
    };
    let paid: Vec<String> = records.rows.iter().map(|row| format!("{:?}", row.pay_date)).collect();
    assert_eq!(paid, ["Some(2024-05-30)", "Some(2024-05-18)", "None"]);
    let actual: Vec<String> = records.rejected.iter().map(|r| format!("{}: {}", r.line, r.reason)).collect();
    assert_eq!(
        actual,
        [
            "5: pay_date is before ex_date",
            "6: pay_date is not a date: write YYYY-MM-DD",
            "7: no effect: every amount is blank",
        ]
    );
}

/// Returns a line for each row (symbol and factors), followed by the rejected rows.
fn margins(name: &str, bytes: &[u8]) -> Vec<String> {
    let Ok(Table::Margins(records)) = open(name, bytes, &options()) else { panic!("no margins") };
    let read = records.rows.iter().map(|row| format!("{} {} {} {}", row.symbol, row.im, row.mm, row.fm));
    read.chain(records.rejected.iter().map(|r| format!("{}: {}", r.line, r.reason))).collect()
}

#[test]
fn margin_factors_are_decimals_from_zero_to_ten() {
    let text = "symbol,im,mm,fm\n00700.hk,0.35,0.30,0.250000\nAAPL.US,0,10,0.000001\nTSLA.US,0.2,0.5,1\n\
                5.HK,0.35,0.3,\n5.HK,-0.1,0.3,0.2\n5.HK,0.35,10.01,0.2\n5.HK,0.35,0.3,0.0000001\n5.HK,35%,0.3,0.2\n\
                5.HK,NaN,0.3,0.2\nX,0.35,0.3,0.2\n5.HK,0.35\n";
    assert_eq!(
        margins("m.csv", text.as_bytes()),
        [
            "700.HK 0.35 0.3 0.25",
            "AAPL.US 0 10 0.000001",
            "TSLA.US 0.2 0.5 1",
            "5: fm is empty",
            "6: im \"-0.1\" is not a number from 0 to 10",
            "7: mm \"10.01\" is not a number from 0 to 10",
            "8: fm \"0.0000001\" is a number of more than 6 decimals",
            "9: im \"35%\" is not a number",
            "10: im \"NaN\" is not a number",
            "11: \"X\" is not a symbol: write ticker.region, like 700.HK, AAPL.US or 600519.SH",
            "12: 2 cells where the header has 4",
        ]
    );
}

#[test]
fn margin_factors_are_read_from_parquet() {
    let numbers = |value: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![value])) };
    let columns: [(&str, ArrayRef); 4] = [
        ("symbol", Arc::new(StringArray::from(vec!["700.HK"]))),
        ("im", numbers(0.35)),
        ("mm", numbers(0.3)),
        ("fm", numbers(0.25)),
    ];
    let bytes = parquet(RecordBatch::try_from_iter(columns).unwrap());
    assert_eq!(margins("m.parquet", &bytes), ["700.HK 0.35 0.3 0.25"]);
}

#[test]
fn security_kinds_are_read_from_parquet() {
    let columns: [(&str, ArrayRef); 2] = [
        ("symbol", Arc::new(StringArray::from(vec!["2800.HK", "5.HK"]))),
        ("kind", Arc::new(StringArray::from(vec![Some("etf"), None]))),
    ];
    let bytes = parquet(RecordBatch::try_from_iter(columns).unwrap());
    let Ok(Table::Securities(records)) = open("s.parquet", &bytes, &options()) else {
        panic!("no securities")
    };
    let kinds: Vec<_> = records.rows.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [Some(market::SecurityKind::Etf), None]);
}

#[test]
fn a_nul_character_rejects_the_row() {
    let columns: [(&str, ArrayRef); 2] = [
        ("symbol", Arc::new(StringArray::from(vec!["2800.HK", "5.HK"]))),
        ("name_en", Arc::new(StringArray::from(vec!["Tracker\0Fund", "HSBC"]))),
    ];
    let bytes = parquet(RecordBatch::try_from_iter(columns).unwrap());
    let Ok(Table::Securities(records)) = open("s.parquet", &bytes, &options()) else {
        panic!("no securities")
    };
    let actual: Vec<&str> = records.rejected.iter().map(|row| row.reason.as_str()).collect();
    assert_eq!(actual, ["name_en has a NUL in it"]);
    assert_eq!(records.rows.len(), 1);
}

#[test]
fn tickers_without_a_region_get_the_users_region() {
    let options = ReadOptions { region: Some(market::Region::Us), ..options() };
    let Ok(Table::Securities(records)) = open("s.csv", b"symbol,name_en\nAAPL,Apple\n", &options) else {
        panic!("no securities")
    };
    assert_eq!(records.rows[0].symbol.as_str(), "AAPL.US");
}

fn parquet(batch: RecordBatch) -> Vec<u8> {
    let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}
