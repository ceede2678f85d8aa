//! Infers the period of generated files for every period, market and defect. Each file is judged
//! correctly or refused, and none is imported with a wrong grain.

use std::collections::BTreeMap;
use std::fmt::Write;

use expect_test::expect;
use files::{JudgedBy, Table};
use market::{Date, DateSpan, Grain, Market, Minutes, Period, Session, Span, Venue, Venues};

use crate::common::{open, options, refusal_of, venues};

const MARKETS: [(Market, &str); 3] =
    [(Market::Hk, "700.HK"), (Market::Us, "AAPL.US"), (Market::Cn, "600519.SH")];

/// A deterministic random number generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Returns a file of one symbol with the given stamps.
fn text(symbol: &str, stamps: &[String]) -> String {
    let mut text = "symbol,time,open,high,low,close\n".to_owned();
    stamps.iter().for_each(|stamp| writeln!(text, "{symbol},{stamp},1,1,1,1").unwrap());
    text
}

/// Returns the grain that a file is imported as, or the kind of its error.
fn outcome(text: &str) -> String {
    let read_whole = |mut reader: files::CandleReader| loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => break Ok(reader),
            Err(error) => break Err(error),
        }
    };
    let read = open("a.csv", text.as_bytes(), &options()).and_then(|table| match table {
        Table::Candles(reader) => read_whole(reader),
        other => panic!("{other:?}"),
    });
    match read {
        Ok(reader) => match reader.judged().by {
            JudgedBy::Default { perhaps: Some(perhaps) } => {
                format!("{} (or {perhaps})", reader.grain().as_str())
            }
            _ => reader.grain().as_str().to_owned(),
        },
        Err(error) => {
            let message = error.problem.to_string();
            match message.strip_prefix("looks like ").and_then(|rest| rest.split(' ').next()) {
                Some(name) => format!("refused: {name}"),
                None if message.contains("mixed") => "refused: mixed".to_owned(),
                None if message.contains("the same time of day") => "refused: daily?".to_owned(),
                None => format!("refused: {message}"),
            }
        }
    }
}

fn dates(venue: &Venue, from: Date, through: Date) -> Vec<Date> {
    venue.calendar().days(from, through).map(|(date, _)| date).collect()
}

/// The date with which a vendor stamps a candle that is longer than a day.
#[derive(Clone, Copy, Debug)]
enum Place {
    First,
    FirstTrading,
    LastTrading,
    Last,
}

/// Returns the stamps of a file with candles of `span`, over `years` years.
fn spans(venue: &Venue, span: Span, place: Place, years: i16) -> Vec<String> {
    let all = dates(venue, Date::constant(2024 - years, 1, 1), Date::constant(2023, 12, 31));
    let mut by_span: BTreeMap<Date, (Date, Date)> = BTreeMap::new();
    for date in all {
        by_span.entry(span.floor(date)).and_modify(|(_, last)| *last = date).or_insert((date, date));
    }
    let last_day = |floor: Date| {
        let longest = i64::try_from(span.days_max()).unwrap();
        span.floor(floor.checked_add(DateSpan::new().days(longest)).unwrap()).yesterday().unwrap()
    };
    by_span
        .into_iter()
        .map(|(floor, (first, last))| match place {
            Place::First => floor,
            Place::FirstTrading => first,
            Place::LastTrading => last,
            Place::Last => last_day(floor),
        })
        .map(|date| date.to_string())
        .collect()
}

/// Returns the stamps of a file with candles of `minutes` minutes over `days` trading days: the
/// start of each candle, or its end if `is_end`.
fn clocks(venue: &Venue, minutes: u16, days: usize, is_end: bool) -> Vec<String> {
    let length = Minutes::new(minutes).unwrap();
    let mut stamps = Vec::new();
    // Includes half days and holidays around the end of the year.
    for date in dates(venue, Date::constant(2023, 12, 18), Date::constant(2024, 6, 28)).into_iter().take(days)
    {
        let mut last = None;
        for (time, slot) in venue.day(date).unwrap().minutes() {
            let (start, end) = slot.bucket(length, time);
            if slot.segment.session == Session::Intraday && last != Some(start) {
                last = Some(start);
                let stamp = if is_end { end } else { start };
                let (date, seconds) = venue.zone().local(stamp);
                stamps.push(format!("{date} {:02}:{:02}:00", seconds / 3600, seconds / 60 % 60));
            }
        }
    }
    stamps
}

/// A defect: its name, and a function that applies it to the stamps.
type Oddity = (&'static str, fn(Vec<String>, &mut Rng) -> Vec<String>);

const ODDITIES: [Oddity; 6] = [
    ("plain", |stamps, _| stamps),
    ("newest first", |stamps, _| stamps.into_iter().rev().collect()),
    ("a third missing", |stamps, rng| stamps.into_iter().filter(|_| rng.below(3) > 0).collect()),
    ("some twice", |stamps, rng| {
        stamps
            .into_iter()
            .flat_map(|s| if rng.below(8) == 0 { vec![s.clone(), s] } else { vec![s] })
            .collect()
    }),
    ("one stray row", |mut stamps, rng| {
        let at = rng.below(stamps.len());
        let stray = nearby(&stamps[at], rng);
        stamps.push(stray);
        stamps
    }),
    ("stray rows", |stamps, rng| {
        let mut all = stamps.clone();
        for stamp in stamps {
            if rng.below(12) == 0 {
                all.push(nearby(&stamp, rng));
            }
        }
        all
    }),
];

/// Returns another minute of the same hour, or another day of the same month.
fn nearby(stamp: &str, rng: &mut Rng) -> String {
    match stamp.split_once(':') {
        Some((hour, _)) => format!("{hour}:{:02}:00", rng.below(60)),
        None => format!("{}{:02}", &stamp[..8], 1 + rng.below(28)),
    }
}

/// Formats a line for each file: `period place/stamp: outcome of each oddity`.
fn table(rows: Vec<(String, Period, Vec<String>)>, symbol: &str) -> String {
    let mut table = String::new();
    for (name, period, stamps) in rows {
        let mut outcomes: Vec<String> = Vec::new();
        for (number, (oddity, make_odd)) in ODDITIES.iter().enumerate() {
            let found = outcome(&text(symbol, &make_odd(stamps.clone(), &mut Rng(number as u64))));
            let base = if period.is_clock() { "1m" } else { "1d" };
            let is_base = period == Period::MINUTE || period == Period::DAY;
            // A longer period must never be imported as one-minute or daily candles.
            assert!(is_base || !found.starts_with(base), "{symbol} {name}, {oddity}: taken for {base}");
            assert!(!is_base || found == base, "{symbol} {name}, {oddity}: {found}");
            let own = Grain::of_rows(period).filter(|grain| grain.is_own()).map(Grain::as_str);
            assert!(
                !found.starts_with("own") || Some(found.as_str()) == own,
                "{symbol} {name}, {oddity}: {found}"
            );
            outcomes.push(found);
        }
        outcomes.dedup();
        writeln!(table, "{name}: {}", outcomes.join(", ")).unwrap();
    }
    table
}

#[test]
fn daily_and_longer_periods_are_inferred_in_every_market() {
    let venues = venues();
    let mut all = String::new();
    for (market, symbol) in MARKETS {
        let venue = venues.of(market);
        let mut rows = vec![("day".to_owned(), Period::DAY, spans(venue, Span::Day, Place::First, 3))];
        for (span, years) in [(Span::Week, 3), (Span::Month, 10), (Span::Quarter, 15), (Span::Year, 15)] {
            for place in [Place::First, Place::FirstTrading, Place::LastTrading, Place::Last] {
                let period = Period::Calendar(span);
                rows.push((format!("{period} {place:?}"), period, spans(venue, span, place, years)));
            }
        }
        let found = table(rows, symbol);
        if all.is_empty() {
            all = found;
        } else {
            assert_eq!(found, all, "{symbol}");
        }
    }
    expect![[r#"
        day: 1d
        week First: refused: weekly
        week FirstTrading: refused: weekly
        week LastTrading: refused: weekly
        week Last: refused: weekly
        month First: refused: monthly
        month FirstTrading: refused: monthly
        month LastTrading: refused: monthly
        month Last: refused: monthly
        quarter First: refused: quarterly
        quarter FirstTrading: refused: quarterly
        quarter LastTrading: refused: quarterly
        quarter Last: refused: quarterly
        year First: refused: yearly
        year FirstTrading: refused: yearly
        year LastTrading: refused: yearly
        year Last: refused: yearly
    "#]]
    .assert_eq(&all);
}

#[test]
fn minute_periods_are_inferred_in_every_market() {
    let venues = venues();
    for (market, symbol) in MARKETS {
        let venue = venues.of(market);
        let mut rows = Vec::new();
        for period in Period::all() {
            let Period::Clock(minutes) = period else { continue };
            // Enough days for the longest period, which has two candles a day in Shanghai.
            let days = if minutes.get() < 60 { 12 } else { 40 };
            for (name, is_end) in [("start", false), ("end", true)] {
                rows.push((format!("{period} {name}"), period, clocks(venue, minutes.get(), days, is_end)));
            }
        }
        let found = table(rows, symbol);
        let expected = match market {
            Market::Hk => expect![[r#"
                1m start: 1m
                1m end: 1m
                2m start: refused: 2-minute
                2m end: refused: 2-minute
                3m start: refused: 3-minute
                3m end: refused: 3-minute
                5m start: own5m
                5m end: own5m
                10m start: refused: 10-minute
                10m end: refused: 10-minute
                15m start: own15m
                15m end: own15m
                20m start: refused: 20-minute
                20m end: refused: 20-minute
                30m start: own30m
                30m end: own30m
                45m start: refused: 45-minute
                45m end: refused: 45-minute, refused: 15-minute, refused: 45-minute, refused: 15-minute
                60m start: own60m
                60m end: refused: 30-minute
                120m start: refused: 120-minute, refused: 30-minute, refused: 120-minute, refused: 30-minute
                120m end: refused: mixed
                180m start: refused: 30-minute, refused: 15-minute
                180m end: refused: mixed
                240m start: refused: 30-minute, refused: 15-minute
                240m end: refused: 241-minute
            "#]],
            Market::Us => expect![[r#"
                1m start: 1m
                1m end: 1m
                2m start: refused: 2-minute
                2m end: refused: 2-minute
                3m start: refused: 3-minute
                3m end: refused: 3-minute
                5m start: own5m
                5m end: own5m
                10m start: refused: 10-minute
                10m end: refused: 10-minute
                15m start: own15m
                15m end: own15m
                20m start: refused: 20-minute
                20m end: refused: 20-minute
                30m start: own30m
                30m end: own30m
                45m start: refused: 45-minute
                45m end: refused: 45-minute
                60m start: own60m
                60m end: own60m
                120m start: refused: 120-minute
                120m end: refused: 120-minute, refused: 30-minute, refused: 120-minute, refused: 30-minute
                180m start: refused: 180-minute
                180m end: refused: 30-minute
                240m start: refused: 240-minute
                240m end: refused: 30-minute, refused: 15-minute
            "#]],
            Market::Cn => expect![[r#"
                1m start: 1m
                1m end: 1m
                2m start: refused: 2-minute
                2m end: refused: 2-minute
                3m start: refused: 3-minute
                3m end: refused: 3-minute
                5m start: own5m
                5m end: own5m
                10m start: refused: 10-minute
                10m end: refused: 10-minute
                15m start: own15m
                15m end: own15m
                20m start: refused: 20-minute
                20m end: refused: 20-minute
                30m start: own30m
                30m end: own30m
                45m start: refused: 45-minute, refused: 15-minute
                45m end: refused: 15-minute
                60m start: own60m
                60m end: own60m, refused: mixed
                120m start: refused: 120-minute
                120m end: refused: mixed
                180m start: refused: 120-minute
                180m end: refused: 211-minute
                240m start: refused: 120-minute
                240m end: refused: 211-minute
            "#]],
        };
        expected.assert_eq(&found);
    }
}

#[test]
fn thin_trading_is_not_mistaken_for_a_longer_period() {
    let venues = venues();
    for (market, symbol) in MARKETS {
        let venue = venues.of(market);
        let minutes = clocks(venue, 1, 60, false);
        let days = spans(venue, Span::Day, Place::First, 10);
        for (stamps, grain) in [(minutes, "1m"), (days, "1d")] {
            for one_in in [2, 3, 5, 7, 10, 15, 30, 100, 300] {
                for seed in 0..6 {
                    let mut rng = Rng(seed * 1000 + one_in as u64);
                    let thin: Vec<String> =
                        stamps.iter().filter(|_| rng.below(one_in) == 0).cloned().collect();
                    if thin.len() > 1 {
                        let found = outcome(&text(symbol, &thin));
                        // A few rows may get a note that they look like a longer period.
                        assert!(
                            found.starts_with(grain),
                            "{found}: {symbol}, one in {one_in}, seed {seed}, {} rows",
                            thin.len()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_few_rows_are_imported_with_a_note_about_their_period() {
    let venues = venues();
    let venue = venues.of(Market::Us);
    let mut table = String::new();
    let kinds = [
        ("1m", clocks(venue, 1, 2, false)),
        ("5m", clocks(venue, 5, 2, false)),
        ("15m", clocks(venue, 15, 2, false)),
        ("60m", clocks(venue, 60, 2, false)),
        ("day", spans(venue, Span::Day, Place::First, 1)),
        ("week", spans(venue, Span::Week, Place::LastTrading, 1)),
        ("month", spans(venue, Span::Month, Place::LastTrading, 1)),
    ];
    for (name, stamps) in kinds {
        let outcomes: Vec<String> = (1..=6).map(|rows| outcome(&text("AAPL.US", &stamps[..rows]))).collect();
        writeln!(table, "{name}: {}", outcomes.join(" | ")).unwrap();
    }
    expect![[r#"
        1m: 1m | 1m | 1m | 1m | 1m | 1m
        5m: 1m | 1m (or 5m) | 1m (or 5m) | 1m (or 5m) | own5m | own5m
        15m: 1m | 1m (or 15m) | 1m (or 15m) | own15m | own15m | own15m
        60m: 1m | 1m (or 60m) | 1m (or 60m) | own60m | own60m | own60m
        day: 1d | 1d | 1d | 1d | 1d | 1d
        week: 1d | 1d (or week) | 1d (or week) | refused: weekly | refused: weekly | refused: weekly
        month: 1d | 1d (or month) | refused: monthly | refused: monthly | refused: monthly | refused: monthly
    "#]]
    .assert_eq(&table);
}

/// The last candle of a weekly file that was downloaded during the week may be stamped with any day
/// of that week.
#[test]
fn an_unfinished_week_does_not_suppress_the_note() {
    let venues = venues();
    for (market, symbol) in MARKETS {
        let days = spans(venues.of(market), Span::Day, Place::First, 1);
        let weeks = spans(venues.of(market), Span::Week, Place::FirstTrading, 1);
        for rows in 2..=4 {
            let (whole, last) = (&weeks[10..10 + rows], &weeks[9 + rows]);
            let running = days.iter().filter(|day| *day > last && **day < weeks[10 + rows]);
            for day in running {
                let stamps = [whole, std::slice::from_ref(day)].concat();
                let found = outcome(&text(symbol, &stamps));
                assert_eq!(found, "1d (or week)", "{symbol} {stamps:?}");
                // Two symbols, each with an unfinished candle.
                let both = text(symbol, &stamps) + text("5.HK", &stamps).split_once('\n').unwrap().1;
                assert_ne!(outcome(&both), "1d", "{symbol} {stamps:?}, and another");
            }
        }
    }
}

/// Two files joined end to end are refused as mixed, regardless of their sizes.
#[test]
fn daily_candles_joined_to_many_weekly_candles_are_refused() {
    let venues = venues();
    for (market, symbol) in MARKETS {
        let venue = venues.of(market);
        let days = spans(venue, Span::Day, Place::First, 1);
        for place in [Place::First, Place::FirstTrading, Place::LastTrading, Place::Last] {
            let weeks: Vec<String> = spans(venue, Span::Week, place, 7)
                .into_iter()
                .filter(|stamp| stamp.as_str() < "2023")
                .collect();
            for count in [5, 10, 60, 200] {
                for stamps in [[&weeks, &days[..count]].concat(), [&days[..count], &weeks].concat()] {
                    assert_eq!(
                        outcome(&text(symbol, &stamps)),
                        "refused: mixed",
                        "{symbol} {place:?} {count}"
                    );
                }
            }
        }
    }
}

#[test]
fn minute_candles_joined_to_many_longer_candles_are_refused() {
    let venues = venues();
    for (market, symbol) in MARKETS {
        let venue = venues.of(market);
        let minutes = clocks(venue, 1, 1, false);
        for length in [2, 5, 15] {
            let longer =
                clocks(venue, length, 40, false).into_iter().filter(|stamp| !minutes.contains(stamp));
            let longer: Vec<String> = longer.skip(100).collect();
            for count in [20, 60] {
                let stamps = [&minutes[..count], &longer].concat();
                assert_eq!(outcome(&text(symbol, &stamps)), "refused: mixed", "{symbol} {length} {count}");
            }
        }
    }
}

/// Files with two periods for one symbol, or with symbols of different periods, are refused
/// regardless of the order of their rows.
#[test]
fn two_periods_in_one_file_are_refused() {
    let venues = venues();
    for (market, symbol) in MARKETS {
        let venue = venues.of(market);
        let days = spans(venue, Span::Day, Place::First, 1);
        let (minutes, fives) = (clocks(venue, 1, 4, false), clocks(venue, 5, 20, false));
        let hours = clocks(venue, 60, 60, false);
        let older_weeks: Vec<String> = spans(venue, Span::Week, Place::LastTrading, 3)
            .into_iter()
            .filter(|s| s.as_str() < "2023")
            .collect();
        let mut pairs = vec![
            ("weeks before days", older_weeks, days.clone()),
            ("minutes within fives", fives[..200].to_vec(), minutes.clone()),
            ("fives behind minutes", minutes.clone(), fives[fives.len() / 2..].to_vec()),
            ("hours behind minutes", minutes, hours[hours.len() / 2..].to_vec()),
        ];
        for place in [Place::First, Place::FirstTrading, Place::LastTrading, Place::Last] {
            pairs.push(("weeks among days", spans(venue, Span::Week, place, 1), days.clone()));
            pairs.push(("months among days", spans(venue, Span::Month, place, 1), days.clone()));
        }
        for (name, longer, shorter) in pairs {
            for stamps in [[longer.clone(), shorter.clone()], [shorter, longer]] {
                let found = outcome(&text(symbol, &stamps.concat()));
                assert!(found.starts_with("refused: "), "{symbol}, {name}: {found}");
            }
        }
    }
}

#[test]
fn symbols_are_judged_separately() {
    let venues = venues();
    let venue = venues.of(Market::Us);
    let body = |symbol: &str, stamps: &[String]| text(symbol, stamps).split_once('\n').unwrap().1.to_owned();
    let (minutes, fives) = (clocks(venue, 1, 2, false), clocks(venue, 5, 4, false));
    let days = spans(venue, Span::Day, Place::First, 1);
    let weeks = spans(venue, Span::Week, Place::LastTrading, 1);
    for (shorter, longer) in [(&minutes, &fives), (&days, &weeks)] {
        let both = text("AAPL.US", shorter) + &body("MSFT.US", longer);
        let message = refusal_of("a.csv", both.as_bytes(), &options());
        assert!(message.contains("mixed in the rows of MSFT.US"), "{message}");
    }
    // Trades only at the open and at 15:30 are thin trading, not half-hour candles.
    let auctions: Vec<String> = clocks(venue, 1, 60, false)
        .into_iter()
        .filter(|stamp| stamp.ends_with(" 09:30:00") || stamp.ends_with(" 15:30:00"))
        .collect();
    assert_eq!(outcome(&(text("AAPL.US", &minutes) + &body("THIN.US", &auctions))), "1m");
}

/// The sample is the first 10,000 rows; later rows are checked as well.
#[test]
fn a_change_of_period_after_the_sample_is_refused() {
    let venues = venues();
    let venue = venues.of(Market::Us);
    let mut stamps = clocks(venue, 1, 100, false);
    assert!(stamps.len() > 30_000);
    assert_eq!(outcome(&text("AAPL.US", &stamps)), "1m");
    stamps.truncate(30_000);
    let rest: Vec<String> =
        clocks(venue, 5, 120, false).into_iter().filter(|stamp| stamp > stamps.last().unwrap()).collect();
    stamps.extend(rest);
    let message = refusal_of("a.csv", text("AAPL.US", &stamps).as_bytes(), &options());
    assert!(message.contains("1-minute and 5-minute candles are mixed in the rows of AAPL.US"), "{message}");
}

fn seconds_apart(step: usize) -> String {
    let stamps: Vec<String> = (0..600)
        .step_by(step)
        .map(|second| format!("2024-01-02 09:{:02}:{:02}", 30 + second / 60, second % 60))
        .collect();
    outcome(&text("AAPL.US", &stamps))
}

#[test]
fn rows_that_are_seconds_apart_are_refused() {
    let message =
        "refused: rows are 10 seconds apart; the shortest period that can be imported is one minute";
    assert_eq!(seconds_apart(10), message);
    assert_eq!(seconds_apart(30), message.replace("10", "30"));
    assert_eq!(seconds_apart(60), "1m");
}

#[test]
fn periods_are_inferred_around_the_clock_and_at_one_time_of_day() {
    let _: &Venues = &venues();
    let mut stamps = Vec::new();
    for day in 2..12 {
        (0..24).for_each(|hour| stamps.push(format!("2024-01-{day:02} {hour:02}:00:00")));
    }
    for symbol in ["AAPL.US", "700.HK"] {
        assert_eq!(outcome(&text(symbol, &stamps)), "own60m", "{symbol}");
    }
    let venues = venues();
    for (market, symbol) in MARKETS {
        let weeks = spans(venues.of(market), Span::Week, Place::LastTrading, 2);
        let weeks: Vec<String> = weeks.into_iter().map(|date| format!("{date} 16:00:00")).collect();
        assert_eq!(outcome(&text(symbol, &weeks)), "refused: weekly", "{symbol}");
        let days = spans(venues.of(market), Span::Day, Place::First, 1);
        let days: Vec<String> = days.into_iter().map(|date| format!("{date} 16:00:00")).collect();
        assert_eq!(outcome(&text(symbol, &days)), "refused: daily?", "{symbol}");
    }
}
