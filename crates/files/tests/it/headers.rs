//! Tests that the kind and columns of a table are recognised by its header.

use std::fmt::Write;

use expect_test::expect;
use files::{ReadOptions, Table};

use crate::common::open;

/// Returns the kind and columns that are recognised for a header. The file gets one row of ones,
/// with `D` as its period.
fn recognised(header: &str) -> String {
    let last = header.lines().last().unwrap_or_default();
    let delimiter = [';', '\t', '|'].into_iter().find(|d| last.contains(*d)).unwrap_or(',');
    let cell = |name: &str| if name == "<PER>" { "D" } else { "1" };
    let cells = last.split(delimiter).map(cell).collect::<Vec<_>>().join(&delimiter.to_string());
    match open("700.HK.csv", format!("{header}\n{cells}\n").as_bytes(), &ReadOptions::default()) {
        Ok(Table::Candles(reader)) => format!("candles, {}", reader.vendor()),
        Ok(Table::Securities(_)) => "securities".to_owned(),
        Ok(Table::Actions(_)) => "actions".to_owned(),
        Ok(Table::Margins(_)) => "margins".to_owned(),
        Ok(Table::Suspensions(_)) => "suspensions".to_owned(),
        Ok(Table::Trades(_)) => "trades".to_owned(),
        Err(error) => error.problem.to_string(),
    }
}

#[test]
fn a_table_is_recognised_by_its_header() {
    let headers = [
        "symbol,time,open,high,low,close,volume",
        "symbol,time,open,high,low,close,volume,turnover,session",
        " Symbol ; TIME ; Open ; High ; Low ; Close ",
        "\u{feff}\"symbol\",\"time\",\"open\",\"high\",\"low\",\"close\"",
        "Date,Open,High,Low,Close,Adj Close,Volume",
        "Datetime,Open,High,Low,Close,Volume,Dividends,Stock Splits",
        "Price,Close,High,Low,Open,Volume\nTicker,AAPL,AAPL,AAPL,AAPL,AAPL\nDate,,,,,",
        "date,open,high,low,close,volume",
        "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>",
        "symbol,timestamp,open,high,low,close,volume,trade_count,vwap",
        "t,o,h,l,c,v,n,vw",
        "S,t,o,h,l,c,v,n,vw",
        "ticker,volume,open,close,high,low,window_start,transactions",
        "ts_code,trade_date,open,high,low,close,pre_close,change,pct_chg,vol,amount",
        "code,time_key,open,close,high,low,pe_ratio,turnover_rate,volume,turnover,change_rate,last_close",
        "日期,开盘,收盘,最高,最低,成交量,成交额",
        "时间,开盘,收盘,最高,最低,成交量,成交额",
        ",open,high,low,close",
        "symbol,name_en,lot_size",
        "symbol|currency",
        "symbol,ex_date,cash,split,bonus,rights,rights_price",
        "ticker,ex_date,cash",
        "symbol,ex_date",
        "symbol,ex_date,pay_date",
        "symbol,im,mm,fm",
        "Ticker;FM;IM;MM;name_en",
        "symbol,im,mm",
        "symbol,kind",
        "symbol,open,close,eps",
        "symbol,time,open,high,low,last",
        "symbol,time,open,high,low,final",
        "hello",
        "2024-01-02,1,2,3,4",
    ];
    let mut table = String::new();
    for header in headers {
        writeln!(table, "{header:?}\n    -> {}", recognised(header)).unwrap();
    }
    expect![[r#"
        "symbol,time,open,high,low,close,volume"
            -> candles, plain
        "symbol,time,open,high,low,close,volume,turnover,session"
            -> candles, plain
        " Symbol ; TIME ; Open ; High ; Low ; Close "
            -> candles, plain
        "\u{feff}\"symbol\",\"time\",\"open\",\"high\",\"low\",\"close\""
            -> candles, plain
        "Date,Open,High,Low,Close,Adj Close,Volume"
            -> candles, yahoo
        "Datetime,Open,High,Low,Close,Volume,Dividends,Stock Splits"
            -> candles, yahoo
        "Price,Close,High,Low,Open,Volume\nTicker,AAPL,AAPL,AAPL,AAPL,AAPL\nDate,,,,,"
            -> candles, yahoo
        "date,open,high,low,close,volume"
            -> candles, plain
        "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>"
            -> candles, stooq
        "symbol,timestamp,open,high,low,close,volume,trade_count,vwap"
            -> candles, alpaca
        "t,o,h,l,c,v,n,vw"
            -> candles, alpaca
        "S,t,o,h,l,c,v,n,vw"
            -> candles, alpaca
        "ticker,volume,open,close,high,low,window_start,transactions"
            -> candles, massive
        "ts_code,trade_date,open,high,low,close,pre_close,change,pct_chg,vol,amount"
            -> candles, tushare
        "code,time_key,open,close,high,low,pe_ratio,turnover_rate,volume,turnover,change_rate,last_close"
            -> candles, futu
        "日期,开盘,收盘,最高,最低,成交量,成交额"
            -> candles, eastmoney
        "时间,开盘,收盘,最高,最低,成交量,成交额"
            -> candles, eastmoney
        ",open,high,low,close"
            -> candles, plain
        "symbol,name_en,lot_size"
            -> securities
        "symbol|currency"
            -> securities
        "symbol,ex_date,cash,split,bonus,rights,rights_price"
            -> actions
        "ticker,ex_date,cash"
            -> actions
        "symbol,ex_date"
            -> unknown header: found "symbol,ex_date"; missing time, open, high, low, close; name the columns with --map, like --map time=when,close=last
        "symbol,ex_date,pay_date"
            -> unknown header: found "symbol,ex_date,pay_date"; missing time, open, high, low, close; name the columns with --map, like --map time=when,close=last
        "symbol,im,mm,fm"
            -> margins
        "Ticker;FM;IM;MM;name_en"
            -> margins
        "symbol,im,mm"
            -> unknown header: found "symbol,im,mm"; missing time, open, high, low, close; name the columns with --map, like --map time=when,close=last
        "symbol,kind"
            -> securities
        "symbol,open,close,eps"
            -> unknown header: found "symbol,open,close,eps"; missing time, high, low; name the columns with --map, like --map time=when,close=last
        "symbol,time,open,high,low,last"
            -> candles, plain
        "symbol,time,open,high,low,final"
            -> unknown header: found "symbol,time,open,high,low,final"; missing close; name the columns with --map, like --map time=when,close=last
        "hello"
            -> unknown header: found "hello"; missing time, open, high, low, close; name the columns with --map, like --map time=when,close=last
        "2024-01-02,1,2,3,4"
            -> line 1: there is no header, and the numbers are not in the order open, high, low, close; name the columns with --columns, like --columns date,open,high,low,close,volume
    "#]].assert_eq(&table);
}

#[test]
fn a_map_that_names_a_missing_column_is_refused() {
    let options =
        ReadOptions { map: files::Field::parse_map("close=last").unwrap(), ..ReadOptions::default() };
    let error = open("a.csv", b"symbol,time,open,high,low,close\n", &options).unwrap_err();
    assert_eq!(error.problem.to_string(), "--map names the column \"last\", which the file does not have");
}

#[test]
fn invalid_options_are_refused() {
    use files::{Field, Ratio, Scale, Stamp};
    assert!(Field::parse_map("when").is_err());
    assert!(Field::parse_map("cost=close").is_err());
    for wrong in ["0", "-1", "x", "1e30", ""] {
        assert!(wrong.parse::<Ratio>().is_err(), "{wrong}");
    }
    assert!("size=2".parse::<Scale>().is_err());
    assert!("price=0.001,volume=100".parse::<Scale>().is_ok());
    assert_eq!("end".parse(), Ok(Stamp::End));
    assert!("middle".parse::<Stamp>().is_err());
}
