//! D: content. Tests how a candle is computed, which candles exist, and how imported candles are
//! validated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{at, candle, clock, flat, full_day, market, minutes, prices, venue};
use market::fold::{self, Overflow};
use market::{Candle, Candles, Flaw, Market, Period, Price, Session, Timestamp, Turnover};

/// Folds rows of `HH:MM O H L C volume turnover` on one day, and compares the result with
/// `expected`, which has the same format.
fn check(name: &str, day: &str, period: &str, rows: &[&str], expected: &[&str]) {
    let market = market(name);
    let read = |row: &&str| {
        let fields: Vec<&str> = row.split_whitespace().collect();
        let time = at(market, &format!("{day} {}", fields[0]));
        let mut candle = candle(time, &fields[1..5].join(" "), fields[5].parse().unwrap(), fields[6]);
        candle.session = venue(market).slot(time).expect("inside a session").segment.session;
        candle
    };
    let sources: Candles = rows.iter().map(read).collect();
    let folded = fold::fold(venue(market), period.parse().unwrap(), &sources).unwrap();
    let text = |c: Candle| {
        format!("{} {} {} {} {}", clock(market, c.time), prices(&c), c.volume, c.turnover.text(), c.session)
    };
    assert_eq!(folded.iter().map(text).collect::<Vec<_>>(), expected, "{name} {day} {period}");
}

#[test]
fn d1_folds_keep_extremes_and_add_amounts() {
    check(
        "HK",
        "2026-03-18",
        "5m",
        &[
            "09:30 10.0 10.2 9.9 10.1 100 1005.5",
            "09:31 10.1 10.9 10.0 10.5 200 2090.25",
            "09:33 10.5 10.6 9.1 9.5 50 480.125",
            "09:34 9.5 9.6 9.4 9.6 1 9.5995",
            "09:35 9.7 9.8 9.7 9.8 7 68.25",
        ],
        &[
            "09:30 10.000 10.900 9.100 9.600 351 3585.475 intraday",
            "09:35 9.700 9.800 9.700 9.800 7 68.250 intraday",
        ],
    );
}

#[test]
fn d1_the_closing_minute_joins_the_last_short_candle() {
    let rows = ["14:59 10.0 10.2 9.9 10.1 100 1005", "15:00 10.1 11.0 10.1 11.0 900 9500"];
    check("CN", "2026-05-20", "45m", &rows, &["14:30 10.000 11.000 9.900 11.000 1000 10505.000 intraday"]);
    let apart = [
        "14:00 10.000 10.200 9.900 10.100 100 1005.000 intraday",
        "15:00 10.100 11.000 10.100 11.000 900 9500.000 intraday",
    ];
    check("CN", "2026-05-20", "60m", &rows, &apart);
}

#[test]
fn d1_sources_of_two_sessions_never_mix() {
    check(
        "US",
        "2026-07-15",
        "240m",
        &[
            "03:59 1 1 1 1 1 0.5",
            "04:00 2 2 2 2 2 0.5",
            "09:29 3 3 3 3 3 0.5",
            "09:30 4 4 4 4 4 0.5",
            "15:59 5 5 5 5 5 0.5",
            "16:00 6 6 6 6 6 0.5",
            "20:00 7 7 7 7 7 0.5",
        ],
        &[
            "00:00 1.000 1.000 1.000 1.000 1 0.500 overnight",
            "04:00 2.000 2.000 2.000 2.000 2 0.500 pre",
            "08:00 3.000 3.000 3.000 3.000 3 0.500 pre",
            "09:30 4.000 4.000 4.000 4.000 4 0.500 intraday",
            "13:30 5.000 5.000 5.000 5.000 5 0.500 intraday",
            "16:00 6.000 6.000 6.000 6.000 6 0.500 post",
            "20:00 7.000 7.000 7.000 7.000 7 0.500 overnight",
        ],
    );
}

#[test]
fn d1_an_overflow_is_an_error() {
    let two = |volume: [i64; 2], turnover: [i128; 2]| -> Result<Candles, Overflow> {
        let at = |row: usize| at(Market::Hk, ["2026-03-18 09:30", "2026-03-18 09:31"][row]);
        let rows = [0, 1].map(|row| Candle {
            volume: volume[row],
            turnover: Turnover(turnover[row]),
            ..flat(at(row), Session::Intraday)
        });
        fold::fold(venue(Market::Hk), Period::Clock(minutes(5)), &rows.into_iter().collect())
    };
    let stamp = Timestamp(1_773_797_400);
    assert_eq!(two([i64::MAX, 1], [0, 0]), Err(Overflow { at: stamp }));
    assert_eq!(two([0, 0], [i128::MAX, 1]), Err(Overflow { at: stamp }));
    assert_eq!(two([i64::MAX - 1, 1], [0, 0]).unwrap().volume, [i64::MAX]);
    // Sums of the largest turnovers, with 18 digits before the decimal point, still fit.
    assert_eq!(two([0, 0], [Turnover::MAX.0, Turnover::MAX.0]).unwrap().turnover, [Turnover::MAX.0 * 2]);
}

#[test]
fn d1_minute_periods_have_minute_sources() {
    for period in Period::all() {
        assert_eq!(period.is_clock(), period.source().period().is_clock(), "{period}");
    }
}

#[test]
fn d2_missing_candles_are_not_filled_in() {
    // A missing one-minute candle is not filled in, and a candle with zero volume is not removed.
    check(
        "HK",
        "2026-03-18",
        "5m",
        &["09:31 5 5 5 5 0 0", "09:59 5 5 5 5 0 0", "13:00 5 5 5 5 0 0"],
        &[
            "09:30 5.000 5.000 5.000 5.000 0 0.000 intraday",
            "09:55 5.000 5.000 5.000 5.000 0 0.000 intraday",
            "13:00 5.000 5.000 5.000 5.000 0 0.000 intraday",
        ],
    );
    for period in Period::all() {
        assert!(fold::fold(venue(Market::Us), period, &Candles::default()).unwrap().is_empty(), "{period}");
    }
}

#[test]
fn d2_sources_outside_all_sessions_are_skipped() {
    let when =
        ["2026-03-18 09:29", "2026-03-18 12:00", "2026-03-18 12:30", "2026-03-18 16:01", "2026-03-21 10:00"];
    let strays: Candles =
        when.map(|when| flat(at(Market::Hk, when), Session::Intraday)).into_iter().collect();
    for length in common::every_length() {
        assert!(
            fold::fold(venue(Market::Hk), Period::Clock(length), &strays).unwrap().is_empty(),
            "{length:?}"
        );
    }
    // Skipped sources do not affect adjacent candles.
    let mixed = ["2026-03-18 11:59", "2026-03-18 12:00", "2026-03-18 13:00"];
    let mixed: Candles =
        mixed.map(|when| flat(at(Market::Hk, when), Session::Intraday)).into_iter().collect();
    let folded = fold::fold(venue(Market::Hk), Period::Clock(minutes(240)), &mixed).unwrap();
    assert_eq!(folded.volume, [1, 1]);
}

#[test]
fn d2_only_the_first_failed_check_is_reported() {
    let check = |prices: &str, volume: i64, turnover: &str, expected: Result<(), Flaw>| {
        assert_eq!(
            candle(Timestamp(0), prices, volume, turnover).check(),
            expected,
            "{prices} {volume} {turnover}"
        );
    };
    //     open high low close
    check("10 11 9 10", 0, "0", Ok(()));
    check("10 10 10 10", 1, "10", Ok(()));
    check("10 10.999999 9 11", 1, "1", Err(Flaw::Range));
    check("12 11 9 10", 1, "1", Err(Flaw::Range));
    check("8 11 9 10", 1, "1", Err(Flaw::Range));
    check("10 11 9 8", 1, "1", Err(Flaw::Range));
    check("10 9 11 10", 1, "1", Err(Flaw::Range));
    check("10 11 0 10", 1, "1", Err(Flaw::Price));
    check("0 0 0 0", 1, "1", Err(Flaw::Price));
    check("-1 -1 -1 -1", 1, "1", Err(Flaw::Price));
    check("10 11 0.000001 10", 1, "1", Ok(()));
    check("10 11 9 10", -1, "1", Err(Flaw::Negative));
    check("10 11 9 10", 1, "-0.000001", Err(Flaw::Negative));
    check("10 11 9 10", 1, "999999999999999999.999999", Ok(()));
    check("10 11 9 10", 1, "1000000000000000000", Err(Flaw::Turnover));
    check("10 9 0 10", -1, "-1", Err(Flaw::Range));
    check("10 11 0 10", -1, "-1", Err(Flaw::Price));
}

#[test]
fn d3_units_are_not_rescaled() {
    let (turnover, volume) = (Turnover::parse("3954556819.000").unwrap(), 10_853_604_i64);
    // Turnover divided by volume, rounded to tenths of a dollar, is within the day's price range.
    let tenths = (turnover.0 * 10 / i128::from(volume) + 500_000) / 1_000_000;
    assert_eq!(Price::parse("364.4").unwrap().0, i64::try_from(tenths).unwrap() * 100_000);
}

#[test]
fn d5_daily_and_longer_candles_are_intraday() {
    let days: Candles = ["2026-03-02", "2026-03-03"]
        .map(|day| flat(at(Market::Us, day), Session::Intraday))
        .into_iter()
        .collect();
    for period in Period::all().filter(|period| !period.is_clock()) {
        let folded = fold::fold(venue(Market::Us), period, &days).unwrap();
        assert!(folded.session.iter().all(|session| session.code() == 0), "{period}");
    }
}

#[test]
fn an_identity_fold_changes_nothing() {
    for (market, day) in [(Market::Hk, "2026-12-24"), (Market::Us, "2026-07-15"), (Market::Cn, "2026-05-20")]
    {
        let minutes = full_day(market, day);
        for period in Period::all().filter(|period| fold::is_identity(*period)) {
            let sources = match period.is_clock() {
                true => fold::fold(venue(market), period.source().period(), &minutes).unwrap(),
                false => [flat(at(market, day), Session::Intraday)].into_iter().collect(),
            };
            assert_eq!(fold::fold(venue(market), period, &sources).unwrap(), sources, "{market} {period}");
        }
    }
}

#[test]
fn extremes_are_the_lowest_low_and_the_highest_high() {
    assert_eq!(fold::extremes(&Candles::default()), None);
    let rows = ["10 12 9 11", "11 11.5 8.5 9", "9 9 9 9"];
    let candles: Candles = rows.into_iter().map(|row| candle(Timestamp(0), row, 1, "1")).collect();
    assert_eq!(fold::extremes(&candles), Some((Price(8_500_000), Price(12_000_000))));
}

#[test]
fn retaining_rows_truncates_every_column() {
    let candle_at = |second: i64| flat(Timestamp(second), Session::Pre);
    let all: Candles = (0..5).map(candle_at).collect();
    let check = |rows: std::ops::Range<usize>, expected: &[i64]| {
        let mut stored = all.clone();
        stored.retain_rows(rows.clone());
        assert_eq!(stored, expected.iter().map(|second| candle_at(*second)).collect(), "{rows:?}");
    };
    check(0..5, &[0, 1, 2, 3, 4]);
    check(1..3, &[1, 2]);
    check(3..9, &[3, 4]);
    check(7..9, &[]);
    check(2..2, &[]);
    let mut joined = all.clone();
    joined.append(&all);
    assert_eq!(joined.len(), 10);
    assert_eq!(joined.get(7), Some(candle_at(2)));
    assert_eq!(joined.last(), Some(candle_at(4)));
    assert_eq!(joined.get(10), None);
    joined.clear();
    assert!(joined.is_empty() && joined.last().is_none());
}
