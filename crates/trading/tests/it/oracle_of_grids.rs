//! Compares grids with a second, simple implementation of the rules, which handles one grid in one
//! loop over the candles and uses only integers. Also checks invariants of every trigger.

use market::{Market, Price, Session, Timestamp};
use proptest::prelude::*;
use trading::{
    Account, Command, Currency, EffectiveCandle, Engine, Event, GridId, GridRuleInput, GridStatus,
    GridTrigger, GridTriggerKind, Money, Percent, Quantity, Settings, Side, SleepingReason, SubmitGrid,
};

use crate::common::{Store, at, symbol, tables};
use crate::world::{Life, acts_with_grids, instant, live, minutes, price_of, store};

#[derive(Clone, Debug)]
struct Wish {
    of: usize,
    window: usize,
    second: i64,
    base: i64,
    is_percent: bool,
    up: i64,
    down: i64,
    below: i64,
    above: i64,
    closes: (bool, bool),
    is_multiple: bool,
    is_extended: bool,
}

fn wish() -> impl Strategy<Value = Wish> {
    let place = (0..3usize, 0..6usize, -900..900i64, -12..12i64);
    let steps = (any::<bool>(), 1..14i64, 1..14i64, 1..40i64, 1..40i64);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (place, steps, flags).prop_map(|((of, window, second, base), steps, flags)| Wish {
        of,
        window,
        second,
        base,
        is_percent: steps.0,
        up: steps.1,
        down: steps.2,
        below: steps.3,
        above: steps.4,
        closes: (flags.0, flags.1),
        is_multiple: flags.2,
        is_extended: flags.3,
    })
}

const LOT: i64 = 100;

/// Returns the triggers expected by the simple implementation. Prices are in millionths. `up` and
/// `down` are in twentieths of a currency unit or of a percent.
fn expected(wish: &Wish, candles: &[EffectiveCandle], now: Timestamp) -> Vec<String> {
    let is_us = wish.of == 2;
    let tick = |price: i64| match () {
        () if is_us => 10_000,
        () if price <= 100_000_000 => 50_000,
        () => 100_000,
    };
    // Distance from a base to the next level, multiplied by 2,000.
    let step = |base: i64, twentieths: i64| {
        if wish.is_percent { base * twentieths } else { twentieths * 50_000 * 2_000 }
    };
    let up = |base: i64| {
        let exact = (base * 2_000 + step(base, wish.up) + 1_999) / 2_000;
        (exact + tick(exact) - 1) / tick(exact) * tick(exact)
    };
    let down = |base: i64| {
        let exact = (base * 2_000 - step(base, wish.down)) / 2_000;
        exact / tick(exact) * tick(exact)
    };
    let mut base = price_of(wish.base).0;
    let (lower, upper) = (base - wish.below * 100_000, base + wish.above * 100_000);
    let (mut seen, mut sleeps) = (Vec::new(), false);
    let line = |price: i64, side: Side, count: i64, kind: &str| {
        format!("{} {side} {} {kind}", price as f64 / 1e6, count * LOT)
    };
    for effective in candles {
        let candle = &effective.candle;
        let in_lane =
            candle.session == Session::Intraday || (wish.is_extended && candle.session != Session::Overnight);
        if candle.time <= now || candle.volume == 0 || effective.is_tail() || !in_lane {
            continue;
        }
        let [open, high, low] = [candle.open, candle.high, candle.low].map(|price| price.0);
        if open > upper || open < lower {
            if (open > upper && wish.closes.1) || (open < lower && wish.closes.0) {
                seen.push("closed".to_owned());
                break;
            }
            if !sleeps {
                seen.push("asleep: price".to_owned());
            }
            sleeps = true;
            continue;
        }
        if open >= up(base) || open <= down(base) {
            let (side, one) = if open >= up(base) { (Side::Sell, wish.up) } else { (Side::Buy, wish.down) };
            let jumped = ((open - base).abs() * 2_000 / step(base, one)).max(1);
            seen.push(line(open, side, if wish.is_multiple { jumped } else { 1 }, "gap"));
            (base, sleeps) = (open, false);
        }
        let (rises, falls) = (high >= up(base), low <= down(base));
        if !rises && !falls {
            continue;
        }
        let is_up = rises && (!falls || high - open < open - low);
        let mut levels = 0;
        loop {
            let level = if is_up { up(base) } else { down(base) };
            let is_reached =
                if is_up { level <= high && level <= upper } else { level >= low && level >= lower };
            if !is_reached || levels == 20 {
                break;
            }
            seen.push(line(level, if is_up { Side::Sell } else { Side::Buy }, 1, "level"));
            (base, sleeps, levels) = (level, false, levels + 1);
        }
        if (is_up && high > upper && wish.closes.1) || (!is_up && low < lower && wish.closes.0) {
            seen.push("closed".to_owned());
            break;
        }
    }
    seen
}

fn rule(wish: &Wish) -> GridRuleInput {
    let base = price_of(wish.base);
    let spread = |twentieths: i64| Some(Price(twentieths * 50_000)).filter(|_| !wish.is_percent);
    let percent = |twentieths: i64| {
        let text = format!("{}.{:02}", twentieths * 5 / 100, twentieths * 5 % 100);
        Some(Percent::parse(&text).unwrap()).filter(|_| wish.is_percent)
    };
    let event = |closes: bool| Some(if closes { 2 } else { 1 });
    GridRuleInput {
        submitted_base_price: Some(base),
        upper_limit_price: Some(Price(base.0 + wish.above * 100_000)),
        lower_limit_price: Some(Price(base.0 - wish.below * 100_000)),
        trigger_price_type: Some(if wish.is_percent { 2 } else { 1 }),
        trigger_spread_up: spread(wish.up),
        trigger_spread_down: spread(wish.down),
        trigger_percent_up: percent(wish.up),
        trigger_percent_down: percent(wish.down),
        trigger_quantity: Some(Quantity::whole(LOT)),
        upper_limit_quantity: Some(Quantity::whole(100_000_000)),
        lower_limit_quantity: Some(Quantity::whole(1)),
        upper_limit_event: event(wish.closes.1),
        lower_limit_event: event(wish.closes.0),
        grid_order_type_up: Some("GTG".to_owned()),
        multiple_trigger: Some(wish.is_multiple),
        rth: Some(if wish.is_extended { 2 } else { 0 }),
        time_in_force: Some(1),
        ..GridRuleInput::default()
    }
}

/// Returns the triggers of the engine for an account without limits.
fn found(store: &Store, wish: &Wish, now: Timestamp) -> Vec<String> {
    let engine = Engine::new(store, tables());
    let mut account = Account::default();
    let of = symbol(["700.HK", "5.HK", "AAPL.US"][wish.of]);
    let rich = Money::whole(1_000_000_000_000);
    let submit = SubmitGrid { symbol: of.clone(), settlement_currency: None, rule: rule(wish) };
    let quantity = Quantity::whole(1_000_000);
    for command in [
        Command::Open { account: 7, settings: Settings::default() },
        Command::Deposit { currency: Currency::HKD, amount: rich },
        Command::Deposit { currency: Currency::USD, amount: rich },
        Command::EnterPosition { symbol: of, quantity, cost: price_of(0) },
        Command::SubmitGrid(Box::new(submit)),
    ] {
        let outcome = engine.handle(&mut account, &command, now);
        assert!(outcome.refusal.is_none(), "{:?}", outcome.refusal);
    }
    let outcome = engine.advance(&mut account, at(Market::Us, "2026-03-20 04:00"));
    let closed = outcome.entries.iter().filter(|entry| matches!(entry.event, Event::GridCanceled { .. }));
    let closed = closed.map(|_| "closed".to_owned());
    crate::common::triggers(&outcome.entries).into_iter().chain(closed).collect()
}

/// Makes the candles of a session arrive in groups of `together`. The grouping must not affect the
/// triggers.
fn gather(candles: &mut [EffectiveCandle], together: usize) {
    let lane = |effective: &EffectiveCandle| (effective.day, effective.candle.session, effective.is_tail());
    for session in candles.chunk_by_mut(|a, b| lane(a) == lane(b)) {
        for group in session.chunks_mut(together) {
            let Some(at) = group.last().map(|last| last.at) else { continue };
            group.iter_mut().for_each(|effective| effective.at = at);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn triggers_match_the_simple_implementation(minutes in minutes(), wish in wish(), together in 1..4usize) {
        let mut store = store(&minutes);
        store.actions.clear();
        let now = instant(wish.window, wish.second);
        let none = Vec::new();
        let of = symbol(["700.HK", "5.HK", "AAPL.US"][wish.of]);
        if let Some(candles) = store.candles.get_mut(&of) {
            gather(candles, together);
        }
        let expected = expected(&wish, store.candles.get(&of).unwrap_or(&none), now);
        prop_assert_eq!(found(&store, &wish, now), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Property 17 and the account limits, for random grid commands mixed with all other client
    /// commands.
    #[test]
    fn triggers_respect_account_and_rule_limits(minutes in minutes(), acts in acts_with_grids()) {
        let store = store(&minutes);
        check_triggers(&live(&store, &acts, &[], &[]))?;
    }
}

fn check_triggers(life: &Life) -> Result<(), TestCaseError> {
    let mut account = Account::default();
    let mut made = None;
    for entry in &life.entries {
        if let Event::GridTriggered(trigger) = &entry.event {
            check_trigger(&account, trigger)?;
        }
        if let Some((grid, side, quantity)) = made.take() {
            // A trigger that is not skipped must be followed by its order.
            let Event::Accepted(accepted) = &entry.event else { panic!("{entry:?} after a trigger") };
            prop_assert_eq!(accepted.grid.map(|origin| origin.grid), Some(grid));
            prop_assert_eq!((accepted.terms.side, accepted.terms.quantity), (side, quantity));
            prop_assert!(accepted.by_engine);
        }
        if let Event::GridTriggered(trigger) = &entry.event
            && trigger.skipped.is_none()
        {
            made = Some((trigger.grid, trigger.side, trigger.quantity));
        }
        account.apply(entry);
    }
    prop_assert!(made.is_none());
    for grid in account.grids().iter() {
        check_books(&account, grid.id)?;
    }
    Ok(())
}

fn check_trigger(account: &Account, trigger: &GridTrigger) -> Result<(), TestCaseError> {
    let grid = account.grid(trigger.grid).unwrap();
    prop_assert_eq!(grid.status, GridStatus::Performing);
    prop_assert_eq!(trigger.base, grid.base);
    let (rule, bar) = (&grid.rule, &trigger.candle);
    prop_assert!(bar.low <= trigger.price && trigger.price <= bar.high);
    prop_assert!(rule.lower <= trigger.price && trigger.price <= rule.upper);
    prop_assert!(bar.time > grid.since.at());
    prop_assert_eq!(trigger.side == Side::Sell, trigger.price > trigger.base);
    prop_assert_eq!(trigger.kind == GridTriggerKind::Gap, trigger.price == bar.open);
    let held = account.held(&grid.symbol);
    let is_over = match trigger.side {
        Side::Buy => held + trigger.quantity > rule.upper_quantity,
        Side::Sell => held - trigger.quantity < rule.lower_quantity,
    };
    prop_assert_eq!(is_over, trigger.skipped == Some(SleepingReason::Position));
    let available = account.available_quantity(&grid.symbol, None);
    if trigger.side == Side::Sell && !is_over {
        prop_assert_eq!(trigger.quantity > available, trigger.skipped == Some(SleepingReason::Holdings));
    }
    Ok(())
}

/// Checks that a grid's totals equal the totals of its orders.
fn check_books(account: &Account, id: GridId) -> Result<(), TestCaseError> {
    let grid = account.grid(id).unwrap();
    let orders =
        || account.orders().iter().filter(|order| order.grid.is_some_and(|origin| origin.grid == id));
    let executed = |side: Side| -> Quantity {
        orders().filter(|order| order.terms.side == side).map(|order| order.executed).sum()
    };
    prop_assert_eq!((grid.bought, grid.sold), (executed(Side::Buy), executed(Side::Sell)));
    prop_assert_eq!(grid.orders.clone(), orders().map(|order| order.id).collect::<Vec<_>>());
    let closes =
        orders().filter(|order| order.grid.is_some_and(|origin| origin.kind == GridTriggerKind::Close));
    prop_assert_eq!(grid.trigger_times as usize + closes.count(), grid.orders.len());
    if !grid.is_open() {
        let open = orders().filter(|order| order.is_open());
        prop_assert!(open.into_iter().all(|order| order.grid.unwrap().kind == GridTriggerKind::Close));
    }
    Ok(())
}
