//! Endpoints for a single order. `GET /v1/trade/order` returns the order with its history and
//! charges. `GET /v1/trade/order/why` explains what happened to the order and which rules caused
//! it; no SDK calls it.

use paper::OrderExplanation;
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Account, MarketView, Order, Tables, charges};

use super::docs::{ATTACHED, ORDER_ID, REFUSALS};
use super::order_row::{self, OrderRow, price_text};
use crate::caller::Language;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::{Query, missing, not_found};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const DETAIL: Doc = Doc::new(Tag::Trade, "orderDetail", "One order with its history and charges")
    .parameters(&[ORDER_ID.required(), ATTACHED])
    .answers(&[AnswerDoc::ok("The order", &[data::<Detail>()])])
    .refuses(REFUSALS);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrderDetail")]
pub(super) struct Detail {
    #[serde(flatten)]
    order: OrderRow,
    free_status: &'static str,
    free_amount: &'static str,
    free_currency: &'static str,
    deductions_status: &'static str,
    deductions_amount: &'static str,
    deductions_currency: &'static str,
    platform_deducted_status: &'static str,
    platform_deducted_amount: &'static str,
    platform_deducted_currency: &'static str,
    history: Vec<HistoryRow>,
    charge_detail: ChargeDetail,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrderHistoryRow")]
struct HistoryRow {
    price: String,
    quantity: String,
    status: &'static str,
    msg: String,
    time: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChargeDetail {
    total_amount: String,
    currency: String,
    items: Vec<ChargeItem>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChargeItem {
    code: &'static str,
    name: &'static str,
    fees: Vec<FeeRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FeeRow {
    code: String,
    name: String,
    amount: String,
    currency: String,
}

pub(super) fn detail(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let id = query.order()?.ok_or_else(|| missing("order_id"))?;
    let language = trader.language();
    let wants_attached = query.is_true("is_attached");
    let found = trader.read(|reading| {
        let order = reading.account.order(id).filter(|order| !wants_attached || order.attached.is_some());
        Ok(order.map(|order| Detail::of(order, reading.account, &reading.view, language)))
    })?;
    let mut detail = found.ok_or_else(not_found)?;
    let names = trader.names([detail.order.security()])?;
    detail.order.name(&names);
    Ok(envelope::success(detail))
}

impl Detail {
    fn of(order: &Order, account: &Account, view: &MarketView<'_>, language: Language) -> Detail {
        let history = order.history.iter().rev().map(|row| HistoryRow {
            price: price_text(row.price, order.facts.decimals),
            quantity: row.quantity.to_string(),
            status: row.status.as_str(),
            msg: row.msg.clone(),
            time: row.at.0.to_string(),
        });
        Detail {
            history: history.collect(),
            charge_detail: ChargeDetail::of(order, view.tables, language),
            order: OrderRow::current(order, account, view),
            free_status: "None",
            free_amount: "",
            free_currency: "",
            deductions_status: "NONE",
            deductions_amount: "",
            deductions_currency: "",
            platform_deducted_status: "NONE",
            platform_deducted_amount: "",
            platform_deducted_currency: "",
        }
    }
}

impl ChargeDetail {
    fn of(order: &Order, tables: &Tables, language: Language) -> ChargeDetail {
        let currency = order.facts.currency.to_string();
        let row = |fee: trading::Fee| FeeRow {
            name: order_row::charge(&fee.code, language).to_owned(),
            code: fee.code,
            amount: fee.amount.text().to_string(),
            currency: currency.clone(),
        };
        let items = charges(order, tables).into_iter().map(|(group, fees)| ChargeItem {
            code: group.as_str(),
            name: order_row::group(group, language),
            fees: fees.into_iter().map(row).collect(),
        });
        let items: Vec<ChargeItem> = items.collect();
        let total = order.fee_total();
        let total_amount = if total.is_zero() { "0".to_owned() } else { total.text().to_string() };
        ChargeDetail { total_amount, currency: currency.clone(), items }
    }
}

pub(super) const WHY: Doc = Doc::new(
    Tag::Trade,
    "orderStory",
    "Events of an order, with the candles and rules that caused them, and its charges",
)
.parameters(&[ORDER_ID.required()])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<OrderExplanation>()])])
.refuses(REFUSALS);

pub(super) fn why(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let id = Query::parse(call.query)?.order()?.ok_or_else(|| missing("order_id"))?;
    trader.ask(|account| account.order_explanation(id))?.map(envelope::success).ok_or_else(not_found)
}
