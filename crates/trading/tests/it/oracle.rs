//! Compares fills with a second, simple implementation of the rules, which handles one order in one
//! loop over the candles.

use market::{Market, Price, Session, Timestamp};
use proptest::prelude::*;
use trading::{
    Account, Command, Currency, EffectiveCandle, Engine, Event, Feed, Money, OrderType, OutsideRth, Quantity,
    Settings, Side, Terms, TimeInForce,
};

use crate::common::{Store, at, symbol, tables};
use crate::world::{Minute, instant, minutes, price_of, store};

#[derive(Clone, Debug)]
struct Wish {
    of: usize,
    side: Side,
    order_type: OrderType,
    lots: i64,
    limit: i64,
    trigger: i64,
    window: usize,
    second: i64,
    is_day: bool,
    lanes: OutsideRth,
}

fn wish() -> impl Strategy<Value = Wish> {
    let kinds = prop_oneof![
        Just(OrderType::Limit),
        Just(OrderType::Market),
        Just(OrderType::LimitIfTouched),
        Just(OrderType::MarketIfTouched),
        Just(OrderType::TrailingAmount)
    ];
    let lanes = prop_oneof![Just(OutsideRth::RegularOnly), Just(OutsideRth::AnyTime)];
    let place = (0..6usize, -900..900i64, any::<bool>(), lanes);
    (0..3usize, any::<bool>(), kinds, 1..12i64, -15..15i64, -12..12i64, place).prop_map(
        |(of, buy, order_type, lots, limit, trigger, (window, second, is_day, lanes))| Wish {
            of,
            side: if buy { Side::Buy } else { Side::Sell },
            order_type,
            lots,
            limit,
            trigger,
            window,
            second,
            is_day,
            lanes,
        },
    )
}

/// Expected fills, each as the stamp of its candle, the quantity and the price.
type Fills = Vec<(i64, i64, i64)>;

/// State of the order in the simple implementation.
#[derive(Clone, Copy)]
enum State {
    /// Waits until the price rises (`true`) or falls (`false`) to a level.
    Touch(bool, Price),
    Trail(Price),
    /// Can be filled: the limit or `None` for a market order, the instant from which it can be
    /// filled, and whether the engine released it.
    Works(Option<Price>, i64, bool),
}

const TRAIL: i64 = 600_000;

fn expected(
    wish: &Wish,
    terms: &Terms,
    candles: &[EffectiveCandle],
    mark: Price,
    now: Timestamp,
    until: i64,
) -> Fills {
    let buy = wish.side == Side::Buy;
    let is_hk = terms.symbol.market() == Market::Hk;
    let lot = if is_hk { 100 } else { 1 };
    let mut left = wish.lots * 100;
    let mut fills = Fills::new();
    let mut state = match wish.order_type {
        OrderType::Limit => State::Works(terms.price, now.0, false),
        OrderType::Market => State::Works(None, now.0, false),
        OrderType::TrailingAmount => State::Trail(mark),
        _ => State::Touch(terms.trigger_price.unwrap() > mark, terms.trigger_price.unwrap()),
    };
    for effective in candles {
        let (candle, is_tail) = (&effective.candle, effective.is_tail());
        let in_lane = is_hk
            || candle.session == Session::Intraday
            || (terms.outside_rth == Some(OutsideRth::AnyTime)
                && !matches!(wish.order_type, OrderType::Market | OrderType::MarketIfTouched)
                && candle.session != Session::Overnight);
        if !in_lane || candle.volume == 0 || effective.at.0 > until || left == 0 {
            continue;
        }
        let mut is_fresh = false;
        if candle.time.0 > now.0 {
            (state, is_fresh) = after(state, wish, terms, effective);
        }
        let State::Works(limit, since, by_engine) = state else { continue };
        let came_before = if by_engine { candle.time.0 >= since } else { candle.time.0 > since };
        let joins = is_tail && limit.is_some() && since < candle.time.0 + 480;
        if !(is_fresh || came_before || joins) {
            continue;
        }
        if let Some(price) = price_in(buy, limit, effective) {
            let tenth = candle.volume / 10 / lot * lot;
            let budget = if tenth == 0 && candle.volume >= lot { lot } else { tenth };
            let taken = budget.min(left);
            if taken > 0 {
                left -= taken;
                fills.push((candle.time.0, taken, price.0));
            }
        }
    }
    fills
}

/// Returns the state of an order after a candle, and whether it was released at the open.
fn after(state: State, wish: &Wish, terms: &Terms, effective: &EffectiveCandle) -> (State, bool) {
    let (candle, buy) = (&effective.candle, wish.side == Side::Buy);
    let works = |limit: Option<Price>| State::Works(limit, effective.at.0, true);
    match state {
        State::Touch(rise, level) => {
            let limit = if wish.order_type == OrderType::MarketIfTouched { None } else { terms.price };
            let gap = if rise { candle.open >= level } else { candle.open <= level };
            let inside = if rise { candle.high >= level } else { candle.low <= level };
            match () {
                () if gap => (works(limit), !(effective.is_tail() && limit.is_none())),
                () if inside => (works(limit), false),
                () => (state, false),
            }
        }
        State::Trail(best) => {
            let away = |from: Price| Price(if buy { from.0 + TRAIL } else { from.0 - TRAIL });
            let hit = |price: Price, stop: Price| if buy { price >= stop } else { price <= stop };
            let better = if buy { best.min(candle.low) } else { best.max(candle.high) };
            let worse = if buy { candle.high } else { candle.low };
            // The offset is zero, and all prices in these tests are on a tick.
            match () {
                () if hit(candle.open, away(best)) => (works(Some(away(best))), true),
                () if hit(worse, away(best)) => (works(Some(away(best))), false),
                () if hit(candle.close, away(better)) => (works(Some(away(better))), false),
                () => (State::Trail(better), false),
            }
        }
        State::Works(..) => (state, false),
    }
}

fn price_in(buy: bool, limit: Option<Price>, effective: &EffectiveCandle) -> Option<Price> {
    let candle = &effective.candle;
    let is_beyond = |limit: Price, price: Price| if buy { limit > price } else { limit < price };
    match limit {
        None => (!effective.is_tail()).then_some(candle.open),
        Some(limit) if effective.is_tail() => {
            (limit == candle.close || is_beyond(limit, candle.close)).then_some(candle.close)
        }
        Some(limit) if is_beyond(limit, candle.open) => Some(candle.open),
        Some(limit) => is_beyond(limit, if buy { candle.low } else { candle.high }).then_some(limit),
    }
}

/// Returns when the order expires, using fixed trading hours for the dates of this test.
fn ends(wish: &Wish, terms: &Terms, now: Timestamp) -> i64 {
    if !wish.is_day {
        return i64::MAX;
    }
    let market = terms.symbol.market();
    let is_market = matches!(wish.order_type, OrderType::Market | OrderType::MarketIfTouched);
    let any_time = terms.outside_rth == Some(OutsideRth::AnyTime) && !is_market;
    for day in ["2026-03-18", "2026-03-19", "2026-03-20"] {
        let (last, end) = match market {
            Market::Hk if wish.order_type == OrderType::Limit => ("16:08", "16:10"),
            Market::Hk => ("16:00", "16:10"),
            _ if any_time => ("20:00", "20:00"),
            _ => ("16:00", "16:00"),
        };
        if now < at(market, &format!("{day} {last}")) {
            return at(market, &format!("{day} {end}")).0;
        }
    }
    i64::MAX
}

fn found(store: &Store, terms: &Terms, now: Timestamp) -> Option<Fills> {
    let engine = Engine::new(store, tables());
    let mut account = Account::default();
    let rich = Money::whole(1_000_000_000);
    for command in [
        Command::Open { account: 7, settings: Settings::default() },
        Command::Deposit { currency: Currency::HKD, amount: rich },
        Command::Deposit { currency: Currency::USD, amount: rich },
        Command::EnterPosition {
            symbol: terms.symbol.clone(),
            quantity: Quantity::whole(10_000),
            cost: price_of(0),
        },
    ] {
        engine.handle(&mut account, &command, now);
    }
    if engine.handle(&mut account, &Command::submit(terms.clone()), now).refusal.is_some() {
        return None;
    }
    let outcome = engine.advance(&mut account, at(Market::Us, "2026-03-20 04:00"));
    let fills = outcome.entries.iter().filter_map(|entry| match &entry.event {
        Event::Filled(fill) => Some((fill.candle.time.0, fill.quantity.units() / 10_000, fill.price.0)),
        _ => None,
    });
    Some(fills.collect())
}

fn terms(wish: &Wish) -> Terms {
    let of = symbol(["700.HK", "5.HK", "AAPL.US"][wish.of]);
    let is_us = of.market() == Market::Us;
    let mut terms = Terms::new(of, wish.side, wish.order_type, Quantity::whole(wish.lots * 100));
    terms.price =
        matches!(wish.order_type, OrderType::Limit | OrderType::LimitIfTouched).then(|| price_of(wish.limit));
    terms.trigger_price = matches!(wish.order_type, OrderType::LimitIfTouched | OrderType::MarketIfTouched)
        .then(|| price_of(wish.trigger));
    terms.trailing_amount = Some(Price(TRAIL));
    terms.limit_offset = Some(Price(0));
    terms.time_in_force = if wish.is_day { TimeInForce::Day } else { TimeInForce::GoodTilCanceled };
    terms.outside_rth = is_us.then_some(wish.lanes);
    terms
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn fills_match_the_simple_implementation(minutes in minutes(), wish in wish()) {
        // Corporate actions would cancel the order, so they and the candles of their day are
        // excluded.
        let minutes: Vec<Minute> = minutes.into_iter().filter(|minute| minute.window < 4 || minute.symbol == 2).collect();
        let mut store = store(&minutes);
        store.actions.clear();
        let (terms, now) = (terms(&wish), instant(wish.window, wish.second));
        let mark = store.mark(&terms.symbol, now);
        let until = ends(&wish, &terms, now);
        if let (Some(found), true) = (found(&store, &terms, now), mark.is_some() || terms.price.is_some()) {
            let none = Vec::new();
            let candles = store.candles.get(&terms.symbol).unwrap_or(&none);
            let expected = expected(&wish, &terms, candles, mark.unwrap_or_default(), now, until);
            prop_assert_eq!(found, expected);
        }
    }
}
