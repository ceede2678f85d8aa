//! Attached orders (take profit, stop loss) in requests and in the rows of their main orders.

use market::Price;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trading::{
    Attached, AttachedChanges, AttachedType, Money, Order, OrderId, OrderStatus, OrderType, OutsideRth,
    TimeInForce,
};

use super::order_row::price_text;
use crate::kit::Problem;
use crate::kit::json_fields::Field;
use crate::kit::query::missing;

/// Attached orders of a new order.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "AttachedOrderParams")]
#[serde(default)]
pub(super) struct AttachedParams {
    /// `PROFIT_TAKER`, `STOP_LOSS` or `BRACKET`, which is both.
    attached_order_type: Field,
    /// Trigger price of the take profit.
    profit_taker_price: Field,
    /// Trigger price of the stop loss.
    stop_loss_price: Field,
    /// Default: the time in force of the order.
    time_in_force: Field,
    /// An instant of the last day of a GTD order, in Unix seconds.
    expire_time: Field,
    /// Order type once triggered, `LO` or `MO`. Default: `LO` with a limit price, otherwise `MO`.
    activate_order_type: Field,
    /// Limit price of the take profit.
    profit_taker_submit_price: Field,
    /// Limit price of the stop loss.
    stop_loss_submit_price: Field,
    /// Trading sessions, US only.
    activate_rth: Field,
}

/// Changes to the attached orders of an order. An absent price or term remains unchanged.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "AttachedOrderChanges")]
#[serde(default)]
pub(super) struct AttachedReplacement {
    #[serde(flatten)]
    params: AttachedParams,
    /// Must be the id of the open take profit, if given.
    profit_taker_id: Field,
    /// Must be the id of the open stop loss, if given.
    stop_loss_id: Field,
    /// Must be the id of the order, if given.
    main_id: Field,
    /// Cancels all attached orders; the other fields are ignored.
    cancel_all_attached: Option<bool>,
    /// Total quantity of the attached orders; follows the order while it is open.
    quantity: Field,
}

impl AttachedParams {
    pub(super) fn parse(&self) -> Result<Attached, Problem> {
        let kind = self.attached_order_type.word("attached_order_type", None)?;
        self.parse_as(kind)
    }

    fn parse_as(&self, kind: AttachedType) -> Result<Attached, Problem> {
        let word = |field: &Field, name: &str| field.text(name).map(|text| text.is_some());
        let time_in_force: Option<TimeInForce> = match word(&self.time_in_force, "time_in_force")? {
            true => Some(self.time_in_force.word("time_in_force", Some("time in force not support"))?),
            false => None,
        };
        let order_type: Option<OrderType> = match word(&self.activate_order_type, "activate_order_type")? {
            true => Some(self.activate_order_type.word("activate_order_type", None)?),
            false => None,
        };
        let outside_rth: Option<OutsideRth> = match word(&self.activate_rth, "activate_rth")? {
            true => Some(self.activate_rth.word("activate_rth", None)?),
            false => None,
        };
        Ok(Attached {
            profit_taker_price: self.profit_taker_price.price("profit_taker_price")?,
            stop_loss_price: self.stop_loss_price.price("stop_loss_price")?,
            profit_taker_submit_price: self.profit_taker_submit_price.price("profit_taker_submit_price")?,
            stop_loss_submit_price: self.stop_loss_submit_price.price("stop_loss_submit_price")?,
            order_type,
            time_in_force,
            expire_time: self.expire_time.time("expire_time")?,
            outside_rth: outside_rth.filter(|lanes| *lanes != OutsideRth::NotApplicable),
            ..Attached::new(kind)
        })
    }
}

impl AttachedReplacement {
    pub(super) fn parse(&self) -> Result<AttachedChanges, Problem> {
        let cancel_all = self.cancel_all_attached.unwrap_or_default();
        let attached = match (self.params.attached_order_type.text("attached_order_type")?, cancel_all) {
            (None, false) => return Err(missing("attached_order_type")),
            (None, true) => self.params.parse_as(AttachedType::Bracket)?,
            (Some(_), _) => self.params.parse()?,
        };
        Ok(AttachedChanges {
            attached,
            profit_taker_id: id(&self.profit_taker_id, "profit_taker_id")?,
            stop_loss_id: id(&self.stop_loss_id, "stop_loss_id")?,
            main_id: id(&self.main_id, "main_id")?,
            cancel_all,
            quantity: self.quantity.quantity_if_any("quantity")?,
        })
    }
}

/// Parses an order id, which SDKs send as a number. Returns `None` if it is absent or 0.
fn id(field: &Field, name: &str) -> Result<Option<OrderId>, Problem> {
    match field.text(name)? {
        None | Some("0") => Ok(None),
        Some(_) => field.word(name, None).map(Some),
    }
}

/// An attached order in the row of its main order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "AttachedOrder")]
pub(super) struct AttachedRow {
    order_id: String,
    attached_type_display: &'static str,
    trigger_price: String,
    quantity: String,
    executed_qty: String,
    status: &'static str,
    updated_at: String,
    /// Whether the order was cancelled.
    withdrawn: bool,
    /// Last day of a GTD order.
    gtd: String,
    time_in_force: &'static str,
    /// The security.
    counter_id: String,
    /// `DEACTIVE` until the main order has a fill, then `ACTIVE`, and `RELEASED` once triggered.
    trigger_status: &'static str,
    executed_amount: String,
    tag: &'static str,
    submitted_at: String,
    executed_price: String,
    force_only_rth: &'static str,
    /// Always true.
    reviewed: bool,
    /// Order type once triggered, `LO` or `MO`.
    activate_order_type: &'static str,
    activate_rth: &'static str,
    /// Limit price once triggered.
    submit_price: String,
}

impl AttachedRow {
    /// Converts an attached order. Returns `None` for other orders.
    pub(super) fn of(order: &Order) -> Option<AttachedRow> {
        let leg = order.attached?.leg;
        let terms = &order.terms;
        let price = |price: Option<Price>| price_text(price, order.facts.decimals);
        let of_fill = |fill: &trading::Fill| Money::of(fill.price, fill.quantity, order.facts.multiplier);
        let amount: Money = order.fills.iter().map(of_fill).sum();
        Some(AttachedRow {
            order_id: order.id.to_string(),
            attached_type_display: leg.as_str(),
            trigger_price: price(terms.trigger_price),
            quantity: terms.quantity.to_string(),
            executed_qty: order.executed.to_string(),
            status: order.status().as_str(),
            updated_at: order.updated_at.0.to_string(),
            withdrawn: matches!(order.status(), OrderStatus::Canceled | OrderStatus::PartialWithdrawal),
            gtd: terms.expire_date.map(|date| date.to_string()).unwrap_or_default(),
            time_in_force: terms.time_in_force.as_str(),
            counter_id: terms.symbol.to_string(),
            trigger_status: order.trigger_status.as_str(),
            executed_amount: if amount.is_zero() { "0".to_owned() } else { amount.text().to_string() },
            tag: terms.tag().as_str(),
            submitted_at: order.submitted_at.0.to_string(),
            executed_price: order.executed_price().map(|price| price.to_string()).unwrap_or_default(),
            force_only_rth: order.outside_rth().as_str(),
            reviewed: true,
            activate_order_type: order.fills_as().as_str(),
            activate_rth: order.outside_rth().as_str(),
            submit_price: price(terms.price),
        })
    }
}
