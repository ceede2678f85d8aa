//! Command-line flags for a grid's rule, and their conversion to API fields.

use access::parse_instant;
use clap::{Args, ValueEnum};
use market::{Market, Price, Zone};
use serde_json::Value;
use trading::{
    BoundEvent, DecimalError, GridHours, GridOrderType, GridRuleInput, GridTimeInForce, Percent, Quantity,
    parse_exact_price,
};

use crate::command::time;
use crate::command::trade::shown::text;
use crate::failure::{Failure, usage};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct RuleFlags {
    /// Base price, from which the first steps are counted
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    base: Option<String>,
    /// Lower bound, below which nothing is triggered
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    lower: Option<String>,
    /// Upper bound, above which nothing is triggered
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    upper: Option<String>,
    /// A step up or down, as an amount
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true, conflicts_with_all = ["percent", "percent_up", "percent_down"])]
    spread: Option<String>,
    /// A step up, if it differs from the step down
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true, conflicts_with_all = ["percent", "percent_up", "percent_down"])]
    spread_up: Option<String>,
    /// A step down, if it differs from the step up
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true, conflicts_with_all = ["percent", "percent_up", "percent_down"])]
    spread_down: Option<String>,
    /// A step up or down, in percent of the price it is counted from
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    percent: Option<String>,
    /// A step up in percent, if it differs from the step down
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    percent_up: Option<String>,
    /// A step down in percent, if it differs from the step up
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    percent_down: Option<String>,
    /// Number of shares per step
    #[arg(long, value_name = "QUANTITY", allow_negative_numbers = true)]
    quantity: Option<String>,
    /// The minimum position after a sale
    #[arg(long, value_name = "QUANTITY", allow_negative_numbers = true)]
    min_position: Option<String>,
    /// The maximum position after a purchase
    #[arg(long, value_name = "QUANTITY", allow_negative_numbers = true)]
    max_position: Option<String>,
    /// The action if the price opens or falls below the lower bound [default: wait]
    #[arg(long, value_enum, value_name = "WHAT")]
    at_lower: Option<Bound>,
    /// The action if the price opens or rises above the upper bound [default: wait]
    #[arg(long, value_enum, value_name = "WHAT")]
    at_upper: Option<Bound>,
    /// Order type of sales: GMO is a market order, GLO and GTG are limit orders at the trigger
    /// price [default: GMO]
    #[arg(long, value_name = "TYPE")]
    sell_type: Option<String>,
    /// Order type of purchases [default: GMO]
    #[arg(long, value_name = "TYPE")]
    buy_type: Option<String>,
    /// Sell with the price of this depth level as limit: -5 to 5, 0 for none
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    sell_depth: Option<i64>,
    /// Buy with the price of this depth level as limit: -5 to 5, 0 for none
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    buy_depth: Option<i64>,
    /// Whether a gap over several steps trades the quantity of all of them [default: off]
    #[arg(long, value_enum, value_name = "ON|OFF")]
    multiple: Option<Switch>,
    /// Whether the grid may sell short [default: off]
    #[arg(long, value_enum, value_name = "ON|OFF")]
    short: Option<Switch>,
    /// Hours in which the grid is active; extended only in the US [default: regular]
    #[arg(long, value_enum, value_name = "HOURS")]
    hours: Option<Hours>,
    /// Time in force [default: gtc]
    #[arg(long, value_enum)]
    tif: Option<Tif>,
    /// Expiry of a gtd grid: an instant, or a date (its last second in the market's time zone)
    #[arg(long, value_name = "TIME")]
    expire: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Bound {
    /// Nothing is triggered until the price is back within the bounds
    Wait,
    /// The grid sells the shares that it has bought, and ends
    Close,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Hours {
    /// Regular hours
    Regular,
    /// Pre-market and post-market as well
    Extended,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Tif {
    /// Until the end of the trading day
    Day,
    /// Until cancelled
    Gtc,
    /// Until --expire
    Gtd,
}

/// Last second of a day, counted from midnight.
const DAY_END_S: i64 = 86_399;

impl RuleFlags {
    /// Builds the rule of a new grid. The error for a missing required value names its flag.
    pub(super) fn new_rule(&self, market: Market) -> Result<GridRuleInput, Failure> {
        let has_step = |both: &Option<String>, one: &Option<String>| both.is_some() || one.is_some();
        let steps = [
            (&self.spread, &self.spread_up, &self.spread_down),
            (&self.percent, &self.percent_up, &self.percent_down),
        ];
        let is_stepped = steps.iter().any(|(both, up, down)| has_step(both, up) && has_step(both, down));
        let missing = [
            ("--base", self.base.is_some()),
            ("--lower", self.lower.is_some()),
            ("--upper", self.upper.is_some()),
            ("--spread or --percent, up and down", is_stepped),
            ("--quantity", self.quantity.is_some()),
            ("--min-position", self.min_position.is_some()),
            ("--max-position", self.max_position.is_some()),
        ];
        let missing: Vec<&str> =
            missing.iter().filter(|(_, is_given)| !is_given).map(|(flag, _)| *flag).collect();
        if !missing.is_empty() {
            return Err(usage(format!("a grid needs {}", missing.join(", "))));
        }
        let lasting = GridRuleInput {
            time_in_force: Some(GridTimeInForce::GoodTilCanceled.code().into()),
            ..GridRuleInput::default()
        };
        self.over(lasting, market)
    }

    /// Returns `rule` with the given flags applied.
    pub(super) fn over(&self, mut rule: GridRuleInput, market: Market) -> Result<GridRuleInput, Failure> {
        let price = |flag: &str, text: &Option<String>| decimal(flag, text, parse_exact_price);
        let quantity = |flag: &str, text: &Option<String>| decimal(flag, text, Quantity::parse);
        change(&mut rule.submitted_base_price, price("--base", &self.base)?);
        change(&mut rule.lower_limit_price, price("--lower", &self.lower)?);
        change(&mut rule.upper_limit_price, price("--upper", &self.upper)?);
        self.step_over(&mut rule)?;
        change(&mut rule.trigger_quantity, quantity("--quantity", &self.quantity)?);
        change(&mut rule.lower_limit_quantity, quantity("--min-position", &self.min_position)?);
        change(&mut rule.upper_limit_quantity, quantity("--max-position", &self.max_position)?);
        change(&mut rule.lower_limit_event, self.at_lower.map(Bound::code));
        change(&mut rule.upper_limit_event, self.at_upper.map(Bound::code));
        change(&mut rule.grid_order_type_up, order_type("--sell-type", self.sell_type.as_deref())?);
        change(&mut rule.grid_order_type_down, order_type("--buy-type", self.buy_type.as_deref())?);
        change(&mut rule.trigger_sell_depth, self.sell_depth);
        change(&mut rule.trigger_buy_depth, self.buy_depth);
        change(&mut rule.multiple_trigger, self.multiple.map(Switch::is_on));
        change(&mut rule.support_shortsell, self.short.map(Switch::is_on));
        change(&mut rule.rth, self.hours.map(Hours::code));
        self.end_over(&mut rule, market)?;
        Ok(rule)
    }

    /// Applies the step flags to `rule`. A change from amounts to percentages, or back, replaces
    /// both steps.
    fn step_over(&self, rule: &mut GridRuleInput) -> Result<(), Failure> {
        let either = |one: &Option<String>, both: &Option<String>| one.clone().or_else(|| both.clone());
        let (up, down) = (either(&self.spread_up, &self.spread), either(&self.spread_down, &self.spread));
        if up.is_some() || down.is_some() {
            (rule.trigger_percent_up, rule.trigger_percent_down) = (None, None);
            rule.trigger_price_type = Some(SPREAD);
            change(&mut rule.trigger_spread_up, decimal("--spread-up", &up, parse_exact_price)?);
            change(&mut rule.trigger_spread_down, decimal("--spread-down", &down, parse_exact_price)?);
        }
        let (up, down) = (either(&self.percent_up, &self.percent), either(&self.percent_down, &self.percent));
        if up.is_some() || down.is_some() {
            (rule.trigger_spread_up, rule.trigger_spread_down) = (None, None);
            rule.trigger_price_type = Some(PERCENT);
            change(&mut rule.trigger_percent_up, decimal("--percent-up", &up, Percent::parse)?);
            change(&mut rule.trigger_percent_down, decimal("--percent-down", &down, Percent::parse)?);
        }
        Ok(())
    }

    fn end_over(&self, rule: &mut GridRuleInput, market: Market) -> Result<(), Failure> {
        if let Some(tif) = self.tif {
            rule.time_in_force = Some(tif.code());
            rule.expire_time = None;
        }
        let is_dated = rule.time_in_force == Some(GridTimeInForce::GoodTilDate.code().into());
        match &self.expire {
            Some(text) if is_dated => rule.expire_time = Some(end(text, market)?),
            Some(_) => return Err(usage("--expire is for --tif gtd")),
            None if is_dated && rule.expire_time.is_none() => {
                return Err(usage("--tif gtd needs --expire TIME"));
            }
            None => {}
        }
        Ok(())
    }

    /// Returns whether any rule flag was given.
    pub(super) fn is_given(&self) -> bool {
        let texts = [
            &self.base,
            &self.lower,
            &self.upper,
            &self.spread,
            &self.spread_up,
            &self.spread_down,
            &self.percent,
            &self.percent_up,
            &self.percent_down,
            &self.quantity,
            &self.min_position,
            &self.max_position,
            &self.sell_type,
            &self.buy_type,
            &self.expire,
        ];
        texts.iter().any(|text| text.is_some())
            || self.at_lower.is_some()
            || self.at_upper.is_some()
            || self.sell_depth.is_some()
            || self.buy_depth.is_some()
            || self.multiple.is_some()
            || self.short.is_some()
            || self.hours.is_some()
            || self.tif.is_some()
    }
}

/// API code for steps given as amounts.
const SPREAD: i64 = 1;
/// API code for steps given as percentages.
const PERCENT: i64 = 2;

impl Bound {
    fn code(self) -> i64 {
        match self {
            Bound::Wait => BoundEvent::Ignore,
            Bound::Close => BoundEvent::Close,
        }
        .code()
        .into()
    }
}

impl Switch {
    fn is_on(self) -> bool {
        matches!(self, Switch::On)
    }
}

impl Hours {
    fn code(self) -> i64 {
        match self {
            Hours::Regular => GridHours::Regular,
            Hours::Extended => GridHours::Extended,
        }
        .code()
        .into()
    }
}

impl Tif {
    fn code(self) -> i64 {
        match self {
            Tif::Day => GridTimeInForce::Day,
            Tif::Gtc => GridTimeInForce::GoodTilCanceled,
            Tif::Gtd => GridTimeInForce::GoodTilDate,
        }
        .code()
        .into()
    }
}

fn change<T>(value: &mut Option<T>, given: Option<T>) {
    if given.is_some() {
        *value = given;
    }
}

fn decimal<T>(
    flag: &str,
    text: &Option<String>,
    parse: impl FnOnce(&str) -> Result<T, DecimalError>,
) -> Result<Option<T>, Failure> {
    let wrong = |text: &str, error: DecimalError| usage(format!("{flag}: {text:?} {error}"));
    text.as_deref().map(|text| parse(text).map_err(|error| wrong(text, error))).transpose()
}

fn order_type(flag: &str, text: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let word = text.to_ascii_uppercase();
    if word.parse::<GridOrderType>().is_err() {
        let known: Vec<&str> = GridOrderType::ALL.iter().map(|one| one.as_str()).collect();
        return Err(usage(format!(
            "{flag}: {text:?} is not an order type: write one of {}",
            known.join(", ")
        )));
    }
    Ok(Some(word))
}

/// Parses the end of a grid: an instant, or a date, which stands for the date's last second in the
/// market's time zone. Returns Unix seconds.
fn end(text: &str, market: Market) -> Result<i64, Failure> {
    if text.contains('T') {
        return Ok(parse_instant(text).map_err(usage)?.0);
    }
    Ok(Zone::of(market).instant(time::date(text)?, DAY_END_S).0)
}

/// Returns a grid's current rule with its current base price. Used for a replacement, which must
/// include the unchanged fields.
pub(super) fn of_document(grid: &Value) -> GridRuleInput {
    let price = |name: &str| -> Option<Price> { parse_exact_price(&text(grid, name)).ok() };
    let percent = |name: &str| Percent::parse(&text(grid, name)).ok();
    let quantity = |name: &str| Quantity::parse(&text(grid, name)).ok();
    let number = |name: &str| field(grid, name).as_i64();
    let word = |name: &str| Some(text(grid, name)).filter(|word| !word.is_empty());
    GridRuleInput {
        submitted_base_price: price("current_base_price"),
        upper_limit_price: price("upper_limit_price"),
        lower_limit_price: price("lower_limit_price"),
        trigger_price_type: number("trigger_price_type"),
        trigger_spread_up: price("trigger_spread_up"),
        trigger_spread_down: price("trigger_spread_down"),
        trigger_percent_up: percent("trigger_percent_up"),
        trigger_percent_down: percent("trigger_percent_down"),
        trigger_quantity: quantity("trigger_quantity"),
        upper_limit_quantity: quantity("upper_limit_quantity"),
        lower_limit_quantity: quantity("lower_limit_quantity"),
        upper_limit_event: number("upper_limit_event"),
        lower_limit_event: number("lower_limit_event"),
        trigger_sell_depth: number("trigger_sell_depth"),
        trigger_buy_depth: number("trigger_buy_depth"),
        grid_order_type_up: word("grid_order_type_up"),
        grid_order_type_down: word("grid_order_type_down"),
        multiple_trigger: field(grid, "multiple_trigger").as_bool(),
        support_shortsell: field(grid, "support_shortsell").as_bool(),
        rth: number("rth"),
        time_in_force: number("time_in_force"),
        expire_time: text(grid, "expire_time").parse().ok(),
    }
}
