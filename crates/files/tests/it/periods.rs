//! Tests that minute, coarse and daily candles are distinguished, and that other periods are
//! refused.

use std::fmt::Write;

use expect_test::expect;
use files::ReadOptions;
use market::{Grain, Symbol};

use crate::common::{candles, options, refusal};

/// Returns a file with `days` days and a row every `step` minutes from 09:30. Rows are sorted by
/// time, and each time has a row per symbol.
fn every(step: usize, until: usize, days: usize, symbols: &[&str]) -> String {
    let mut text = "symbol,time,open,high,low,close\n".to_owned();
    for day in 0..days {
        for minute in (570..until).step_by(step) {
            for symbol in symbols {
                let (hour, minute) = (minute / 60, minute % 60);
                writeln!(text, "{symbol},2024-01-{:02} {hour:02}:{minute:02},1,1,1,1", day + 1).unwrap();
            }
        }
    }
    text
}

#[test]
fn unsupported_periods_are_named_in_the_error() {
    for step in [2, 3, 10, 20] {
        let expected = format!(
            "a.csv: looks like {step}-minute candles; candles of 1, 5, 15, 30 and 60 minutes and of days \
             can be imported, and longer ones are derived from them"
        );
        let text = every(step, 960, 3, &["AAPL.US", "MSFT.US"]);
        assert_eq!(crate::common::refusal_of("a.csv", text.as_bytes(), &options()), expected, "{step}");
    }
}

#[test]
fn five_minute_candles_of_many_interleaved_symbols_are_recognised() {
    let names: Vec<String> = (0..12_000).map(|n| format!("T{n}.US")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = every(5, 590, 1, &names);
    assert_eq!(candles("a.csv", text.as_bytes(), &options()).grain(), Grain::Own5);
}

#[test]
fn the_period_of_coarse_candles_is_inferred_with_a_note() {
    for (step, grain) in [(5, Grain::Own5), (15, Grain::Own15), (30, Grain::Own30), (60, Grain::Own60)] {
        let text = every(step, 960, 3, &["AAPL.US", "MSFT.US"]);
        let reader = candles("a.csv", text.as_bytes(), &options());
        assert_eq!(reader.grain(), grain, "{step}");
        let guess = format!(
            "treated as {step}-minute candles, a guess from the distance between rows; pass --period to set \
             it"
        );
        assert!(reader.notes().contains(&guess), "{step}: {:?}", reader.notes());
        // With an explicit period there is no note about a guess.
        let said = candles("a.csv", text.as_bytes(), &ReadOptions { period: Some(grain), ..options() });
        assert_eq!(said.grain(), grain, "{step}");
        assert!(!said.notes().contains(&guess), "{step}");
    }
}

#[test]
fn hourly_candles_after_five_minute_candles_are_refused() {
    let fives = every(5, 960, 20, &["AAPL.US"]);
    let hours = every(60, 960, 6, &["AAPL.US"]).replace("2024-01", "2024-02");
    let message = crate::common::refusal_of(
        "a.csv",
        (fives + hours.split_once('\n').unwrap().1).as_bytes(),
        &options(),
    );
    assert!(message.contains("5-minute and 60-minute candles are mixed"), "{message}");
}

/// The last hourly candle before a break may be shorter than an hour.
#[test]
fn end_stamps_of_coarse_candles_are_moved_to_the_start() {
    let mut text = "symbol,time,open,high,low,close\n".to_owned();
    for day in 2..5 {
        for end in ["10:30", "11:30", "12:00", "14:00", "15:00", "16:00"] {
            writeln!(text, "700.HK,2024-01-{day:02} {end},1,1,1,1").unwrap();
        }
    }
    writeln!(text, "700.HK,2024-01-05 10:45,1,1,1,1").unwrap();
    let options = ReadOptions { stamp: Some(files::Stamp::End), period: Some(Grain::Own60), ..options() };
    let mut reader = candles("a.csv", text.as_bytes(), &options);
    let batch = reader.next().unwrap().unwrap();
    let times: Vec<String> = batch.rows.iter().take(6).map(|row| row.time.to_string()).collect();
    let began = ["01:30", "02:30", "03:30", "05:00", "06:00", "07:00"];
    assert_eq!(times, began.map(|clock| format!("2024-01-02T{clock}:00Z")));
    let [odd] = batch.rejected.as_slice() else { panic!("{:?}", batch.rejected) };
    assert_eq!(odd.reason, "no candle of this length ends at this time, unlike the other rows");
}

#[test]
fn an_explicit_period_overrides_the_inferred_one() {
    let reader = candles(
        "a.csv",
        every(5, 960, 1, &["AAPL.US"]).as_bytes(),
        &ReadOptions { period: Some(Grain::Minute), ..options() },
    );
    assert_eq!(reader.grain(), Grain::Minute);
}

#[test]
fn a_few_sparse_rows_are_imported_as_minute_candles() {
    let text =
        "symbol,time,open,high,low,close\n8.HK,2024-01-02 09:30,1,1,1,1\n8.HK,2024-01-02 09:45,1,1,1,1\n";
    assert_eq!(candles("a.csv", text.as_bytes(), &options()).grain(), Grain::Minute);
}

#[test]
fn weekly_and_monthly_candles_are_refused() {
    let mut weekly = "symbol,time,open,high,low,close\n".to_owned();
    let mut monthly = weekly.clone();
    let mut day = market::Date::constant(2023, 1, 2);
    for row in 0..12 {
        writeln!(weekly, "700.HK,{day},1,1,1,1").unwrap();
        writeln!(monthly, "700.HK,2023-{:02}-01,1,1,1,1", row + 1).unwrap();
        for _ in 0..7 {
            day = day.tomorrow().unwrap();
        }
    }
    let tail = "candles, which are computed from daily ones and not imported: export daily candles from the \
     source, or pass --period day if each row is one day";
    let refused = |text: &str| crate::common::refusal_of("a.csv", text.as_bytes(), &options());
    assert_eq!(refused(&weekly), format!("a.csv: looks like weekly {tail}"));
    assert_eq!(refused(&monthly), format!("a.csv: looks like monthly {tail}"));
}

#[test]
fn daily_and_minute_candles_in_one_file_are_refused() {
    let mixed = "a.csv: daily and minute candles are mixed: split the file, or pass --period to say what the rows are";
    let dated =
        "symbol,time,open,high,low,close\n700.HK,2024-01-02,1,1,1,1\n700.HK,2024-01-02 09:30,1,1,1,1\n";
    let unix = "symbol,time,open,high,low,close\n700.HK,1704124800,1,1,1,1\n700.HK,1704159000,1,1,1,1\n";
    let american =
        "symbol,time,open,high,low,close\nAAPL.US,1704171600,1,1,1,1\nAAPL.US,1704205800,1,1,1,1\n";
    for text in [dated, unix, american] {
        assert_eq!(crate::common::refusal_of("a.csv", text.as_bytes(), &options()), mixed);
    }
}

#[test]
fn us_overnight_candles_may_be_stamped_with_midnight() {
    let mut text = "symbol,time,open,high,low,close\n".to_owned();
    for minute in -30..30 {
        writeln!(text, "AAPL.US,{},1,1,1,1", 1_704_171_600 + minute * 60).unwrap();
    }
    assert_eq!(candles("a.csv", text.as_bytes(), &options()).grain(), Grain::Minute);
}

#[test]
fn daily_candles_stamped_at_the_close_need_an_explicit_period() {
    let mut text = "symbol,time,open,high,low,close\n".to_owned();
    for day in 2..12 {
        writeln!(text, "AAPL.US,2024-01-{day:02} 16:00:00,1,1,1,1").unwrap();
    }
    refusal(
        "a.csv",
        &text,
        &options(),
        expect![
            "a.csv: every row has the same time of day: daily candles? then pass --period day (or --period \
             1m if they are minutes)"
        ],
    );
    let mut reader =
        candles("a.csv", text.as_bytes(), &ReadOptions { period: Some(Grain::Day), ..options() });
    let first = reader.next().unwrap().unwrap().rows[0];
    assert_eq!(first.time.to_string(), "2024-01-02T05:00:00Z");
}

#[test]
fn utc_midnights_are_read_as_utc_dates() {
    let text = "symbol,time,open,high,low,close\nAAPL.US,2024-01-02T00:00:00Z,1,1,1,1\nAAPL.US,2024-01-03T00:00:00Z,1,1,1,1\n";
    let mut reader = candles("a.csv", text.as_bytes(), &options());
    assert_eq!(reader.grain(), Grain::Day);
    let times: Vec<String> =
        reader.next().unwrap().unwrap().rows.iter().map(|row| row.time.to_string()).collect();
    assert_eq!(times, ["2024-01-02T05:00:00Z", "2024-01-03T05:00:00Z"]);
}

#[test]
fn the_user_can_set_the_symbol() {
    let symbol: Symbol = "700.HK".parse().unwrap();
    let named = ReadOptions { symbol: Some(symbol.clone().into()), ..options() };
    let reader = candles("export.csv", b"time,open,high,low,close\n20240102,1,1,1,1\n", &named);
    assert_eq!(reader.symbols(), [symbol]);
}
