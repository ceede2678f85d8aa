//! Push messages: one for each new row of an order's history, and one for each event on a grid.

use market::{Price, Symbol, Timestamp};

use crate::account::Account;
use crate::decimal::Plain;
use crate::event::{Entry, Event};
use crate::grid::{Grid, GridRule};
use crate::money::Currency;
use crate::order::{GridId, Order, OrderId};
use crate::quantity::Quantity;
use crate::terms::Percent;
use crate::words::{
    GridStatus, OrderStatus, OrderTag, OrderType, Side, SleepingReason, SuspendReason, TriggerStatus,
};

/// One push message.
#[derive(Clone, Debug)]
pub enum Push {
    Order(Box<OrderPush>),
    Grid(Box<GridPush>),
}

impl Push {
    /// Returns the order message, or `None` for a grid message.
    pub fn order(&self) -> Option<&OrderPush> {
        match self {
            Push::Order(push) => Some(push),
            Push::Grid(_) => None,
        }
    }
}

/// Content of an `order_changed_lb` message.
#[derive(Clone, Debug)]
pub struct OrderPush {
    pub order_id: OrderId,
    pub symbol: Symbol,
    pub side: Side,
    pub order_type: OrderType,
    pub status: OrderStatus,
    pub submitted_quantity: Quantity,
    /// `None` for market orders.
    pub submitted_price: Option<Price>,
    pub executed_quantity: Quantity,
    /// `None` before the first fill.
    pub executed_price: Option<Plain>,
    pub currency: Currency,
    pub submitted_at: Timestamp,
    pub updated_at: Timestamp,
    pub trigger_price: Option<Price>,
    pub msg: String,
    pub tag: OrderTag,
    pub trigger_status: TriggerStatus,
    pub trigger_at: Option<Timestamp>,
    pub trailing_amount: Option<Price>,
    pub trailing_percent: Option<Percent>,
    pub limit_offset: Option<Price>,
    /// Quantity and price of the fill that caused the message. `None` if no fill caused it.
    pub last: Option<(Quantity, Price)>,
    pub remark: String,
    /// Number of decimals displayed in prices.
    pub decimals: u32,
}

/// Content of a `gridtrading_order` message.
#[derive(Clone, Debug)]
pub struct GridPush {
    pub id: GridId,
    pub symbol: Symbol,
    pub status: GridStatus,
    pub suspend_reason: Option<SuspendReason>,
    pub sleeping_reason: Option<SleepingReason>,
    /// Current base. The initial base is in `rule`.
    pub base: Price,
    pub rule: GridRule,
    pub settlement_currency: Currency,
    pub updated_at: Timestamp,
}

impl GridPush {
    fn of(grid: &Grid) -> GridPush {
        GridPush {
            id: grid.id,
            symbol: grid.symbol.clone(),
            status: grid.status,
            suspend_reason: grid.suspend_reason,
            sleeping_reason: grid.sleeping_reason,
            base: grid.base,
            rule: grid.rule.clone(),
            settlement_currency: grid.settlement_currency,
            updated_at: grid.updated_at,
        }
    }
}

impl Account {
    /// Applies one entry and returns the pushes that it causes. Entries from other processes are
    /// applied in the same way.
    pub fn take_in(&mut self, entry: &Entry) -> Vec<Push> {
        let rows = self.apply(entry);
        if let Some(grid) = entry.event.grid() {
            let report = self.grid(grid).filter(|_| rows > 0);
            return report.map(|grid| Push::Grid(Box::new(GridPush::of(grid)))).into_iter().collect();
        }
        let order = entry.event.order().filter(|_| rows > 0).and_then(|id| self.order(id));
        let fill = match &entry.event {
            Event::Filled(filled) => Some((filled.quantity, filled.price)),
            _ => None,
        };
        order.map(|order| pushes(order, rows, fill)).unwrap_or_default()
    }
}

/// Returns the messages for the last `rows` rows of an order's history.
fn pushes(order: &Order, rows: usize, fill: Option<(Quantity, Price)>) -> Vec<Push> {
    let start = order.history.len().saturating_sub(rows);
    let rows = order.history.get(start..).unwrap_or_default();
    let one = |row: &crate::order::HistoryRow| OrderPush {
        order_id: order.id,
        symbol: order.terms.symbol.clone(),
        side: order.terms.side,
        order_type: order.terms.order_type,
        status: row.status,
        submitted_quantity: order.terms.quantity,
        submitted_price: order.terms.price,
        executed_quantity: order.executed,
        executed_price: order.executed_price(),
        currency: order.facts.currency,
        submitted_at: order.submitted_at,
        updated_at: row.at,
        trigger_price: order.terms.trigger_price,
        msg: order.msg.clone(),
        tag: order.terms.tag(),
        trigger_status: order.trigger_status,
        trigger_at: order.trigger_at,
        trailing_amount: order.terms.trailing_amount,
        trailing_percent: order.terms.trailing_percent,
        limit_offset: order.terms.limit_offset,
        last: fill,
        remark: order.terms.remark.clone(),
        decimals: order.facts.decimals,
    };
    rows.iter().map(|row| Push::Order(Box::new(one(row)))).collect()
}
