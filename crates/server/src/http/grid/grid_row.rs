//! A grid in the JSON format of the SDKs, in which every key is present, decimals are strings, and
//! an absent value is an empty string.

use market::{Price, Symbol, Zone};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Grid, GridStep, Money, Side, plain_price};

use crate::names::Names;

/// A grid in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridOrder")]
pub(super) struct GridRow {
    #[serde(flatten)]
    terms: GridTerms,
    market: &'static str,
    /// Base price before the last trigger.
    pre_trigger_base_price: String,
    /// Base price after the last trigger.
    post_trigger_base_price: String,
    trigger_sell_order_type: &'static str,
    trigger_buy_order_type: &'static str,
    trigger_times: u64,
    total_buy_quantity: String,
    total_sell_quantity: String,
    /// Realised profit from fills matched first in, first out, before charges.
    total_profit_balance: String,
}

/// Fields common to the grid list and the grid detail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct GridTerms {
    order_id: String,
    symbol: String,
    stock_name: String,
    /// Performing, Suspended, Canceled or Expired.
    status: &'static str,
    /// Equal to `status`.
    grid_status: &'static str,
    submitted_base_price: String,
    current_base_price: String,
    upper_limit_price: String,
    lower_limit_price: String,
    /// 1 for a price spread, 2 for a percentage.
    trigger_price_type: i32,
    trigger_spread_up: String,
    trigger_spread_down: String,
    trigger_percent_up: String,
    trigger_percent_down: String,
    pullback_percent: &'static str,
    pullback_spread: &'static str,
    rebound_percent: &'static str,
    rebound_spread: &'static str,
    trigger_sell_depth: i32,
    trigger_buy_depth: i32,
    trigger_quantity: String,
    trigger_sell_quantity: String,
    trigger_buy_quantity: String,
    upper_limit_quantity: String,
    lower_limit_quantity: String,
    /// Behaviour at the price bound: 1 waits while the price is beyond the bound, 2 closes the
    /// position and ends the grid.
    upper_limit_event: i32,
    lower_limit_event: i32,
    multiple_trigger: bool,
    settlement_currency: String,
    /// 0 day, 1 good until cancelled, 6 good until the date in `gtd`.
    time_in_force: i32,
    /// Expiry date in the market's time zone.
    gtd: String,
    created_at: String,
    rth: i32,
    support_shortsell: bool,
    grid_order_type_up: &'static str,
    grid_order_type_down: &'static str,
    #[serde(skip)]
    security: Symbol,
}

impl GridRow {
    /// Converts a grid without its security names. The caller adds the names, which are looked up
    /// for all rows together.
    pub(super) fn of(grid: &Grid) -> GridRow {
        GridRow {
            terms: GridTerms::of(grid),
            market: grid.market().as_str(),
            pre_trigger_base_price: price_text(grid.base_before),
            post_trigger_base_price: price_text(grid.base_after),
            trigger_sell_order_type: grid.sub_order_type(Side::Sell).as_str(),
            trigger_buy_order_type: grid.sub_order_type(Side::Buy).as_str(),
            trigger_times: grid.trigger_times,
            total_buy_quantity: grid.bought.to_string(),
            total_sell_quantity: grid.sold.to_string(),
            total_profit_balance: profit_text(grid.profit),
        }
    }

    pub(super) fn terms_mut(&mut self) -> &mut GridTerms {
        &mut self.terms
    }

    pub(super) fn security(&self) -> &Symbol {
        self.terms.security()
    }
}

impl GridTerms {
    pub(super) fn of(grid: &Grid) -> GridTerms {
        let rule = &grid.rule;
        let (spread, percent) = match rule.step {
            GridStep::Spread { up, down } => {
                ([up, down].map(|one| plain_price(one).to_string()), Default::default())
            }
            GridStep::Percent { up, down } => (Default::default(), [up, down].map(|one| one.to_string())),
        };
        let [trigger_spread_up, trigger_spread_down] = spread;
        let [trigger_percent_up, trigger_percent_down] = percent;
        let quantity = rule.quantity.to_string();
        let ends_on = rule.expire_time.map(|at| Zone::of(grid.market()).date(at).to_string());
        GridTerms {
            order_id: grid.id.to_string(),
            symbol: grid.symbol.to_string(),
            stock_name: String::new(),
            status: grid.status.as_str(),
            grid_status: grid.status.as_str(),
            submitted_base_price: plain_price(rule.base).to_string(),
            current_base_price: plain_price(grid.base).to_string(),
            upper_limit_price: plain_price(rule.upper).to_string(),
            lower_limit_price: plain_price(rule.lower).to_string(),
            trigger_price_type: rule.step.code(),
            trigger_spread_up,
            trigger_spread_down,
            trigger_percent_up,
            trigger_percent_down,
            pullback_percent: "",
            pullback_spread: "",
            rebound_percent: "",
            rebound_spread: "",
            trigger_sell_depth: rule.sell_depth,
            trigger_buy_depth: rule.buy_depth,
            trigger_sell_quantity: quantity.clone(),
            trigger_buy_quantity: quantity.clone(),
            trigger_quantity: quantity,
            upper_limit_quantity: rule.upper_quantity.to_string(),
            lower_limit_quantity: rule.lower_quantity.to_string(),
            upper_limit_event: rule.upper_event.code(),
            lower_limit_event: rule.lower_event.code(),
            multiple_trigger: rule.multiple_trigger,
            settlement_currency: grid.settlement_currency.to_string(),
            time_in_force: rule.time_in_force.code(),
            gtd: ends_on.unwrap_or_default(),
            created_at: grid.created_at.0.to_string(),
            rth: rule.hours.code(),
            support_shortsell: rule.support_shortsell,
            grid_order_type_up: rule.sell_type.as_str(),
            grid_order_type_down: rule.buy_type.as_str(),
            security: grid.symbol.clone(),
        }
    }

    pub(super) fn security(&self) -> &Symbol {
        &self.security
    }

    pub(super) fn name(&mut self, names: &Names) {
        self.stock_name = names.get(&self.security);
    }
}

/// Formats a price with the decimals that were entered. Returns an empty string for `None`.
pub(super) fn price_text(price: Option<Price>) -> String {
    price.map(|price| plain_price(price).to_string()).unwrap_or_default()
}

fn profit_text(profit: Money) -> String {
    if profit.is_zero() { "0".to_owned() } else { profit.text().to_string() }
}
