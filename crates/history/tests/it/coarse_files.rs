//! Tests candles of 5, 15, 30 and 60 minutes from files: they are stored unchanged, serve their own
//! period and its multiples, and are replaced by one-minute candles in each session that has any,
//! regardless of the import order.

use std::sync::atomic::AtomicBool;

use history::import::{Options, Outcome, Report, Sizes};
use history::{AsOf, DayState, Expected, PageCache, coverage};
use market::adjust::Amount;
use market::{Action, Candle, Candles, Grain, Market, Period, Price, Timestamp, Turnover};

use crate::common::{
    COARSE, Rng, Shop, at, candle, date, days, fold_naively, minutes, question_of, symbol, venue, volume,
};
use crate::page_cache::Plain;

/// A Saturday after all data.
const NOW: &str = "2026-08-01 12:00";

/// Returns one-minute candles with distinct prices and volumes.
fn priced(market: Market, from: &str, through: &str, seed: i64) -> Vec<Candle> {
    let of = |(n, candle): (usize, Candle)| {
        let n = n as i64 + seed;
        let open = 10_000_000 + n * 7_919 % 997 * 10_000;
        let volume = 1 + n % 13;
        Candle {
            open: Price(open),
            high: Price(open + 30_000),
            low: Price(open - 20_000),
            close: Price(open + 10_000),
            volume,
            turnover: Turnover(i128::from(open * volume)),
            ..candle
        }
    };
    minutes(market, from, through).iter().enumerate().map(of).collect()
}

fn folded(market: Market, grain: Grain, minutes: &[Candle]) -> Vec<Candle> {
    fold_naively(venue(market), grain.period(), minutes.iter().copied())
}

fn csv(name: &str, candles: &[Candle]) -> String {
    let line = |c: &Candle| {
        let [open, high, low, close] =
            [c.open, c.high, c.low, c.close].map(|price| price.text(6).to_string());
        format!("{name},{},{open},{high},{low},{close},{},{}\n", c.time.0, c.volume, c.turnover.text())
    };
    "symbol,time,open,high,low,close,volume,turnover\n".to_owned()
        + &candles.iter().map(line).collect::<String>()
}

/// Imports candles of a grain, in small blocks.
fn import(shop: &Shop, name: &str, grain: Grain, candles: &[Candle], again: bool) -> Report {
    let mut options = Options { again, ..Options::default() };
    options.read.period = Some(grain);
    let file = shop.file(&format!("{name}-{}.csv", grain.as_str()), csv(name, candles));
    let sizes = Sizes { flush_rows: 100_000, block_rows: 50 };
    let report = shop.import_with(&[file], &options, sizes, &AtomicBool::new(false)).remove(0);
    assert_eq!((&report.outcome, report.quarantined), (&Outcome::Imported, 0), "{report:?}");
    report
}

fn query_all(shop: &Shop, question: &str) -> Vec<Candle> {
    let query = question_of(question).unwrap();
    let now = at(query.symbol.market(), NOW);
    shop.candles(&query, AsOf::Live(now)).unwrap().candles.iter().collect()
}

#[test]
fn coarse_candles_give_the_same_answers_as_minute_candles() {
    for (market, name) in [(Market::Hk, "5.HK"), (Market::Us, "A.US"), (Market::Cn, "600000.SH")] {
        let (from, through) = ("2026-07-07", "2026-07-08");
        let fine = priced(market, from, through, 0);
        let daily = days(market, "2026-07-01", through);
        let split = Action { split: Amount::parse("3").unwrap(), ..Action::none(date("2026-07-08")) };
        let whole = Shop::new();
        whole.stock(&symbol(name), &fine.iter().copied().collect::<Candles>(), &daily, COARSE);
        whole.act(&symbol(name), std::slice::from_ref(&split));
        for grain in Grain::OWN {
            let shop = Shop::new();
            shop.stock(&symbol(name), &Candles::default(), &daily, COARSE);
            shop.act(&symbol(name), std::slice::from_ref(&split));
            import(&shop, name, grain, &folded(market, grain, &fine), false);
            for period in Period::all().filter(|period| period.is_clock()) {
                for more in ["whole +all", "whole", "whole +ext forward"] {
                    let question = format!("{name} {period} {more} [20260707, 20260708]");
                    let found = query_all(&shop, &question);
                    if period.own_sources().any(|own| own == grain) {
                        assert_eq!(found, query_all(&whole, &question), "{question} of {}", grain.as_str());
                        assert!(!found.is_empty(), "{question}");
                    } else {
                        assert_eq!(found, [], "{question} of {}", grain.as_str());
                    }
                }
            }
        }
    }
}

/// Monday has hourly candles; Tuesday has 5-minute and hourly candles; Wednesday has 5-minute and
/// one-minute candles; Thursday has one-minute candles.
#[test]
fn the_finest_candles_win_regardless_of_import_order() {
    let (market, name) = (Market::Hk, "5.HK");
    let fine = priced(market, "2026-07-08", "2026-07-09", 0);
    let fives = folded(market, Grain::Own5, &priced(market, "2026-07-07", "2026-07-08", 500));
    let hours = folded(market, Grain::Own60, &priced(market, "2026-07-06", "2026-07-07", 900));
    let of_day = |candles: &[Candle], day: &str| -> Vec<Candle> {
        let is_of = |candle: &&Candle| venue(market).zone().date(candle.time) == date(day);
        candles.iter().filter(is_of).copied().collect()
    };
    let files = [(Grain::Minute, &fine), (Grain::Own5, &fives), (Grain::Own60, &hours)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
        let shop = Shop::new();
        for (turn, file) in order.into_iter().chain(order).enumerate() {
            let (grain, candles) = files[file];
            let report = import(&shop, name, grain, candles, turn >= order.len());
            // The second import changes nothing.
            let counts = (report.added, report.replaced, report.unchanged);
            let all = candles.len() as u64;
            assert_eq!(counts, if turn < order.len() { (all, 0, 0) } else { (0, 0, all) });
        }
        for (period, own) in [("5m", 1), ("20m", 1), ("60m", 2), ("240m", 2), ("1m", 0)] {
            let mut sources = of_day(&fine, "2026-07-08");
            sources.extend(of_day(&fine, "2026-07-09"));
            if own >= 1 {
                sources = [of_day(&fives, "2026-07-07"), sources].concat();
            }
            if own == 2 {
                sources = [of_day(&hours, "2026-07-06"), sources].concat();
            }
            let expected = fold_naively(venue(market), period.parse().unwrap(), sources.into_iter());
            let whole = query_all(&shop, &format!("{name} {period} whole [20260706, 20260710]"));
            assert_eq!(whole, expected, "{period}, {order:?}");
            // Tests several counts, from both ends of the range.
            for count in [1, 2, 3, 7, 66, 67, 140, 1000] {
                let last = query_all(&shop, &format!("{name} {period} whole {{0, -, -, {count}}}"));
                assert_eq!(last, expected[expected.len().saturating_sub(count)..], "{period}, last {count}");
                let first = query_all(&shop, &format!("{name} {period} whole {{1, 20260701, -, {count}}}"));
                assert_eq!(first, expected[..count.min(expected.len())], "{period}, first {count}");
            }
        }
        // All candles remain stored, and only one-minute candles are rolled up.
        assert_eq!(shop.stored("5.HK/own5m").iter().collect::<Vec<_>>(), fives);
        assert_eq!(shop.stored("5.HK/own60m").iter().collect::<Vec<_>>(), hours);
        let rolled = fold_naively(venue(market), "60m".parse().unwrap(), fine.iter().copied());
        assert_eq!(shop.stored("5.HK/60m").iter().collect::<Vec<_>>(), rolled);
    }
}

#[test]
fn a_minute_candle_hides_the_coarse_candles_of_its_session() {
    let shop = Shop::new();
    let day: Vec<Candle> = minutes(Market::Us, "2026-07-07", "2026-07-07").iter().collect();
    import(&shop, "A.US", Grain::Own5, &folded(Market::Us, Grain::Own5, &day), false);
    let one: Vec<Candle> =
        day.iter().filter(|candle| candle.time == at(Market::Us, "2026-07-07 10:00")).copied().collect();
    let report = import(&shop, "A.US", Grain::Minute, &one, false);
    assert_eq!(
        shop.ask_with(NOW, "A.US 60m +ext whole [20260707, 20260707]", volume),
        "2026-07-07 04:00×60 05:00×60 06:00×60 07:00×60 08:00×60 09:00×30 09:30×1 16:00×60 17:00×60 18:00×60 19:00×60"
    );
    // A query for part of the session follows the same rule.
    assert_eq!(shop.ask_with(NOW, "A.US 60m whole {1, 20260707, 1200, 9}", volume), "");
    assert_eq!(shop.ask_with(NOW, "A.US 60m whole {0, 20260707, 0945, 9}", volume), "2026-07-07 09:30×1");
    let note = "A.US has candles of 1m and 5m over the same time: in each session of a trading day, only \
     the finest are served; the others stay stored";
    assert!(report.notes.iter().any(|said| said == note), "{:?}", report.notes);
}

#[test]
fn rows_off_their_grid_are_quarantined() {
    let shop = Shop::new();
    let mut options = Options::default();
    options.read.period = Some(Grain::Own30);
    let clocks = ["09:30", "10:00", "10:15", "12:00", "13:00", "16:00"];
    let rows: String = clocks.map(|clock| format!("5.HK,2026-07-07 {clock},1,1,1,1,1\n")).concat();
    let file = shop.file("a.csv", format!("symbol,time,open,high,low,close,volume\n{rows}"));
    let reports = shop.import_with(&[file], &options, Sizes::default(), &AtomicBool::new(false));
    assert_eq!((reports[0].added, reports[0].quarantined), (4, 2));
    let mut refused = shop.quarantine();
    refused.sort();
    assert_eq!(
        refused,
        [
            "4: not the start of a 30-minute candle: they are counted from the opening of their session",
            "5: no session of the market has this minute"
        ]
    );
}

#[test]
fn the_detected_period_is_reported_as_a_guess() {
    let shop = Shop::new();
    let day: Vec<Candle> = minutes(Market::Hk, "2026-07-07", "2026-07-07").iter().collect();
    let file = shop.file("fives.csv", csv("5.HK", &folded(Market::Hk, Grain::Own5, &day)));
    let report = shop.import(&[file]).remove(0);
    assert_eq!(report.outcome, Outcome::Imported);
    assert!(
        report.notes.iter().any(|note| note.starts_with("treated as 5-minute candles, a guess")),
        "{report:?}"
    );
    assert_eq!(shop.content().len(), 1);
    let (mut reader, now) = (shop.store.reader().unwrap(), AsOf::Live(at(Market::Hk, NOW)));
    let periods = shop.history.periods(&mut reader, &symbol("5.HK"), now).unwrap();
    let periods: Vec<String> = periods.iter().map(Period::to_string).collect();
    assert_eq!(periods.join(" "), "5m 10m 15m 20m 30m 45m 60m 120m 180m 240m");
    let (price, _) =
        shop.history.last_price(&mut reader, &symbol("5.HK"), market::Floors::NONE, now).unwrap().unwrap();
    assert_eq!(price, Price(10_000_000));
}

/// R1 and R2 for coarse candles: only the open of a running candle is visible, and a closing candle
/// is hidden until its tail is over.
#[test]
fn a_replay_hides_running_coarse_candles() {
    let shop = Shop::new();
    let two: Vec<Candle> = minutes(Market::Hk, "2026-07-06", "2026-07-07").iter().collect();
    import(&shop, "5.HK", Grain::Own5, &folded(Market::Hk, Grain::Own5, &two), false);
    import(&shop, "6.HK", Grain::Own60, &folded(Market::Hk, Grain::Own60, &two), false);
    let replay = |now: &str, question: &str| shop.ask_as_of(AsOf::Replay, now, question, volume);
    let check = |now: &str, question: &str, expected: &str| {
        assert_eq!(replay(&format!("2026-07-07 {now}"), question), expected, "{question} at {now}");
    };
    let one = "5.HK 5m whole {0, -, -, 1}";
    check("09:29:59", one, "2026-07-06 16:00×1");
    check("09:30:00", one, "2026-07-07 09:30×0");
    check("09:34:59", one, "2026-07-07 09:30×0");
    check("09:35:00", "5.HK 5m whole {0, -, -, 2}", "2026-07-07 09:30×5 09:35×0");
    check("11:45:00", "5.HK 60m whole {0, -, -, 1}", "2026-07-07 11:30×15");
    check("12:00:00", one, "2026-07-07 11:55×5");
    check("16:00:00", one, "2026-07-07 15:55×5");
    check("16:09:59", one, "2026-07-07 15:55×5");
    check("16:10:00", one, "2026-07-07 16:00×1");
    let hours = "6.HK 60m whole {0, -, -, 2}";
    check("11:45:00", hours, "2026-07-07 10:30×60 11:30×0");
    check("12:00:00", hours, "2026-07-07 10:30×60 11:30×30");
    check("11:45:00", "6.HK day whole {0, -, -, 2}", "");
    assert_eq!(shop.ask_with("2026-07-07 11:45", hours, volume), "2026-07-07 10:30×60 11:30×30");
}

/// R1 and R2, reimplemented: returns the candles of a grain that are visible at an instant.
fn known(market: Market, grain: Grain, candles: &[Candle], now: Timestamp) -> Vec<Candle> {
    let mut known = Vec::new();
    for candle in candles.iter().filter(|candle| candle.time <= now) {
        let slot = venue(market).slot(candle.time).unwrap();
        let (_, end) = slot.bucket(grain.length().unwrap(), candle.time);
        let is_tail = market == Market::Hk && venue(market).zone().local(candle.time).1 == 16 * 3600;
        let act = if is_tail { candle.time.0 + 600 } else { end.0 };
        let Candle { time, open, session, .. } = *candle;
        let (high, low, close, volume, turnover) = (open, open, open, 0, Turnover(0));
        match now.0 >= act {
            true => known.push(*candle),
            false if is_tail => {}
            false => known.push(Candle { time, open, high, low, close, volume, turnover, session }),
        }
    }
    known
}

#[test]
fn deleting_future_coarse_candles_changes_no_answer() {
    for seed in 0..10u64 {
        let mut rng = Rng(seed);
        let (market, name) = *rng.pick(&[(Market::Hk, "5.HK"), (Market::Us, "A.US")]);
        let fine = priced(market, "2026-07-06", "2026-07-08", seed as i64);
        let layers = [Grain::Own5, Grain::Own60].map(|grain| {
            let mut candles = folded(market, grain, &fine);
            // The first day has only hourly candles.
            let from = if grain == Grain::Own5 { at(market, "2026-07-07") } else { candles[0].time };
            candles.retain(|candle| candle.time >= from && !rng.one_in(4));
            (grain, candles)
        });
        let whole = Shop::new();
        layers.iter().for_each(|(grain, candles)| drop(import(&whole, name, *grain, candles, false)));
        let later: Vec<Candle> =
            fine.iter().filter(|candle| candle.time >= at(market, "2026-07-07")).copied().collect();
        for _ in 0..4 {
            let after = *rng.pick(&[0, 1, 59, 60, 240, 299, 300, 599, 600, 3599]);
            let now = Timestamp(rng.pick(&later).time.0 + after);
            let cut = Shop::new();
            for (grain, candles) in &layers {
                let candles = known(market, *grain, candles, now);
                if !candles.is_empty() {
                    import(&cut, name, *grain, &candles, false);
                }
            }
            for period in ["5m", "15m", "60m", "180m"] {
                for sessions in ["whole", "whole +all"] {
                    let question = format!("{name} {period} {sessions} {{0, -, -, 40}}");
                    let query = question_of(&question).unwrap();
                    let actual = whole.candles(&query, AsOf::Replay(now)).unwrap().candles;
                    let expected = cut.candles(&query, AsOf::Live(now)).unwrap().candles;
                    assert_eq!(actual, expected, "seed {seed}, {now}: {question}");
                }
            }
        }
    }
}

#[test]
fn coverage_counts_the_minutes_that_coarse_candles_cover() {
    let shop = Shop::new();
    let all: Vec<Candle> = minutes(Market::Hk, "2026-07-06", "2026-07-08").iter().collect();
    let hole = at(Market::Hk, "2026-07-06 10:00")..at(Market::Hk, "2026-07-06 10:10");
    let traded: Vec<Candle> = all.iter().filter(|candle| !hole.contains(&candle.time)).copied().collect();
    import(&shop, "5.HK", Grain::Own5, &folded(Market::Hk, Grain::Own5, &traded), false);
    let morning = at(Market::Hk, "2026-07-08 00:00")..at(Market::Hk, "2026-07-08 12:00");
    let morning: Vec<Candle> = all.iter().filter(|candle| morning.contains(&candle.time)).copied().collect();
    import(&shop, "5.HK", Grain::Minute, &morning, false);
    let daily: Vec<Candle> = days(Market::Hk, "2026-07-06", "2026-07-08").iter().collect();
    import(&shop, "5.HK", Grain::Day, &daily, false);
    let (security, as_of) = (symbol("5.HK"), AsOf::Live(at(Market::Hk, "2026-07-08 20:00")));
    let mut reader = shop.store.reader().unwrap();
    let found = coverage(&shop.history, &mut reader, &security, (None, None), as_of).unwrap();
    let actual: Vec<String> = found
        .days
        .iter()
        .map(|day| {
            let gaps: Vec<String> =
                day.gaps.iter().map(|gap| format!(" {} {}", gap.minutes, gap.reason.as_str())).collect();
            format!("{} {} {}/{}{}", day.date, day.grain.written(), day.stored, day.expected, gaps.concat())
        })
        .collect();
    assert_eq!(
        actual,
        [
            "2026-07-06 5m 321/331 10 no trades",
            "2026-07-07 5m 331/331",
            "2026-07-08 1m 150/331 181 not loaded"
        ]
    );
    let range = (date("2026-07-06"), date("2026-07-08"));
    let states = Expected::of(venue(Market::Hk), range, as_of).states(&mut reader, &security).unwrap();
    assert_eq!(states, [DayState::Complete, DayState::Complete, DayState::Partial]);
}

/// Where coarse candles exist, an answer must not be sliced from roll-ups.
#[test]
fn the_page_cache_does_not_serve_mixed_series() {
    let (shop, security) = (Shop::new(), symbol("5.HK"));
    shop.stock(&security, &minutes(Market::Hk, "2026-07-07", "2026-07-07"), &Candles::default(), COARSE);
    let page_cache: PageCache<Plain> = PageCache::new(1 << 20);
    let query = question_of("5.HK 60m whole [20260701, 20260731]").unwrap();
    let as_of = AsOf::Live(at(Market::Hk, NOW));
    let plan = history::Plan::of(&query, venue(Market::Hk), as_of);
    let rows = || {
        let mut reader = shop.store.reader().unwrap();
        let version = reader.version().unwrap();
        let read =
            page_cache.slices(&mut reader, &shop.history, &plan, as_of).unwrap().map(|found| found.rows);
        let stored = page_cache.slices_in_memory(version, &plan, as_of).unwrap().map(|found| found.rows);
        assert_eq!(read, stored);
        read
    };
    assert_eq!(rows(), Some(7));
    let session = market::Session::Intraday;
    let hour = candle(at(Market::Hk, "2026-07-06 09:30"), session, 10_000_000, 60);
    import(&shop, "5.HK", Grain::Own60, &[hour], false);
    assert_eq!(rows(), None);
    assert_eq!(shop.candles(&query, as_of).unwrap().candles.len(), 8);
}
