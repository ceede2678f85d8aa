//! `GET /v1/trade/order/history`: orders before today, by submission time.

use market::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use trading::is_today;

use super::docs::{END_AT, MARKET, REFUSALS, SIDE, START_AT, STATUS, SYMBOL};
use super::order_row::OrderRow;
use super::today::Filter;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const HISTORY: Doc =
    Doc::new(Tag::Trade, "historyOrders", "Orders that are not among today's, by when they were submitted")
        .parameters(&[SYMBOL, STATUS, SIDE, MARKET, START_AT, END_AT])
        .answers(&[AnswerDoc::ok("At most 1,000 orders, newest first", &[data::<History>()])])
        .refuses(REFUSALS);

/// Maximum number of rows per response.
const ROWS_MAX: usize = 1_000;
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

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let filter = Filter::of(&query)?;
    let (start, end) = range(&query, trader.now())?;
    let most = trader.rows_max(ROWS_MAX);
    let mut orders: Vec<OrderRow> = trader.read(|reading| {
        let all = reading.account.orders().iter().rev();
        let within = all.filter(|order| (start..=end).contains(&order.submitted_at));
        let wanted = within.filter(|order| filter.takes(order) && !is_today(order, &reading.view));
        Ok(wanted.take(most.saturating_add(1)).map(OrderRow::of).collect())
    })?;
    let has_more = orders.len() > most;
    orders.truncate(most);
    let names = trader.names(orders.iter().map(OrderRow::security))?;
    orders.iter_mut().for_each(|order| order.name(&names));
    Ok(envelope::success(History { has_more, orders }))
}
