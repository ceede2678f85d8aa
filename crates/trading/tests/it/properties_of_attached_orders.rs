//! Properties of attached orders.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trading::{Account, AttachedLeg, Event, Execution, Order, OrderId, OrderStatus, Outcome, Quantity, Side};

use crate::world::{Act, Timed, acts_and_operators, live, minutes, store};

/// Generates actions of which most submit a limit or market order with attached orders. The other
/// orders are plain sales.
fn acts() -> impl Strategy<Value = Vec<Timed>> {
    acts_and_operators().prop_map(|acts| acts.into_iter().map(attach).collect())
}

fn attach((window, second, mut act): Timed) -> Timed {
    if let Act::Submit { buy, kind, good, price, .. } = &mut act {
        *kind %= 2;
        *good = if *buy { 5 + *good % 3 } else { 2 };
        *price = if *buy { price.abs() } else { -price.abs() };
    }
    (window, second, act)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// A bracket closes at most what its main order has opened before the candle, and a fill of an
    /// attached order never opens or increases a position. After a stop loss is released, the take
    /// profit is not filled.
    #[test]
    fn attached_orders_close_what_their_main_order_opened(minutes in minutes(), acts in acts()) {
        let life = live(&store(&minutes), &acts, &[], &[]);
        let mut account = Account::default();
        let mut stopped: Vec<OrderId> = Vec::new();
        let last = |outcome: &Outcome| outcome.entries.last().map(|entry| entry.number);
        let ends: Vec<u64> = life.outcomes.iter().filter_map(last).collect();
        for entry in &life.entries {
            if let Event::Filled(filled) = &entry.event {
                let order = account.order(filled.id).unwrap();
                if let Some(attached) = order.attached {
                    check_fill(&account, order, filled)?;
                    let is_behind = attached.leg == AttachedLeg::ProfitTaker && stopped.contains(&attached.main);
                    prop_assert!(!is_behind, "{filled:?}");
                }
            }
            if let Event::Released(release) = &entry.event
                && let Some(attached) = account.order(release.id).unwrap().attached
                && attached.leg == AttachedLeg::StopLoss
            {
                stopped.push(attached.main);
            }
            account.apply(entry);
            if ends.contains(&entry.number) {
                check_quantities(&account)?;
            }
        }
    }

    /// An attached order ends with a main order that has no fill, and is dormant until the first
    /// fill.
    #[test]
    fn attached_orders_wait_for_their_main_order(minutes in minutes(), acts in acts()) {
        let life = live(&store(&minutes), &acts, &[], &[]);
        let account = &life.account;
        for order in account.orders() {
            let Some(attached) = order.attached else { continue };
            let main = account.order(attached.main).unwrap();
            prop_assert!(main.attached_orders.contains(&order.id));
            if main.executed.is_zero() {
                prop_assert!(order.executed.is_zero() && (!order.is_open() || (main.is_open() && order.is_dormant())));
            } else {
                prop_assert!(!order.is_dormant());
            }
        }
    }
}

fn check_fill(account: &Account, order: &Order, filled: &Execution) -> Result<(), TestCaseError> {
    let held = account.held(&filled.symbol);
    let closable = if filled.side == Side::Sell { held } else { -held };
    prop_assert!(filled.quantity <= closable, "{filled:?} of {held}");
    let main = account.order(order.attached.unwrap().main).unwrap();
    let before = main.fills.iter().filter(|fill| fill.at <= filled.candle.time);
    let opened: Quantity = before.map(|fill| fill.quantity).sum();
    let closed: Quantity = account.attached_orders(main).map(|attached| attached.executed).sum();
    prop_assert!(closed + filled.quantity <= opened, "{filled:?}");
    Ok(())
}

/// The attached orders that watch the price or are released never claim more than the position.
fn check_quantities(account: &Account) -> Result<(), TestCaseError> {
    let mut claims: BTreeMap<(String, bool, OrderId), Quantity> = BTreeMap::new();
    for order in account.open_orders().filter(|order| order.attached.is_some() && !order.is_dormant()) {
        let main = account.order(order.attached.unwrap().main).unwrap();
        let unfilled = if main.is_open() { main.remaining() } else { Quantity::ZERO };
        let key = (order.symbol().to_string(), order.terms.side.is_buy(), main.id);
        let claim = claims.entry(key).or_default();
        *claim = (*claim).max((order.remaining() - unfilled).or_zero());
        let is_open = matches!(
            order.status(),
            OrderStatus::VarietiesNotReported | OrderStatus::New | OrderStatus::PartialFilled
        );
        prop_assert!(is_open && order.remaining().is_positive(), "{order:?}");
    }
    let mut sums: BTreeMap<(String, bool), Quantity> = BTreeMap::new();
    for ((symbol, is_buy, _), claim) in claims {
        *sums.entry((symbol, is_buy)).or_default() += claim;
    }
    for ((symbol, is_buy), claimed) in sums {
        let held = account.held(&symbol.parse().unwrap());
        let closable = if is_buy { -held } else { held };
        prop_assert!(claimed <= closable.or_zero(), "{claimed} of {closable} of {symbol}");
    }
    Ok(())
}
