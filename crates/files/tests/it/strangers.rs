//! Tests of third-party files: saved from the SDK, written by spreadsheets, or named by other
//! programs.

use expect_test::expect;
use files::{ColumnMap, ReadOptions, Table, TimeFormat};
use market::Region;

use crate::common::{check, open, options, refusal, refusal_of};

#[test]
fn sdk_minute_candles_are_read_with_their_sessions() {
    check(
        "NVDL_US_Min_1_2024-05-06_2024-05-07.csv",
        "close,open,low,high,volume,turnover,timestamp,trade_session\n\
         80.1,80,79.9,80.2,100,8010.5,2024-05-06 08:00:00,TradeSession.Pre\n\
         80.2,80,79.9,80.2,200,16000,2024-05-06 09:30:00,TradeSession.Intraday\n\
         80.3,80,79.9,80.3,300,24000,2024-05-06 09:31:00,TradeSession.Normal\n\
         80.4,80,79.9,80.4,100,8000,2024-05-06 16:00:00,PostMarket\n\
         80.5,80,79.9,80.5,100,8000,2024-05-06 20:00:00,OVERNIGHT_TRADE\n",
        &options(),
        expect![[r#"
            plain Minute
            2 NVDL.US 2024-05-06T12:00:00Z 80.000000 80.200000 79.900000 80.100000 100 8010.500 pre
            3 NVDL.US 2024-05-06T13:30:00Z 80.000000 80.200000 79.900000 80.200000 200 16000.000 intraday
            4 NVDL.US 2024-05-06T13:31:00Z 80.000000 80.300000 79.900000 80.300000 300 24000.000 intraday
            5 NVDL.US 2024-05-06T20:00:00Z 80.000000 80.400000 79.900000 80.400000 100 8000.000 post
            6 NVDL.US 2024-05-07T00:00:00Z 80.000000 80.500000 79.900000 80.500000 100 8000.000 overnight
            note: the symbol NVDL.US is a guess from the file name; pass --symbol to set it
            note: treated as 1-minute candles by the file's name; pass --period to set it
        "#]],
    );
}

#[test]
fn an_unknown_session_is_noted_and_the_row_imported() {
    check(
        "700.HK.csv",
        "time,open,high,low,close,volume,turnover,session\n\
         2024-05-06 09:30:00,1,1,1,1,1,1,morning\n2024-05-06 09:31:00,1,1,1,1,1,1,\n\
         2024-05-06 09:32:00,1,1,1,1,1,1,Morning\n2024-05-06 09:33:00,1,1,1,1,1,1,intraday\n",
        &options(),
        expect![[r#"
            plain Minute
            2 700.HK 2024-05-06T01:30:00Z 1.000000 1.000000 1.000000 1.000000 1 1.000 -
            3 700.HK 2024-05-06T01:31:00Z 1.000000 1.000000 1.000000 1.000000 1 1.000 -
            4 700.HK 2024-05-06T01:32:00Z 1.000000 1.000000 1.000000 1.000000 1 1.000 -
            5 700.HK 2024-05-06T01:33:00Z 1.000000 1.000000 1.000000 1.000000 1 1.000 intraday
            note: sessions that are not intraday, pre, post or overnight: 2, the first in line 2: "morning"; the time decided
        "#]],
    );
}

fn time_of(cell: &str, format: Option<&str>) -> String {
    let text = format!("time;open;high;low;close\n{cell};1;1;1;1\n");
    let time_format = format.map(|format| format.parse().unwrap());
    match open("AAPL.US.csv", text.as_bytes(), &ReadOptions { time_format, ..options() }) {
        Ok(Table::Candles(mut reader)) => {
            let batch = reader.next().unwrap().unwrap();
            match (batch.rows.first(), batch.rejected.first()) {
                (Some(row), _) => format!("{} {}", reader.grain().as_str(), row.time),
                (None, rejected) => format!("rejected: {}", rejected.unwrap().reason),
            }
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => format!("refused: {}", error.problem),
    }
}

#[test]
fn written_out_dates_are_parsed() {
    let cells = [
        ("11/25/2019 9:30", None),
        ("25/11/2019 9:30", None),
        ("25.11.2019", None),
        ("25-11-2019 21:30:00", None),
        ("11/5/2019 9:30", None),
        ("11/5/2019 9:30", Some("mdy")),
        ("11/5/2019 9:30", Some("dmy")),
        ("11/25/2019", Some("dmy")),
        ("11/25/2019 9:30 AM", None),
        ("11/25/2019 4:00:00 PM", None),
        ("11/25/2019 12:15 AM", None),
        ("11/25/2019 13:00 PM", None),
        ("Jan 1 2000", None),
        ("Jan 1, 2000", None),
        ("January 1, 2000 16:00", None),
        ("1 Jan 2000", None),
        ("01-Jan-2000", None),
        ("1-jan-2000 4:00 pm", None),
        ("2000-Jan-01 09:30", None),
        ("Mon, 03 Jan 2000 14:30:00 GMT", None),
        ("Tuesday, September 12, 2023", None),
        ("Sept 12 2023", None),
        ("Feb 30 2000", None),
        ("Foo 1 2000", None),
        ("13/13/2019", None),
        ("11/5/19", None),
        ("11/5/19", Some("%m/%d/%y")),
        ("05.11.2019 09h30", Some("%d.%m.%Y %Hh%M")),
        ("2019-11-05T09:30:00-0500", Some("%Y-%m-%dT%H:%M:%S%z")),
        ("5.11.2019", Some("%d.%m.%Y")),
        ("2019-11-05", Some("%d.%m.%Y")),
    ];
    let row = |(cell, format): (&str, Option<&str>)| {
        format!("{cell:<30} {:<20} {}\n", format.unwrap_or_default(), time_of(cell, format))
    };
    expect![[r#"
        11/25/2019 9:30                                     1m 2019-11-25T14:30:00Z
        25/11/2019 9:30                                     1m 2019-11-25T14:30:00Z
        25.11.2019                                          1d 2019-11-25T05:00:00Z
        25-11-2019 21:30:00                                 1m 2019-11-26T02:30:00Z
        11/5/2019 9:30                                      refused: line 2: dates like 11/5/2019 may be read both ways, and no row of the file decides which: pass --time-format mdy (month first) or dmy (day first)
        11/5/2019 9:30                 mdy                  1m 2019-11-05T14:30:00Z
        11/5/2019 9:30                 dmy                  1m 2019-05-11T13:30:00Z
        11/25/2019                     dmy                  rejected: time has day and month in the opposite order, unlike the other rows
        11/25/2019 9:30 AM                                  1m 2019-11-25T14:30:00Z
        11/25/2019 4:00:00 PM                               1m 2019-11-25T21:00:00Z
        11/25/2019 12:15 AM                                 1m 2019-11-25T05:15:00Z
        11/25/2019 13:00 PM                                 rejected: cannot read "11/25/2019 13:00 PM" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
        Jan 1 2000                                          1d 2000-01-01T05:00:00Z
        Jan 1, 2000                                         1d 2000-01-01T05:00:00Z
        January 1, 2000 16:00                               1m 2000-01-01T21:00:00Z
        1 Jan 2000                                          1d 2000-01-01T05:00:00Z
        01-Jan-2000                                         1d 2000-01-01T05:00:00Z
        1-jan-2000 4:00 pm                                  1m 2000-01-01T21:00:00Z
        2000-Jan-01 09:30                                   1m 2000-01-01T14:30:00Z
        Mon, 03 Jan 2000 14:30:00 GMT                       1m 2000-01-03T14:30:00Z
        Tuesday, September 12, 2023                         1d 2023-09-12T04:00:00Z
        Sept 12 2023                                        1d 2023-09-12T04:00:00Z
        Feb 30 2000                                         rejected: cannot read "Feb 30 2000" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
        Foo 1 2000                                          rejected: cannot read "Foo 1 2000" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
        13/13/2019                                          rejected: cannot read "13/13/2019" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
        11/5/19                                             rejected: cannot read "11/5/19" as a time: write RFC 3339, Unix time or YYYY-MM-DD HH:MM, or pass --time-format
        11/5/19                        %m/%d/%y             1d 2019-11-05T05:00:00Z
        05.11.2019 09h30               %d.%m.%Y %Hh%M       1m 2019-11-05T14:30:00Z
        2019-11-05T09:30:00-0500       %Y-%m-%dT%H:%M:%S%z  1m 2019-11-05T14:30:00Z
        5.11.2019                      %d.%m.%Y             1d 2019-11-05T05:00:00Z
        2019-11-05                     %d.%m.%Y             rejected: time does not match --time-format
    "#]].assert_eq(&cells.map(row).concat());
}

#[test]
fn the_whole_sample_determines_the_date_order() {
    let file = |dates: &[&str]| {
        let rows: String = dates.iter().map(|date| format!("{date},1,1,1,1\n")).collect();
        format!("time,open,high,low,close\n{rows}")
    };
    check(
        "700.HK.csv",
        &file(&["11/5/2019", "11/6/2019", "11/13/2019"]),
        &options(),
        expect![[r#"
        plain Day
        2 700.HK 2019-11-04T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
        3 700.HK 2019-11-05T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
        4 700.HK 2019-11-12T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
        note: there is no volume column; volumes are 0
        note: there is no turnover column; turnovers are 0
    "#]],
    );
    refusal(
        "700.HK.csv",
        &file(&["11/5/2019", "11/6/2019"]),
        &options(),
        expect![
            "700.HK.csv: line 2: dates like 11/5/2019 may be read both ways, and no row of the file decides \
             which: pass --time-format mdy (month first) or dmy (day first)"
        ],
    );
    refusal(
        "700.HK.csv",
        &file(&["11/5/2019", "11/13/2019", "13/11/2019"]),
        &options(),
        expect![
            "700.HK.csv: some dates have the month first (line 3) and some the day (line 4): pass \
             --time-format mdy or dmy to choose one; the others are quarantined"
        ],
    );
    let dmy = ReadOptions { time_format: Some(TimeFormat::Order(files::DateOrder::DayFirst)), ..options() };
    check(
        "700.HK.csv",
        &file(&["11/5/2019", "11/13/2019", "13/11/2019"]),
        &dmy,
        expect![[r#"
        plain Day
        2 700.HK 2019-05-10T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
        4 700.HK 2019-11-12T16:00:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
        rejected 3 700.HK: time has day and month in the opposite order, unlike the other rows
        note: there is no volume column; volumes are 0
        note: there is no turnover column; turnovers are 0
    "#]],
    );
}

#[test]
fn a_time_format_applies_to_separate_date_and_time_columns() {
    let text = "Date,Time,Open,High,Low,Close\n11/13/2019,9:30,1,1,1,1\n11/13/2019,9:31 AM,1,1,1,1\n";
    check(
        "700.HK.csv",
        text,
        &options(),
        expect![[r#"
        yahoo Minute
        2 700.HK 2019-11-13T01:30:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
        3 700.HK 2019-11-13T01:31:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
        note: there is no volume column; volumes are 0
        note: there is no turnover column; turnovers are 0
    "#]],
    );
    for format in ["%d.%m.%Y", "%d.%m.%Y %H:%M"] {
        let text = "Date,Time,Open,High,Low,Close\n05.11.2019,09:30,1,1,1,1\n";
        let time_format = Some(format.parse().unwrap());
        let Ok(Table::Candles(mut reader)) =
            open("700.HK.csv", text.as_bytes(), &ReadOptions { time_format, ..options() })
        else {
            panic!("{format}");
        };
        let row = reader.next().unwrap().unwrap().rows[0];
        assert_eq!(row.time.to_string(), "2019-11-05T01:30:00Z", "{format}");
    }
}

#[test]
fn a_time_format_without_a_date_is_refused() {
    for wrong in ["", "ymd", "%H:%M", "%Q", "YYYY-MM-DD"] {
        assert!(wrong.parse::<TimeFormat>().is_err(), "{wrong}");
    }
    assert_eq!("%d/%m/%Y".parse::<TimeFormat>().unwrap().to_string(), "%d/%m/%Y");
}

#[test]
fn columns_can_be_ignored() {
    let text = "time,open,high,low,close,volume,turnover,trade_session\n\
        2024-05-06 09:30:00,1,1,1,1,0.123456,9,TradeSession.Pre\n";
    let ignoring = |map: &str| {
        let ColumnMap { fields, ignored } = ColumnMap::parse(map).unwrap();
        ReadOptions { map: fields, ignored, ..options() }
    };
    check(
        "700.HK.csv",
        text,
        &ignoring("volume=-,trade_session=-"),
        expect![[r#"
        plain Minute
        2 700.HK 2024-05-06T01:30:00Z 1.000000 1.000000 1.000000 1.000000 0 9.000 -
        note: there is no volume column; volumes are 0
    "#]],
    );
    // A field name selects the column that the field would be read from.
    check(
        "700.HK.csv",
        text,
        &ignoring("volume=-,session=-,turnover=-"),
        expect![[r#"
        plain Minute
        2 700.HK 2024-05-06T01:30:00Z 1.000000 1.000000 1.000000 1.000000 0 0.000 -
        note: there is no volume column; volumes are 0
        note: there is no turnover column; turnovers are 0
    "#]],
    );
    assert!(refusal_of("700.HK.csv", text.as_bytes(), &ignoring("close=-")).contains("missing close"));
    assert!(refusal_of("700.HK.csv", text.as_bytes(), &ignoring("nothing=-")).contains("\"nothing\""));
}

#[test]
fn lots_are_suggested_only_for_suitable_fractions() {
    let text = "time,open,high,low,close,volume\n2024-05-06,1,1,1,1,12.5\n2024-05-07,1,1,1,1,0.12345678\n";
    check(
        "700.HK.csv",
        text,
        &options(),
        expect![[r#"
        plain Minute
        rejected 2 : volume is not a whole number; if it counts lots, pass --scale volume=100
        rejected 3 : volume is not a whole number of shares, and fractions of units cannot be stored: leave it out with --map volume=-
        note: there is no turnover column; turnovers are 0
    "#]],
    );
}

#[test]
fn a_symbol_guessed_from_a_file_name_is_noted() {
    let symbol_of = |name: &str, region: Option<Region>, header: &str| {
        let text = format!("{header}\n2024-01-02,1,1,1,1,1\n");
        match open(name, text.as_bytes(), &ReadOptions { region, ..options() }) {
            Ok(Table::Candles(reader)) => {
                let guessed = reader.notes().iter().any(|note| note.contains("guess"));
                format!("{}{}", reader.symbols()[0], if guessed { " (guessed)" } else { "" })
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) => "none".to_owned(),
        }
    };
    let names = [
        "NVDL_US_Min_1_2024-01-02_2024-05-01.csv",
        "yahoofinance-AAPL-20040819-20180120.csv",
        "stooq_MSFT.csv",
        "AAPL.US_1m.csv",
        "700.HK.csv",
        "data_700.HK_2024.csv",
        "0700_HK_daily.csv",
        "600519_SH_day_2024.csv",
        "yahoo-AAPL-MSFT.csv",
        "AAPL_2024.csv",
        "export.csv",
        "BRK-B.csv",
    ];
    let (plain, yahoo) = ("time,open,high,low,close,volume", "Date,Open,High,Low,Close,Volume");
    let row = |name: &str| {
        let found = [
            symbol_of(name, None, plain),
            symbol_of(name, None, yahoo),
            symbol_of(name, Some(Region::Hk), plain),
        ];
        format!("{name:<42}: {}\n", found.join(" | "))
    };
    expect![[r#"
        NVDL_US_Min_1_2024-01-02_2024-05-01.csv   : NVDL.US (guessed) | NVDL.US (guessed) | NVDL.US (guessed)
        yahoofinance-AAPL-20040819-20180120.csv   : AAPL.US (guessed) | AAPL.US (guessed) | AAPL.HK (guessed)
        stooq_MSFT.csv                            : MSFT.US (guessed) | MSFT.US (guessed) | MSFT.HK (guessed)
        AAPL.US_1m.csv                            : AAPL.US | AAPL.US | AAPL.US
        700.HK.csv                                : 700.HK | 700.HK | 700.HK
        data_700.HK_2024.csv                      : 700.HK (guessed) | 700.HK (guessed) | 700.HK (guessed)
        0700_HK_daily.csv                         : 700.HK | 700.HK | 700.HK
        600519_SH_day_2024.csv                    : 600519.SH (guessed) | 600519.SH (guessed) | 600519.SH (guessed)
        yahoo-AAPL-MSFT.csv                       : none | none | none
        AAPL_2024.csv                             : AAPL.US (guessed) | AAPL.US (guessed) | AAPL.HK (guessed)
        export.csv                                : none | none | none
        BRK-B.csv                                 : BRK.B.US | BRK.B.US | BRK-B.HK
    "#]].assert_eq(&names.map(row).concat());
}
