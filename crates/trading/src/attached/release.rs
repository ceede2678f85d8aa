//! The release of an attached order.

use market::Timestamp;

use super::legs::armed;
use crate::account::Account;
use crate::checks::{HOLDINGS, quantity_step};
use crate::event::Event;
use crate::order::{Order, OrderId};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::words::{AttachedLeg, Side};
use crate::work::Work;

/// Reason of a take profit whose stop loss was released.
const STOPPED: &str = "stop loss triggered";
/// Reason of a main order one of whose attached orders was released.
const TRIGGERED: &str = "attached order triggered";

/// Prepares the release of an attached order: ends the rest of its main order, and its take profit
/// if it is a stop loss, and limits it to the position that no other order closes. Rejects it if
/// there is nothing to close. Returns whether the order can be released, which is always the case
/// for other orders.
pub(crate) fn make_way(work: &mut Work<'_>, at: Timestamp, id: OrderId) -> bool {
    let account = &*work.account;
    let Some(order) = account.order(id) else { return false };
    let Some(attached) = order.attached else { return true };
    let Some(main) = account.main_of(order) else { return false };
    let armed = armed(main, order);
    let beside = account.beside(order);
    let security = work.before_roll(at).security(order.symbol());
    let step = security
        .map_or(Quantity::whole(1), |security| quantity_step(&account.settings, &order.terms, &security));
    let most = closable(account, order, beside).down_to(step).min(armed);
    if !most.is_positive() {
        let refusal = Refusal::check(11, HOLDINGS).with("holdings", armed, most);
        work.record(Some(at), Event::Rejected { id, refusal, order: None });
        return false;
    }
    let stopped = beside.filter(|_| attached.leg == AttachedLeg::StopLoss).map(|beside| beside.id);
    let ended = main.is_open().then_some(main.id);
    for (id, reason) in [(stopped, STOPPED), (ended, TRIGGERED)] {
        if let Some(id) = id {
            work.record(Some(at), Event::Canceled { id, reason: Some(reason.to_owned()) });
        }
    }
    let Some(order) = work.account.order(id) else { return false };
    if order.remaining() > most {
        let quantity = order.executed + most;
        work.record(Some(at), Event::Resized { id, quantity });
    }
    true
}

/// Returns the part of the position that an attached order can close. The other attached order does
/// not count, because at most one of the two is filled.
fn closable(account: &Account, order: &Order, beside: Option<&Order>) -> Quantity {
    let available = account.available_quantity(order.symbol(), Some(order.id));
    let shared = beside.filter(|beside| beside.is_working()).map_or(Quantity::ZERO, Order::remaining);
    match order.terms.side {
        Side::Sell if account.held(order.symbol()).is_positive() => (available + shared).or_zero(),
        Side::Buy if account.held(order.symbol()).is_negative() => (shared - available).or_zero(),
        Side::Sell | Side::Buy => Quantity::ZERO,
    }
}

/// Returns the part of an order that a candle with this stamp may fill. What the main order bought
/// or sold after the stamp cannot be closed by the same candle.
pub(crate) fn matured(account: &Account, order: &Order, stamp: Timestamp) -> Quantity {
    let Some(main) = account.main_of(order) else { return order.remaining() };
    let later = main.fills.iter().rev().take_while(|fill| fill.at > stamp);
    let later: Quantity = later.map(|fill| fill.quantity).sum();
    (order.remaining() - later).or_zero()
}
