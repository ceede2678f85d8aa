//! Random markets and client actions, and accounts to which they are applied.

use market::{Candle, Market, Price, Timestamp, Turnover};
use proptest::prelude::*;
use trading::{
    Account, Attached, AttachedChanges, AttachedType, Changes, Command, Currency, Engine, Entry, Factors,
    GridId, GridRuleInput, Money, OrderId, OrderType, Outcome, Percent, Quantity, Rate, Setting, Settings,
    Side, SubmitGrid, Terms, TimeInForce,
};

use crate::common::{Store, at, date, symbol, tables, venues};

const SYMBOLS: [&str; 3] = ["700.HK", "5.HK", "AAPL.US"];
/// Time windows with candles, each with market, local start and length in minutes.
pub(crate) const WINDOWS: [(Market, &str, i64); 6] = [
    (Market::Hk, "2026-03-18 09:30", 12),
    (Market::Hk, "2026-03-18 15:52", 9),
    (Market::Us, "2026-03-18 09:28", 14),
    (Market::Us, "2026-03-18 19:55", 8),
    (Market::Hk, "2026-03-19 09:30", 6),
    (Market::Us, "2026-03-19 09:30", 6),
];

/// Position and prices of a one-minute candle, in ticks around 100.
#[derive(Clone, Debug)]
pub(crate) struct Minute {
    pub(crate) symbol: usize,
    pub(crate) window: usize,
    pub(crate) offset: i64,
    pub(crate) open: i64,
    pub(crate) up: i64,
    pub(crate) down: i64,
    pub(crate) close: i64,
    pub(crate) volume: i64,
}

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Submit {
        symbol: usize,
        buy: bool,
        kind: u8,
        lots: i64,
        price: i64,
        extra: i64,
        good: u8,
    },
    Replace {
        order: u64,
        lots: i64,
        price: i64,
    },
    Cancel {
        order: u64,
    },
    /// An operator command, by number.
    Operate(u8),
    /// A grid with a number of ticks per step and a number of lots.
    Grid {
        symbol: usize,
        base: i64,
        step: i64,
        lots: i64,
        kind: u8,
    },
    /// A command on a grid, by number.
    OfGrid {
        grid: u64,
        what: u8,
    },
}

/// Window, second relative to the start of the window (may be negative), and action.
pub(crate) type Timed = (usize, i64, Act);

pub(crate) fn minutes() -> impl Strategy<Value = Vec<Minute>> {
    let minute = (0..3usize, 0..6usize, 0..14i64, -15..15i64, 0..8i64, 0..8i64, 0..16i64, 0..6i64).prop_map(
        |(symbol, window, offset, open, up, down, close, volume)| Minute {
            symbol,
            window,
            offset,
            open,
            up,
            down,
            close,
            volume: volume * 700,
        },
    );
    prop::collection::vec(minute, 20..70)
}

/// A daily candle of a symbol on 18 or 19 March. `has_minutes` is whether the one-minute candles of
/// that day are retained.
#[derive(Clone, Debug)]
pub(crate) struct Daily {
    pub(crate) shape: Minute,
    pub(crate) is_later: bool,
    pub(crate) has_minutes: bool,
}

impl Daily {
    pub(crate) fn date(&self) -> market::Date {
        date(if self.is_later { "2026-03-19" } else { "2026-03-18" })
    }
}

pub(crate) fn days() -> impl Strategy<Value = Vec<Daily>> {
    let shape = (0..3usize, -15..15i64, 0..8i64, 0..8i64, 0..16i64, 0..4i64);
    let daily = (shape, any::<bool>(), prop::bool::weighted(0.2));
    let daily = daily.prop_map(|((symbol, open, up, down, close, volume), is_later, has_minutes)| Daily {
        shape: Minute { symbol, window: 0, offset: 0, open, up, down, close, volume: volume * 3_000 },
        is_later,
        has_minutes,
    });
    prop::collection::vec(daily, 1..6)
}

/// Creates a store in which some days have a daily candle. Most of these days have no one-minute
/// candles in regular hours.
pub(crate) fn store_with_days(minutes: &[Minute], days: &[Daily]) -> Store {
    let is_dropped = |minute: &&Minute| {
        let (market, start, length) = WINDOWS[minute.window];
        let time = Timestamp(at(market, start).0 + minute.offset % length * 60);
        let Some(slot) = venues().of(market).slot(time) else { return false };
        let of_day =
            |day: &Daily| !day.has_minutes && day.shape.symbol == minute.symbol && day.date() == slot.day;
        slot.segment.session == market::Session::Intraday && days.iter().any(of_day)
    };
    let stored: Vec<Minute> = minutes.iter().filter(|minute| !is_dropped(minute)).cloned().collect();
    let mut store = store(&stored);
    for day in days {
        let Minute { symbol: of, open, up, down, close, volume, .. } = day.shape;
        let (low, high) = (open - down, open + up);
        let prices =
            [open, high, low, low + close.min(high - low)].map(|ticks| price_of(ticks).text(3).to_string());
        let volume = volume.to_string();
        let values: Vec<&str> = prices.iter().map(String::as_str).chain([volume.as_str()]).collect();
        store.add_day(&symbol(SYMBOLS[of]), day.date(), &values, None);
    }
    store
}

pub(crate) fn acts() -> impl Strategy<Value = Vec<Timed>> {
    timed(0, 1)
}

/// Generates actions that include operator commands on credit, settings, cash and positions.
pub(crate) fn acts_and_operators() -> impl Strategy<Value = Vec<Timed>> {
    timed(1, 1)
}

/// Generates actions of which most are grid commands.
pub(crate) fn acts_with_grids() -> impl Strategy<Value = Vec<Timed>> {
    timed(0, 8)
}

fn timed(operator: u32, grids: u32) -> impl Strategy<Value = Vec<Timed>> {
    let submit = (0..3usize, any::<bool>(), 0..12u8, 1..12i64, -15..15i64, 1..8i64, 0..8u8).prop_map(
        |(symbol, buy, kind, lots, price, extra, good)| Act::Submit {
            symbol,
            buy,
            kind,
            lots,
            price,
            extra,
            good,
        },
    );
    let replace =
        (1..12u64, 1..12i64, -15..15i64).prop_map(|(order, lots, price)| Act::Replace { order, lots, price });
    let operate = (0..7u8).prop_map(Act::Operate);
    let cancel = (1..12u64).prop_map(|order| Act::Cancel { order });
    let grid = (0..3usize, -8..8i64, 1..9i64, 1..4i64, 0..16u8)
        .prop_map(|(symbol, base, step, lots, kind)| Act::Grid { symbol, base, step, lots, kind });
    let of_grid = (1..5u64, 0..5u8).prop_map(|(grid, what)| Act::OfGrid { grid, what });
    let act = prop_oneof![
        6 => submit, 1 => replace, 1 => cancel, operator => operate, grids => grid, 1 => of_grid
    ];
    prop::collection::vec((0..6usize, -1800..600i64, act), 1..25)
}

const BASE: i64 = 100;

pub(crate) fn price_of(ticks: i64) -> Price {
    Price((BASE * 10 + ticks) * 100_000)
}

pub(crate) fn store(minutes: &[Minute]) -> Store {
    let mut store = Store::default();
    store.rates.push((Currency::USD, date("2020-01-01"), Rate::parse("7.8").unwrap()));
    store.factors.insert(symbol("AAPL.US"), Factors::parse("0.5", "0.3", "0.25").unwrap());
    store.closes.push((symbol("5.HK"), date("2026-03-18"), price_of(3)));
    store.act(&symbol("700.HK"), date("2026-03-19"), "cash 1.5", Some(date("2026-03-20")));
    store.act(&symbol("5.HK"), date("2026-03-19"), "bonus 1/3", None);
    let mut taken = Vec::new();
    for minute in minutes {
        let symbol = symbol(SYMBOLS[minute.symbol]);
        let (market, start, length) = WINDOWS[minute.window];
        let time = Timestamp(at(market, start).0 + minute.offset % length * 60);
        let Some(slot) = venues().of(symbol.market()).slot(time) else { continue };
        if symbol.market() != market || taken.contains(&(symbol.clone(), time)) {
            continue;
        }
        taken.push((symbol.clone(), time));
        let (low, high) = (minute.open - minute.down, minute.open + minute.up);
        let close = low + minute.close.min(high - low);
        let candle = Candle {
            time,
            open: price_of(minute.open),
            high: price_of(high),
            low: price_of(low),
            close: price_of(close),
            volume: minute.volume,
            turnover: Turnover(0),
            session: slot.segment.session,
        };
        store.push(&symbol, candle, None);
    }
    store
}

fn command(act: &Act) -> Command {
    match act {
        Act::Submit { symbol: which, buy, kind, lots, price, extra, good } => {
            let symbol = symbol(SYMBOLS[*which]);
            let types = [
                OrderType::Limit,
                OrderType::Market,
                OrderType::Limit,
                OrderType::LimitIfTouched,
                OrderType::MarketIfTouched,
                OrderType::TrailingAmount,
                OrderType::TrailingPercent,
                OrderType::Auction,
                OrderType::AuctionLimit,
                OrderType::SpecialLimit,
                OrderType::OddLot,
                OrderType::EnhancedLimit,
            ];
            let order_type = types[usize::from(*kind)];
            let quantity = if order_type == OrderType::OddLot { *lots } else { *lots * 100 };
            let side = if *buy { Side::Buy } else { Side::Sell };
            let mut terms = Terms::new(symbol, side, order_type, Quantity::whole(quantity));
            terms.price = Some(price_of(*price));
            terms.trigger_price = Some(price_of(*price + *extra - 4));
            terms.trailing_amount = Some(Price(*extra * 100_000));
            terms.trailing_percent = Some(Percent::parse(&format!("0.{extra}")).unwrap());
            terms.limit_offset = Some(Price(*extra * 50_000));
            terms.time_in_force = if *good == 0 { TimeInForce::GoodTilCanceled } else { TimeInForce::Day };
            terms.outside_rth = (*good == 1).then_some(trading::OutsideRth::AnyTime);
            terms.attached = (*good > 4).then(|| Box::new(attached(*good, *buy, (*price, *extra))));
            Command::submit(terms)
        }
        Act::Replace { order, lots, price } => {
            let quantity = Quantity::whole(*lots * 100);
            let mut changes = Changes { quantity, price: Some(price_of(*price)), ..Changes::default() };
            if *lots > 7 {
                changes.attached = Some(Box::new(AttachedChanges {
                    attached: attached((*lots - 3) as u8, *price > 0, (*price, 2)),
                    profit_taker_id: None,
                    stop_loss_id: None,
                    main_id: None,
                    cancel_all: *price == 7,
                    quantity: None,
                }));
            }
            Command::Replace { id: OrderId::of(7, *order), changes: Box::new(changes) }
        }
        Act::Cancel { order } => Command::Cancel { id: OrderId::of(7, *order) },
        Act::Grid { symbol: which, base, step, lots, kind } => {
            let rule = grid_rule(*base, *step, *lots, *kind);
            let symbol = symbol(SYMBOLS[*which]);
            Command::SubmitGrid(Box::new(SubmitGrid { symbol, settlement_currency: None, rule }))
        }
        Act::OfGrid { grid, what: 0 } => Command::SuspendGrid { id: GridId::of(7, *grid) },
        Act::OfGrid { grid, what: 1 | 2 } => Command::RestartGrid { id: GridId::of(7, *grid) },
        Act::OfGrid { grid, what: 3 } => Command::CancelGrid { id: GridId::of(7, *grid) },
        Act::OfGrid { grid, .. } => {
            let rule = Box::new(grid_rule(1, 2, 1, 3));
            Command::ReplaceGrid { id: GridId::of(7, *grid), rule }
        }
        Act::Operate(0) => Command::SetCredit(Money::whole(300_000)),
        Act::Operate(1) => Command::Set(Setting::Liquidate(true)),
        Act::Operate(2) => Command::Set(Setting::SlippageTicks(3)),
        Act::Operate(3) => Command::Adjust {
            currency: Currency::HKD,
            amount: Money::whole(-150_000),
            note: "fine".to_owned(),
        },
        Act::Operate(4) => Command::Deposit { currency: Currency::USD, amount: Money::whole(1_000) },
        Act::Operate(5) => {
            let quantity = Quantity::whole(-200);
            Command::EnterPosition { symbol: symbol("AAPL.US"), quantity, cost: price_of(0) }
        }
        Act::Operate(_) => {
            Command::Exchange { from: Currency::HKD, amount: Money::whole(780), to: Currency::USD }
        }
    }
}

/// Creates a take profit, a stop loss or both around a price. Some become limit orders.
fn attached(kind: u8, buy: bool, (price, distance): (i64, i64)) -> Attached {
    let kind = match kind {
        5 => AttachedType::ProfitTaker,
        6 => AttachedType::StopLoss,
        _ => AttachedType::Bracket,
    };
    let way = if buy { 1 } else { -1 };
    Attached {
        profit_taker_price: Some(price_of(price + way * distance)),
        profit_taker_submit_price: (distance == 3).then(|| price_of(price + way * (distance + 1))),
        stop_loss_price: Some(price_of(price - way * (9 - distance))),
        stop_loss_submit_price: (distance == 4).then(|| price_of(price - way * 8)),
        time_in_force: (distance > 5).then_some(TimeInForce::GoodTilCanceled),
        ..Attached::new(kind)
    }
}

/// Creates a rule whose options are selected by the bits of `kind`.
fn grid_rule(base: i64, step: i64, lots: i64, kind: u8) -> GridRuleInput {
    let has = |bit: u8| kind & bit != 0;
    let word = |is_limit: bool| Some(if is_limit { "GLO" } else { "GMO" }.to_owned());
    GridRuleInput {
        submitted_base_price: Some(price_of(base)),
        upper_limit_price: Some(price_of(base + 14)),
        lower_limit_price: Some(price_of(base - 12)),
        trigger_price_type: Some(1),
        trigger_spread_up: Some(Price(step * 70_000)),
        trigger_spread_down: Some(Price(step * 90_000)),
        trigger_quantity: Some(Quantity::whole(lots * 100)),
        upper_limit_quantity: Some(Quantity::whole(900)),
        lower_limit_quantity: Some(Quantity::whole(100)),
        upper_limit_event: Some(if has(1) { 2 } else { 1 }),
        lower_limit_event: Some(if has(1) { 2 } else { 1 }),
        trigger_buy_depth: Some(if has(4) { -1 } else { 0 }),
        grid_order_type_up: word(has(2)),
        grid_order_type_down: word(!has(2)),
        multiple_trigger: Some(has(4)),
        rth: Some(if has(8) { 2 } else { 0 }),
        time_in_force: Some(if has(8) { 1 } else { 0 }),
        ..GridRuleInput::default()
    }
}

pub(crate) fn instant(window: usize, second: i64) -> Timestamp {
    let (market, start, _) = WINDOWS[window];
    Timestamp(at(market, start).0 + second)
}

pub(crate) fn end() -> Timestamp {
    at(Market::Us, "2026-03-20 04:00")
}

/// Result of a random run.
pub(crate) struct Life {
    pub(crate) account: Account,
    pub(crate) entries: Vec<Entry>,
    pub(crate) outcomes: Vec<Outcome>,
}

/// Executes actions in order of time, and also advances the account to each of the stops.
pub(crate) fn live(store: &Store, acts: &[Timed], settings: &[Setting], stops: &[Timestamp]) -> Life {
    let prepared: Vec<Command> = settings.iter().map(|setting| Command::Set(*setting)).collect();
    live_prepared(store, acts, prepared, stops)
}

/// Like [`live`], but with short sales disabled and with a credit line.
pub(crate) fn live_with_credit(store: &Store, acts: &[Timed], line: Money) -> Life {
    let prepared = vec![Command::Set(Setting::ShortUs(false)), Command::SetCredit(line)];
    live_prepared(store, acts, prepared, &[])
}

fn live_prepared(store: &Store, acts: &[Timed], prepared: Vec<Command>, stops: &[Timestamp]) -> Life {
    let engine = Engine::new(store, tables());
    let mut life = Life { account: Account::default(), entries: Vec::new(), outcomes: Vec::new() };
    let prepare = |life: &mut Life, command: Command| {
        let outcome = engine.handle(&mut life.account, &command, Timestamp(0));
        life.entries.extend(outcome.entries);
    };
    prepare(&mut life, Command::Open { account: 7, settings: Settings::default() });
    for (currency, amount) in [(Currency::HKD, 120_000), (Currency::USD, 60_000)] {
        prepare(&mut life, Command::Deposit { currency, amount: Money::whole(amount) });
    }
    for name in ["700.HK", "5.HK"] {
        let (quantity, cost) = (Quantity::whole(if name == "5.HK" { 340 } else { 500 }), price_of(0));
        prepare(&mut life, Command::EnterPosition { symbol: symbol(name), quantity, cost });
    }
    for command in prepared {
        prepare(&mut life, command);
    }
    let mut timed: Vec<(Timestamp, Option<Command>)> =
        acts.iter().map(|(window, second, act)| (instant(*window, *second), Some(command(act)))).collect();
    timed.sort_by_key(|(at, _)| *at);
    timed.push((end(), None));
    let mut stops = stops.to_vec();
    stops.sort_unstable();
    for (now, command) in timed {
        for stop in &stops {
            if *stop > now || Some(*stop) < life.account.horizon() || life.account.began().is_none() {
                continue;
            }
            let outcome = engine.advance(&mut life.account, *stop);
            life.entries.extend(outcome.entries.iter().cloned());
            life.outcomes.push(outcome);
        }
        let outcome = match command {
            Some(command) => engine.handle(&mut life.account, &command, now),
            None => engine.advance(&mut life.account, now),
        };
        life.entries.extend(outcome.entries.iter().cloned());
        life.outcomes.push(outcome);
    }
    life
}

pub(crate) fn live_until(store: &Store, acts: &[Timed], now: Timestamp) -> Account {
    let engine = Engine::new(store, tables());
    let all = live_with(&engine, acts);
    let mut account = all;
    engine.advance(&mut account, now);
    account
}

/// Prepares an account like [`live`], then executes the actions without advancing past the last
/// action.
fn live_with(engine: &Engine<'_>, acts: &[Timed]) -> Account {
    let mut account = Account::default();
    let prepare = |account: &mut Account, command: Command| {
        engine.handle(account, &command, Timestamp(0));
    };
    prepare(&mut account, Command::Open { account: 7, settings: Settings::default() });
    for (currency, amount) in [(Currency::HKD, 120_000), (Currency::USD, 60_000)] {
        prepare(&mut account, Command::Deposit { currency, amount: Money::whole(amount) });
    }
    for name in ["700.HK", "5.HK"] {
        let (quantity, cost) = (Quantity::whole(if name == "5.HK" { 340 } else { 500 }), price_of(0));
        prepare(&mut account, Command::EnterPosition { symbol: symbol(name), quantity, cost });
    }
    let mut timed: Vec<(Timestamp, Command)> =
        acts.iter().map(|(window, second, act)| (instant(*window, *second), command(act))).collect();
    timed.sort_by_key(|(at, _)| *at);
    for (now, command) in timed {
        engine.handle(&mut account, &command, now);
    }
    account
}
