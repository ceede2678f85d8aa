//! `GET /v1/trade/order/today`: what is open, was submitted today, or ended today.

use schemars::JsonSchema;
use serde::Serialize;
use trading::{Order, OrderId, OrderStatus, Side, is_today};

use super::docs::{ATTACHED, MARKET, ORDER_ID, REFUSALS, SIDE, STATUS, SYMBOL};
use super::order_row::OrderRow;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::{Query, unknown};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const TODAY: Doc = Doc::new(
    Tag::Trade,
    "todayOrders",
    "Orders that are open, were submitted today, or ended today; newest first",
)
.parameters(&[SYMBOL, STATUS, SIDE, MARKET, ORDER_ID, ATTACHED])
.answers(&[AnswerDoc::ok("The orders", &[data::<Today>()])])
.refuses(REFUSALS);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrdersToday")]
pub(super) struct Today {
    orders: Vec<OrderRow>,
}

/// Which orders of a list are wanted.
#[derive(Debug)]
pub(super) struct Filter {
    symbol: Option<market::Symbol>,
    statuses: Vec<OrderStatus>,
    side: Option<Side>,
    market: Option<String>,
    id: Option<OrderId>,
}

/// Markets that SDKs know; orders are of the first two.
const MARKETS: [&str; 5] = ["HK", "US", "CN", "SG", "Crypto"];
/// States that SDKs know and no order here is ever in.
const UNUSED: [&str; 3] = ["ReplacedNotReported", "ProtectedNotReported", "ReplacedStatus"];

impl Filter {
    pub(super) fn of(query: &Query) -> Result<Filter, Problem> {
        let market = query.get("market");
        if let Some(market) = market.filter(|market| !MARKETS.contains(market)) {
            return Err(unknown("market", market));
        }
        let mut statuses = Vec::new();
        for text in query.all("status").filter(|text| !UNUSED.contains(text)) {
            statuses.push(text.parse().map_err(|_| unknown("status", text))?);
        }
        // Asked for states alone that no order is in, none is found: no market has this name.
        let finds_none = statuses.is_empty() && query.get("status").is_some();
        Ok(Filter {
            symbol: query.symbol()?,
            statuses,
            side: query.word("side")?,
            market: if finds_none { Some(String::new()) } else { market.map(str::to_owned) },
            id: query.order()?,
        })
    }

    pub(super) fn takes(&self, order: &Order) -> bool {
        self.symbol.as_ref().is_none_or(|symbol| order.symbol() == symbol)
            && (self.statuses.is_empty() || self.statuses.contains(&order.status()))
            && self.side.is_none_or(|side| order.terms.side == side)
            && self.market.as_deref().is_none_or(|market| order.market().as_str() == market)
            && self.id.is_none_or(|id| order.id == id)
    }
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let filter = Filter::of(&query)?;
    // By itself it says nothing: it tells of which kind the order is that is asked for.
    if filter.id.is_some() && query.is_true("is_attached") {
        return Ok(envelope::success(Today { orders: Vec::new() }));
    }
    let mut orders: Vec<OrderRow> = trader.read(|reading| {
        let all = reading.account.orders().iter().rev();
        let wanted = all.filter(|order| filter.takes(order) && is_today(order, &reading.scene));
        Ok(wanted.map(OrderRow::of).collect())
    })?;
    let names = trader.names(orders.iter().map(OrderRow::security))?;
    orders.iter_mut().for_each(|order| order.name(&names));
    Ok(envelope::success(Today { orders }))
}
