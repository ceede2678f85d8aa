//! Tests coverage: stored candles compared with the calendar.

use history::{AsOf, DayCoverage, DayState, Expected, GapReason, coverage};
use market::{Date, Market};

use crate::common::{COARSE, Shop, at, date, day_end, days, minutes, symbol, venue};

/// Formats one line per day: stored and expected minutes, the daily candle, and the gaps with their
/// reasons.
fn report(shop: &Shop, name: &str, range: (Option<Date>, Option<Date>), now: &str) -> String {
    let security = symbol(name);
    let zone = venue(security.market()).zone();
    let now = at(security.market(), now);
    let found = coverage(&shop.history, &mut shop.store.reader().unwrap(), &security, range, AsOf::Live(now))
        .unwrap();
    let clock = |at: market::Timestamp| zone.rfc3339(at)[11..16].to_owned();
    let line = |day: &DayCoverage| {
        let daily = match day.daily_gap {
            Some(reason) => format!("no day ({})", reason.as_str()),
            None if day.daily => "day".to_owned(),
            None => "not over".to_owned(),
        };
        let gap = |gap: &history::Gap| {
            format!(", {}-{} {} {}", clock(gap.first), clock(gap.last), gap.minutes, gap.reason.as_str())
        };
        let gaps: String = day.gaps.iter().map(gap).collect();
        format!("{} {}/{} {daily}{gaps}", day.date, day.stored, day.expected)
    };
    found.days.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn csv(name: &str, times: impl Iterator<Item = i64>) -> String {
    let rows: String = times.map(|time| format!("{name},{time},10,10,10,10,1\n")).collect();
    "symbol,time,open,high,low,close,volume\n".to_owned() + &rows
}

#[test]
fn a_gap_within_a_source_file_means_no_trades() {
    let shop = Shop::new();
    let hk = |local: &str| at(Market::Hk, local).0;
    let whole = minutes(Market::Hk, "2025-12-22", "2025-12-24").time;
    // Monday has ten minutes without trades, and Tuesday afternoon was never loaded.
    let quiet = hk("2025-12-22 10:00")..hk("2025-12-22 10:10");
    let first = whole.iter().copied().filter(|t| *t < hk("2025-12-23 12:30") && !quiet.contains(t));
    let second = whole.iter().copied().filter(|t| *t >= hk("2025-12-24 00:00"));
    let daily = days(Market::Hk, "2025-12-22", "2025-12-24").time;
    let files = [
        shop.file("first.csv", csv("5.HK", first)),
        shop.file("second.csv", csv("5.HK", second)),
        shop.file("daily.csv", csv("5.HK", daily.into_iter())),
    ];
    for report in shop.import(&files) {
        assert_eq!((report.outcome, report.quarantined), (history::import::Outcome::Imported, 0));
    }
    let expected = "2025-12-22 321/331 day, 10:00-10:09 10 no trades\n\
                    2025-12-23 150/331 day, 13:00-16:00 181 not loaded\n\
                    2025-12-24 151/151 day";
    assert_eq!(report(&shop, "5.HK", (None, None), "2025-12-24 18:00"), expected);
    // The range is clipped to the first stored day and to the last completed day.
    let wide = (Some(date("2020-01-01")), Some(date("2030-01-01")));
    assert_eq!(report(&shop, "5.HK", wide, "2025-12-24 18:00"), expected);
    let later = report(&shop, "5.HK", (Some(date("2025-12-24")), None), "2025-12-29 18:00");
    assert_eq!(
        later,
        "2025-12-24 151/151 day\n\
         2025-12-29 0/331 no day (not loaded), 09:30-16:00 331 not loaded"
    );
    let day = (Some(date("2025-12-23")), Some(date("2025-12-23")));
    assert_eq!(
        report(&shop, "5.HK", day, "2025-12-29 18:00"),
        "2025-12-23 150/331 day, 13:00-16:00 181 not loaded"
    );
}

#[test]
fn a_day_missing_from_a_daily_file_means_no_trades() {
    let shop = Shop::new();
    let daily = days(Market::Cn, "2026-05-18", "2026-05-20").time;
    shop.import(&[shop.file("daily.csv", csv("600519.SH", [daily[0], daily[2]].into_iter()))]);
    assert_eq!(
        report(&shop, "600519.SH", (None, None), "2026-05-21 18:00"),
        "2026-05-18 0/0 day\n\
         2026-05-19 0/0 no day (no trades)\n\
         2026-05-20 0/0 day\n\
         2026-05-21 0/0 no day (not loaded)"
    );
}

#[test]
fn a_gap_without_source_files_has_an_unknown_reason() {
    let shop = Shop::new();
    let mut daily = days(Market::Hk, "2025-12-22", "2025-12-23");
    daily.volume[1] = 0;
    let mut loaded = minutes(Market::Hk, "2025-12-22", "2025-12-22");
    loaded.retain_rows(0..330);
    // Written without the import, so the ledger has no source file.
    shop.stock(&symbol("5.HK"), &loaded, &daily, COARSE);
    assert_eq!(
        report(&shop, "5.HK", (None, None), "2025-12-23 18:00"),
        "2025-12-22 330/331 day, 16:00-16:00 1 unknown\n\
         2025-12-23 0/331 day, 09:30-16:00 331 no trades"
    );
}

#[test]
fn only_minutes_that_have_begun_are_expected() {
    let shop = Shop::new();
    let mut loaded = minutes(Market::Us, "2025-07-08", "2025-07-08");
    let until = at(Market::Us, "2025-07-08 10:00").0;
    let rows = loaded.time.partition_point(|time| *time < until);
    loaded.retain_rows(0..rows);
    shop.stock(&symbol("A.US"), &loaded, &days(Market::Us, "2025-07-07", "2025-07-07"), COARSE);
    let text = report(&shop, "A.US", (None, None), "2025-07-08 10:00:30");
    assert_eq!(text, "2025-07-07 0/0 day\n2025-07-08 30/31 not over, 10:00-10:00 1 unknown");
    let found = coverage(
        &shop.history,
        &mut shop.store.reader().unwrap(),
        &symbol("A.US"),
        (None, None),
        AsOf::Live(at(Market::Us, "2025-07-08 10:00:30")),
    )
    .unwrap();
    assert_eq!(
        (found.days[1].extended, found.days[1].is_complete(), found.days[0].is_explained()),
        (810, false, true)
    );
    assert_eq!(GapReason::NotLoaded.as_str(), "not loaded");
}

#[test]
fn an_unknown_or_empty_security_is_an_error() {
    let shop = Shop::new();
    let ask = |shop: &Shop| {
        let now = at(Market::Hk, "2025-12-23");
        coverage(
            &shop.history,
            &mut shop.store.reader().unwrap(),
            &symbol("5.HK"),
            (None, None),
            AsOf::Live(now),
        )
        .unwrap_err()
        .to_string()
    };
    assert_eq!(ask(&shop), "5.HK is not known: import its candles, or check the spelling");
    shop.act(&symbol("5.HK"), &[]);
    assert_eq!(ask(&shop), "5.HK is known, but has no candles");
}

/// Returns the state of each day in an inclusive date range as a letter.
fn letters(shop: &Shop, name: &str, range: (&str, &str), now: &str) -> String {
    let security = symbol(name);
    let venue = venue(security.market());
    let range = (date(range.0), date(range.1));
    let expected = Expected::of(venue, range, AsOf::Live(at(security.market(), now)));
    let states = expected.states(&mut shop.store.reader().unwrap(), &security).unwrap();
    states.into_iter().map(DayState::letter).collect()
}

/// Computes the same letters from the detailed coverage of each day.
fn letters_slowly(shop: &Shop, name: &str, range: (&str, &str), now: &str) -> String {
    let security = symbol(name);
    let venue = venue(security.market());
    let now = at(security.market(), now);
    let (from, through) = (date(range.0), date(range.1));
    let reader = &mut shop.store.reader().unwrap();
    let all = coverage(&shop.history, reader, &security, (None, None), AsOf::Live(now)).unwrap();
    let (first, last) = (all.days[0].date, all.days[all.days.len() - 1].date);
    // Find the last trading day whose regular hours are over.
    let over = venue.calendar().days(first, venue.zone().date(now)).filter(|(date, kind)| {
        let end = day_end(security.market(), *kind, *date);
        venue.zone().instant(*date, i64::from(end) * 60) <= now
    });
    let over = over.map(|(date, _)| date);
    let over = over.last().unwrap();
    let letter = |day: &DayCoverage| {
        let minutes_whole = day.gaps.iter().all(|gap| gap.reason == GapReason::NoTrades);
        match (day.daily, day.stored) {
            (true, _) if minutes_whole => 'c',
            (false, 0) if day.daily_gap == Some(GapReason::NoTrades) => '.',
            (false, 0) => 'm',
            _ => 'p',
        }
    };
    let dates =
        std::iter::successors(Some(from), |date| date.tomorrow().ok()).take_while(|date| *date <= through);
    dates
        .map(|date| match all.days.iter().find(|day| day.date == date) {
            _ if !venue.calendar().covers(date) || date < first || date > last => '.',
            Some(day) if day.kind.is_some() && date > over => '.',
            Some(day) if day.kind.is_some() => letter(day),
            _ => '-',
        })
        .collect()
}

#[track_caller]
fn check_letters(shop: &Shop, name: &str, range: (&str, &str), now: &str, expected: &str) {
    assert_eq!(letters(shop, name, range, now), expected);
    assert_eq!(letters_slowly(shop, name, range, now), expected, "the slow way");
}

#[test]
fn day_states_equal_those_of_the_detailed_coverage() {
    let shop = Shop::new();
    let hk = |local: &str| at(Market::Hk, local).0;
    let whole = minutes(Market::Hk, "2025-12-15", "2025-12-24").time;
    // Monday has ten minutes without trades. Tuesday afternoon, Wednesday morning and all of
    // Thursday were never loaded.
    let first = whole.iter().copied().filter(|t| {
        *t < hk("2025-12-16 12:30") && !(hk("2025-12-15 10:00")..hk("2025-12-15 10:10")).contains(t)
    });
    let second = whole.iter().copied().filter(|t| {
        let quiet = hk("2025-12-17 09:30")..hk("2025-12-17 12:30");
        (hk("2025-12-17 00:00")..hk("2025-12-18 00:00")).contains(t) && !quiet.contains(t)
    });
    let third = whole.iter().copied().filter(|t| *t >= hk("2025-12-19 00:00"));
    // The Friday before the first one-minute candles has only a daily candle. The Friday after them
    // has no daily candle, and Saturday has one although the market was closed.
    let daily = days(Market::Hk, "2025-12-12", "2025-12-22").time.into_iter();
    let daily = daily.filter(|t| *t != hk("2025-12-19 00:00")).chain([hk("2025-12-20 00:00")]);
    let mut daily: Vec<i64> = daily.collect();
    daily.sort_unstable();
    let files = [
        shop.file("first.csv", csv("5.HK", first)),
        shop.file("second.csv", csv("5.HK", second)),
        shop.file("third.csv", csv("5.HK", third)),
        shop.file("daily.csv", csv("5.HK", daily.into_iter())),
    ];
    shop.import(&files);
    let range = ("2025-12-10", "2025-12-31");
    // 10th and 11th: before the first day. 12th: the first day. 23rd and 24th: no daily candle.
    // 25th and 26th: holidays. 29th: missing. 30th: not over.
    check_letters(&shop, "5.HK", range, "2025-12-30 11:00", "..c--cpppp--cpp----m..");
    // The 30th is missing after its close.
    check_letters(&shop, "5.HK", ("2025-12-29", "2025-12-31"), "2025-12-30 18:00", "mm.");
    check_letters(&shop, "5.HK", ("2025-12-18", "2025-12-18"), "2025-12-30 18:00", "p");
    assert_eq!(letters(&shop, "5.HK", ("2025-12-18", "2025-12-17"), "2025-12-30 18:00"), "");
    assert_eq!(letters(&shop, "6.HK", ("2025-12-18", "2025-12-19"), "2025-12-30 18:00"), "..");
}

#[test]
fn nothing_is_expected_on_an_unfinished_day() {
    let shop = Shop::new();
    let morning = at(Market::Hk, "2025-12-23 10:00").0;
    let loaded = minutes(Market::Hk, "2025-12-22", "2025-12-23").time.into_iter().filter(|t| *t < morning);
    let daily = days(Market::Hk, "2025-12-22", "2025-12-22").time;
    shop.import(&[
        shop.file("minutes.csv", csv("5.HK", loaded)),
        shop.file("daily.csv", csv("5.HK", daily.into_iter())),
    ]);
    let range = ("2025-12-22", "2025-12-24");
    check_letters(&shop, "5.HK", range, "2025-12-23 10:30", "c..");
    check_letters(&shop, "5.HK", range, "2025-12-23 16:09:59", "c..");
    // The day is over after the tail of its closing candle.
    check_letters(&shop, "5.HK", range, "2025-12-23 16:10", "cp.");
}

#[test]
fn a_day_without_volume_is_complete() {
    let shop = Shop::new();
    let daily = days(Market::Cn, "2026-05-18", "2026-05-20").time;
    shop.import(&[shop.file("daily.csv", csv("600519.SH", [daily[0], daily[2]].into_iter()))]);
    check_letters(&shop, "600519.SH", ("2026-05-17", "2026-05-22"), "2026-05-21 18:00", ".c.cm.");
    let mut daily = days(Market::Hk, "2025-12-22", "2025-12-23");
    daily.volume[1] = 0;
    shop.stock(&symbol("5.HK"), &minutes(Market::Hk, "2025-12-22", "2025-12-22"), &daily, COARSE);
    check_letters(&shop, "5.HK", ("2025-12-22", "2025-12-23"), "2025-12-23 18:00", "cc");
}

#[test]
fn minute_candles_are_counted_across_blocks() {
    let shop = crate::common::full_shop();
    for (name, range) in [("700.HK", ("2025-12-10", "2026-01-05")), ("AAPL.US", ("2025-06-25", "2025-07-20"))]
    {
        let found = letters(shop, name, range, "2026-01-10 11:00");
        assert_eq!(found, letters_slowly(shop, name, range, "2026-01-10 11:00"), "{name}");
        assert!(found.contains("ccc") && found.contains("pp"), "{name}: {found}");
    }
}

#[test]
fn a_candle_on_a_closed_day_is_not_complete() {
    let shop = Shop::new();
    let daily = ["2026-11-13 00:00", "2026-11-15 00:00"].map(|local| at(Market::Hk, local).0);
    shop.import(&[shop.file("daily.csv", csv("5.HK", daily.into_iter()))]);
    let now = at(Market::Hk, "2026-11-15 18:00");
    let reader = &mut shop.store.reader().unwrap();
    let found = coverage(&shop.history, reader, &symbol("5.HK"), (None, None), AsOf::Live(now)).unwrap();
    let complete: Vec<bool> = found.days.iter().map(DayCoverage::is_complete).collect();
    assert_eq!(complete, [true, false]);
    check_letters(&shop, "5.HK", ("2026-11-13", "2026-11-15"), "2026-11-15 18:00", "c--");
}
