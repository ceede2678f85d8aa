//! `GET /v1/gridtrading/trigger_history_list`: orders that grids have triggered.

use std::collections::BTreeMap;

use market::{Price, Symbol};
use paper::grid_orders;
use schemars::JsonSchema;
use serde::Serialize;
use trading::{MarketView, Order, exact_price};

use super::docs::{LIMIT, PAGE, REFUSALS, page};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::kit::query::{Query, grid_not_found};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::names::Names;

pub(super) const TRIGGERS: Doc =
    Doc::new(Tag::Trade, "gridTriggers", "Orders triggered by one grid or by all grids of the account")
        .parameters(&[
            Parameter::query("grid_order_id", Kind::Text, "Grid id; default: all grids"),
            PAGE,
            LIMIT,
        ])
        .answers(&[AnswerDoc::ok("One page of orders, newest first", &[data::<Triggers>()])])
        .refuses(REFUSALS);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridTriggerPage")]
pub(super) struct Triggers {
    trigger_orders: Vec<TriggerRow>,
    has_more: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridTriggerOrder")]
struct TriggerRow {
    id: String,
    status: &'static str,
    name: String,
    symbol: String,
    /// Limit price, or the trigger price of a market order.
    price: String,
    quantity: String,
    executed_price: String,
    executed_qty: String,
    submitted_at: String,
    /// Side of the order: 1 buy, 2 sell.
    action: i32,
    order_type: &'static str,
    /// Price level that was reached, or the opening price if the market opened beyond the level.
    trigger_price: String,
    msg: String,
    currency: String,
    /// Current price of the security.
    last_done: String,
    updated_at: String,
    /// Always 0, because grid orders are day orders.
    time_in_force: i32,
    gtd: &'static str,
    trigger_at: String,
    /// Always 3, which means released.
    trigger_status: i32,
    #[serde(skip)]
    security: Symbol,
}

const DAY: i32 = 0;
const RELEASED: i32 = 3;

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let (grid, (page, limit)) = (query.grid("grid_order_id")?, page(&query)?);
    let found = trader.read(|reading| {
        let account = reading.account;
        if grid.is_some_and(|id| account.grid(id).is_none()) {
            return Ok(None);
        }
        let found = grid_orders(account, grid, page, limit);
        let mut marks = Marks::default();
        let row = |order| TriggerRow::of(order, marks.of(order, &reading.view));
        let rows: Vec<TriggerRow> = found.rows.into_iter().map(|one| one.order).map(row).collect();
        Ok(Some((rows, found.has_more)))
    })?;
    let (mut trigger_orders, has_more) = found.ok_or_else(grid_not_found)?;
    let names = trader.names(trigger_orders.iter().map(|row| &row.security))?;
    trigger_orders.iter_mut().for_each(|row| row.name(&names));
    Ok(envelope::success(Triggers { trigger_orders, has_more }))
}

/// Current prices by symbol, so that each price is looked up only once. `None` if a symbol has no
/// price.
#[derive(Default)]
struct Marks<'a>(BTreeMap<&'a Symbol, Option<Price>>);

impl<'a> Marks<'a> {
    fn of(&mut self, order: &'a Order, view: &MarketView<'_>) -> Option<Price> {
        *self.0.entry(order.symbol()).or_insert_with(|| view.mark(order.symbol()))
    }
}

impl TriggerRow {
    fn of(order: &Order, mark: Option<Price>) -> TriggerRow {
        let text = |price: Price| exact_price(price, order.facts.decimals).to_string();
        TriggerRow {
            id: order.id.to_string(),
            status: order.status().as_str(),
            name: String::new(),
            symbol: order.symbol().to_string(),
            price: price_of(order),
            quantity: order.terms.quantity.to_string(),
            executed_price: order.executed_price().map(|price| price.to_string()).unwrap_or_default(),
            executed_qty: order.executed.to_string(),
            submitted_at: order.submitted_at.0.to_string(),
            action: action(order),
            order_type: order.terms.order_type.as_str(),
            trigger_price: order.grid.map(|origin| text(origin.price)).unwrap_or_default(),
            msg: order.msg.clone(),
            currency: order.facts.currency.to_string(),
            last_done: mark.map(text).unwrap_or_default(),
            updated_at: order.updated_at.0.to_string(),
            time_in_force: DAY,
            gtd: "",
            trigger_at: order.submitted_at.0.to_string(),
            trigger_status: RELEASED,
            security: order.symbol().clone(),
        }
    }

    fn name(&mut self, names: &Names) {
        self.name = names.get(&self.security);
    }
}

/// Returns an order's limit price, or its trigger price if it has no limit price.
pub(super) fn price_of(order: &Order) -> String {
    let price = order.terms.price.or(order.grid.map(|origin| origin.price));
    price.map(|price| exact_price(price, order.facts.decimals).to_string()).unwrap_or_default()
}

/// Returns the SDKs' number for the side of an order: 1 buy, 2 sell.
pub(super) fn action(order: &Order) -> i32 {
    if order.terms.side.is_buy() { 1 } else { 2 }
}
