//! R1 to R3: tests that answers in a replay contain no data from the future. The first tests are
//! tables of answers. The last test is a property test: deleting all future data from a copy of the
//! store changes no answer to any query.

use std::sync::OnceLock;

use crate::common::{
    COARSE, Cut, Rng, Shop, at, candle, date, known_minutes, question_of, symbol, unfinished_day, venue,
};
use crate::page_cache::Plain;
use crate::reference::{STRETCHES, World, random_query, world};
use history::{Adjust, AsOf, Expected, HistoryError, PageCache, Plan, Sessions, coverage, known_part};
use market::{Candle, Candles, Floors, Market, Price, Symbol, Timestamp, Turnover, Venue};

/// Returns a store in which each value shows its origin. The candle of minute n of a day opens at
/// 100 + n, has its high 2 above and its low 1 below the open, closes 1 above the open, and has a
/// volume of 10. Daily candles open at 100, close at 900 and have a volume of 90,000.
pub(crate) fn numbered_shop() -> &'static Shop {
    static SHOP: OnceLock<Shop> = OnceLock::new();
    SHOP.get_or_init(|| {
        let shop = Shop::new();
        for (name, from, through, daily_through) in [
            ("5.HK", "2025-12-22", "2025-12-24", "2025-12-24"),
            // The daily candles of 6.HK end two days before its one-minute candles.
            ("6.HK", "2025-12-22", "2025-12-24", "2025-12-22"),
            ("600000.SH", "2026-11-11", "2026-11-12", "2026-11-12"),
            ("A.US", "2025-11-26", "2025-11-28", "2025-11-28"),
        ] {
            let security = symbol(name);
            let venue = venue(security.market());
            let (mut minutes, mut days) = (Candles::default(), Candles::default());
            for (day, _) in venue.calendar().days(date(from), date(through)) {
                for (number, (time, slot)) in venue.day(day).unwrap().minutes().enumerate() {
                    minutes.push(numbered(candle(time, slot.segment.session, 0, 10), 100 + number as i64));
                }
                let midnight = venue.zone().midnight(day);
                let day = numbered(candle(midnight, market::Session::Intraday, 0, 90_000), 100);
                days.push(Candle { high: price(902), close: price(900), ..day });
            }
            let stored =
                days.time.partition_point(|time| *time <= venue.zone().midnight(date(daily_through)).0);
            days.truncate(stored);
            shop.stock(&security, &minutes, &days, COARSE);
        }
        shop
    })
}

pub(crate) fn price(units: i64) -> Price {
    Price(units * 1_000_000)
}

fn numbered(candle: Candle, open: i64) -> Candle {
    let turnover = Turnover(i128::from(candle.volume));
    Candle {
        open: price(open),
        high: price(open + 2),
        low: price(open - 1),
        close: price(open + 1),
        turnover,
        ..candle
    }
}

/// Formats ` open high low close ×volume`.
fn describe(candle: &Candle) -> String {
    let units = |price: Price| price.0 / 1_000_000;
    let Candle { open, high, low, close, volume, turnover, .. } = *candle;
    assert_eq!(turnover.0, i128::from(volume), "turnover follows volume here");
    format!(" {} {} {} {} ×{volume};", units(open), units(high), units(low), units(close))
}

fn check(now: &str, question: &str, expected: &str) {
    let found = numbered_shop().ask_as_of(AsOf::Replay, now, question, describe);
    assert_eq!(found, expected, "{question} at {now}");
}

/// T1 of the engine's worked examples. A test in `trading` covers the mark at the same instant.
#[test]
fn t1_candles_in_the_second_minute_of_a_day_contain_no_later_data() {
    let (shop, security) = (Shop::new(), symbol("700.HK"));
    let candles = |rows: &[(&str, [i64; 4], i64)]| -> Candles {
        let one = |(local, [open, high, low, close], volume): &(&str, [i64; 4], i64)| {
            let plain = numbered(candle(at(Market::Hk, local), market::Session::Intraday, 0, *volume), *open);
            Candle { high: price(*high), low: price(*low), close: price(*close), ..plain }
        };
        rows.iter().map(one).collect()
    };
    let minutes = candles(&[
        ("2026-03-18 09:30", [300, 302, 299, 301], 10_000),
        ("2026-03-18 09:31", [301, 303, 300, 302], 8_000),
    ]);
    let days = candles(&[("2026-03-18", [300, 310, 295, 308], 900_000)]);
    shop.stock(&security, &minutes, &days, COARSE);
    let ask = |question: &str| shop.ask_as_of(AsOf::Replay, "2026-03-18 09:31:20", question, describe);
    assert_eq!(ask("700.HK 1m {0, -, -, 1}"), "2026-03-18 09:31 301 301 301 301 ×0;");
    assert_eq!(ask("700.HK day {0, -, -, 1}"), "2026-03-18 300 302 299 301 ×10000;");
}

#[test]
fn r1_a_running_minute_shows_only_its_open() {
    let minutes = "5.HK 1m {0, -, -, 2}";
    check("2025-12-22 09:29:59", minutes, "error: 5.HK is known, but has no candles");
    check("2025-12-22 09:30:00", minutes, "2025-12-22 09:30 100 100 100 100 ×0;");
    check("2025-12-22 09:30:59", minutes, "2025-12-22 09:30 100 100 100 100 ×0;");
    check("2025-12-22 09:31:00", minutes, "2025-12-22 09:30 100 102 99 101 ×10; 09:31 101 101 101 101 ×0;");
    check("2025-12-22 09:31:20", minutes, "2025-12-22 09:30 100 102 99 101 ×10; 09:31 101 101 101 101 ×0;");
    // Longer periods also show only the open of the running minute, whether they are folded from
    // one-minute candles or from a roll-up.
    for period in ["2m", "5m", "15m", "30m", "60m", "240m"] {
        check(
            "2025-12-22 09:31:20",
            &format!("5.HK {period} {{0, -, -, 1}}"),
            "2025-12-22 09:30 100 102 99 101 ×10;",
        );
    }
    check("2025-12-22 09:34:59", "5.HK 5m {0, -, -, 1}", "2025-12-22 09:30 100 105 99 104 ×40;");
    check("2025-12-22 09:35:00", "5.HK 5m {0, -, -, 1}", "2025-12-22 09:35 105 105 105 105 ×0;");
    // A query for the running minute or for its whole day reveals no more than that.
    check("2025-12-22 09:31:20", "5.HK 1m {1, 20251222, 0931, 9}", "2025-12-22 09:31 101 101 101 101 ×0;");
    check("2025-12-22 09:31:20", "5.HK 60m [20251222, 20251224]", "2025-12-22 09:30 100 102 99 101 ×10;");
    // At lunch no minute is running, and the last minute of the morning is complete.
    check("2025-12-22 12:00:00", "5.HK 60m {0, -, -, 1}", "2025-12-22 11:30 220 251 219 250 ×300;");
}

#[test]
fn r1_running_minutes_show_only_their_open_in_every_lane() {
    check("2025-11-26 04:00:30", "A.US 1m +ext {0, -, -, 1}", "2025-11-26 04:00 580 580 580 580 ×0;");
    check("2025-11-26 16:00:30", "A.US 1m +ext {0, -, -, 1}", "2025-11-26 16:00 1300 1300 1300 1300 ×0;");
    check("2025-11-26 16:00:30", "A.US 1m {0, -, -, 1}", "2025-11-26 15:59 1299 1301 1298 1300 ×10;");
    check("2025-11-27 20:10:30", "A.US 60m +all {0, -, -, 1}", "2025-11-27 20:00 100 111 99 110 ×100;");
    check("2025-11-27 20:00:30", "A.US 60m +all {0, -, -, 1}", "2025-11-27 20:00 100 100 100 100 ×0;");
    // On a half day, regular hours end at 13:00.
    check("2025-11-28 12:59:30", "A.US 1m {0, -, -, 1}", "2025-11-28 12:59 1119 1119 1119 1119 ×0;");
    check("2025-11-28 13:00:00", "A.US 1m {0, -, -, 1}", "2025-11-28 12:59 1119 1121 1118 1120 ×10;");
}

#[test]
fn r2_a_closing_candle_is_hidden_until_its_tail_is_over() {
    let last = "5.HK 1m {0, -, -, 1}";
    for now in ["2025-12-22 16:00:00", "2025-12-22 16:00:59", "2025-12-22 16:01:00", "2025-12-22 16:09:59"] {
        check(now, last, "2025-12-22 15:59 429 431 428 430 ×10;");
        check(now, "5.HK 120m {0, -, -, 1}", "2025-12-22 15:00 370 431 369 430 ×600;");
        check(now, "5.HK 60m {0, -, -, 1}", "2025-12-22 15:00 370 431 369 430 ×600;");
    }
    check("2025-12-22 16:10:00", last, "2025-12-22 16:00 430 432 429 431 ×10;");
    check("2025-12-22 16:10:00", "5.HK 120m {0, -, -, 1}", "2025-12-22 15:00 370 432 369 431 ×610;");
    check("2025-12-22 16:10:00", "5.HK 60m {0, -, -, 1}", "2025-12-22 16:00 430 432 429 431 ×10;");
    // On a half day, the closing candle is in the last bucket of the morning.
    check("2025-12-24 12:09:59", "5.HK 60m {0, -, -, 1}", "2025-12-24 11:30 220 251 219 250 ×300;");
    check("2025-12-24 12:10:00", "5.HK 60m {0, -, -, 1}", "2025-12-24 11:30 220 252 219 251 ×310;");
    check("2026-11-12 15:09:59", "600000.SH 1m {0, -, -, 1}", "2026-11-12 14:59 339 341 338 340 ×10;");
    check("2026-11-12 15:10:00", "600000.SH 1m {0, -, -, 1}", "2026-11-12 15:00 340 342 339 341 ×10;");
}

#[test]
fn r3_an_unfinished_day_is_folded_from_its_minutes() {
    let day = "5.HK day {0, -, -, 2}";
    let monday = "2025-12-22 100 902 99 900 ×90000;";
    check("2025-12-22 00:00:00", day, "error: 5.HK is known, but has no candles");
    // The current minute is part of the day, but only its open.
    check("2025-12-22 09:30:20", day, "2025-12-22 100 100 100 100 ×0;");
    check("2025-12-22 09:31:20", day, "2025-12-22 100 102 99 101 ×10;");
    check("2025-12-22 16:09:59", day, "2025-12-22 100 431 99 430 ×3300;");
    check("2025-12-22 16:10:00", day, monday);
    check("2025-12-23 00:00:00", day, monday);
    check("2025-12-23 09:31:20", day, &format!("{monday} 2025-12-23 100 102 99 101 ×10;"));
    check("2025-12-24 12:09:59", "5.HK day {0, -, -, 1}", "2025-12-24 100 251 99 250 ×1500;");
    check("2025-12-24 12:10:00", "5.HK day {0, -, -, 1}", "2025-12-24 100 902 99 900 ×90000;");
    check("2026-11-12 15:09:59", "600000.SH day {0, -, -, 1}", "2026-11-12 100 341 99 340 ×2400;");
    check("2026-11-12 15:10:00", "600000.SH day {0, -, -, 1}", "2026-11-12 100 902 99 900 ×90000;");
    // Daily candles contain only regular hours, without pre-market trades.
    check("2025-11-28 09:31:20", "A.US day {0, -, -, 1}", "2025-11-28 910 912 909 911 ×10;");
    check("2025-11-28 09:30:20", "A.US day [20251128, -]", "2025-11-28 910 910 910 910 ×0;");
    check("2025-11-28 12:59:59", "A.US day {0, -, -, 1}", "2025-11-28 910 1120 909 1119 ×2090;");
    check("2025-11-28 13:00:00", "A.US day {0, -, -, 1}", "2025-11-28 100 902 99 900 ×90000;");
}

#[test]
fn r3_longer_periods_combine_stored_daily_and_minute_candles() {
    for (period, stamp) in
        [("week", "2025-12-22"), ("month", "2025-12-01"), ("quarter", "2025-10-01"), ("year", "2025-01-01")]
    {
        let question = format!("5.HK {period} {{0, -, -, 1}}");
        check("2025-12-22 09:31:20", &question, &format!("{stamp} 100 102 99 101 ×10;"));
        check("2025-12-23 09:30:20", &question, &format!("{stamp} 100 902 99 100 ×90000;"));
        check("2025-12-23 09:31:20", &question, &format!("{stamp} 100 902 99 101 ×90010;"));
        check("2025-12-24 18:00:00", &question, &format!("{stamp} 100 902 99 900 ×270000;"));
    }
}

#[test]
fn r3_minute_candles_replace_a_missing_daily_candle() {
    let (monday, tuesday) = ("2025-12-22 100 902 99 900 ×90000;", "2025-12-23 100 432 99 431 ×3310;");
    for clock in [AsOf::Replay, AsOf::Live] {
        let check = |now: &str, question: &str, expected: &str| {
            let found = numbered_shop().ask_as_of(clock, now, question, describe);
            assert_eq!(found, expected, "{question} at {now}");
        };
        let days = "6.HK day {0, -, -, 2}";
        check(
            "2025-12-23 16:09:59",
            "6.HK day {0, -, -, 1}",
            match clock(Timestamp(0)) {
                AsOf::Replay(_) => "2025-12-23 100 431 99 430 ×3300;",
                AsOf::Live(_) => tuesday,
            },
        );
        check("2025-12-23 16:10:00", days, &format!("{monday} {tuesday}"));
        check("2025-12-23 23:59:59", days, &format!("{monday} {tuesday}"));
        check("2025-12-24 00:00:00", days, monday);
        // An unfinished week, month or year includes Tuesday, whose daily candle is not stored yet.
        for (period, stamp) in [("week", "2025-12-22"), ("month", "2025-12-01"), ("year", "2025-01-01")] {
            let question = format!("6.HK {period} {{0, -, -, 1}}");
            check("2025-12-23 18:00:00", &question, &format!("{stamp} 100 902 99 431 ×93310;"));
            check("2025-12-24 09:29:59", &question, &format!("{stamp} 100 902 99 431 ×93310;"));
            let (close, volume) = match clock(Timestamp(0)) {
                AsOf::Replay(_) => (101, 93_320),
                AsOf::Live(_) => (102, 93_330),
            };
            check("2025-12-24 09:31:20", &question, &format!("{stamp} 100 902 99 {close} ×{volume};"));
        }
    }
}

#[test]
fn a_live_clock_shows_all_stored_candles() {
    let live = |now: &str, question: &str| numbered_shop().ask_as_of(AsOf::Live, now, question, describe);
    assert_eq!(live("2025-12-22 09:30:20", "5.HK 1m {0, -, -, 1}"), "2025-12-22 09:30 100 102 99 101 ×10;");
    assert_eq!(live("2025-12-22 16:00:20", "5.HK 1m {0, -, -, 1}"), "2025-12-22 16:00 430 432 429 431 ×10;");
    // An unfinished day is folded from its one-minute candles. Before the first minute, the stored
    // candle is served.
    let day = "5.HK day {0, -, -, 1}";
    assert_eq!(live("2025-12-22 09:29:59", day), "2025-12-22 100 902 99 900 ×90000;");
    assert_eq!(live("2025-12-22 09:31:20", day), "2025-12-22 100 103 99 102 ×20;");
    assert_eq!(live("2025-12-22 16:10:00", day), "2025-12-22 100 902 99 900 ×90000;");
    assert_eq!(live("2025-12-23 09:31:20", "5.HK week {0, -, -, 1}"), "2025-12-22 100 902 99 102 ×90020;");
}

/// Removes all future data: later candles, everything but the open of a running minute, a closing
/// candle whose tail is not over, an unfinished day, and actions that are not effective yet.
fn cut(world: &World, venue: &Venue, now: Timestamp) -> World {
    let today = venue.zone().date(now);
    let unfinished = unfinished_day(venue, now).map(|day| venue.zone().midnight(day));
    let is_over = |day: &&Candle| day.time <= now && Some(day.time) != unfinished;
    World {
        minutes: known_minutes(venue, &world.minutes, now),
        days: world.days.iter().filter(is_over).copied().collect(),
        actions: world.actions.iter().filter(|action| action.ex_date <= today).cloned().collect(),
    }
}

pub(crate) fn shop_of(world: &World, security: &Symbol, cut: Cut) -> Shop {
    let shop = Shop::new();
    let columns = |list: &[Candle]| list.iter().copied().collect::<Candles>();
    shop.stock(security, &columns(&world.minutes), &columns(&world.days), cut);
    shop.act(security, &world.actions);
    shop
}

/// Returns a random instant within the data, close to the instants at which candles become visible.
pub(crate) fn busy_now(rng: &mut Rng, venue: &Venue, world: &World) -> Timestamp {
    let after = *rng.pick(&[0, 1, 20, 59, 60, 61, 300, 599, 600, 601, 3600]);
    let all: Vec<i64> = world.minutes.iter().chain(&world.days).map(|c| c.time.0).collect();
    let day = venue.zone().midnight(venue.zone().date(Timestamp(*rng.pick(&all)))).0;
    let hours = [0, 34_200, 43_200, 46_800, 54_000, 57_600, 72_000];
    match rng.below(3) {
        0 => Timestamp(day + rng.pick(&hours) + after),
        _ => Timestamp(rng.pick(&all) + after),
    }
}

/// Formats the answers to all other kinds of queries about a security.
fn surroundings(shop: &Shop, security: &Symbol, as_of: AsOf) -> String {
    let venue = venue(security.market());
    let reader = &mut shop.store.reader().unwrap();
    let today = venue.zone().date(as_of.now());
    let from = today.checked_sub(market::DateSpan::new().days(20)).unwrap();
    let through = today.checked_add(market::DateSpan::new().days(20)).unwrap();
    let has = format!("{:?}", shop.history.has_candles(reader, security, as_of));
    let covered = format!("{:?}", coverage(&shop.history, reader, security, (None, None), as_of));
    let quote = format!("{:?}", shop.history.quote(reader, security, Sessions::All, Floors::NONE, as_of));
    let states = format!("{:?}", Expected::of(venue, (from, through), as_of).states(reader, security));
    let snapshot = reader.snapshot().unwrap();
    let mut series = String::new();
    for info in snapshot.series_of(security).unwrap() {
        if let Some(known) = known_part(&snapshot, venue, info, as_of).unwrap() {
            series += &format!("{} {} {}..={}\n", known.series, known.rows, known.first, known.last);
        }
    }
    [has, covered, quote, states, series].join("\n")
}

/// Returns the candles of a query, or the error.
fn query_all(shop: &Shop, query: &history::Query, as_of: AsOf) -> Result<Vec<Candle>, String> {
    match shop.candles(query, as_of) {
        Ok(answer) => Ok(answer.candles.iter().collect()),
        Err(error @ (HistoryError::NoCandles(_) | HistoryError::UnknownSecurity(_))) => {
            Err(error.to_string())
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn deleting_future_data_changes_no_answer() {
    let (mut answered, mut cached) = (0, 0);
    for seed in 0..30u64 {
        let mut rng = Rng(seed ^ 0xC10C);
        let (market, name, from, through) = STRETCHES[seed as usize % STRETCHES.len()];
        let (security, venue) = (symbol(name), venue(market));
        let whole = world(&mut rng, market, date(from), date(through));
        if whole.minutes.is_empty() && whole.days.is_empty() {
            continue;
        }
        let finely = Cut { block_rows: *rng.pick(&[3, 17, 700]), page_rows: *rng.pick(&[1, 5, 30]) };
        let shop = shop_of(&whole, &security, finely);
        let page_cache: PageCache<Plain> = PageCache::new(1 << 20);
        for _ in 0..3 {
            let now = busy_now(&mut rng, venue, &whole);
            let as_of = AsOf::Replay(now);
            let copy = shop_of(&cut(&whole, venue, now), &security, finely);
            assert_eq!(
                surroundings(&shop, &security, as_of),
                surroundings(&copy, &security, as_of),
                "seed {seed}, {now}"
            );
            for _ in 0..40 {
                let query = random_query(&mut rng, name, &whole);
                let found = query_all(&shop, &query, as_of);
                assert_eq!(found, query_all(&copy, &query, as_of), "seed {seed}, {now}: {query:?}");
                answered += usize::from(found.as_ref().is_ok_and(|candles| !candles.is_empty()));
                if query.adjust == Adjust::None {
                    cached +=
                        usize::from(check_page_cache(&page_cache, &shop, &query, as_of, found.as_deref()));
                }
            }
        }
    }
    // Guards against a test that only compares empty answers.
    assert!(answered > 2000 && cached > 50, "{answered} {cached}");
}

/// Checks that the page cache gives the expected answer. Returns `false` if it cannot answer the
/// plan, or if the answer is empty.
fn check_page_cache(
    page_cache: &PageCache<Plain>,
    shop: &Shop,
    query: &history::Query,
    as_of: AsOf,
    expected: Result<&[Candle], &String>,
) -> bool {
    let plan = Plan::of(query, venue(query.symbol.market()), as_of);
    let reader = &mut shop.store.reader().unwrap();
    let Some(slices) = page_cache.slices(reader, &shop.history, &plan, as_of).unwrap() else {
        return false;
    };
    let found = slices.pieces.concat();
    assert_eq!(found, expected.unwrap_or_default(), "{as_of:?}: {query:?}");
    let version = reader.version().unwrap();
    if let Some(again) = page_cache.slices_in_memory(version, &plan, as_of).unwrap() {
        assert_eq!(again.pieces.concat(), found, "{as_of:?}: {query:?}");
    }
    !found.is_empty()
}

#[test]
fn a_security_with_only_future_candles_has_no_candles() {
    let shop = numbered_shop();
    let now = at(Market::Hk, "2025-12-21 12:00");
    let query = question_of("5.HK day {0}").unwrap();
    assert_eq!(
        query_all(shop, &query, AsOf::Replay(now)),
        Err("5.HK is known, but has no candles".to_owned())
    );
    assert_eq!(query_all(shop, &query, AsOf::Live(now)), Ok(Vec::new()));
}

#[test]
fn the_last_price_comes_from_minute_candles_until_the_close() {
    let shop = numbered_shop();
    let last = |name: &str, local: &str| {
        let as_of = AsOf::Replay(at(Market::Hk, local));
        let reader = &mut shop.store.reader().unwrap();
        let last = shop.history.last_price(reader, &symbol(name), Floors::NONE, as_of).unwrap();
        last.map(|(price, _)| price.0 / 1_000_000)
    };
    for (local, wanted) in [
        ("2025-12-21 12:00", None),
        // Only the open of the running minute is visible.
        ("2025-12-23 09:31:30", Some(101)),
        ("2025-12-23 12:30", Some(250)),
        ("2025-12-23 20:00", Some(900)),
        ("2025-12-24 08:00", Some(900)),
    ] {
        assert_eq!(last("5.HK", local), wanted, "{local}");
    }
    assert_eq!((last("9.HK", "2025-12-23 20:00"), last("A.US", "2025-11-01")), (None, None));
}
