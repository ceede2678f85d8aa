//! Quotes at an instant, with text as input and output: section 4 of the specification's chapter on
//! live data.
//!
//! Most tables use the numbered store of `rules_r_replay.rs`. The candle of minute n of a day opens
//! at 100 + n, has its high 2 above and its low 1 below the open, closes 1 above the open, and has
//! a volume of 10. Daily candles open at 100, close at 900 and have a volume of 90,000. On a day of
//! A.US, the overnight session opens at 100, pre-market at 580, regular hours at 910 and, on a full
//! day, post-market at 1300.

use crate::common::{COARSE, Rng, Shop, at, candle, date, days, minutes, symbol, venue};
use crate::reference::{STRETCHES, world};
use crate::rules_r_replay::{busy_now, numbered_shop, price, shop_of};
use history::{
    AsOf, DayMinutes, Figures, LinePoint, ListDay, ListQuote, Quote, SessionQuote, SessionState, Sessions,
    TradeStatus,
};
use market::{Candle, Candles, Floors, Market, Price, Session, Symbol, Timestamp, Turnover};

fn quote_of(shop: &Shop, symbol: &Symbol, sessions: Sessions, as_of: AsOf) -> Option<Quote> {
    shop.history.quote(&mut shop.store.reader().unwrap(), symbol, sessions, Floors::NONE, as_of).unwrap()
}

/// Formats `date open high low last ×volume at time, prev close`, followed by the other sessions in
/// the same form.
fn describe(market: Market, quote: Option<Quote>) -> String {
    let Some(quote) = quote else { return "none".to_owned() };
    assert_eq!((quote.decimals, quote.trade_status), (3, TradeStatus::Normal));
    let units = |price: Price| price.0 / 1_000_000;
    let one = |SessionQuote { state, prev_close }: SessionQuote| {
        let SessionState { day, figures, time } = state;
        let Figures { open, high, low, last, volume, .. } = figures;
        let (date, seconds) = venue(market).zone().local(time);
        let time = match seconds % 60 {
            0 => format!("{:02}:{:02}", seconds / 3600, seconds / 60 % 60),
            second => format!("{:02}:{:02}:{second:02}", seconds / 3600, seconds / 60 % 60),
        };
        let time = if date == day { time } else { format!("{date} {time}") };
        let [open, high, low, last, prev] = [open, high, low, last, prev_close].map(units);
        format!("{day} {open} {high} {low} {last} ×{volume} at {time}, prev {prev}")
    };
    let beside = [("overnight", quote.overnight), ("pre", quote.pre), ("post", quote.post)];
    let beside = beside.into_iter().filter_map(|(name, quote)| Some(format!("; {name} {}", one(quote?))));
    one(quote.regular) + &beside.collect::<String>()
}

fn check_of(shop: &Shop, clock: impl Fn(Timestamp) -> AsOf, name: &str, now: &str, expected: &str) {
    let security = symbol(name);
    let market = security.market();
    let found = describe(market, quote_of(shop, &security, Sessions::All, clock(at(market, now))));
    assert_eq!(found, expected, "{name} at {now}");
}

fn check(name: &str, now: &str, expected: &str) {
    check_of(numbered_shop(), AsOf::Replay, name, now, expected);
}

#[test]
fn no_visible_candle_means_no_quote() {
    check("9.HK", "2025-12-23 12:00", "none");
    check("AAPL251128C200000.US", "2025-11-28 12:00", "none");
    // All stored candles are later than this instant.
    check("5.HK", "2025-12-22 09:29:59", "none");
    let shop = Shop::new();
    shop.stock(&symbol("5.HK"), &Candles::default(), &Candles::default(), COARSE);
    check_of(&shop, AsOf::Live, "5.HK", "2025-12-23 12:00", "none");
    // A quote needs a price from regular hours.
    let early = minutes(Market::Us, "2025-11-26", "2025-11-26");
    let early = early.iter().filter(|minute| minute.session != Session::Intraday).collect();
    shop.stock(&symbol("A.US"), &early, &Candles::default(), COARSE);
    check_of(&shop, AsOf::Live, "A.US", "2025-11-26 18:00", "none");
}

#[test]
fn quotes_change_with_the_sessions_of_a_hong_kong_day() {
    let monday = "2025-12-22 100 902 99 900 ×90000 at 16:10, prev 100";
    check("5.HK", "2025-12-22 16:10:00", monday);
    // Before the open, the previous day is shown.
    check("5.HK", "2025-12-23 00:00:00", monday);
    check("5.HK", "2025-12-23 09:29:59", monday);
    // Only the open of the first minute is visible until the minute is over.
    check("5.HK", "2025-12-23 09:30:00", "2025-12-23 100 100 100 100 ×0 at 09:30, prev 900");
    check("5.HK", "2025-12-23 09:30:59", "2025-12-23 100 100 100 100 ×0 at 09:30, prev 900");
    check("5.HK", "2025-12-23 09:31:00", "2025-12-23 100 102 99 101 ×10 at 09:31, prev 900");
    check("5.HK", "2025-12-23 12:30:00", "2025-12-23 100 251 99 250 ×1500 at 11:59:59, prev 900");
    // The closing candle and the daily candle become visible when the tail is over.
    check("5.HK", "2025-12-23 16:09:59", "2025-12-23 100 431 99 430 ×3300 at 15:59:59, prev 900");
    check("5.HK", "2025-12-23 16:10:00", "2025-12-23 100 902 99 900 ×90000 at 16:10, prev 900");
    check("5.HK", "2025-12-24 12:10:00", "2025-12-24 100 902 99 900 ×90000 at 12:10, prev 900");
    // Nothing changes on days without trading.
    check("5.HK", "2025-12-28 12:00:00", "2025-12-24 100 902 99 900 ×90000 at 12:10, prev 900");
}

#[test]
fn minute_candles_replace_a_missing_daily_candle() {
    check("6.HK", "2025-12-23 16:10:00", "2025-12-23 100 432 99 431 ×3310 at 16:08, prev 900");
    check("6.HK", "2025-12-24 08:00:00", "2025-12-23 100 432 99 431 ×3310 at 16:08, prev 900");
    check("6.HK", "2025-12-24 18:00:00", "2025-12-24 100 252 99 251 ×1510 at 12:08, prev 431");
    // The previous close is the close of the last minute if it is newer than all daily candles.
    let shop = Shop::new();
    shop.stock(
        &symbol("7.HK"),
        &minutes(Market::Hk, "2025-12-22", "2025-12-23"),
        &Candles::default(),
        COARSE,
    );
    check_of(&shop, AsOf::Live, "7.HK", "2025-12-29 12:00", "2025-12-23 10 10 10 10 ×331 at 16:08, prev 10");
}

#[test]
fn a_finished_daily_candle_is_enough_for_a_quote() {
    let (shop, security) = (Shop::new(), symbol("5.HK"));
    let mut two = days(Market::Hk, "2025-12-22", "2025-12-23");
    two.close = vec![price(20).0, price(30).0];
    two.high.clone_from(&two.close);
    shop.stock(&security, &Candles::default(), &two, COARSE);
    let (monday, tuesday) =
        ("2025-12-22 10 20 10 20 ×1 at 16:10, prev 10", "2025-12-23 10 30 10 30 ×1 at 16:10, prev 20");
    for (clock, now, expected) in [
        (AsOf::Replay as fn(Timestamp) -> AsOf, "2025-12-23 16:09:59", monday),
        (AsOf::Replay, "2025-12-23 16:10:00", tuesday),
        // With a live clock, every stored candle is in the past.
        (AsOf::Live, "2025-12-23 10:00:00", "2025-12-23 10 30 10 30 ×1 at 10:00, prev 20"),
        // The day has no candle, because of a halt or missing data: the last day with a candle is
        // shown.
        (AsOf::Replay, "2025-12-24 11:00:00", tuesday),
        (AsOf::Live, "2025-12-29 11:00:00", tuesday),
    ] {
        check_of(&shop, clock, "5.HK", now, expected);
    }
}

#[test]
fn a_day_without_candles_shows_the_previous_day() {
    let (shop, security) = (Shop::new(), symbol("5.HK"));
    let traded = minutes(Market::Hk, "2025-12-22", "2025-12-22");
    shop.stock(&security, &traded, &days(Market::Hk, "2025-12-19", "2025-12-22"), COARSE);
    for now in ["2025-12-22 17:00", "2025-12-23 09:30", "2025-12-23 17:00", "2025-12-30 12:00"] {
        let expected = "2025-12-22 10 10 10 10 ×1 at 16:10, prev 10";
        check_of(&shop, AsOf::Replay, "5.HK", now, expected);
        check_of(&shop, AsOf::Live, "5.HK", now, expected);
    }
}

#[test]
fn quotes_change_with_the_sessions_of_a_new_york_day() {
    let night = "overnight 2025-11-26 100 581 99 580 ×4800 at 03:59:59";
    let pre = "pre 2025-11-26 580 911 579 910 ×3300 at 09:29:59";
    let open = "2025-11-26 910 910 910 910 ×0 at 09:30, prev 910";
    check("A.US", "2025-11-26 09:30:00", &format!("{open}; {night}, prev 910; {pre}, prev 910"));
    let day = "2025-11-26 100 902 99 900 ×90000 at 16:00, prev 100";
    let post = "post 2025-11-26 1300 1541 1299 1540 ×2400 at 19:59:59, prev 900";
    check(
        "A.US",
        "2025-11-26 16:00:00",
        &format!(
            "{day}; {night}, prev 100; {pre}, prev 100; \
             post 2025-11-26 1300 1300 1300 1300 ×0 at 16:00, prev 900"
        ),
    );
    // 27 November is a holiday.
    for now in ["2025-11-26 20:00:00", "2025-11-27 19:59:59"] {
        check("A.US", now, &format!("{day}; {night}, prev 100; {pre}, prev 100; {post}"));
    }
    // Sessions before the next regular hours are compared with the last close, and replace those of
    // the previous day.
    let begun = "overnight 2025-11-28 100 100 100 100 ×0 at 2025-11-27 20:00, prev 900";
    check("A.US", "2025-11-27 20:00:00", &format!("{day}; {begun}; {pre}, prev 100; {post}"));
    let night = "overnight 2025-11-28 100 581 99 580 ×4800 at 03:59:59, prev 900";
    let begun = "pre 2025-11-28 580 580 580 580 ×0 at 04:00, prev 900";
    check("A.US", "2025-11-28 04:00:59", &format!("{day}; {night}; {begun}; {post}"));
    let running = "pre 2025-11-28 580 910 579 909 ×3290 at 09:29, prev 900";
    let pre = "pre 2025-11-28 580 911 579 910 ×3300 at 09:29:59, prev 900";
    check("A.US", "2025-11-28 09:29:59", &format!("{day}; {night}; {running}; {post}"));
    let open = "2025-11-28 910 910 910 910 ×0 at 09:30, prev 900";
    check("A.US", "2025-11-28 09:30:00", &format!("{open}; {night}; {pre}"));
    let last = "2025-11-28 910 1120 909 1119 ×2090 at 12:59, prev 900";
    check("A.US", "2025-11-28 12:59:59", &format!("{last}; {night}; {pre}"));
    // A half day.
    let day = "2025-11-28 100 902 99 900 ×90000 at 13:00, prev 900";
    let post = "post 2025-11-28 1120 1120 1120 1120 ×0 at 13:00, prev 900";
    check("A.US", "2025-11-28 13:00:00", &format!("{day}; {night}; {pre}; {post}"));
}

#[test]
fn only_the_requested_sessions_are_quoted() {
    let as_of = AsOf::Replay(at(Market::Us, "2025-11-28 04:00:30"));
    for (sessions, expected) in [
        (Sessions::All, [Some("2025-11-28"), Some("2025-11-28"), Some("2025-11-26")]),
        (Sessions::Extended, [None, Some("2025-11-28"), Some("2025-11-26")]),
        (Sessions::Intraday, [None, None, None]),
    ] {
        let quote = quote_of(numbered_shop(), &symbol("A.US"), sessions, as_of).unwrap();
        let found = [quote.overnight, quote.pre, quote.post].map(|quote| Some(quote?.state.day));
        assert_eq!(found, expected.map(|day| day.map(date)), "{sessions:?}");
    }
}

/// A newer daily candle hides the session quotes of earlier days.
#[test]
fn other_sessions_are_those_of_the_quoted_day() {
    let (shop, security) = (Shop::new(), symbol("A.US"));
    let traded = minutes(Market::Us, "2025-11-26", "2025-11-26");
    shop.stock(&security, &traded, &days(Market::Us, "2025-11-26", "2025-11-28"), COARSE);
    let expected = "2025-11-28 10 10 10 10 ×1 at 13:00, prev 10";
    check_of(&shop, AsOf::Replay, "A.US", "2025-11-28 18:00", expected);
}

#[test]
fn the_intraday_line_has_a_running_average() {
    let minute = |number: i64, price: i64, volume: i64, turnover: i64| {
        let at = Timestamp(60 * number);
        let turnover = Turnover(i128::from(turnover) * 1_000_000);
        Candle { turnover, ..candle(at, Session::Intraday, price * 1_000_000, volume) }
    };
    let candles = [minute(0, 7, 0, 0), minute(1, 8, 1, 8), minute(3, 9, 2, 19), minute(4, 6, 0, 0)];
    let minutes = DayMinutes { day: date("2025-12-22"), decimals: 3, candles: candles.into_iter().collect() };
    let shown = |point: LinePoint| (point.time.0, point.price.0, point.average.0);
    assert_eq!(
        minutes.line().map(shown).collect::<Vec<_>>(),
        [
            // Nothing has been traded yet.
            (0, 7_000_000, 7_000_000),
            (60, 8_000_000, 8_000_000),
            (180, 9_000_000, 9_000_000),
            (240, 6_000_000, 9_000_000),
        ]
    );
    let prices = [-1, 0, 179, 180, 1000].map(|at| minutes.price_at(Timestamp(at)));
    assert_eq!(prices, [None, Some(price(7)), Some(price(8)), Some(price(9)), Some(price(6))]);
}

/// `last_price` and the figures of a list must follow the same rule as a quote.
#[test]
fn the_last_price_equals_that_of_the_quote() {
    let mut found = 0;
    for seed in 0..12u64 {
        let mut rng = Rng(seed ^ 0x1A57);
        let (market, name, from, through) = STRETCHES[seed as usize % STRETCHES.len()];
        let (security, venue) = (symbol(name), venue(market));
        let world = world(&mut rng, market, date(from), date(through));
        if world.minutes.is_empty() && world.days.is_empty() {
            continue;
        }
        let shop = shop_of(&world, &security, COARSE);
        for _ in 0..8 {
            let now = busy_now(&mut rng, venue, &world);
            for as_of in [AsOf::Live(now), AsOf::Replay(now)] {
                let quote = quote_of(&shop, &security, Sessions::All, as_of);
                let reader = &mut shop.store.reader().unwrap();
                let last = shop.history.last_price(reader, &security, Floors::NONE, as_of).unwrap();
                let quoted = quote.as_ref().map(|quote| (quote.regular.state.figures.last, quote.decimals));
                assert_eq!(last, quoted, "seed {seed}, {as_of:?}: {quote:?}");
                let listed = shop.history.list_quote(reader, &security, Floors::NONE, as_of).unwrap();
                let of_quote = quote.as_ref().map(|quote| ListQuote {
                    last: quote.regular.state.figures.last,
                    decimals: quote.decimals,
                    day: Some(ListDay {
                        prev_close: quote.regular.prev_close,
                        volume: quote.regular.state.figures.volume,
                    }),
                });
                assert_eq!(listed, of_quote, "seed {seed}, {as_of:?}");
                found += usize::from(quote.is_some());
            }
        }
    }
    assert!(found > 50, "{found}");
}
