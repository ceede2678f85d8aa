//! Examples Q1 to Q8, U16, U18 and U19 of the specification's chapter on live data: quotes and
//! candles at an instant of a replay.

use std::fmt::Write;

use history::{AsOf, Figures, History, RunningTrades, SessionQuote, SessionState, Sessions, TradeStatus};
use market::{Candle, Candles, Floors, Market, Price, Session, Turnover};
use store::{Security, Suspension};

use crate::common::{COARSE, Shop, at, date, question_of, symbol, venue, venues};

/// A store with the candles of one security, as rows such as `2026-03-18 09:30 300 302 299 301 10000
/// 3005000`. Rows without a time are daily candles.
fn shop_of(name: &str, rows: &[&str]) -> Shop {
    let (shop, security) = (Shop::new(), symbol(name));
    let market = security.market();
    let (mut minutes, mut days) = (Candles::default(), Candles::default());
    for row in rows {
        let words: Vec<&str> = row.split(' ').collect();
        let (time, values) = words.split_at(words.len() - 6);
        let time = at(market, &time.join(" "));
        let price = |at: usize| Price::parse(values[at]).unwrap();
        let is_day = words.len() == 7;
        let session =
            if is_day { Session::Intraday } else { venue(market).slot(time).unwrap().segment.session };
        let candle = Candle {
            time,
            open: price(0),
            high: price(1),
            low: price(2),
            close: price(3),
            volume: values[4].parse().unwrap(),
            turnover: Turnover::parse(values[5]).unwrap(),
            session,
        };
        if is_day { days.push(candle) } else { minutes.push(candle) }
    }
    shop.stock(&security, &minutes, &days, COARSE);
    shop
}

/// Formats as `open high low last volume turnover, prev close, time`.
fn described(SessionQuote { state, prev_close }: SessionQuote) -> String {
    let SessionState { figures: Figures { open, high, low, last, volume, turnover }, time, .. } = state;
    let [open, high, low, last, prev] = [open, high, low, last, prev_close].map(|price| price.text(3));
    format!("{open} {high} {low} {last} {volume} {}, prev {prev}, {}", turnover.text(), time.0)
}

fn quote(shop: &Shop, name: &str, now: &str) -> history::Quote {
    let security = symbol(name);
    let as_of = AsOf::Replay(at(security.market(), now));
    let reader = &mut shop.store.reader().unwrap();
    shop.history.quote(reader, &security, Sessions::All, Floors::NONE, as_of).unwrap().unwrap()
}

fn check(shop: &Shop, name: &str, now: &str, expected: &str) {
    assert_eq!(described(quote(shop, name, now).regular), expected, "{name} at {now}");
}

fn candles(shop: &Shop, now: &str, question: &str) -> String {
    let query = question_of(question).unwrap();
    let as_of = AsOf::Replay(at(query.symbol.market(), now));
    let found = shop.candles(&query, as_of).unwrap().candles;
    let one = |candle: Candle| {
        let Candle { open, high, low, close, volume, turnover, .. } = candle;
        let [open, high, low, close] = [open, high, low, close].map(|price| price.text(1));
        format!("{open} {high} {low} {close} {volume} {}", turnover.text())
    };
    found.iter().map(one).collect::<Vec<_>>().join("; ")
}

const U2: &str = "2026-03-18 09:30 300 302 299 301 10000 3005000";
const DAY_BEFORE: &str = "2026-03-17 297 299 296 298.6 5000000 1488000000";

#[test]
fn q1_q2_quotes_in_the_first_minute_of_a_day() {
    let shop = shop_of("700.HK", &[DAY_BEFORE, U2]);
    let before = "297.000 299.000 296.000 298.600 5000000 1488000000.000, prev 297.000, 1773735000";
    check(&shop, "700.HK", "2026-03-18 09:29:59", before);
    let open = "300.000 300.000 300.000 300.000 0 0.000, prev 298.600, 1773797400";
    check(&shop, "700.HK", "2026-03-18 09:30:00", open);
    check(&shop, "700.HK", "2026-03-18 09:30:20", open);
    // A complete minute has the second of its last print.
    let whole = "300.000 302.000 299.000 301.000 10000 3005000.000, prev 298.600, 1773797459";
    check(&shop, "700.HK", "2026-03-18 09:31:00", whole);
    check(&shop, "700.HK", "2026-03-18 23:00:00", whole);
}

#[test]
fn q3_the_running_minute_is_part_of_the_day() {
    let next = "2026-03-18 09:31 302.4 303 300 302 8000 2412000";
    let shop = shop_of("700.HK", &[DAY_BEFORE, U2, next]);
    let expected = "300.000 302.400 299.000 302.400 10000 3005000.000, prev 298.600, 1773797460";
    check(&shop, "700.HK", "2026-03-18 09:31:20", expected);
    for period in ["day", "week", "month", "quarter", "year", "5m", "60m"] {
        let candle = candles(&shop, "2026-03-18 09:31:20", &format!("700.HK {period} {{0, -, -, 1}}"));
        let (low, volume) = match period {
            "day" | "5m" | "60m" => ("299.0", "10000 3005000.000"),
            // The previous day is in the same week.
            _ => ("296.0", "5010000 1491005000.000"),
        };
        let open = if low == "299.0" { "300.0" } else { "297.0" };
        assert_eq!(candle, format!("{open} 302.4 {low} 302.4 {volume}"), "{period}");
    }
}

#[test]
fn q4_the_day_candle_replaces_the_minutes_at_the_end_of_the_day() {
    let shop = shop_of(
        "700.HK",
        &[
            DAY_BEFORE,
            U2,
            "2026-03-18 15:59 304 305 303 304.6 1000 304500",
            "2026-03-18 16:00 304.6 304.6 304.6 304.6 900000 274140000",
            "2026-03-18 300 310 295 308 9000000 2727000000",
        ],
    );
    let minutes = "300.000 305.000 299.000 304.600 11000 3309500.000, prev 298.600, 1773820799";
    check(&shop, "700.HK", "2026-03-18 16:09:59", minutes);
    let day = "300.000 310.000 295.000 308.000 9000000 2727000000.000, prev 298.600, 1773821400";
    check(&shop, "700.HK", "2026-03-18 16:10:00", day);
}

const U9: &str = "2026-07-15 09:29 189.95 190.05 189.95 190 100 19000.123";
const JULY_14: &str = "2026-07-14 189 190 188 189.7 1000 189500";

#[test]
fn q5_q6_pre_market_is_compared_with_the_last_close() {
    let pre = "189.950 190.050 189.950 190.000 100 19000.123, prev 189.700, 1784122199";
    let shop = shop_of("AAPL.US", &[JULY_14, U9]);
    let found = quote(&shop, "AAPL.US", "2026-07-15 09:30:00");
    assert_eq!(found.regular.state.figures.last, Price::parse("189.7").unwrap());
    assert_eq!((found.regular.state.day, described(found.pre.unwrap()).as_str()), (date("2026-07-14"), pre));
    assert_eq!((found.post, found.overnight), (None, None));

    let u8 = "2026-07-15 09:30 190 190.2 189.9 190.1 4000 760900";
    let u10 = "2026-07-15 09:31 190.1 190.4 190.05 190.3 7 1332";
    let shop = shop_of("AAPL.US", &[JULY_14, U9, u8, u10]);
    let expected = "190.000 190.200 189.900 190.100 4000 760900.000, prev 189.700, 1784122260";
    check(&shop, "AAPL.US", "2026-07-15 09:31:00", expected);
    let found = quote(&shop, "AAPL.US", "2026-07-15 09:31:00");
    assert_eq!(described(found.pre.unwrap()), pre);
}

#[test]
fn q7_q8_half_days_end_early() {
    let shop = shop_of(
        "AAPL.US",
        &[
            "2025-11-28 12:59 190 190 190 190 10 1900",
            "2025-11-28 13:00 191 191 191 191 10 1910",
            "2025-11-28 189 191 188 190 1000 190000",
        ],
    );
    let found = quote(&shop, "AAPL.US", "2025-11-28 13:00:00");
    let day = "189.000 191.000 188.000 190.000 1000 190000.000, prev 189.000, 1764352800";
    assert_eq!(described(found.regular), day);
    let post = "191.000 191.000 191.000 191.000 0 0.000, prev 190.000, 1764352800";
    assert_eq!(described(found.post.unwrap()), post);

    let rows = [
        "2026-02-16 11:59 300 301 299 300 10000 3000000",
        "2026-02-16 12:00 300.4 300.4 300.4 300.4 40000 12016000",
    ];
    let shop = shop_of("700.HK", &rows);
    let before = "300.000 301.000 299.000 300.000 10000 3000000.000, prev 300.000, 1771214399";
    check(&shop, "700.HK", "2026-02-16 12:09:59", before);
    let tail = "300.000 301.000 299.000 300.400 50000 15016000.000, prev 300.000, 1771214880";
    check(&shop, "700.HK", "2026-02-16 12:10:00", tail);
    let day = "2026-02-16 300 301 299 300.4 50000 15020000";
    let shop = shop_of("700.HK", &[rows[0], rows[1], day]);
    let end = "300.000 301.000 299.000 300.400 50000 15020000.000, prev 300.000, 1771215000";
    check(&shop, "700.HK", "2026-02-16 12:10:00", end);
}

#[test]
fn u16_queries_return_the_candles_that_clients_build() {
    let shop = shop_of("700.HK", &[U2, "2026-03-18 09:31 301 303 300 302 8000 2412000"]);
    let first = "300.0 302.0 299.0 301.0 10000 3005000.000";
    let ask = |now: &str, period: &str| {
        candles(&shop, &format!("2026-03-18 {now}"), &format!("700.HK {period} {{0, -, -, 9}}"))
    };
    assert_eq!(ask("09:31:00", "1m"), format!("{first}; 301.0 301.0 301.0 301.0 0 0.000"));
    for period in ["5m", "day", "week"] {
        assert_eq!(ask("09:31:00", period), first, "{period}");
    }
    assert_eq!(ask("09:32:00", "day"), "300.0 303.0 299.0 302.0 18000 5417000.000");
}

/// Stores trades of 700.HK on 18 March 2026.
fn add_trades(shop: &Shop, trades: &[&str]) {
    let mut text = "symbol,time,price,volume,direction,type\n".to_owned();
    trades.iter().for_each(|trade| writeln!(text, "700.HK,2026-03-18 {trade}").unwrap());
    let report = shop.import(&[shop.file("trades.csv", text)]).remove(0);
    assert_eq!(report.added as usize, trades.len(), "{report:?}");
}

#[test]
fn u18_u19_the_running_minute_is_the_fold_of_its_trades() {
    for (low, candle) in
        [("305.0", "305.2 305.2 305 305.1 500 152560"), ("305.1", "305.2 305.2 305.1 305.1 500 152560")]
    {
        let rows =
            ["2026-03-18 10:00 304 304 304 304 100 30400".to_owned(), format!("2026-03-18 10:01 {candle}")];
        let mut shop = shop_of("700.HK", &rows.each_ref().map(String::as_str));
        add_trades(
            &shop,
            &["10:01:03,305.2,100,,", "10:01:41,305.0,200,,", "10:01:41,400,7,,D", "10:01:52,306,9,,P"],
        );
        let minute =
            |shop: &Shop, now: &str| candles(shop, &format!("2026-03-18 {now}"), "700.HK 1m {0, -, -, 1}");
        // The open is known once the first trade has been made.
        assert_eq!(minute(&shop, "10:01:02"), "304.0 304.0 304.0 304.0 100 30400.000");
        assert_eq!(minute(&shop, "10:01:03"), "305.2 305.2 305.2 305.2 100 30520.000");
        assert_eq!(minute(&shop, "10:01:40"), "305.2 305.2 305.2 305.2 100 30520.000");
        // Type D adds volume without a price.
        let fold = "305.2 305.2 305.0 305.0 307 94320.000";
        assert_eq!(minute(&shop, "10:01:50"), fold);
        for period in ["5m", "60m", "day", "year"] {
            let longer = candles(&shop, "2026-03-18 10:01:50", &format!("700.HK {period} {{0, -, -, 1}}"));
            let expected = match period {
                "5m" => "304.0 305.2 304.0 305.0 407 124720.000",
                _ => "304.0 305.2 304.0 305.0 407 124720.000",
            };
            assert_eq!(longer, expected, "{period}");
        }
        let running = "304.000 305.200 304.000 305.000 407 124720.000, prev 304.000, 1773799301";
        check(&shop, "700.HK", "2026-03-18 10:01:50", running);
        let line = {
            let reader = &mut shop.store.reader().unwrap();
            let as_of = AsOf::Replay(at(Market::Hk, "2026-03-18 10:01:50"));
            let day = shop.history.newest_day_minutes(
                reader,
                &symbol("700.HK"),
                Sessions::Intraday,
                Floors::NONE,
                as_of,
            );
            day.unwrap().unwrap().line().last().unwrap()
        };
        assert_eq!((line.price, line.volume), (Price::parse("305").unwrap(), 307));
        // After the minute, its candle is shown, whether it continues the trades or not.
        assert_eq!(minute(&shop, "10:02:00"), format!("305.2 305.2 {low} 305.1 500 152560.000"));
        check(
            &shop,
            "700.HK",
            "2026-03-18 10:02:00",
            "304.000 305.200 304.000 305.100 600 182960.000, prev 304.000, 1773799319",
        );

        shop.history = History::new(venues().clone()).with_running_trades(RunningTrades::Hidden);
        assert_eq!(minute(&shop, "10:01:50"), "305.2 305.2 305.2 305.2 0 0.000");
        let hidden = "304.000 305.200 304.000 305.200 100 30400.000, prev 304.000, 1773799260";
        check(&shop, "700.HK", "2026-03-18 10:01:50", hidden);
        let known = |now: &str| {
            let as_of = AsOf::Replay(at(Market::Hk, &format!("2026-03-18 {now}")));
            let reader = &mut shop.store.reader().unwrap();
            let latest =
                shop.history.latest_trades(reader, &symbol("700.HK"), 9, Sessions::All, Floors::NONE, as_of);
            latest.map_or(0, |latest| latest.trades.len())
        };
        assert_eq!([known("10:01:59"), known("10:02:00")], [0, 4]);
    }
}

#[test]
fn trades_of_a_closing_tail_are_shown_at_their_second() {
    let rows =
        ["2026-03-18 15:59 304 304 304 304 100 30400", "2026-03-18 16:00 304.6 304.8 304.6 304.8 900 274200"];
    let shop = shop_of("700.HK", &rows);
    add_trades(&shop, &["16:08:03,304.6,500,,U"]);
    let minute = |now: &str| candles(&shop, &format!("2026-03-18 {now}"), "700.HK 1m {0, -, -, 1}");
    assert_eq!(minute("16:08:02"), "304.0 304.0 304.0 304.0 100 30400.000");
    assert_eq!(minute("16:08:03"), "304.6 304.6 304.6 304.6 500 152300.000");
    let running = "304.000 304.600 304.000 304.600 600 182700.000, prev 304.000, 1773821283";
    check(&shop, "700.HK", "2026-03-18 16:09:00", running);
    assert_eq!(minute("16:10:00"), "304.6 304.8 304.6 304.8 900 274200.000");
}

#[test]
fn the_trade_status_follows_delisting_and_suspension() {
    let shop = shop_of("700.HK", &[DAY_BEFORE]);
    let status = |now: &str| quote(&shop, "700.HK", now).trade_status;
    assert_eq!(status("2026-03-18 12:00"), TradeStatus::Normal);
    let table = "symbol,from,to\n700.HK,2026-03-19,2026-03-20\n700.HK,2026-04-01,\n";
    let report = shop.import(&[shop.file("suspensions.csv", table)]).remove(0);
    assert_eq!((report.kind, report.added, report.symbols), ("suspensions", 2, 1));
    let mut reader = shop.store.reader().unwrap();
    let stored = reader.snapshot().unwrap().security(&symbol("700.HK")).unwrap().unwrap();
    let day = |from: &str, to: Option<&str>| Suspension { from: date(from), to: to.map(date) };
    assert_eq!(stored.suspensions, [day("2026-03-19", Some("2026-03-20")), day("2026-04-01", None)]);
    for (now, expected) in [
        ("2026-03-19 09:29:59", TradeStatus::Normal),
        ("2026-03-19 09:30:00", TradeStatus::Suspended),
        ("2026-03-21 09:29:59", TradeStatus::Suspended),
        ("2026-03-21 09:30:00", TradeStatus::Normal),
        ("2026-05-01 12:00:00", TradeStatus::Suspended),
    ] {
        assert_eq!(status(now), expected, "{now}");
    }
    let delisted = Security { delisted_on: Some(date("2026-05-04")), ..stored };
    let mut writer = shop.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.put_security(&delisted).unwrap();
    batch.commit().unwrap();
    drop(writer);
    assert_eq!(status("2026-05-04 09:29:59"), TradeStatus::Suspended);
    assert_eq!(status("2026-05-04 09:30:00"), TradeStatus::Delisted);
    // A second file replaces the suspensions of its securities. An invalid row is quarantined.
    let table = "symbol,from,to\n700.HK,2026-03-19,2026-03-18\n700.HK,2026-03-18,2026-03-18\n";
    let report = shop.import(&[shop.file("again.csv", table)]).remove(0);
    assert_eq!((report.added, report.quarantined), (1, 1));
    assert_eq!(
        (status("2026-03-18 12:00"), status("2026-03-20 12:00")),
        (TradeStatus::Suspended, TradeStatus::Normal)
    );
}

#[test]
fn a_minute_without_a_candle_is_the_fold_of_its_trades() {
    let shop = shop_of("700.HK", &[DAY_BEFORE, "2026-03-18 10:00 304 304 304 304 100 30400"]);
    add_trades(&shop, &["10:01:03,305.2,100,,", "10:01:41,305.0,200,,", "10:03:09,304.8,10,,"]);
    let fold = "305.2 305.2 305.0 305.0 300 91520.000";
    let clocks: [fn(market::Timestamp) -> AsOf; 2] = [AsOf::Replay, AsOf::Live];
    let minutes = |clock: fn(market::Timestamp) -> AsOf, now: &str, question: &str| {
        let query = question_of(question).unwrap();
        let found =
            shop.candles(&query, clock(at(Market::Hk, &format!("2026-03-18 {now}")))).unwrap().candles;
        found
            .iter()
            .map(|one| {
                let prices = [one.open, one.high, one.low, one.close].map(|price| price.text(1).to_string());
                format!("{} {} {}", prices.join(" "), one.volume, one.turnover.text())
            })
            .collect::<Vec<_>>()
    };
    let whole = "304.0 305.2 304.0 304.8 410 124968.000";
    for clock in clocks {
        // The fold is also shown after its minute, and in longer candles.
        let found = minutes(clock, "10:04:00", "700.HK 1m {0, -, -, 9}");
        let expected = ["304.0 304.0 304.0 304.0 100 30400.000", fold, "304.8 304.8 304.8 304.8 10 3048.000"];
        assert_eq!(found, expected);
        for period in ["5m", "60m", "day"] {
            assert_eq!(minutes(clock, "10:04:00", &format!("700.HK {period} {{0, -, -, 1}}")), [whole]);
        }
        let reader = &mut shop.store.reader().unwrap();
        let as_of = clock(at(Market::Hk, "2026-03-18 10:04:00"));
        let security = symbol("700.HK");
        let quote = shop.history.quote(reader, &security, Sessions::All, Floors::NONE, as_of).unwrap();
        let state = quote.unwrap().regular.state;
        assert_eq!((state.figures.volume, state.time), (410, at(Market::Hk, "2026-03-18 10:03:09")));
        let plan =
            history::Plan::of(&question_of("700.HK 1m {0, -, -, 2}").unwrap(), venue(Market::Hk), as_of);
        let cache = history::PageCache::<crate::page_cache::Plain>::new(1 << 20);
        for _ in 0..2 {
            let slices = cache.slices(reader, &shop.history, &plan, as_of).unwrap().unwrap();
            assert_eq!(slices.pieces.concat().iter().map(|one| one.volume).collect::<Vec<_>>(), [300, 10]);
        }
        let version = reader.version().unwrap();
        assert!(cache.slices_in_memory(version, &plan, as_of).unwrap().is_none());
    }
    // During its minute, later trades are not included.
    let running = minutes(AsOf::Replay, "10:01:20", "700.HK 1m {0, -, -, 1}");
    assert_eq!(running, ["305.2 305.2 305.2 305.2 100 30520.000"]);
    let later = minutes(AsOf::Replay, "10:02:30", "700.HK 1m {0, -, -, 1}");
    assert_eq!(later, [fold]);
    let hidden = History::new(venues().clone()).with_running_trades(RunningTrades::Hidden);
    let reader = &mut shop.store.reader().unwrap();
    let query = question_of("700.HK 1m {0, -, -, 9}").unwrap();
    let as_of = AsOf::Replay(at(Market::Hk, "2026-03-18 10:04:00"));
    assert_eq!(hidden.candles(reader, &query, as_of).unwrap().candles.len(), 1);
}

#[test]
fn a_security_with_trades_only_has_a_quote() {
    let shop = Shop::new();
    add_trades(&shop, &["10:01:03,305.2,100,,"]);
    for (now, volume) in [("10:01:02", None), ("10:01:03", Some(100)), ("15:00:00", Some(100))] {
        let reader = &mut shop.store.reader().unwrap();
        let as_of = AsOf::Replay(at(Market::Hk, &format!("2026-03-18 {now}")));
        let quote =
            shop.history.quote(reader, &symbol("700.HK"), Sessions::All, Floors::NONE, as_of).unwrap();
        assert_eq!(quote.map(|quote| quote.regular.state.figures.volume), volume, "{now}");
    }
}
