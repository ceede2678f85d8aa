//! Minutes told from days, and everything else refused.

use std::fmt::Write;

use expect_test::expect;
use files::ReadOptions;
use market::{Grain, Symbol};

use crate::common::{candles, options, refusal};

/// A file with rows every `step` minutes from 09:30, `days` days long, for each symbol in turn by time.
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
fn longer_periods_are_refused_by_name() {
    let message =
        "looks like 5-minute candles; Chandler stores 1-minute and daily candles and makes the rest itself";
    for (step, name) in [(2, "2"), (3, "3"), (5, "5"), (15, "15"), (30, "30"), (60, "60")] {
        let expected = format!("a.csv: {}", message.replace("5-", &format!("{name}-")));
        let text = every(step, 960, 3, &["AAPL.US", "MSFT.US"]);
        assert_eq!(crate::common::refusal_of("a.csv", text.as_bytes(), &options()), expected, "{step}");
    }
}

#[test]
fn five_minutes_are_seen_through_thousands_of_interleaved_symbols() {
    let names: Vec<String> = (0..12_000).map(|n| format!("T{n}.US")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = every(5, 590, 1, &names);
    refusal(
        "a.csv",
        &text,
        &options(),
        expect![
            "a.csv: looks like 5-minute candles; Chandler stores 1-minute and daily candles and makes the rest itself"
        ],
    );
}

#[test]
fn an_insisting_user_may_import_what_looks_like_five_minutes() {
    let reader = candles(
        "a.csv",
        every(5, 960, 1, &["AAPL.US"]).as_bytes(),
        &ReadOptions { period: Some(Grain::Minute), ..options() },
    );
    assert_eq!(reader.grain(), Grain::Minute);
}

#[test]
fn a_few_thin_minutes_are_no_proof_of_five() {
    let text =
        "symbol,time,open,high,low,close\n8.HK,2024-01-02 09:30,1,1,1,1\n8.HK,2024-01-02 09:45,1,1,1,1\n";
    assert_eq!(candles("a.csv", text.as_bytes(), &options()).grain(), Grain::Minute);
}

#[test]
fn weeks_and_months_are_refused() {
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
    let tail = "candles; Chandler stores 1-minute and daily candles and makes the rest itself";
    let refused = |text: &str| crate::common::refusal_of("a.csv", text.as_bytes(), &options());
    assert_eq!(refused(&weekly), format!("a.csv: looks like weekly {tail}"));
    assert_eq!(refused(&monthly), format!("a.csv: looks like monthly {tail}"));
}

#[test]
fn days_and_minutes_in_one_file_are_refused() {
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
fn american_overnight_minutes_may_fall_on_midnight() {
    let mut text = "symbol,time,open,high,low,close\n".to_owned();
    for minute in -30..30 {
        writeln!(text, "AAPL.US,{},1,1,1,1", 1_704_171_600 + minute * 60).unwrap();
    }
    assert_eq!(candles("a.csv", text.as_bytes(), &options()).grain(), Grain::Minute);
}

#[test]
fn days_stamped_at_the_close_need_a_word_from_the_user() {
    let mut text = "symbol,time,open,high,low,close\n".to_owned();
    for day in 2..12 {
        writeln!(text, "AAPL.US,2024-01-{day:02} 16:00:00,1,1,1,1").unwrap();
    }
    refusal(
        "a.csv",
        &text,
        &options(),
        expect![
            "a.csv: every row has one and the same time of day: daily candles? then pass --period day (or --period 1m if they are minutes)"
        ],
    );
    let mut reader =
        candles("a.csv", text.as_bytes(), &ReadOptions { period: Some(Grain::Day), ..options() });
    let first = reader.next().unwrap().unwrap().rows[0];
    assert_eq!(first.time.to_string(), "2024-01-02T05:00:00Z");
}

#[test]
fn days_written_as_utc_midnights_are_the_dates_they_say() {
    let text = "symbol,time,open,high,low,close\nAAPL.US,2024-01-02T00:00:00Z,1,1,1,1\nAAPL.US,2024-01-03T00:00:00Z,1,1,1,1\n";
    let mut reader = candles("a.csv", text.as_bytes(), &options());
    assert_eq!(reader.grain(), Grain::Day);
    let times: Vec<String> =
        reader.next().unwrap().unwrap().rows.iter().map(|row| row.time.to_string()).collect();
    assert_eq!(times, ["2024-01-02T05:00:00Z", "2024-01-03T05:00:00Z"]);
}

#[test]
fn a_user_may_name_the_one_symbol() {
    let symbol: Symbol = "700.HK".parse().unwrap();
    let named = ReadOptions { symbol: Some(symbol.clone()), ..options() };
    let reader = candles("export.csv", b"time,open,high,low,close\n20240102,1,1,1,1\n", &named);
    assert_eq!(reader.symbols(), [symbol]);
}
