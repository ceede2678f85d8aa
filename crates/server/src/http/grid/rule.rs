//! Parses `grid_trading_rule` in the JSON format of the SDKs. An invalid enumeration number has a
//! specific error code; the engine validates everything else.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use trading::GridRuleInput;

use crate::kit::envelope::Problem;
use crate::kit::json_fields::Field;
use crate::kit::query::echo;

/// When a grid triggers, and the orders that it then places.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "GridTradingRule")]
#[serde(default)]
pub(super) struct RuleBody {
    /// Initial base price, within the price bounds.
    submitted_base_price: Field,
    upper_limit_price: Field,
    lower_limit_price: Field,
    /// 1 for a price spread, 2 for a percentage.
    trigger_price_type: Field,
    trigger_spread_up: Field,
    trigger_spread_down: Field,
    trigger_percent_up: Field,
    trigger_percent_down: Field,
    trigger_quantity: Field,
    /// Maximum position, which no purchase may exceed.
    upper_limit_quantity: Field,
    /// Minimum position, below which no sale may go.
    lower_limit_quantity: Field,
    /// Behaviour at the price bound: 1 waits while the price is beyond the bound, 2 closes the
    /// position and ends the grid.
    upper_limit_event: Field,
    lower_limit_event: Field,
    /// Order book level for the limit price, from -5 to 5; 0 uses the order type.
    trigger_sell_depth: Field,
    trigger_buy_depth: Field,
    /// Order type: GMO, GLO or GTG.
    grid_order_type_up: Field,
    grid_order_type_down: Field,
    multiple_trigger: Option<bool>,
    support_shortsell: Option<bool>,
    /// 0 and 1 regular hours only, 2 including pre-market and post-market.
    rth: Field,
    /// 0 day, 1 good until cancelled, 6 good until `expire_time`.
    time_in_force: Field,
    /// Expiry in Unix seconds.
    expire_time: Field,
}

/// Parses a rule. The argument is a map, because serde would also accept an array of values for a
/// struct.
pub(super) fn rule(fields: Map<String, Value>) -> Result<GridRuleInput, Problem> {
    let body: RuleBody = serde_json::from_value(Value::Object(fields))
        .map_err(|error| Problem::trade_parameter(format!("grid_trading_rule cannot be read: {error}")))?;
    let word = |field: &Field, name: &str| Ok::<_, Problem>(field.text(name)?.map(str::to_owned));
    Ok(GridRuleInput {
        submitted_base_price: body.submitted_base_price.exact_price("submitted_base_price")?,
        upper_limit_price: body.upper_limit_price.exact_price("upper_limit_price")?,
        lower_limit_price: body.lower_limit_price.exact_price("lower_limit_price")?,
        trigger_price_type: number(&body.trigger_price_type, "trigger_price_type")?,
        trigger_spread_up: body.trigger_spread_up.exact_price("trigger_spread_up")?,
        trigger_spread_down: body.trigger_spread_down.exact_price("trigger_spread_down")?,
        trigger_percent_up: body.trigger_percent_up.percent("trigger_percent_up")?,
        trigger_percent_down: body.trigger_percent_down.percent("trigger_percent_down")?,
        trigger_quantity: body.trigger_quantity.quantity_if_any("trigger_quantity")?,
        upper_limit_quantity: body.upper_limit_quantity.quantity_if_any("upper_limit_quantity")?,
        lower_limit_quantity: body.lower_limit_quantity.quantity_if_any("lower_limit_quantity")?,
        upper_limit_event: number(&body.upper_limit_event, "upper_limit_event")?,
        lower_limit_event: number(&body.lower_limit_event, "lower_limit_event")?,
        trigger_sell_depth: number(&body.trigger_sell_depth, "trigger_sell_depth")?,
        trigger_buy_depth: number(&body.trigger_buy_depth, "trigger_buy_depth")?,
        grid_order_type_up: word(&body.grid_order_type_up, "grid_order_type_up")?,
        grid_order_type_down: word(&body.grid_order_type_down, "grid_order_type_down")?,
        multiple_trigger: body.multiple_trigger,
        support_shortsell: body.support_shortsell,
        rth: number(&body.rth, "rth")?,
        time_in_force: number(&body.time_in_force, "time_in_force")?,
        expire_time: number(&body.expire_time, "expire_time")?,
    })
}

fn number(field: &Field, name: &str) -> Result<Option<i64>, Problem> {
    let Some(text) = field.text(name)? else { return Ok(None) };
    let wrong = || Problem::grid_rule(format!("{name} {:?} is not a whole number", echo(text)));
    text.parse().map(Some).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(fields: Value) -> Result<GridRuleInput, (u64, String)> {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        rule(fields).map_err(|problem| {
            let parts = problem.into_parts();
            (parts.code, parts.text)
        })
    }

    #[test]
    fn a_rule_in_sdk_format_is_parsed() {
        let rule = read(json!({
            "submitted_base_price": "300", "upper_limit_price": 360, "trigger_price_type": 2, "trigger_percent_up": "2.5",
            "trigger_quantity": "100", "upper_limit_event": "2", "trigger_sell_depth": -1, "multiple_trigger": true,
            "grid_order_type_up": "GLO", "time_in_force": 1.0, "expire_time": 0, "lower_limit_event": "", "rth": null,
            "unheard_of": [],
        }))
        .unwrap();
        let expected = GridRuleInput {
            submitted_base_price: Some(market::Price(300 * market::PRICE_UNIT)),
            upper_limit_price: Some(market::Price(360 * market::PRICE_UNIT)),
            trigger_price_type: Some(2),
            trigger_percent_up: Some("2.5".parse().unwrap()),
            trigger_quantity: Some(trading::Quantity::whole(100)),
            upper_limit_event: Some(2),
            trigger_sell_depth: Some(-1),
            multiple_trigger: Some(true),
            grid_order_type_up: Some("GLO".to_owned()),
            time_in_force: Some(1),
            expire_time: Some(0),
            ..GridRuleInput::default()
        };
        assert_eq!(rule, expected);
    }

    #[test]
    fn an_invalid_field_is_reported_with_its_code() {
        for (fields, code, words) in [
            (
                json!({"trigger_price_type": "two"}),
                602_080,
                "trigger_price_type \"two\" is not a whole number",
            ),
            (json!({"rth": 1.5}), 602_080, "rth \"1.5\" is not a whole number"),
            (json!({"expire_time": "1e9"}), 602_080, "expire_time \"1e9\" is not a whole number"),
            (json!({"time_in_force": "9223372036854775808"}), 602_080, "is not a whole number"),
            (json!({"upper_limit_price": "NaN"}), 602_001, "upper_limit_price \"NaN\" is not a decimal"),
            (json!({"trigger_percent_up": "0.0000001"}), 602_001, "has more than 6 decimals"),
            (json!({"trigger_spread_up": "0.0000001"}), 602_001, "has more than 6 decimals"),
            (json!({"submitted_base_price": "305.2000001"}), 602_001, "has more than 6 decimals"),
            (json!({"trigger_quantity": "0.00001"}), 602_001, "has more than 4 decimals"),
            (json!({"multiple_trigger": "yes"}), 602_001, "grid_trading_rule cannot be read"),
            (json!({"submitted_base_price": ["300"]}), 602_001, "grid_trading_rule cannot be read"),
            (json!({"grid_order_type_up": "x".repeat(129)}), 602_001, "has more than 128 bytes"),
        ] {
            let report = read(fields.clone()).unwrap_err();
            assert!(report.0 == code && report.1.contains(words), "{fields}: {report:?}");
        }
    }
}
