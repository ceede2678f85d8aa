//! Parsed parameters of an order submission or replacement.

use market::{Date, Price, Symbol, Timestamp};
use serde::{Deserialize, Serialize};

use crate::codec::{self, serde_as_text};
use crate::decimal::{DecimalError, Plain, parse_units};
use crate::quantity::Quantity;
use crate::words::{OrderTag, OrderType, OutsideRth, Side, TimeInForce};

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
}
