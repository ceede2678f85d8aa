//! Order lists. `GET /v1/trade/order/today` returns orders that are open, or that were submitted or
//! ended today. `GET /v1/trade/order/history` returns orders before today, by submission time.

use market::Timestamp;
use paper::Reading;
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Order, OrderId, OrderStatus, Side, is_today};

use super::docs::{ATTACHED, END_AT, MARKET, ORDER_ID, REFUSALS, SIDE, START_AT, STATUS, SYMBOL};
use super::order_row::OrderRow;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::{Query, unknown};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const TODAY: Doc = Doc::new(
    Tag::Trade,
    "todayOrders",
    "Orders that are open, or were submitted or closed today, newest first",
)
.parameters(&[SYMBOL, STATUS, SIDE, MARKET, ORDER_ID, ATTACHED])
.answers(&[AnswerDoc::ok("All open orders, and the newest others up to 1,000 in total", &[data::<Today>()])])
.refuses(REFUSALS);

/// Maximum number of rows per response. Open orders are always included, even if there are more of
/// them.
const TODAY_MAX: usize = 1_000;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrdersToday")]
pub(super) struct Today {
    orders: Vec<OrderRow>,
}

/// Filter of an order list.
#[derive(Debug)]
pub(super) struct Filter {
    symbol: Option<market::Symbol>,
    statuses: Vec<OrderStatus>,
    side: Option<Side>,
    market: Option<String>,
    id: Option<OrderId>,
}

/// Market names that SDKs send. Orders exist only in the first two markets.
const MARKETS: [&str; 5] = ["HK", "US", "CN", "SG", "Crypto"];
/// Order statuses that SDKs define but that Chandler never reports.
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
        // If all requested statuses are unused, nothing must match. An empty market name has this
        // effect, because no market has an empty name.
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
            && self.takes_id(order)
    }

    /// Attached orders are in the rows of their main orders. A list has rows of their own only if
    /// it is requested by their ids.
    fn takes_id(&self, order: &Order) -> bool {
        match self.id {
            Some(id) => order.id == id,
            None => order.attached.is_none(),
        }
    }
}

pub(super) fn today(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let filter = Filter::of(&query)?;
    // `is_attached` only applies to a request by order id.
    let wants_attached = filter.id.is_some() && query.is_true("is_attached");
    let mut orders: Vec<OrderRow> = trader.read(|reading| {
        let all = reading.account.orders().iter().rev();
        let wanted: Vec<&Order> =
            all.filter(|order| filter.takes(order) && concerns_today(reading, order)).collect();
        let wanted = wanted.into_iter().filter(|order| !wants_attached || order.attached.is_some());
        let has_open = |order: &&Order| {
            order.is_open() || reading.account.attached_orders(order).any(|attached| attached.is_open())
        };
        let shown = newest(wanted.collect(), trader.rows_max(TODAY_MAX), has_open);
        let row = |order| OrderRow::current(order, reading.account, &reading.view);
        Ok(shown.into_iter().map(row).collect())
    })?;
    let names = trader.names(orders.iter().map(OrderRow::security))?;
    orders.iter_mut().for_each(|order| order.name(&names));
    Ok(envelope::success(Today { orders }))
}

/// Returns whether an order, or one of its attached orders, is open or was submitted or ended today.
fn concerns_today(reading: &Reading<'_>, order: &Order) -> bool {
    let is_today = |order: &Order| is_today(order, &reading.view);
    is_today(order) || reading.account.attached_orders(order).any(is_today)
}

/// Truncates a list, sorted newest first, to `most` rows. Open orders are never removed.
fn newest<T>(mut orders: Vec<T>, most: usize, is_open: impl Fn(&T) -> bool) -> Vec<T> {
    let open = orders.iter().filter(|order| is_open(order)).count();
    let mut room = most.saturating_sub(open);
    orders.retain(|order| {
        if is_open(order) {
            return true;
        }
        let has_room = room > 0;
        room = room.saturating_sub(1);
        has_room
    });
    orders
}

pub(super) const HISTORY: Doc = Doc::new(
    Tag::Trade,
    "historyOrders",
    "Orders by submission time, excluding those of the current trading day",
)
.parameters(&[SYMBOL, STATUS, SIDE, MARKET, START_AT, END_AT])
.answers(&[AnswerDoc::ok("At most 1,000 orders, newest first", &[data::<History>()])])
.refuses(REFUSALS);

/// Maximum number of rows per response.
const HISTORY_MAX: usize = 1_000;
/// Length of the time range in days if `start_at` or `end_at` is missing.
const DAYS_DEFAULT: i64 = 90;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrderHistory")]
pub(super) struct History {
    has_more: bool,
    orders: Vec<OrderRow>,
}

/// Returns the requested time range; both ends are inclusive.
pub(super) fn range(query: &Query, now: Timestamp) -> Result<(Timestamp, Timestamp), Problem> {
    let (start, end) = (query.time(&["start_at"])?, query.time(&["end_at"])?);
    let days = DAYS_DEFAULT * 86_400;
    let range = match (start, end) {
        (Some(start), Some(end)) => (start, end),
        (Some(start), None) => (start, Timestamp(start.0.saturating_add(days)).min(now)),
        (None, end) => {
            let end = end.unwrap_or(now);
            (Timestamp(end.0.saturating_sub(days)), end)
        }
    };
    if start.is_some() && end.is_some() && range.0 > range.1 {
        return Err(Problem::trade_parameter("start_at is after end_at"));
    }
    Ok(range)
}

pub(super) fn history(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let filter = Filter::of(&query)?;
    let (start, end) = range(&query, trader.now())?;
    let most = trader.rows_max(HISTORY_MAX);
    let mut orders: Vec<OrderRow> = trader.read(|reading| {
        let all = reading.account.orders().iter().rev();
        let within = all.filter(|order| (start..=end).contains(&order.submitted_at));
        let wanted = within.filter(|order| filter.takes(order) && !concerns_today(reading, order));
        let rows = wanted.take(most.saturating_add(1)).map(|order| OrderRow::of(reading.account, order));
        Ok(rows.collect())
    })?;
    let has_more = orders.len() > most;
    orders.truncate(most);
    let names = trader.names(orders.iter().map(OrderRow::security))?;
    orders.iter_mut().for_each(|order| order.name(&names));
    Ok(envelope::success(History { has_more, orders }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_drops_the_oldest_closed_orders_first() {
        let cut = |most| {
            let orders = vec![(9, false), (8, true), (7, false), (6, false), (5, true)];
            let stored = newest(orders, most, |(_, is_open)| *is_open);
            stored.into_iter().map(|(number, _)| number).collect::<Vec<i32>>()
        };
        assert_eq!(cut(9), [9, 8, 7, 6, 5]);
        assert_eq!(cut(4), [9, 8, 7, 5]);
        assert_eq!(cut(3), [9, 8, 5]);
        assert_eq!(cut(1), [8, 5]);
    }
}
