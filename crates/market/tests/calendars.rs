//! Checks the built-in calendars against known facts, and parses custom calendars.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;

use common::{at, date, market, venue};
use market::{Calendar, CalendarError, Date, DayKind, Market, Session, SessionTable, Timestamp, Venue};

fn kind(calendar: &Calendar, day: &str) -> &'static str {
    match calendar.kind(date(day)) {
        None => "closed",
        Some(DayKind::Full) => "full",
        Some(DayKind::Half) => "half",
    }
}

/// Parses the rows of a built-in calendar without the code under test.
fn rows(market: Market) -> Vec<(Date, &'static str)> {
    let lines = Venue::built_in_calendar(market)
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    lines.map(|line| line.split_once(',').unwrap()).map(|(day, kind)| (date(day), kind)).collect()
}

#[test]
fn built_in_calendars_have_the_known_range_and_number_of_days() {
    let check = |name: &str, first: &str, last: &str, count: usize, half: usize| {
        let rows = rows(market(name));
        assert_eq!((rows.first().unwrap().0, rows.last().unwrap().0), (date(first), date(last)), "{name}");
        assert_eq!(
            (rows.len(), rows.iter().filter(|(_, kind)| *kind == "half").count()),
            (count, half),
            "{name}"
        );
        let calendar = venue(market(name)).calendar();
        assert_eq!((calendar.first(), calendar.valid_through()), (date(first), date(last)), "{name}");
    };
    check("HK", "2004-06-01", "2027-12-31", 5816, 49);
    check("US", "2010-06-01", "2027-12-31", 4424, 37);
    check("CN", "1999-11-01", "2026-12-31", 6586, 0);
}

#[test]
fn only_listed_dates_are_trading_days() {
    for market in Market::ALL {
        let rows = rows(market);
        let calendar = venue(market).calendar();
        let read: Vec<(Date, &str)> = calendar
            .days(calendar.first(), calendar.valid_through())
            .map(|(day, kind)| (day, if kind == DayKind::Full { "full" } else { "half" }))
            .collect();
        assert_eq!(read, rows, "{market}");
        assert!(
            rows.iter().all(|(day, _)| day.weekday().to_monday_zero_offset() < 5),
            "{market} never trades on weekends"
        );
    }
}

#[test]
fn known_closures_and_half_days_are_listed() {
    let check = |name: &str, days: &[&str], expected: &str| {
        for day in days {
            assert_eq!(kind(venue(market(name)).calendar(), day), expected, "{name} {day}");
        }
    };
    check("US", &["2012-10-29", "2012-10-30", "2018-12-05", "2025-01-09"], "closed");
    check(
        "HK",
        &["2020-10-13", "2021-04-06", "2021-10-13", "2023-09-01", "2023-09-08", "2024-09-06"],
        "closed",
    );
    check("HK", &["2005-02-08", "2008-02-06", "2011-02-02"], "half");
    // A cancelled morning or an early close caused by weather does not make a half day.
    check(
        "HK",
        &["2008-06-25", "2009-09-15", "2012-07-24", "2013-05-22", "2013-09-23", "2014-09-16", "2022-08-25"],
        "full",
    );
    check("HK", &["2022-11-02", "2023-10-09"], "full");
    check("CN", &["2026-01-01", "2026-02-14", "2026-10-01"], "closed");
}

#[test]
fn every_us_day_has_all_its_minutes_once() {
    let venue = venue(Market::Us);
    let mut days = 0;
    for (day, kind) in venue.calendar().days(date("2010-06-01"), date("2027-12-31")) {
        let open = venue.day(day).unwrap();
        let all: Vec<(Timestamp, Session)> =
            open.minutes().map(|(at, slot)| (at, slot.segment.session)).collect();
        let count = |session: Session| all.iter().filter(|(_, s)| *s == session).count();
        let regular = if kind == DayKind::Full { 390 } else { 210 };
        assert_eq!(
            (count(Session::Intraday), count(Session::Pre), count(Session::Post), count(Session::Overnight)),
            (regular, 330, 240, 480),
            "{day}"
        );
        assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0), "{day}: stamps ascend");
        let stamps: BTreeSet<Timestamp> = all.iter().map(|(at, _)| *at).collect();
        assert_eq!(stamps.len(), if kind == DayKind::Full { 1440 } else { 1260 }, "{day}");
        // The expected bounds are computed by jiff: from 20:00 on the previous evening to the last
        // minute of post-market trading.
        let eve = day.yesterday().unwrap();
        let last = if kind == DayKind::Full { "19:59" } else { "16:59" };
        assert_eq!(all.first().unwrap().0, at(Market::Us, &format!("{eve} 20:00")), "{day}");
        assert_eq!(all.last().unwrap().0, at(Market::Us, &format!("{day} {last}")), "{day}");
        let opening = all.iter().find(|(_, s)| *s == Session::Intraday).unwrap().0;
        assert_eq!(opening, at(Market::Us, &format!("{day} 09:30")), "{day}");
        days += 1;
    }
    assert_eq!(days, 4424);
}

#[test]
fn no_two_days_share_a_minute() {
    for market in Market::ALL {
        let mut last = Timestamp(i64::MIN);
        let through = if market == Market::Cn { "2026-12-31" } else { "2027-12-31" };
        for (day, _) in venue(market).calendar().days(date("2021-12-31"), date(through)) {
            let stamps: Vec<Timestamp> =
                venue(market).day(day).unwrap().minutes().map(|(at, _)| at).collect();
            assert!(last < *stamps.first().unwrap(), "{market} {day}");
            last = *stamps.last().unwrap();
        }
    }
}

#[test]
fn overnight_sessions_on_clock_change_sundays_use_the_new_offset() {
    let check = |sunday: &str, unix: &str| {
        let opening = at(Market::Us, &format!("{sunday} 20:00"));
        assert_eq!(opening.to_string(), unix);
        let slot = venue(Market::Us).slot(opening).unwrap();
        assert_eq!((slot.day, slot.segment.session), (date(sunday).tomorrow().unwrap(), Session::Overnight));
        assert_eq!(venue(Market::Us).slot(Timestamp(opening.0 - 60)), None);
    };
    // The evening already has the new offset: summer time in spring, winter time in autumn.
    check("2024-03-10", "2024-03-11T00:00:00Z");
    check("2024-11-03", "2024-11-04T01:00:00Z");
    check("2025-03-09", "2025-03-10T00:00:00Z");
    check("2025-11-02", "2025-11-03T01:00:00Z");
    check("2027-03-14", "2027-03-15T00:00:00Z");
    check("2027-11-07", "2027-11-08T01:00:00Z");
}

#[test]
fn weekdays_outside_the_calendar_are_trading_days() {
    let hk = venue(Market::Hk).calendar();
    assert!(hk.covers(date("2027-12-31")) && !hk.covers(date("2028-01-01")));
    assert!(hk.covers(date("2004-06-01")) && !hk.covers(date("2004-05-31")));
    let check = |day: &str, expected: &str| assert_eq!(kind(hk, day), expected, "{day}");
    check("2027-12-31", "half");
    check("2028-01-01", "closed"); // Saturday
    check("2028-01-02", "closed"); // Sunday
    check("2028-01-03", "full");
    check("2028-12-25", "full"); // an uncovered Monday
    check("2004-05-31", "full"); // a Monday before the first row
    check("2004-05-30", "closed");
    assert_eq!(kind(venue(Market::Cn).calendar(), "2027-01-01"), "full");
    // Instants outside the calendar also have a slot.
    assert!(venue(Market::Hk).slot(at(Market::Hk, "2028-01-03 09:30")).is_some());
    assert!(venue(Market::Us).slot(at(Market::Us, "2028-01-02 20:00")).is_some());
}

#[test]
fn a_closed_day_falls_back_to_the_last_trading_day() {
    let check = |name: &str, day: &str, expected: &str| {
        assert_eq!(
            venue(market(name)).calendar().on_or_before(date(day)),
            Some(date(expected)),
            "{name} {day}"
        );
    };
    check("HK", "2026-11-15", "2026-11-13");
    check("HK", "2026-11-13", "2026-11-13");
    check("CN", "2025-10-08", "2025-09-30");
    check("US", "2012-10-30", "2012-10-26");
}

#[test]
fn a_custom_calendar_replaces_the_compiled_in_one() {
    let text = "# our own year\n# valid through: 2030-01-31\n\ndate,kind\n2030-01-02,full\r\n2030-01-03,half\n2030-01-07,full # no\n";
    assert!(Calendar::parse(text).is_err());
    let calendar = Calendar::parse(&text.replace(" # no", "")).unwrap();
    let found =
        ["2030-01-01", "2030-01-02", "2030-01-03", "2030-01-04", "2030-01-07", "2030-01-31", "2030-02-01"]
            .map(|day| kind(&calendar, day));
    assert_eq!(found, ["full", "full", "half", "closed", "full", "closed", "full"]);
    let sessions = SessionTable::parse(Venue::built_in_sessions(), Market::Us).unwrap();
    let own = Venue::new(Market::Us, calendar, sessions);
    let day = |when: &str| own.slot(at(Market::Us, when)).map(|slot| slot.day);
    assert_eq!(day("2030-01-03 12:59"), Some(date("2030-01-03")));
    assert_eq!(day("2030-01-03 19:59"), None);
    assert_eq!(day("2030-01-04 12:00"), None);
    assert_eq!(day("2030-01-06 20:00"), Some(date("2030-01-07")));
}

#[test]
fn a_calendar_is_valid_through_its_last_row_by_default() {
    let calendar = Calendar::parse("2030-01-02,full\n2030-01-04,full\n").unwrap();
    assert_eq!((calendar.first(), calendar.valid_through()), (date("2030-01-02"), date("2030-01-04")));
    assert_eq!(["2030-01-03", "2030-01-07"].map(|day| kind(&calendar, day)), ["closed", "full"]);
}

#[test]
fn an_invalid_calendar_is_refused_with_the_line() {
    let check = |text: &str, line: usize, problem: &str| {
        let expected = CalendarError { line, problem: problem.to_owned() };
        assert_eq!(Calendar::parse(text).map(|_| ()), Err(expected), "{text:?}");
    };
    check("", 0, "no trading day in the file");
    check("date,kind\n", 0, "no trading day in the file");
    check("2030-01-02\n", 1, "expected date,kind");
    check("date,kind\n2030-01-02,full\nyesterday,full\n", 3, "\"yesterday\" is not a date");
    check("# a\n\n2030-02-30,full\n", 3, "\"2030-02-30\" is not a date");
    check("2030-01-02,open\n", 1, "\"open\" is neither full nor half");
    check("2030-01-03,full\n2030-01-02,full\n", 2, "dates must ascend, each once");
    check("2030-01-02,full\n2030-01-02,half\n", 2, "dates must ascend, each once");
    check("# valid through: soon\n2030-01-02,full\n", 1, "\"soon\" is not a date");
    check("1030-01-02,full\n2030-01-02,full\n", 2, "more than three centuries after the first date");
    // Rows after the `valid through` date would be silently ignored.
    check(
        "# a\n# valid through: 2030-01-02\n2030-01-02,full\n2030-01-03,half\n",
        2,
        "rows continue to 2030-01-03, after the date they are valid through",
    );
    assert_eq!(
        Calendar::parse("2030-01-02,x").unwrap_err().to_string(),
        "line 1: \"x\" is neither full nor half"
    );
}

#[test]
fn an_invalid_session_table_is_refused_with_the_line() {
    let check = |text: &str, line: usize, problem: &str| {
        let expected = CalendarError { line, problem: problem.to_owned() };
        assert_eq!(SessionTable::parse(text, Market::Hk).map(|_| ()), Err(expected), "{text:?}");
    };
    let good = "HK,2020-01-01,full,intraday,09:30,12:00,0\n";
    check("", 0, "HK: no session of a full day");
    check("US,2020-01-01,full,intraday,09:30,12:00,0\n", 0, "HK: no session of a full day");
    check("HK,2020-01-01,half,intraday,09:30,12:00,0\n", 0, "HK: no session of a full day");
    check(&format!("{good}HK,2020-01-01,full\n"), 2, "expected market,from,day,session,start,end,tail");
    check(&format!("{good}SG,2020-01-01,full,intraday,09:30,12:00,0\n"), 2, "unknown market");
    check("HK,soon,full,intraday,09:30,12:00,0\n", 1, "from is not a date");
    check("HK,2020-01-01,whole,intraday,09:30,12:00,0\n", 1, "day is neither full nor half");
    check("HK,2020-01-01,full,lunch,09:30,12:00,0\n", 1, "unknown session");
    check(
        "HK,2020-01-01,full,intraday,9:30,12:00,0\n",
        1,
        "\"9:30\" is not a time of day: write HHMM or HH:MM",
    );
    check("HK,2020-01-01,full,intraday,09:30,12:00,ten\n", 1, "tail is not a number of minutes");
    let ends = "a segment must end after it starts, and its tail is at most an hour";
    check("HK,2020-01-01,full,intraday,12:00,09:30,0\n", 1, ends);
    check("HK,2020-01-01,full,intraday,09:30,12:00,61\n", 1, ends);
    check("HK,2020-01-01,full,intraday,09:30,12:00,-1\n", 1, ends);
    check(
        &format!("{good}HK,2020-01-01,full,intraday,11:59,13:00,0\n"),
        0,
        "HK: segments from 2020-01-01 overlap",
    );
    // A tail must not overlap the next segment.
    check(
        "HK,2020-01-01,full,intraday,09:30,12:00,10\nHK,2020-01-01,full,intraday,12:05,13:00,0\n",
        0,
        "HK: segments from 2020-01-01 overlap",
    );
}

#[test]
fn new_hours_apply_only_to_their_day_kind() {
    let text = "HK,2020-01-01,full,intraday,10:00,12:00,0\nHK,2020-01-01,half,intraday,10:00,11:00,0\n\
                HK,2025-01-01,full,intraday,09:00,12:00,5\n";
    let table = SessionTable::parse(text, Market::Hk).unwrap();
    let hours = |day: &str, kind: DayKind| {
        table.segments(date(day), kind).iter().map(|s| (s.start, s.end, s.tail)).collect::<Vec<_>>()
    };
    assert_eq!(hours("2024-12-31", DayKind::Full), [(600, 720, 0)]);
    assert_eq!(hours("2025-01-01", DayKind::Full), [(540, 720, 5)]);
    assert_eq!(hours("2025-01-01", DayKind::Half), [(600, 660, 0)]);
    // Days before the first row use that row's hours.
    assert_eq!(hours("1999-01-01", DayKind::Full), [(600, 720, 0)]);
    // A market without half-day hours uses its full-day hours.
    let full_only = SessionTable::parse("CN,2020-01-01,full,intraday,09:30,11:30,0\n", Market::Cn).unwrap();
    assert_eq!(full_only.segments(date("2025-01-01"), DayKind::Half).len(), 1);
}

#[test]
fn a_later_overnight_start_needs_only_new_rows() {
    // The exchanges plan to start the overnight session at 21:00.
    let later = Venue::built_in_sessions().to_owned()
        + "US,2027-01-04,full,overnight,21:00,24:00,0\nUS,2027-01-04,full,overnight,00:00,04:00,0\n\
           US,2027-01-04,full,pre,04:00,09:30,0\nUS,2027-01-04,full,intraday,09:30,16:00,0\nUS,2027-01-04,full,post,16:00,20:00,0\n";
    let calendar = Calendar::parse(Venue::built_in_calendar(Market::Us)).unwrap();
    let own = Venue::new(Market::Us, calendar, SessionTable::parse(&later, Market::Us).unwrap());
    let check = |when: &str, traded: Option<&str>, belongs: Option<&str>| {
        let when = at(Market::Us, when);
        assert_eq!(own.slot(when).map(|slot| slot.day), traded.map(date), "{when}");
        assert_eq!(own.trading_day(when), belongs.map(date), "{when}");
    };
    check("2026-07-14 20:00", Some("2026-07-15"), Some("2026-07-15"));
    check("2027-01-05 20:30", None, Some("2027-01-05"));
    check("2027-01-05 21:00", Some("2027-01-06"), Some("2027-01-06"));
}
