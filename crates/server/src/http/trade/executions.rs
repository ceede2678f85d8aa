//! Lists of executions: of today, of earlier days, or both.

use market::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Fill, Order, OrderId, exact_price};

use super::docs::{END_AT, ORDER_ID, PAGE, REFUSALS, START_AT, SYMBOL};
use super::lists::range;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const EXECUTIONS_TODAY: Doc =
    Doc::new(Tag::Trade, "todayExecutions", "Executions of the current trading day")
        .parameters(&[SYMBOL, ORDER_ID])
        .answers(&[AnswerDoc::ok("At most 1,000, newest first", &[data::<Trades>()])])
        .refuses(REFUSALS);

pub(super) const EXECUTIONS_HISTORY: Doc =
    Doc::new(Tag::Trade, "historyExecutions", "Executions of previous trading days")
        .parameters(&[SYMBOL, ORDER_ID, START_AT, END_AT, PAGE])
        .answers(&[AnswerDoc::ok("One page of executions, newest first", &[data::<Page>()])])
        .refuses(REFUSALS);

pub(super) const EXECUTIONS_ALL: Doc =
    Doc::new(Tag::Trade, "allExecutions", "Executions of all trading days")
        .parameters(&[SYMBOL, ORDER_ID, START_AT, END_AT, PAGE])
        .answers(&[AnswerDoc::ok("One page of executions, newest first", &[data::<Page>()])])
        .refuses(REFUSALS);

/// Maximum number of rows on a page, and in the list for today.
const PAGE_ROWS: usize = 1_000;
const PAGES_MAX: u32 = 1_000_000;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Execution")]
struct Trade {
    order_id: String,
    trade_id: String,
    symbol: String,
    trade_done_at: String,
    quantity: String,
    price: String,
    side: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Executions")]
pub(super) struct Trades {
    trades: Vec<Trade>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ExecutionPage")]
pub(super) struct Page {
    has_more: bool,
    trades: Vec<Trade>,
}

/// The trading days to include.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Days {
    Today,
    Before,
    All,
}

pub(super) fn today(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let always = (Timestamp(i64::MIN), Timestamp(i64::MAX));
    let Page { trades, .. } = found(&trader, &query, (Days::Today, always), 0)?;
    Ok(envelope::success(Trades { trades }))
}

pub(super) fn history(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let range = range(&query, trader.now())?;
    let start = page_start(&query)?;
    Ok(envelope::success(found(&trader, &query, (Days::Before, range), start)?))
}

pub(super) fn all(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let start = query.time(&["start_at"])?.unwrap_or(Timestamp(i64::MIN));
    let end = query.time(&["end_at"])?.unwrap_or(Timestamp(i64::MAX));
    let first = page_start(&query)?;
    Ok(envelope::success(found(&trader, &query, (Days::All, (start, end)), first)?))
}

/// Returns the offset of the requested page.
fn page_start(query: &Query) -> Result<usize, Problem> {
    let page = query.number("page", (1, PAGES_MAX), 1)?;
    Ok(PAGE_ROWS.saturating_mul(page.saturating_sub(1) as usize))
}

/// Returns a page of matching executions, newest first, starting at offset `first`.
fn found(
    trader: &Trader<'_>,
    query: &Query,
    (days, (start, end)): (Days, (Timestamp, Timestamp)),
    first: usize,
) -> Result<Page, Problem> {
    let most = trader.rows_max(PAGE_ROWS);
    let (symbol, id): (_, Option<OrderId>) = (query.symbol()?, query.order()?);
    trader.read(|reading| {
        let wanted = |order: &&Order| {
            symbol.as_ref().is_none_or(|symbol| order.symbol() == symbol)
                && id.is_none_or(|id| order.id == id)
        };
        let mut fills: Vec<(&Order, &Fill)> = Vec::new();
        for order in reading.account.orders().iter().filter(wanted) {
            let today = reading.view.dates.of(order.market());
            let is_in = |fill: &&Fill| {
                let is_day = match days {
                    Days::Today => fill.day >= today,
                    Days::Before => fill.day < today,
                    Days::All => true,
                };
                is_day && (start..=end).contains(&fill.at)
            };
            fills.extend(order.fills.iter().filter(is_in).map(|fill| (order, fill)));
        }
        fills.sort_by_key(|(order, fill)| std::cmp::Reverse((fill.at, order.id, fill.number)));
        let has_more = fills.len() > first.saturating_add(most);
        let page = fills.into_iter().skip(first).take(most);
        Ok(Page { has_more, trades: page.map(|(order, fill)| Trade::of(order, fill)).collect() })
    })
}

impl Trade {
    fn of(order: &Order, fill: &Fill) -> Trade {
        Trade {
            order_id: order.id.to_string(),
            trade_id: fill.trade_id(order.id),
            symbol: order.symbol().to_string(),
            trade_done_at: fill.at.0.to_string(),
            quantity: fill.quantity.to_string(),
            price: exact_price(fill.price, order.facts.decimals).to_string(),
            side: order.terms.side.as_str(),
        }
    }
}
