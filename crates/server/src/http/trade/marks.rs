//! `GET /v1/trade/marks`: an account's open orders, position and fills, to be drawn on a security's
//! chart. No SDK calls this endpoint.

use market::Symbol;
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Account, Fill, Order, Position, exact_price};

use super::docs::{REFUSALS, SYMBOL};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::{Query, missing};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const MARKS: Doc =
    Doc::new(Tag::Trade, "chartMarks", "Open orders, position and fills of a security, for a chart")
        .about("Returns at most the newest 1,000 fills. The request does not open a paper account.")
        .parameters(&[SYMBOL.required()])
        .answers(&[AnswerDoc::ok("Oldest first", &[data::<ChartMarks>()])])
        .refuses(REFUSALS);

/// Maximum number of fills per response. Older fills are omitted.
const FILLS_MAX: usize = 1_000;

/// Open orders, position and fills of a security.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ChartMarks {
    /// Market time in Unix seconds.
    at: String,
    /// Number of the last journal entry; 0 if the paper account has not been opened.
    entries: u64,
    /// Whether the account may read its orders but not change them.
    read_only: bool,
    /// Null if the account holds none of the security.
    position: Option<PositionMark>,
    /// Open orders, oldest first.
    orders: Vec<OpenOrder>,
    /// Fills, oldest first.
    fills: Vec<FillMark>,
    /// Number of older fills omitted from `fills`.
    fills_omitted: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PositionMark {
    /// Number of shares held; negative for a short position.
    quantity: String,
    available_quantity: String,
    cost_price: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OpenOrder {
    order_id: String,
    /// Order to which this one is attached; null for other orders.
    main_order_id: Option<String>,
    side: &'static str,
    order_type: &'static str,
    status: &'static str,
    /// Unfilled quantity of the order.
    quantity: String,
    /// Quantity of the order, filled or not. A replacement has to name it.
    total_quantity: String,
    /// Limit price; null if the order has no limit price.
    price: Option<String>,
    /// Trigger price; null if the order has no trigger price or has been triggered.
    trigger_price: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FillMark {
    order_id: String,
    side: &'static str,
    quantity: String,
    price: String,
    /// Timestamp of the candle that filled the order, in Unix seconds.
    candle_at: String,
    trading_day: String,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let symbol = Query::parse(call.query)?.symbol()?.ok_or_else(|| missing("symbol"))?;
    let at = trader.now().0.to_string();
    // Viewing a chart must not open a paper account.
    if !trader.has_begun()? {
        return Ok(envelope::success(ChartMarks {
            at,
            entries: 0,
            read_only: trader.is_read_only(),
            position: None,
            orders: Vec::new(),
            fills: Vec::new(),
            fills_omitted: 0,
        }));
    }
    let mut marks = trader.read(|reading| Ok(ChartMarks::of(reading.account, &symbol, at.clone())))?;
    marks.read_only = trader.is_read_only();
    Ok(envelope::success(marks))
}

impl ChartMarks {
    fn of(account: &Account, symbol: &Symbol, at: String) -> ChartMarks {
        let of_symbol = account.orders().iter().filter(|order| order.symbol() == symbol);
        let mut fills: Vec<(&Order, &Fill)> =
            of_symbol.flat_map(|order| order.fills.iter().map(move |fill| (order, fill))).collect();
        fills.sort_by_key(|(order, fill)| (fill.at, order.id, fill.number));
        let fills_omitted = fills.len().saturating_sub(FILLS_MAX);
        ChartMarks {
            at,
            entries: account.entries(),
            read_only: false,
            position: account.position(symbol).map(|position| PositionMark::of(account, symbol, position)),
            orders: account.open_orders_of(symbol).map(OpenOrder::of).collect(),
            fills: fills
                .into_iter()
                .skip(fills_omitted)
                .map(|(order, fill)| FillMark::of(order, fill))
                .collect(),
            fills_omitted,
        }
    }
}

impl PositionMark {
    fn of(account: &Account, symbol: &Symbol, position: &Position) -> PositionMark {
        PositionMark {
            quantity: position.quantity.to_string(),
            available_quantity: account.available_quantity(symbol, None).to_string(),
            cost_price: position.cost_price(account.settings().cost).to_string(),
        }
    }
}

impl OpenOrder {
    fn of(order: &Order) -> OpenOrder {
        let text = |price: Option<market::Price>| {
            price.map(|price| exact_price(price, order.facts.decimals).to_string())
        };
        OpenOrder {
            order_id: order.id.to_string(),
            main_order_id: order.attached.map(|attached| attached.main.to_string()),
            side: order.terms.side.as_str(),
            order_type: order.terms.order_type.as_str(),
            status: order.status().as_str(),
            quantity: order.remaining().to_string(),
            total_quantity: order.terms.quantity.to_string(),
            price: text(order.terms.price),
            // Once triggered, an order waits only for its limit price.
            trigger_price: text(order.terms.trigger_price.filter(|_| order.is_waiting())),
        }
    }
}

impl FillMark {
    fn of(order: &Order, fill: &Fill) -> FillMark {
        FillMark {
            order_id: order.id.to_string(),
            side: order.terms.side.as_str(),
            quantity: fill.quantity.to_string(),
            price: exact_price(fill.price, order.facts.decimals).to_string(),
            candle_at: fill.candle.0.to_string(),
            trading_day: fill.day.to_string(),
        }
    }
}
