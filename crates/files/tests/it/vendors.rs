//! Tests of one table per vendor: each header and its rows are read as the expected candles.

use crate::common::{check, options, refusal};
use expect_test::expect;
use files::{Field, ReadOptions, Stamp};
use market::{Grain, Region};

#[test]
fn plain_columns_are_read() {
    check(
        "any.csv",
        "symbol,time,open,high,low,close,volume,turnover,session\n\
         700.HK,2024-01-02T09:30:00+08:00,290.2,291,290,290.8,1200,348960.5,intraday\n\
         AAPL.US,2024-01-02T08:00:00-05:00,186,186.5,185.9,186.1,300,,pre\n",
        &ReadOptions::default(),
        expect![[r#"
            plain Minute
            2 700.HK 2024-01-02T01:30:00Z 290.200000 291.000000 290.000000 290.800000 1200 348960.500 intraday
            3 AAPL.US 2024-01-02T13:00:00Z 186.000000 186.500000 185.900000 186.100000 300 0.000 pre
        "#]],
    );
}

#[test]
fn the_symbol_of_yahoo_daily_files_is_read_from_the_file_name() {
    check(
        "0700.HK.csv",
        "Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,290.2,291,290,290.8,280.1,1200\n",
        &ReadOptions::default(),
        expect![[r#"
            yahoo Day
            2 700.HK 2024-01-01T16:00:00Z 290.200000 291.000000 290.000000 290.800000 1200 0.000 -
            note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn yahoo_daily_stamps_with_an_offset_are_local_midnights() {
    check(
        "BRK-B.csv",
        "Date,Open,High,Low,Close,Volume,Dividends,Stock Splits\n\
         2024-03-08 00:00:00-05:00,1,2,1,2,10,0.0,0.0\n\
         2024-03-11 00:00:00-04:00,1,2,1,2,10,0.0,0.0\n",
        &ReadOptions::default(),
        expect![[r#"
            yahoo Day
            2 BRK.B.US 2024-03-08T05:00:00Z 1.000000 2.000000 1.000000 2.000000 10 0.000 -
            3 BRK.B.US 2024-03-11T04:00:00Z 1.000000 2.000000 1.000000 2.000000 10 0.000 -
            note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn the_ticker_is_read_from_yahoo_header_levels() {
    check(
        "whatever.csv",
        "Price,Close,High,Low,Open,Volume\nTicker,600519.SS,600519.SS,600519.SS,600519.SS,600519.SS\nDatetime,,,,,\n\
         2024-01-02 01:30:00+00:00,2,3,1,1.5,10\n2024-01-02 01:31:00+00:00,2,3,1,1.5,11\n",
        &ReadOptions::default(),
        expect![[r#"
            yahoo Minute
            4 600519.SH 2024-01-02T01:30:00Z 1.500000 3.000000 1.000000 2.000000 10 0.000 -
            5 600519.SH 2024-01-02T01:31:00Z 1.500000 3.000000 1.000000 2.000000 11 0.000 -
            note: there is no turnover column; turnovers are 0
        "#]],
    );
    let wide = "Price,Close,Close,High\nTicker,AAPL,MSFT,AAPL\nDate,,,\n2024-01-02,1,2,3\n";
    refusal(
        "w.csv",
        wide,
        &ReadOptions::default(),
        expect![
            "w.csv: line 2: the columns of AAPL lack open, low: in a table with symbols side by side each of them needs open, high, low and close"
        ],
    );
}

#[test]
fn yahoo_index_symbols_are_converted() {
    check(
        "^VIX.csv",
        "Date,Open,High,Low,Close,Volume\n2024-01-02,13,14,12,13.5,0\n",
        &ReadOptions::default(),
        expect![[r#"
            yahoo Day
            2 .VIX.US 2024-01-02T05:00:00Z 13.000000 14.000000 12.000000 13.500000 0 0.000 -
            note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn tickers_and_periods_of_stooq_bulk_rows_are_read() {
    let header = "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n";
    check(
        "aapl.us.txt",
        &format!("{header}AAPL.US,D,20240102,000000,187.15,188.44,183.885,185.64,81964874,0\n"),
        &ReadOptions::default(),
        expect![[r#"
            stooq Day
            2 AAPL.US 2024-01-02T05:00:00Z 187.150000 188.440000 183.885000 185.640000 81964874 0.000 -
            note: there is no turnover column; turnovers are 0
        "#]],
    );
    refusal(
        "aapl.us.txt",
        &format!("{header}AAPL.US,5,20240102,153500,1,2,1,2,3,0\n"),
        &ReadOptions::default(),
        expect![[
            "aapl.us.txt: minutes of this source have times of Warsaw: write them as times of the market, and pass --period 5m to say so"
        ]],
    );
    check(
        "aapl.us.txt",
        &format!("{header}AAPL.US,5,20240102,093500,1,2,1,2,3,0\n"),
        &ReadOptions { period: Some(Grain::Own5), ..ReadOptions::default() },
        expect![[r#"
            stooq Own5
            2 AAPL.US 2024-01-02T14:35:00Z 1.000000 2.000000 1.000000 2.000000 3 0.000 -
            note: there is no turnover column; turnovers are 0
        "#]],
    );
    refusal(
        "aapl.us.txt",
        &format!("{header}AAPL.US,W,20240102,000000,1,2,1,2,3,0\n"),
        &ReadOptions::default(),
        expect![[
            r#"aapl.us.txt: PER is "W": of files with this column, days (D) and 1, 5, 15, 30 and 60 minutes can be imported"#
        ]],
    );
}

#[test]
fn the_region_is_read_from_a_stooq_file_name() {
    check(
        "brk-b_us_d.csv",
        "Date,Open,High,Low,Close,Volume\n2024-01-02,1,2,1,2,3\n",
        &ReadOptions::default(),
        expect![[r#"
            yahoo Day
            2 BRK.B.US 2024-01-02T05:00:00Z 1.000000 2.000000 1.000000 2.000000 3 0.000 -
            note: treated as daily candles by the file's name; pass --period to set it
            note: if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn alpaca_long_and_short_column_names_are_read() {
    check(
        "bars.csv",
        "symbol,timestamp,open,high,low,close,volume,trade_count,vwap\n\
         BRK.B,2024-01-02 14:30:00+00:00,360.1,361,360,360.5,100,7,360.4\n",
        &ReadOptions { estimate_turnover: true, ..ReadOptions::default() },
        expect![[r#"
            alpaca Minute
            2 BRK.B.US 2024-01-02T14:30:00Z 360.100000 361.000000 360.000000 360.500000 100 36040.000 -
            note: turnover is estimated as vwap times volume
        "#]],
    );
    check(
        "AAPL_1m.csv",
        "t,o,h,l,c,v,n,vw\n2024-01-02T14:30:00Z,1,2,1,2,100,7,1.5\n",
        &ReadOptions::default(),
        expect![[r#"
            alpaca Minute
            2 AAPL.US 2024-01-02T14:30:00Z 1.000000 2.000000 1.000000 2.000000 100 0.000 -
            note: treated as 1-minute candles by the file's name; pass --period to set it
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn alpaca_daily_candles_are_stamped_with_local_midnight() {
    check(
        "bars.csv",
        "symbol,timestamp,open,high,low,close,volume,trade_count,vwap\n\
         AAPL,2024-01-02T05:00:00Z,1,2,1,2,3,4,1.5\nAAPL,2024-07-02T04:00:00Z,1,2,1,2,3,4,1.5\n",
        &ReadOptions::default(),
        expect![[r#"
            alpaca Day
            2 AAPL.US 2024-01-02T05:00:00Z 1.000000 2.000000 1.000000 2.000000 3 0.000 -
            3 AAPL.US 2024-07-02T04:00:00Z 1.000000 2.000000 1.000000 2.000000 3 0.000 -
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn massive_times_are_read_as_nanoseconds() {
    check(
        "2024-01-02.csv",
        "ticker,volume,open,close,high,low,window_start,transactions\n\
         AAPL,4930,193.2,193.22,193.3,193.1,1704205800000000000,50\n",
        &ReadOptions::default(),
        expect![[r#"
            massive Minute
            2 AAPL.US 2024-01-02T14:30:00Z 193.200000 193.300000 193.100000 193.220000 4930 0.000 -
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}

#[test]
fn leading_zeros_of_option_strikes_are_removed() {
    check(
        "2026-03-18.csv",
        "ticker,volume,open,close,high,low,window_start,transactions\n\
         O:AAPL260417C00190000,12,5.1,5.2,5.25,5.05,1773840600000000000,3\n",
        &ReadOptions::default(),
        expect![[r#"
            massive Minute
            2 AAPL260417C190000.US 2026-03-18T13:30:00Z 5.100000 5.250000 5.050000 5.200000 12 0.000 -
            note: there is no turnover column; turnovers are 0
        "#]],
    );
    check(
        "any.csv",
        "symbol,time,open,high,low,close,volume,turnover\n\
         AAPL260417C190000.US,2026-03-18 09:30,5.1,5.2,5.1,5.2,12,6200\n\
         aapl260417c00190000.us,2026-03-18 09:31,5.1,5.2,5.1,5.2,1,520\n\
         US.AAPL260417P00185500,2026-03-18 09:31,5.1,5.2,5.1,5.2,1,520\n",
        &ReadOptions::default(),
        expect![[r#"
            plain Minute
            2 AAPL260417C190000.US 2026-03-18T13:30:00Z 5.100000 5.200000 5.100000 5.200000 12 6200.000 -
            3 AAPL260417C190000.US 2026-03-18T13:31:00Z 5.100000 5.200000 5.100000 5.200000 1 520.000 -
            4 AAPL260417P185500.US 2026-03-18T13:31:00Z 5.100000 5.200000 5.100000 5.200000 1 520.000 -
        "#]],
    );
    check(
        "AAPL260417C190000.US_1m.csv",
        "time,open,high,low,close,volume,turnover\n2026-03-18 09:30,5.1,5.2,5.1,5.2,12,6200\n",
        &ReadOptions::default(),
        expect![[r#"
            plain Minute
            2 AAPL260417C190000.US 2026-03-18T13:30:00Z 5.100000 5.200000 5.100000 5.200000 12 6200.000 -
            note: treated as 1-minute candles by the file's name; pass --period to set it
        "#]],
    );
}

#[test]
fn tushare_daily_volumes_in_lots_are_noted() {
    let text = "ts_code,trade_date,open,high,low,close,pre_close,change,pct_chg,vol,amount\n\
                000001.SZ,20240102,9.39,9.42,9.21,9.21,9.39,-0.18,-1.917,1158366.45,1075742.252\n\
                000002.SZ,20240102,9.39,9.42,9.21,9.21,9.39,-0.18,-1.917,100.0,1075742.252\n";
    check(
        "d.csv",
        text,
        &ReadOptions::default(),
        expect![[r#"
            tushare Day
            2 000001.SZ 2024-01-01T16:00:00Z 9.390000 9.420000 9.210000 9.210000 115836645 1075742252.000 -
            3 000002.SZ 2024-01-01T16:00:00Z 9.390000 9.420000 9.210000 9.210000 10000 1075742252.000 -
            note: volumes are in lots of 100 and turnovers in thousands in this export, and were multiplied by 100 and 1,000; pass --scale volume=1 to import both unchanged
        "#]],
    );
    check(
        "d.csv",
        text,
        &ReadOptions { scale: "volume=100,turnover=1000".parse().unwrap(), ..ReadOptions::default() },
        expect![[r#"
            tushare Day
            2 000001.SZ 2024-01-01T16:00:00Z 9.390000 9.420000 9.210000 9.210000 115836645 1075742252.000 -
            3 000002.SZ 2024-01-01T16:00:00Z 9.390000 9.420000 9.210000 9.210000 10000 1075742252.000 -
        "#]],
    );
}

#[test]
fn tushare_minute_stamps_are_moved_to_the_start() {
    check(
        "m.csv",
        "ts_code,trade_time,close,open,high,low,vol,amount\n\
         00001.HK,2023-03-13 15:59:00,48.8,48.8,48.8,48.75,12500.0,609825.0\n\
         600000.SH,2023-08-25 09:31:00,7.05,7.05,7.05,7.05,235500.0,1660275.0\n",
        &ReadOptions::default(),
        expect![[r#"
            tushare Minute
            2 1.HK 2023-03-13T07:58:00Z 48.800000 48.800000 48.750000 48.800000 12500 609825.000 -
            3 600000.SH 2023-08-25T01:30:00Z 7.050000 7.050000 7.050000 7.050000 235500 1660275.000 -
            note: tushare stamps a minute with its end; each was moved to its start; pass --stamp start if these are starts
        "#]],
    );
}

#[test]
fn futu_prefixes_and_end_stamps_are_converted() {
    let text = "code,time_key,open,close,high,low,pe_ratio,turnover_rate,volume,turnover,change_rate,last_close\n\
                HK.00700,2024-01-02 09:31:00,290,291,292,289,0,0,1000,291000,0,290\n\
                US.BRK.B,2024-01-02 09:31:00,290,291,292,289,0,0,1000,291000,0,290\n";
    check(
        "f.csv",
        text,
        &ReadOptions::default(),
        expect![[r#"
            futu Minute
            2 700.HK 2024-01-02T01:30:00Z 290.000000 292.000000 289.000000 291.000000 1000 291000.000 -
            3 BRK.B.US 2024-01-02T14:30:00Z 290.000000 292.000000 289.000000 291.000000 1000 291000.000 -
            note: Futu's prices are forward-adjusted unless they were requested with autype NONE
            note: futu stamps a minute with its end; each was moved to its start; pass --stamp start if these are starts
        "#]],
    );
    let start = ReadOptions { stamp: Some(Stamp::Start), ..ReadOptions::default() };
    check(
        "f.csv",
        &text.lines().take(2).collect::<Vec<_>>().join("\n"),
        &start,
        expect![[r#"
            futu Minute
            2 700.HK 2024-01-02T01:31:00Z 290.000000 292.000000 289.000000 291.000000 1000 291000.000 -
            note: Futu's prices are forward-adjusted unless they were requested with autype NONE
        "#]],
    );
}

#[test]
fn futu_daily_stamps_are_not_moved() {
    check(
        "f.csv",
        "code,time_key,open,close,high,low,volume,turnover\nSH.600519,2024-01-02 00:00:00,1,2,3,1,10,20\n",
        &ReadOptions::default(),
        expect![[r#"
            futu Day
            2 600519.SH 2024-01-01T16:00:00Z 1.000000 3.000000 1.000000 2.000000 10 20.000 -
            note: Futu's prices are forward-adjusted unless they were requested with autype NONE
        "#]],
    );
}

#[test]
fn chinese_headers_of_eastmoney_are_read() {
    check(
        "a.csv",
        "日期,股票代码,开盘,收盘,最高,最低,成交量,成交额,振幅\n2024-01-02,600519,1715,1685.01,1718.19,1678.1,32156,5440082548.0,2.32\n",
        &ReadOptions::default(),
        expect![[r#"
            eastmoney Day
            2 600519.SH 2024-01-01T16:00:00Z 1715.000000 1718.190000 1678.100000 1685.010000 3215600 5440082548.000 -
            note: volumes are in lots of 100 in this export and were multiplied by 100; pass --scale volume=1 to import them unchanged
        "#]],
    );
}

#[test]
fn other_columns_can_be_mapped() {
    let map = Field::parse_map("time=when,open=first,high=top,low=bottom,close=last,symbol=who,volume=qty")
        .unwrap();
    check(
        "x.csv",
        "who;when;first;top;bottom;last;qty\n700;2024/1/2 9:31;1;2;1;2;5\n",
        &ReadOptions { map, region: Some(Region::Hk), period: Some(Grain::Minute), ..options() },
        expect![[r#"
            plain Minute
            2 700.HK 2024-01-02T01:31:00Z 1.000000 2.000000 1.000000 2.000000 5 0.000 -
            note: there is no turnover column; turnovers are 0
        "#]],
    );
}
