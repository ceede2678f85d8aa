//! Parsed parameters of an order submission or replacement.

use market::{Date, Price, Symbol, Timestamp};
use serde::{Deserialize, Serialize};

use crate::codec::{self, serde_as_text};
use crate::decimal::{DecimalError, Plain, parse_units};
use crate::order::OrderId;
use crate::quantity::Quantity;
use crate::words::{AttachedLeg, AttachedType, OrderTag, OrderType, OutsideRth, Side, TimeInForce};

/// A percentage in millionths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(i64);

const PERCENT_DECIMALS: u32 = 6;
/// 100 % in millionths of a percent.
pub(crate) const PERCENT_WHOLE: i64 = 100 * 10i64.pow(PERCENT_DECIMALS);

impl Percent {
    pub fn parse(text: &str) -> Result<Percent, DecimalError> {
        match parse_units(text, PERCENT_DECIMALS)? {
            (units, true) => match i64::try_from(units) {
                Ok(units) if units.abs() <= 100 * PERCENT_WHOLE => Ok(Percent(units)),
                _ => Err(DecimalError::Range),
            },
            (_, false) => Err(DecimalError::Decimals(PERCENT_DECIMALS)),
        }
    }

    pub(crate) fn units(self) -> i64 {
        self.0
    }
}

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&Plain::new(i128::from(self.0), PERCENT_DECIMALS, 0), f)
    }
}

impl std::str::FromStr for Percent {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Percent, DecimalError> {
        Percent::parse(text)
    }
}

serde_as_text!(Percent);

/// The terms of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    #[serde(with = "codec::text")]
    pub symbol: Symbol,
    pub side: Side,
    pub order_type: OrderType,
    pub time_in_force: TimeInForce,
    /// Requested trading hours in a submission, and effective trading hours in an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_rth: Option<OutsideRth>,
    pub quantity: Quantity,
    /// Limit price. The limit price of a trailing order is set at its release.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub trigger_price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub limit_offset: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub trailing_amount: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trailing_percent: Option<Percent>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::text_option")]
    pub expire_date: Option<Date>,
    /// Depth level that sets the limit price of a trailing order at its release. 0 if the offset
    /// sets the price.
    #[serde(default)]
    pub depth_level: i32,
    #[serde(default)]
    pub trigger_count: i32,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub monitor_price: Option<Price>,
    #[serde(default)]
    pub remark: String,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::instant_option")]
    pub delayed_until: Option<Timestamp>,
    /// Idempotency key, stored to recognise a retry after a restart. The engine does not use the
    /// key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<String>,
    /// Orders to attach, as submitted. The attached orders themselves have their own terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Box<Attached>>,
}

/// Requested take profit and stop loss of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    pub kind: AttachedType,
    /// Trigger price of the take profit.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub profit_taker_price: Option<Price>,
    /// Trigger price of the stop loss.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub stop_loss_price: Option<Price>,
    /// Limit price of the take profit once it is triggered.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub profit_taker_submit_price: Option<Price>,
    /// Limit price of the stop loss once it is triggered.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub stop_loss_submit_price: Option<Price>,
    /// Order type after the trigger: limit or market. By default, a leg with a limit price is a
    /// limit order, and a leg without one a market order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_type: Option<OrderType>,
    /// Default: the time in force and the date of the main order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_in_force: Option<TimeInForce>,
    /// An instant of the last day of a good-til-date order.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::instant_option")]
    pub expire_time: Option<Timestamp>,
    /// Default: the trading hours of the main order, if the order types allow them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_rth: Option<OutsideRth>,
}

impl Attached {
    /// Creates a request without prices and with the default terms.
    pub fn new(kind: AttachedType) -> Attached {
        Attached {
            kind,
            profit_taker_price: None,
            stop_loss_price: None,
            profit_taker_submit_price: None,
            stop_loss_submit_price: None,
            order_type: None,
            time_in_force: None,
            expire_time: None,
            outside_rth: None,
        }
    }

    /// Returns the trigger price and the limit price of a leg.
    pub fn prices(&self, leg: AttachedLeg) -> (Option<Price>, Option<Price>) {
        match leg {
            AttachedLeg::ProfitTaker => (self.profit_taker_price, self.profit_taker_submit_price),
            AttachedLeg::StopLoss => (self.stop_loss_price, self.stop_loss_submit_price),
        }
    }

    /// Removes the prices of a leg that the type does not include, and the time of an order that
    /// has no date.
    pub(crate) fn normalized(&self) -> Attached {
        let only = |price: Option<Price>, leg: AttachedLeg| price.filter(|_| self.kind.has(leg));
        Attached {
            profit_taker_price: only(self.profit_taker_price, AttachedLeg::ProfitTaker),
            profit_taker_submit_price: only(self.profit_taker_submit_price, AttachedLeg::ProfitTaker),
            stop_loss_price: only(self.stop_loss_price, AttachedLeg::StopLoss),
            stop_loss_submit_price: only(self.stop_loss_submit_price, AttachedLeg::StopLoss),
            expire_time: self.expire_time.filter(|_| self.time_in_force == Some(TimeInForce::GoodTilDate)),
            ..self.clone()
        }
    }
}

impl Terms {
    /// Creates the terms of a plain order, with all optional fields empty.
    pub fn new(symbol: Symbol, side: Side, order_type: OrderType, quantity: Quantity) -> Terms {
        Terms {
            symbol,
            side,
            order_type,
            time_in_force: TimeInForce::Day,
            outside_rth: None,
            quantity,
            price: None,
            trigger_price: None,
            limit_offset: None,
            trailing_amount: None,
            trailing_percent: None,
            expire_date: None,
            depth_level: 0,
            trigger_count: 0,
            monitor_price: None,
            remark: String::new(),
            delayed_until: None,
            client_request_id: None,
            attached: None,
        }
    }

    pub fn tag(&self) -> OrderTag {
        if self.time_in_force == TimeInForce::Day { OrderTag::Normal } else { OrderTag::Gtc }
    }
}

/// Changes to an order. Fields that are `None` remain unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// New total quantity, including the executed quantity.
    pub quantity: Quantity,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub trigger_price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub limit_offset: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub trailing_amount: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trailing_percent: Option<Percent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_level: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_count: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub monitor_price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// Changes to the attached orders. If the other fields equal the order's terms, only the
    /// attached orders change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Box<AttachedChanges>>,
}

/// Changes to the attached orders of an order. Prices and terms that are `None` remain unchanged. A
/// leg that does not exist yet is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedChanges {
    pub attached: Attached,
    /// Must be the ids of the open attached orders, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profit_taker_id: Option<OrderId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_loss_id: Option<OrderId>,
    /// Must be the id of the main order, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_id: Option<OrderId>,
    /// Cancels all attached orders. All other fields are ignored.
    #[serde(default)]
    pub cancel_all: bool,
    /// New total quantity of the attached orders. Cannot change while the main order is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<Quantity>,
}
