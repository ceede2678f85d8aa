//! What holds for every market and every sequence of commands.

use market::{Candle, Market, Price, Symbol, Timestamp, Turnover};
use proptest::prelude::*;
use trading::{
    Account, Changes, Command, Currency, Desk, Entry, Event, Factors, FillRule, Filled, Money, OrderId,
    OrderStatus, OrderType, Outcome, Percent, Quantity, Rate, Setting, Settings, Side, Terms, TimeInForce,
    Touch, balance, ledger,
};

use crate::common::{Store, at, date, symbol, tables, venues};

const SYMBOLS: [&str; 3] = ["700.HK", "5.HK", "AAPL.US"];
/// Minutes with candles: an opening, a closing auction, an American morning.
const WINDOWS: [(Market, &str, i64); 6] = [
    (Market::Hk, "2026-03-18 09:30", 12),
    (Market::Hk, "2026-03-18 15:52", 9),
    (Market::Us, "2026-03-18 09:28", 14),
    (Market::Us, "2026-03-18 19:55", 8),
    (Market::Hk, "2026-03-19 09:30", 6),
    (Market::Us, "2026-03-19 09:30", 6),
];

/// A candle's place and shape, in ticks around 100.
#[derive(Clone, Debug)]
struct Minute {
    symbol: usize,
    window: usize,
    offset: i64,
    open: i64,
    up: i64,
    down: i64,
    close: i64,
    volume: i64,
}

#[derive(Clone, Debug)]
enum Act {
    Submit { symbol: usize, buy: bool, kind: u8, lots: i64, price: i64, extra: i64, good: u8 },
    Replace { order: u64, lots: i64, price: i64 },
    Cancel { order: u64 },
}

/// An act at a second of one of the windows, from a little before it on.
type Timed = (usize, i64, Act);

fn minutes() -> impl Strategy<Value = Vec<Minute>> {
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

fn acts() -> impl Strategy<Value = Vec<Timed>> {
    let submit = (0..3usize, any::<bool>(), 0..12u8, 1..12i64, -15..15i64, 1..8i64, 0..4u8).prop_map(
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
    let act = prop_oneof![6 => submit, 1 => replace, 1 => (1..12u64).prop_map(|order| Act::Cancel { order })];
    prop::collection::vec((0..6usize, -1800..600i64, act), 1..25)
}

const BASE: i64 = 100;

fn price_of(ticks: i64) -> Price {
    Price((BASE * 10 + ticks) * 100_000)
}

fn store(minutes: &[Minute]) -> Store {
    let mut store = Store::default();
    store.rates.push((Currency::USD, date("2020-01-01"), Rate::parse("7.8").unwrap()));
    store.factors.insert(symbol("AAPL.US"), Factors::parse("0.5", "0.3", "0.25").unwrap());
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
            Command::submit(terms)
        }
        Act::Replace { order, lots, price } => {
            let quantity = Quantity::whole(*lots * 100);
            let changes = Changes { quantity, price: Some(price_of(*price)), ..Changes::default() };
            Command::Replace { id: OrderId::of(7, *order), changes: Box::new(changes) }
        }
        Act::Cancel { order } => Command::Cancel { id: OrderId::of(7, *order) },
    }
}

fn instant(window: usize, second: i64) -> Timestamp {
    let (market, start, _) = WINDOWS[window];
    Timestamp(at(market, start).0 + second)
}

fn end() -> Timestamp {
    at(Market::Us, "2026-03-20 04:00")
}

/// An account that was lived through.
struct Life {
    account: Account,
    entries: Vec<Entry>,
    outcomes: Vec<Outcome>,
}

/// Plays commands in the order of their instants, going through further instants on the way.
fn live(store: &Store, acts: &[Timed], settings: &[Setting], stops: &[Timestamp]) -> Life {
    let desk = Desk::new(store, tables());
    let mut life = Life { account: Account::default(), entries: Vec::new(), outcomes: Vec::new() };
    let prepare = |life: &mut Life, command: Command| {
        let outcome = desk.handle(&mut life.account, &command, Timestamp(0));
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
    for setting in settings {
        prepare(&mut life, Command::Set(*setting));
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
            let outcome = desk.advance(&mut life.account, *stop);
            life.entries.extend(outcome.entries.iter().cloned());
            life.outcomes.push(outcome);
        }
        let outcome = match command {
            Some(command) => desk.handle(&mut life.account, &command, now),
            None => desk.advance(&mut life.account, now),
        };
        life.entries.extend(outcome.entries.iter().cloned());
        life.outcomes.push(outcome);
    }
    life
}

fn fills(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &Filled)> {
    entries.iter().filter_map(|entry| match &entry.event {
        Event::Filled(filled) => Some((entry, filled.as_ref())),
        _ => None,
    })
}

fn text(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// 1 and 2: any further stops on the way change nothing, and a second run is the same; an account as of an instant is its
    /// journal cut there.
    #[test]
    fn time_may_be_cut_anywhere(minutes in minutes(), acts in acts(), cuts in prop::collection::vec((0..6usize, -1800..90_000i64), 0..8)) {
        let store = store(&minutes);
        let stops: Vec<Timestamp> = cuts.iter().map(|(window, second)| instant(*window, *second).min(end())).collect();
        let (whole, cut) = (live(&store, &acts, &[], &[]), live(&store, &acts, &[], &stops));
        prop_assert_eq!(text(&whole.entries), text(&cut.entries));
        prop_assert_eq!(&whole.account, &cut.account);
        let mut folded = Account::fold(&whole.entries);
        folded.set_horizon(whole.account.horizon());
        prop_assert_eq!(&folded, &whole.account);
        let snapshot: Account = serde_json::from_str(&serde_json::to_string(&whole.account).unwrap()).unwrap();
        prop_assert_eq!(&snapshot, &whole.account);
        // Lived only up to a stop, and read from the whole journal there.
        for stop in stops.iter().filter(|stop| whole.account.began().is_some_and(|began| **stop >= began)) {
            let until: Vec<Timed> = acts.iter().filter(|(window, second, _)| instant(*window, *second) <= *stop).cloned().collect();
            let mut part = live_until(&store, &until, *stop);
            part.set_horizon(Some(*stop));
            prop_assert_eq!(Account::fold_until(&whole.entries, *stop), part);
        }
    }

    /// 3: what has not acted yet has no influence.
    #[test]
    fn the_future_does_not_matter(minutes in minutes(), others in minutes(), acts in acts(), window in 0..6usize, second in -600..900i64) {
        let now = instant(window, second);
        let is_past = |minute: &&Minute| {
            let (market, start, length) = WINDOWS[minute.window];
            at(market, start).0 + minute.offset % length * 60 <= now.0
        };
        let past: Vec<Minute> = minutes.iter().filter(is_past).cloned().collect();
        let future = |minutes: &[Minute]| minutes.iter().filter(|minute| !is_past(minute)).cloned().collect::<Vec<_>>();
        // The minute that runs shows its open alone: whatever else it will show may be anything.
        let running = |minute: &Minute| Minute { up: minute.up + 3, down: minute.down + 2, close: minute.close + 1, volume: minute.volume + 700, ..minute.clone() };
        let is_running = |minute: &Minute| {
            let (market, start, length) = WINDOWS[minute.window];
            let stamp = Timestamp(at(market, start).0 + minute.offset % length * 60);
            stamp.0 <= now.0 && now.0 < stamp.0 + 60
        };
        let changed: Vec<Minute> = past.iter().map(|minute| if is_running(minute) { running(minute) } else { minute.clone() }).collect();
        let one = store(&[past, future(&minutes)].concat());
        let two = store(&[changed, future(&others)].concat());
        let until: Vec<Timed> = acts.iter().filter(|(window, second, _)| instant(*window, *second) <= now).cloned().collect();
        let (one, two) = (live_until(&one, &until, now), live_until(&two, &until, now));
        prop_assert_eq!(one, two);
    }

    /// 4, 5, 6, 7, 9, 10 and 16.
    #[test]
    fn fills_reserves_and_ledgers_add_up(minutes in minutes(), acts in acts()) {
        let store = store(&minutes);
        let life = live(&store, &acts, &[], &[]);
        check_fills(&life)?;
        check_budgets(&store, &life)?;
        check_ledger(&life)?;
        check_states(&life)?;
        check_reserves(&store, &life)?;
    }

    /// 8: without credit and shorts nobody owes anything.
    #[test]
    fn no_debt_without_credit(minutes in minutes(), acts in acts(), slippage in 0..20u32) {
        let store = store(&minutes);
        let settings = [Setting::ShortUs(false), Setting::SlippageTicks(slippage)];
        let life = live(&store, &acts, &settings, &[]);
        let mut account = Account::default();
        for entry in &life.entries {
            account.apply(entry);
            for (currency, cash) in account.currencies() {
                prop_assert!(!cash.is_negative(), "{currency} {cash} after {entry:?}");
            }
        }
    }

    /// 14: a limit order fills no later with a looser touch and no cap.
    #[test]
    fn looser_settings_fill_no_later(minutes in minutes(), which in 0..3usize, buy in any::<bool>(), lots in 1..4i64, price in -15..15i64) {
        let store = store(&minutes);
        let act = (0, -600, Act::Submit { symbol: which, buy, kind: 0, lots, price, extra: 1, good: 0 });
        let strict = live(&store, std::slice::from_ref(&act), &[], &[]);
        let loose = live(&store, &[act], &[Setting::Participation(None), Setting::Touch(Touch::Touch)], &[]);
        let executed = |life: &Life, until: Timestamp| -> Quantity {
            fills(&life.entries).filter(|(entry, _)| entry.at <= Some(until)).map(|(_, filled)| filled.quantity).sum()
        };
        for (entry, _) in fills(&strict.entries) {
            let until = entry.at.unwrap();
            prop_assert!(executed(&loose, until) >= executed(&strict, until));
        }
    }

    /// 15: what the estimate says is accepted, and one lot more is not.
    #[test]
    fn an_estimate_is_exact(cash in 0..2_000_000i64, price in 1..4000i64, credit in prop_oneof![Just(0i64), 1..500_000i64], us in any::<bool>()) {
        let mut store = Store::default();
        store.rates.push((Currency::USD, date("2020-01-01"), Rate::parse("7.8").unwrap()));
        let (of, clock) = if us { (symbol("AAPL.US"), Market::Us) } else { (symbol("700.HK"), Market::Hk) };
        store.factors.insert(of.clone(), Factors::parse("0.4", "0.3", "0.2").unwrap());
        let now = at(clock, "2026-03-18 10:00");
        let ticks = tables().ticks.of(&of, trading::Kind::Equity, date("2026-03-18"));
        let price = ticks.up(Price(price * 100_000));
        let desk = Desk::new(&store, tables());
        let mut account = Account::default();
        let mut give = |command: Command, now| desk.handle(&mut account, &command, now);
        give(Command::Open { account: 7, settings: Settings::default() }, now);
        let currency = if us { Currency::USD } else { Currency::HKD };
        if cash > 0 {
            give(Command::Deposit { currency, amount: Money::whole(cash) }, now);
        }
        give(Command::SetCredit(Money::whole(credit)), now);
        desk.advance(&mut account, now);
        let query = trading::EstimateQuery { symbol: of.clone(), side: Side::Buy, order_type: OrderType::Limit, price: Some(price), order: None, fractional: false };
        let found = trading::estimate(&account, &desk.scene(now), &query).unwrap();
        prop_assert!(found.cash_max <= found.margin_max);
        let lot = Quantity::whole(if us { 1 } else { 100 });
        let submit = |quantity: Quantity| {
            let mut account = account.clone();
            let terms = Terms { price: Some(price), ..Terms::new(of.clone(), Side::Buy, OrderType::Limit, quantity) };
            let outcome = desk.handle(&mut account, &Command::submit(terms), now);
            outcome.refusal.is_none() && account.orders().last().is_some_and(|order| order.status() == OrderStatus::New)
        };
        prop_assert!(found.margin_max.is_zero() || submit(found.margin_max));
        prop_assert!(!submit(found.margin_max + lot));
    }
}

fn live_until(store: &Store, acts: &[Timed], now: Timestamp) -> Account {
    let desk = Desk::new(store, tables());
    let all = live_with(&desk, acts);
    let mut account = all;
    desk.advance(&mut account, now);
    account
}

/// The preparations of [`live`], then commands, and no advance beyond the last of them.
fn live_with(desk: &Desk<'_>, acts: &[Timed]) -> Account {
    let mut account = Account::default();
    let prepare = |account: &mut Account, command: Command| {
        desk.handle(account, &command, Timestamp(0));
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
        desk.handle(&mut account, &command, now);
    }
    account
}

/// 4: stamps after acceptance, prices of the candle, never worse than the limit.
fn check_fills(life: &Life) -> Result<(), TestCaseError> {
    let mut account = Account::default();
    for entry in &life.entries {
        if let Event::Filled(filled) = &entry.event {
            let order = account.order(filled.id).unwrap();
            let bar = &filled.candle;
            let is_after = order.since.at() < bar.time || (filled.rule == FillRule::ClosingAuction);
            let is_engine = matches!(order.since, trading::Since::Engine(_));
            prop_assert!(is_after || is_engine, "{filled:?} {:?}", order.since);
            if filled.rule != FillRule::OddLot {
                prop_assert!(bar.low <= filled.price && filled.price <= bar.high, "{filled:?}");
            }
            let limit = order.terms.price;
            match filled.side {
                Side::Buy => prop_assert!(limit.is_none_or(|limit| filled.price <= limit)),
                Side::Sell => prop_assert!(limit.is_none_or(|limit| filled.price >= limit)),
            }
            prop_assert!(filled.quantity <= order.remaining());
            prop_assert!(bar.volume > 0);
        }
        account.apply(entry);
    }
    Ok(())
}

/// 5: one budget for all orders of a candle; whole lots.
fn check_budgets(store: &Store, life: &Life) -> Result<(), TestCaseError> {
    let mut taken: std::collections::BTreeMap<(Symbol, i64), Quantity> = std::collections::BTreeMap::new();
    for (_, filled) in fills(&life.entries) {
        if filled.rule == FillRule::OddLot {
            continue;
        }
        let lot = trading::Feed::security(store, &filled.symbol, filled.day).unwrap().lot;
        prop_assert!(filled.quantity.is_multiple_of(lot));
        let sum = taken.entry((filled.symbol.clone(), filled.candle.time.0)).or_default();
        *sum += filled.quantity;
        let tenth = Quantity::whole(filled.candle.volume / 10).down_to(lot).max(lot);
        prop_assert!(*sum <= tenth, "{filled:?}");
    }
    Ok(())
}

/// 6 and 9: legs sum to zero, cash and holdings are their sums, and fees those of the orders.
fn check_ledger(life: &Life) -> Result<(), TestCaseError> {
    let mut cash: std::collections::BTreeMap<Currency, Money> = std::collections::BTreeMap::new();
    let mut stock: std::collections::BTreeMap<Symbol, Quantity> = std::collections::BTreeMap::new();
    let mut fees = Money::ZERO;
    for entry in &life.entries {
        let legs = ledger::legs(entry);
        let mut sums: std::collections::BTreeMap<String, (Money, Quantity)> =
            std::collections::BTreeMap::new();
        for leg in &legs {
            match &leg.amount {
                ledger::Amount::Money(currency, amount) => {
                    sums.entry(currency.to_string()).or_default().0 += *amount;
                    if leg.account == ledger::LedgerAccount::Cash {
                        *cash.entry(*currency).or_default() += *amount;
                    }
                    if matches!(leg.account, ledger::LedgerAccount::Fees(_)) {
                        fees += *amount;
                    }
                }
                ledger::Amount::Shares(symbol, quantity) => {
                    sums.entry(symbol.to_string()).or_default().1 += *quantity;
                    if matches!(leg.account, ledger::LedgerAccount::Stock(_)) {
                        *stock.entry(symbol.clone()).or_default() += *quantity;
                    }
                }
            }
        }
        for (what, (money, shares)) in sums {
            prop_assert!(money.is_zero() && shares.is_zero(), "{what} {entry:?}");
        }
        let flows: Money = ledger::cash_flows(entry).iter().map(|flow| flow.amount).sum();
        let in_cash = legs.iter().filter(|leg| leg.account == ledger::LedgerAccount::Cash);
        let moved: Money = in_cash
            .map(|leg| match leg.amount {
                ledger::Amount::Money(_, amount) => amount,
                ledger::Amount::Shares(..) => Money::ZERO,
            })
            .sum();
        prop_assert_eq!(flows, moved);
    }
    for (currency, amount) in life.account.currencies() {
        prop_assert_eq!(cash.get(&currency).copied().unwrap_or_default(), amount);
    }
    for (symbol, quantity) in &stock {
        prop_assert_eq!(life.account.held(symbol), *quantity);
    }
    let charged: Money = life.account.orders().iter().map(|order| order.fee_total()).sum();
    prop_assert_eq!(fees, charged);
    Ok(())
}

/// 5, 10 and 16: states move along their table, nothing happens after the last, and pushes are the rows of the history.
fn check_states(life: &Life) -> Result<(), TestCaseError> {
    use OrderStatus::*;
    let pushes: Vec<_> = life.outcomes.iter().flat_map(|outcome| &outcome.pushes).collect();
    for order in life.account.orders() {
        let own: Vec<_> = pushes.iter().filter(|push| push.order_id == order.id).collect();
        let states: Vec<OrderStatus> = own.iter().map(|push| push.status).collect();
        let rows: Vec<OrderStatus> = order.history.iter().map(|row| row.status).collect();
        prop_assert_eq!(&states, &rows);
        let last = own.last().unwrap();
        prop_assert_eq!(
            (
                last.status,
                last.executed_quantity,
                last.updated_at,
                &last.msg,
                last.trigger_status,
                last.submitted_price
            ),
            (
                order.status(),
                order.executed,
                order.updated_at,
                &order.msg,
                order.trigger_status,
                order.terms.price
            )
        );
        let (ends, before) = states.split_last().unwrap();
        prop_assert!(before.iter().all(|state| !state.is_final()), "{states:?}");
        prop_assert!(ends.is_final() || order.is_open());
        for pair in states.windows(2) {
            let is_allowed = matches!(
                (pair[0], pair[1]),
                (NotReported, WaitToNew | NotReported | Canceled | Expired)
                    | (WaitToNew, New)
                    | (VarietiesNotReported, VarietiesNotReported | New | Rejected | Canceled | Expired)
                    | (New, PartialFilled | Filled | WaitToReplace | WaitToCancel | Expired | Canceled)
                    | (
                        PartialFilled,
                        PartialFilled | Filled | WaitToReplace | WaitToCancel | Expired | PartialWithdrawal
                    )
                    | (WaitToReplace, PendingReplace)
                    | (PendingReplace, New | PartialFilled)
                    | (WaitToCancel, PendingCancel)
                    | (PendingCancel, Canceled | PartialWithdrawal)
            );
            prop_assert!(is_allowed, "{states:?}");
        }
        let filled: Quantity = order.fills.iter().map(|fill| fill.quantity).sum();
        prop_assert_eq!(filled, order.executed);
        prop_assert!(order.executed <= order.terms.quantity);
    }
    Ok(())
}

/// 7: reserves are never negative, and gone with the orders.
fn check_reserves(store: &Store, life: &Life) -> Result<(), TestCaseError> {
    let desk = Desk::new(store, tables());
    let mut account = Account::default();
    for entry in &life.entries {
        account.apply(entry);
        let Some(now) = entry.at else { continue };
        let scene = desk.scene(now);
        for currency in [Currency::HKD, Currency::USD] {
            let found = balance(&account, &scene, currency, None);
            prop_assert!(!found.reserved.is_negative() && found.reserved >= found.reserved_fees);
            if !account.has_open_orders() {
                prop_assert!(found.reserved.is_zero());
            }
        }
        if !account.has_open_orders() {
            for (symbol, position) in account.positions() {
                prop_assert_eq!(account.available_quantity(symbol, None), position.quantity);
            }
        }
    }
    Ok(())
}
