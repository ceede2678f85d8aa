//! Endpoints for a single grid. `GET /v1/gridtrading/detail` returns the grid with its orders and
//! history. `GET /v1/gridtrading/why` explains what happened to the grid and which candles caused
//! it; no SDK calls it.

use paper::{GridExplanation, grid_history, grid_orders};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Account, Grid, GridHistoryRow, Order};

use super::docs::{LIMIT, ORDER_ID, REFUSALS, limit};
use super::grid_row::GridTerms;
use super::triggers::{action, price_of};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::kit::query::{Query, grid_not_found, missing, unknown};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const DETAIL: Doc = Doc::new(
    Tag::Trade,
    "gridOrderDetail",
    "One grid with its orders and history",
)
.about(
    "Orders and history are sorted newest first, with at most limit rows each. The list of triggered orders \
     returns all orders in pages.",
)
.parameters(&[
    ORDER_ID.required(),
    Parameter::query("history_id", Kind::Text, "Only history rows before this one"),
    LIMIT,
])
.answers(&[AnswerDoc::ok("The grid", &[data::<Detail>()])])
.refuses(REFUSALS);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridOrderDetail")]
pub(super) struct Detail {
    #[serde(flatten)]
    terms: GridTerms,
    /// Why the grid is suspended: user or corporate action; empty if the grid is not suspended.
    suspend_reason: &'static str,
    /// Why the grid currently triggers no orders: price, position, funds or holdings; empty
    /// otherwise.
    sleeping_reason: &'static str,
    updated_at: String,
    expire_time: String,
    grid_sub_orders: Vec<SubOrder>,
    sub_has_more: bool,
    grid_order_history: Vec<HistoryRow>,
    history_has_more: bool,
}

/// An order triggered by a grid.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridSubOrder")]
struct SubOrder {
    id: String,
    /// Limit price, or the trigger price of a market order.
    price: String,
    order_type: &'static str,
    quantity: String,
    executed_qty: String,
    /// Side of the order: 1 buy, 2 sell.
    action: i32,
    status: &'static str,
    submitted_at: String,
    rth: i32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridHistoryRow")]
struct HistoryRow {
    history_id: String,
    created_at: String,
    status: &'static str,
    suspend_reason: &'static str,
    reason: String,
}

pub(super) fn detail(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let id = query.grid("order_id")?.ok_or_else(|| missing("order_id"))?;
    let before = query.get("history_id");
    let before = before.map(|text| text.parse::<u64>().map_err(|_| unknown("history_id", text)));
    let (before, limit) = (before.transpose()?, limit(&query)?);
    let found = trader.read(|reading| {
        let grid = reading.account.grid(id);
        Ok(grid.map(|grid| Detail::of(grid, reading.account, before, limit)))
    })?;
    let mut detail = found.ok_or_else(grid_not_found)?;
    let names = trader.names([detail.terms.security()])?;
    detail.terms.name(&names);
    Ok(envelope::success(detail))
}

impl Detail {
    fn of(grid: &Grid, account: &Account, before: Option<u64>, limit: usize) -> Detail {
        let orders = grid_orders(account, Some(grid.id), 1, limit);
        let history = grid_history(grid, before, limit);
        Detail {
            terms: GridTerms::of(grid),
            suspend_reason: grid.suspend_reason.map_or("", |reason| reason.as_str()),
            sleeping_reason: grid.sleeping_reason.map_or("", |reason| reason.as_str()),
            updated_at: grid.updated_at.0.to_string(),
            expire_time: grid.rule.expire_time.map(|at| at.0.to_string()).unwrap_or_default(),
            grid_sub_orders: orders.rows.into_iter().map(|one| SubOrder::of(one.order, grid)).collect(),
            sub_has_more: orders.has_more,
            grid_order_history: history.rows.into_iter().map(HistoryRow::of).collect(),
            history_has_more: history.has_more,
        }
    }
}

impl SubOrder {
    fn of(order: &Order, grid: &Grid) -> SubOrder {
        SubOrder {
            id: order.id.to_string(),
            price: price_of(order),
            order_type: order.terms.order_type.as_str(),
            quantity: order.terms.quantity.to_string(),
            executed_qty: order.executed.to_string(),
            action: action(order),
            status: order.status().as_str(),
            submitted_at: order.submitted_at.0.to_string(),
            rth: grid.rule.hours.code(),
        }
    }
}

impl HistoryRow {
    fn of(row: &GridHistoryRow) -> HistoryRow {
        HistoryRow {
            history_id: row.number.to_string(),
            created_at: row.at.0.to_string(),
            status: row.status.as_str(),
            suspend_reason: row.suspend_reason.map_or("", |reason| reason.as_str()),
            reason: row.reason.clone(),
        }
    }
}

pub(super) const WHY: Doc = Doc::new(
    Tag::Trade,
    "gridOrderStory",
    "Events of a grid, with the candles that caused them and reasons for orders not placed",
)
.parameters(&[ORDER_ID.required()])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<GridExplanation>()])])
.refuses(REFUSALS);

pub(super) fn why(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let id = Query::parse(call.query)?.grid("order_id")?.ok_or_else(|| missing("order_id"))?;
    trader.ask(|account| account.grid_explanation(id))?.map(envelope::success).ok_or_else(grid_not_found)
}
