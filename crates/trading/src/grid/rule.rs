//! Grid rules, as submitted by a client and after validation.

use market::{Price, Timestamp};
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::quantity::Quantity;
use crate::refusal::{Code, Refusal};
use crate::terms::Percent;
use crate::words::{BoundEvent, GridHours, GridOrderType, GridTimeInForce};

/// A `grid_trading_rule` object as received, with its field names. Absent fields are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridRuleInput {
    pub submitted_base_price: Option<Price>,
    pub upper_limit_price: Option<Price>,
    pub lower_limit_price: Option<Price>,
    pub trigger_price_type: Option<i64>,
    pub trigger_spread_up: Option<Price>,
    pub trigger_spread_down: Option<Price>,
    pub trigger_percent_up: Option<Percent>,
    pub trigger_percent_down: Option<Percent>,
    pub trigger_quantity: Option<Quantity>,
    pub upper_limit_quantity: Option<Quantity>,
    pub lower_limit_quantity: Option<Quantity>,
    pub upper_limit_event: Option<i64>,
    pub lower_limit_event: Option<i64>,
    pub trigger_sell_depth: Option<i64>,
    pub trigger_buy_depth: Option<i64>,
    pub grid_order_type_up: Option<String>,
    pub grid_order_type_down: Option<String>,
    pub multiple_trigger: Option<bool>,
    pub support_shortsell: Option<bool>,
    pub rth: Option<i64>,
    pub time_in_force: Option<i64>,
    /// Expiry in Unix seconds. 0 is treated as absent.
    pub expire_time: Option<i64>,
}

/// A grid rule that has passed all checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridRule {
    /// Initial base, `submitted_base_price` in requests.
    #[serde(with = "codec::price")]
    pub base: Price,
    #[serde(with = "codec::price")]
    pub upper: Price,
    #[serde(with = "codec::price")]
    pub lower: Price,
    pub step: GridStep,
    /// Order quantity per trigger.
    pub quantity: Quantity,
    /// Maximum position after a buy.
    pub upper_quantity: Quantity,
    /// Minimum position after a sale.
    pub lower_quantity: Quantity,
    pub upper_event: BoundEvent,
    pub lower_event: BoundEvent,
    #[serde(default)]
    pub sell_depth: i32,
    #[serde(default)]
    pub buy_depth: i32,
    /// Order type of sales, `grid_order_type_up` in requests.
    pub sell_type: GridOrderType,
    /// Order type of buys, `grid_order_type_down` in requests.
    pub buy_type: GridOrderType,
    #[serde(default)]
    pub multiple_trigger: bool,
    #[serde(default)]
    pub support_shortsell: bool,
    pub hours: GridHours,
    pub time_in_force: GridTimeInForce,
    /// Expiry. Set only if the time in force is `GoodTilDate`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::instant_option")]
    pub expire_time: Option<Timestamp>,
}

/// Distance from the base to the next level in each direction, as an amount or a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GridStep {
    Spread {
        #[serde(with = "codec::price")]
        up: Price,
        #[serde(with = "codec::price")]
        down: Price,
    },
    Percent {
        up: Percent,
        down: Percent,
    },
}

impl GridStep {
    /// Returns the `trigger_price_type` code of the step.
    pub fn code(self) -> i32 {
        match self {
            GridStep::Spread { .. } => 1,
            GridStep::Percent { .. } => 2,
        }
    }
}

/// Maximum depth level for the limit price of a sub-order, on either side.
const DEPTH_MAX: i64 = 5;
/// Maximum time until a grid's expiry, in seconds.
const EXPIRY_MAX: i64 = 366 * 86_400;

fn missing(field: &str) -> Refusal {
    Refusal::plain(format!("{field} required")).coded(Code::RuleParameter)
}

fn out_of_range(field: &str, what: &str) -> Refusal {
    Refusal::plain(format!("{field} must be {what}")).coded(Code::RuleParameter)
}

fn wrong(text: impl Into<String>) -> Refusal {
    Refusal::plain(text)
}

impl GridRule {
    /// Validates a submitted rule: required fields, ranges, and the relations between fields. The
    /// expiry must be after `now`.
    pub fn of(request: &GridRuleInput, now: Timestamp) -> Result<GridRule, Refusal> {
        let step = step(request)?;
        let hours = GridHours::from_code(request.rth.unwrap_or(0));
        let hours = hours.ok_or_else(|| out_of_range("rth", "0, 1 or 2"))?;
        let code = request.time_in_force.ok_or_else(|| missing("time_in_force"))?;
        let time_in_force =
            GridTimeInForce::from_code(code).ok_or_else(|| out_of_range("time_in_force", "0, 1 or 6"))?;
        let rule = GridRule {
            base: positive(request.submitted_base_price, "submitted_base_price")?,
            upper: positive(request.upper_limit_price, "upper_limit_price")?,
            lower: positive(request.lower_limit_price, "lower_limit_price")?,
            step,
            quantity: some(request.trigger_quantity, "trigger_quantity")?,
            upper_quantity: some(request.upper_limit_quantity, "upper_limit_quantity")?,
            lower_quantity: some(request.lower_limit_quantity, "lower_limit_quantity")?,
            upper_event: event(request.upper_limit_event, "upper_limit_event")?,
            lower_event: event(request.lower_limit_event, "lower_limit_event")?,
            sell_depth: depth(request.trigger_sell_depth, "trigger_sell_depth")?,
            buy_depth: depth(request.trigger_buy_depth, "trigger_buy_depth")?,
            sell_type: order_type(request.grid_order_type_up.as_deref(), "grid_order_type_up")?,
            buy_type: order_type(request.grid_order_type_down.as_deref(), "grid_order_type_down")?,
            multiple_trigger: request.multiple_trigger.unwrap_or_default(),
            support_shortsell: request.support_shortsell.unwrap_or_default(),
            hours,
            time_in_force,
            expire_time: expire_time(request.expire_time, time_in_force, now)?,
        };
        rule.check_relations()?;
        Ok(rule)
    }

    fn check_relations(&self) -> Result<(), Refusal> {
        if self.upper <= self.lower {
            return Err(wrong("upper_limit_price must be above lower_limit_price"));
        }
        if !(self.lower..=self.upper).contains(&self.base) {
            return Err(wrong(
                "submitted_base_price must lie within lower_limit_price and upper_limit_price",
            ));
        }
        for (quantity, field) in
            [(self.quantity, "trigger_quantity"), (self.lower_quantity, "lower_limit_quantity")]
        {
            if !quantity.is_positive() {
                return Err(wrong(format!("{field} must be above 0")));
            }
        }
        if self.upper_quantity <= self.lower_quantity {
            return Err(wrong("upper_limit_quantity must be above lower_limit_quantity"));
        }
        Ok(())
    }
}

fn some<T>(value: Option<T>, field: &str) -> Result<T, Refusal> {
    value.ok_or_else(|| missing(field))
}

fn positive(value: Option<Price>, field: &str) -> Result<Price, Refusal> {
    let price = some(value, field)?;
    if price.0 > 0 { Ok(price) } else { Err(wrong(format!("{field} must be above 0"))) }
}

fn step(request: &GridRuleInput) -> Result<GridStep, Refusal> {
    let percent = |value: Option<Percent>, field: &str| {
        let percent = some(value, field)?;
        if percent.units() > 0 { Ok(percent) } else { Err(wrong(format!("{field} must be above 0"))) }
    };
    match some(request.trigger_price_type, "trigger_price_type")? {
        1 => Ok(GridStep::Spread {
            up: positive(request.trigger_spread_up, "trigger_spread_up")?,
            down: positive(request.trigger_spread_down, "trigger_spread_down")?,
        }),
        2 => Ok(GridStep::Percent {
            up: percent(request.trigger_percent_up, "trigger_percent_up")?,
            down: percent(request.trigger_percent_down, "trigger_percent_down")?,
        }),
        _ => Err(out_of_range("trigger_price_type", "1 or 2")),
    }
}

fn event(code: Option<i64>, field: &str) -> Result<BoundEvent, Refusal> {
    match code {
        None | Some(0) => Ok(BoundEvent::Ignore),
        Some(code) => BoundEvent::from_code(code).ok_or_else(|| out_of_range(field, "1 or 2")),
    }
}

fn depth(level: Option<i64>, field: &str) -> Result<i32, Refusal> {
    let level = level.unwrap_or(0);
    let known = i32::try_from(level).ok().filter(|_| (-DEPTH_MAX..=DEPTH_MAX).contains(&level));
    known.ok_or_else(|| out_of_range(field, &format!("from {} to {DEPTH_MAX}", -DEPTH_MAX)))
}

fn order_type(word: Option<&str>, field: &str) -> Result<GridOrderType, Refusal> {
    match word {
        None | Some("") => Ok(GridOrderType::Market),
        Some(word) => word.parse().map_err(|_| wrong(format!("{field} must be GMO, GLO or GTG"))),
    }
}

fn expire_time(
    requested: Option<i64>,
    time_in_force: GridTimeInForce,
    now: Timestamp,
) -> Result<Option<Timestamp>, Refusal> {
    if time_in_force != GridTimeInForce::GoodTilDate {
        return Ok(None);
    }
    match requested {
        None | Some(0) => Err(missing("expire_time")),
        Some(at) if at > now.0 && at.saturating_sub(now.0) <= EXPIRY_MAX => Ok(Some(Timestamp(at))),
        Some(_) => Err(out_of_range("expire_time", "within the next 366 days")),
    }
}
