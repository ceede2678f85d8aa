//! Properties that hold for every market and every sequence of commands, numbered as in the
//! specification.

use std::collections::BTreeMap;

use market::{Market, Price, Symbol, Timestamp};
use proptest::prelude::*;
use trading::{
    Account, AdvanceLimit, Command, Currency, Engine, Entry, Event, Execution, Factors, FillRule, Money,
    OrderId, OrderPush, OrderStatus, OrderType, Push, Quantity, Rate, Setting, Settings, Side, Since, Terms,
    Touch, balance, balances, figures, ledger,
};

use crate::common::{Store, at, date, symbol, tables};
use crate::world::{
    Act, Life, Minute, Timed, WINDOWS, acts, acts_and_operators, end, instant, live, live_until,
    live_with_credit, minutes, store,
};

fn fills(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &Execution)> {
    entries.iter().filter_map(|entry| match &entry.event {
        Event::Filled(filled) => Some((entry, filled.as_ref())),
        _ => None,
    })
}

fn text(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect()
}

/// Generates seconds relative to the start of a window, mostly within the window and sometimes at
/// any time of the day.
fn seconds() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -60..900i64, 1 => -1800..90_000i64]
}

/// Formats all pushes of a run.
fn describe(life: &Life) -> Vec<String> {
    life.outcomes.iter().flat_map(|outcome| &outcome.pushes).map(|push| format!("{push:?}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Properties 1 and 2: additional stops do not change the result, a snapshot restores the
    /// account, and the account at a past instant is the fold of the journal up to that instant.
    #[test]
    fn additional_stops_do_not_change_the_result(minutes in minutes(), acts in acts_and_operators(), cuts in prop::collection::vec((0..6usize, seconds()), 0..16)) {
        let store = store(&minutes);
        let stops: Vec<Timestamp> = cuts.iter().map(|(window, second)| instant(*window, *second).min(end())).collect();
        let (whole, cut) = (live(&store, &acts, &[], &[]), live(&store, &acts, &[], &stops));
        prop_assert_eq!(text(&whole.entries), text(&cut.entries));
        prop_assert_eq!(describe(&whole), describe(&cut));
        prop_assert_eq!(&whole.account, &cut.account);
        let mut folded = Account::fold(&whole.entries);
        folded.set_horizon(whole.account.horizon());
        prop_assert_eq!(&folded, &whole.account);
        let snapshot: Account = serde_json::from_str(&serde_json::to_string(&whole.account).unwrap()).unwrap();
        prop_assert_eq!(&snapshot, &whole.account);
        // Compare an account advanced up to a stop with a fold of the whole journal up to that
        // stop.
        for stop in stops.iter().filter(|stop| whole.account.began().is_some_and(|began| **stop >= began)) {
            let until: Vec<Timed> = acts.iter().filter(|(window, second, _)| instant(*window, *second) <= *stop).cloned().collect();
            let mut part = live_until(&store, &until, *stop);
            part.set_horizon(Some(*stop));
            prop_assert_eq!(Account::fold_until(&whole.entries, *stop), part);
        }
    }

    /// Property 1: advancing with small work limits gives the same journal, and cached reserves
    /// equal recomputed reserves.
    #[test]
    fn work_limits_do_not_change_the_result(minutes in minutes(), acts in acts_and_operators(), entries in 1..6usize, candles in 1..600u64) {
        let store = store(&minutes);
        let engine = Engine::new(&store, tables());
        let last = acts.iter().map(|(window, second, _)| instant(*window, *second)).max().unwrap_or_default();
        let mut whole = live_until(&store, &acts, last);
        prop_assume!(whole.began().is_some());
        let mut part = whole.clone();
        let expected = engine.advance(&mut whole, end());
        let mut found = Vec::new();
        while part.horizon() < whole.horizon() {
            let before = part.horizon();
            let portion = engine.advance_within(&mut part, end(), AdvanceLimit { entries, candles });
            prop_assert!(part.horizon() > before);
            found.extend(portion.entries);
            let fresh: Account = serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap();
            let view = engine.view(part.horizon().unwrap());
            prop_assert_eq!(balances(&fresh, &view), balances(&part, &view));
        }
        prop_assert_eq!(text(&found), text(&expected.entries));
        prop_assert_eq!(&part, &whole);
    }

    /// Property 3: candles that have not taken effect have no influence.
    #[test]
    fn future_candles_have_no_influence(minutes in minutes(), others in minutes(), acts in acts_and_operators(), window in 0..6usize, second in -600..900i64) {
        let now = instant(window, second);
        let is_past = |minute: &&Minute| {
            let (market, start, length) = WINDOWS[minute.window];
            at(market, start).0 + minute.offset % length * 60 <= now.0
        };
        let past: Vec<Minute> = minutes.iter().filter(is_past).cloned().collect();
        let future = |minutes: &[Minute]| minutes.iter().filter(|minute| !is_past(minute)).cloned().collect::<Vec<_>>();
        // Only the open of the candle in progress is known, so its other values may differ.
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

    /// Properties 4, 5, 6, 7, 9, 10 and 16, which the called functions describe.
    #[test]
    fn fills_reserves_and_ledgers_add_up(minutes in minutes(), acts in acts()) {
        let store = store(&minutes);
        let life = live(&store, &acts, &[], &[]);
        check_fills(&life)?;
        check_budgets(&store, &life)?;
        check_ledger(&life)?;
        check_states(&life)?;
        check_reserves(&store, &life)?;
        check_costs(&store, &life)?;
    }

    /// Property 8: an account without credit and short sales has no debt.
    #[test]
    fn accounts_without_credit_have_no_debt(minutes in minutes(), acts in acts(), slippage in 0..20u32) {
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

    /// Property 8: whenever an order is accepted, the account's debt is at most the credit line.
    #[test]
    fn debt_never_exceeds_the_credit_line(minutes in minutes(), acts in acts(), line in 0..400_000i64) {
        let store = store(&minutes);
        let engine = Engine::new(&store, tables());
        let life = live_with_credit(&store, &acts, Money::whole(line));
        let mut account = Account::default();
        let mut has_bought = false;
        for entry in &life.entries {
            account.apply(entry);
            if let (Event::Accepted(accepted), Some(now)) = (&entry.event, entry.at) {
                has_bought |= accepted.terms.side == Side::Buy;
                let debt = figures(&account, &engine.view(now)).unwrap().debt;
                prop_assert!(debt <= Rate::ONE.convert(Money::whole(line)), "{debt:?} of {line}");
            }
        }
        prop_assume!(has_bought);
    }

    /// Property 14: with a looser touch setting and no volume limit, a limit order does not fill
    /// later.
    #[test]
    fn looser_settings_never_delay_fills(minutes in minutes(), which in 0..3usize, buy in any::<bool>(), lots in 1..4i64, price in -15..15i64) {
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

    /// Property 15: an order of the estimated quantity is accepted, and an order of one more lot is
    /// not. This also applies to short sales.
    #[test]
    fn an_estimate_is_the_largest_accepted_quantity(cash in 0..2_000_000i64, price in 1..4000i64, credit in prop_oneof![Just(0i64), 1..500_000i64], us in any::<bool>(), at_market in any::<bool>(), short in any::<bool>()) {
        let mut store = Store::default();
        store.rates.push((Currency::USD, date("2020-01-01"), Rate::parse("7.8").unwrap()));
        let (of, clock) = if us { (symbol("AAPL.US"), Market::Us) } else { (symbol("700.HK"), Market::Hk) };
        store.factors.insert(of.clone(), Factors::parse("0.4", "0.3", "0.2").unwrap());
        let now = at(clock, "2026-03-18 10:00");
        let ticks = tables().ticks.of(&of, trading::Kind::Equity, date("2026-03-18"));
        let price = ticks.up(Price(price * 100_000));
        let text = trading::plain_price(price).to_string();
        let text = text.as_str();
        store.add(&of, at(clock, "2026-03-18 09:58"), &[text, text, text, text, "1000"], None);
        let engine = Engine::new(&store, tables());
        let mut account = Account::default();
        let mut give = |command: Command, now| engine.handle(&mut account, &command, now);
        give(Command::Open { account: 7, settings: Settings::default() }, now);
        let currency = if us { Currency::USD } else { Currency::HKD };
        if cash > 0 {
            give(Command::Deposit { currency, amount: Money::whole(cash) }, now);
        }
        give(Command::SetCredit(Money::whole(credit)), now);
        engine.advance(&mut account, now);
        let side = if short && us { Side::Sell } else { Side::Buy };
        let order_type = if at_market { OrderType::Market } else { OrderType::Limit };
        let price = (!at_market).then_some(price);
        let query = trading::EstimateQuery { symbol: of.clone(), side, order_type, price, order: None, fractional: false };
        let found = trading::estimate(&account, &engine.view(now), &query).unwrap();
        prop_assert!(found.cash_max <= found.margin_max);
        let lot = Quantity::whole(if us { 1 } else { 100 });
        let submit = |quantity: Quantity| {
            let mut account = account.clone();
            let terms = Terms { price, ..Terms::new(of.clone(), side, order_type, quantity) };
            let outcome = engine.handle(&mut account, &Command::submit(terms), now);
            outcome.refusal.is_none() && account.orders().last().is_some_and(|order| order.status() == OrderStatus::New)
        };
        prop_assert!(found.margin_max.is_zero() || submit(found.margin_max));
        prop_assert!(!submit(found.margin_max + lot));
    }
}

/// Property 4: a fill's candle is later than the order's acceptance, and its price is within the
/// candle and not worse than the limit.
fn check_fills(life: &Life) -> Result<(), TestCaseError> {
    let mut account = Account::default();
    let mut gaps: BTreeMap<OrderId, Timestamp> = BTreeMap::new();
    for entry in &life.entries {
        if let Event::Released(release) = &entry.event
            && release.how == trading::Trigger::Gap
        {
            gaps.insert(release.id, release.candle.time);
        }
        if let Event::Filled(filled) = &entry.event {
            let order = account.order(filled.id).unwrap();
            let bar = &filled.candle;
            let is_tail = filled.rule == FillRule::ClosingAuction;
            let is_after = match order.since {
                _ if is_tail => {
                    order.since.at().0 < bar.time.0 + 480 || gaps.get(&filled.id) == Some(&bar.time)
                }
                Since::Client(at) => bar.time > at,
                // An order released at the open of a candle may be filled from the whole candle.
                Since::Engine(at) => bar.time >= at || gaps.get(&filled.id) == Some(&bar.time),
            };
            prop_assert!(is_after, "{filled:?} {:?}", order.since);
            let limit = order.terms.price;
            let expected = match filled.rule {
                FillRule::MarketOpen | FillRule::Open | FillRule::OpeningAuction => Some(bar.open),
                FillRule::Limit | FillRule::OddLot => limit,
                FillRule::ClosingAuction => Some(bar.close),
            };
            prop_assert_eq!(Some(filled.price), expected, "{:?}", filled);
            if filled.rule != FillRule::OddLot {
                prop_assert!(bar.low <= filled.price && filled.price <= bar.high, "{filled:?}");
            }
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

/// Property 5: all orders that a candle fills share one budget, and fill in whole lots.
fn check_budgets(store: &Store, life: &Life) -> Result<(), TestCaseError> {
    let mut taken: BTreeMap<(Symbol, i64), Quantity> = BTreeMap::new();
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

/// Properties 6 and 9: the legs of each entry sum to zero, cash and positions are the sums of their
/// legs, and the booked fees equal the fees of the orders.
fn check_ledger(life: &Life) -> Result<(), TestCaseError> {
    let mut cash: BTreeMap<Currency, Money> = BTreeMap::new();
    let mut stock: BTreeMap<Symbol, Quantity> = BTreeMap::new();
    let mut fees = Money::ZERO;
    for entry in &life.entries {
        let legs = ledger::legs(entry);
        let mut sums: BTreeMap<String, (Money, Quantity)> = BTreeMap::new();
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

/// Properties 5, 10 and 16: status transitions are valid, a final status never changes, and pushes
/// match the history rows.
fn check_states(life: &Life) -> Result<(), TestCaseError> {
    use OrderStatus::*;
    let pushes = life.outcomes.iter().flat_map(|outcome| &outcome.pushes);
    let pushes: Vec<&OrderPush> = pushes.filter_map(Push::order).collect();
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
            // A released attached order may be resized.
            let is_resized = order.attached.is_some() && pair == [New, New];
            let is_allowed = is_allowed || is_resized;
            prop_assert!(is_allowed, "{states:?}");
        }
        let filled: Quantity = order.fills.iter().map(|fill| fill.quantity).sum();
        prop_assert_eq!(filled, order.executed);
        prop_assert!(order.executed <= order.terms.quantity);
    }
    Ok(())
}

/// Property 9: if all fills are on one trading day, a limit buy costs at most its reserve.
fn check_costs(store: &Store, life: &Life) -> Result<(), TestCaseError> {
    let engine = Engine::new(store, tables());
    let mut account = Account::default();
    for entry in &life.entries {
        let before = account.clone();
        account.apply(entry);
        let (Event::Accepted(accepted), Some(now)) = (&entry.event, entry.at) else { continue };
        let order = life.account.order(accepted.id).unwrap();
        let is_of_one_day = order.fills.iter().all(|fill| fill.day == accepted.standing.placement.day);
        let is_replace =
            |entry: &Entry| matches!(&entry.event, Event::Replaced { id, .. } if *id == order.id);
        let is_changed = life.entries.iter().any(is_replace);
        let is_limit = accepted.terms.side == Side::Buy && accepted.terms.order_type == OrderType::Limit;
        if !is_limit || !is_of_one_day || is_changed {
            continue;
        }
        let held =
            |account: &Account| balance(account, &engine.view(now), order.facts.currency, None).reserved;
        let cost = order.paid + order.fee_total();
        prop_assert!(cost <= held(&account) - held(&before), "{order:?}");
    }
    Ok(())
}

/// Property 7: reserves are never negative, and an order's reserve ends with the order.
fn check_reserves(store: &Store, life: &Life) -> Result<(), TestCaseError> {
    let engine = Engine::new(store, tables());
    let mut account = Account::default();
    for entry in &life.entries {
        account.apply(entry);
        let Some(now) = entry.at else { continue };
        let view = engine.view(now);
        for currency in [Currency::HKD, Currency::USD] {
            let found = balance(&account, &view, currency, None);
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
