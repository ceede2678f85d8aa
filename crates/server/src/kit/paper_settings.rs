//! Settings of paper accounts in request bodies.

use serde_json::Value;
use trading::{DecimalError, Setting, Settings, Share};

use super::envelope::Problem;
use crate::refusal::Refusal;

/// Parses a decimal from a string or an integer. A JSON number with a fraction may have lost digits
/// in binary floating point, so it is refused.
pub(crate) fn decimal<T>(
    field: &str,
    value: &Value,
    parse: impl Fn(&str) -> Result<T, DecimalError>,
) -> Result<T, Problem> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_i64() || number.is_u64() => number.to_string(),
        _ => return Err(wrong(&format!("write {field} as text"))),
    };
    parse(&text).map_err(|error| wrong(&format!("{field} {error}")))
}

pub(crate) const SETTINGS: &str = "the settings are participation, touch, slippage_ticks, market_reserve, account_type, fees, cost, \
    fractional, short, short_us, short_hk, liquidate, grid_questionnaire, coarse_fills, open_orders, grid_triggers and journal_entries";

/// Parses and checks a setting. The name `short` expands to one setting per market; every other name
/// gives a single setting.
pub(crate) fn setting(name: &str, value: &Value) -> Result<Vec<Setting>, Problem> {
    let settings = parsed(name, value)?;
    for one in &settings {
        Settings::check(*one).map_err(|refusal| wrong(&refusal.text))?;
    }
    Ok(settings)
}

/// Returns whether a setting limits what an account may store. Only operators may change such a
/// setting.
pub(crate) fn is_limit(setting: Setting) -> bool {
    matches!(setting, Setting::OpenOrders(_) | Setting::GridTriggers(_) | Setting::JournalEntries(_))
}

fn parsed(name: &str, value: &Value) -> Result<Vec<Setting>, Problem> {
    let refused = || wrong(&format!("{value} is not a valid value of {name}"));
    let word = || value.as_str().ok_or_else(refused);
    let share = || decimal(name, value, Share::parse);
    let on = || match value {
        Value::Bool(on) => Ok(*on),
        Value::String(text) if text == "on" => Ok(true),
        Value::String(text) if text == "off" => Ok(false),
        _ => Err(refused()),
    };
    let number = || {
        let number = value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
        number.ok_or_else(refused)
    };
    let small = || number().and_then(|number| u32::try_from(number).map_err(|_| refused()));
    Ok(vec![match name {
        "participation" if value == "off" => Setting::Participation(None),
        "participation" => Setting::Participation(Some(share()?)),
        "touch" => Setting::Touch(word()?.parse().map_err(|_| refused())?),
        "slippage_ticks" => Setting::SlippageTicks(small()?),
        "market_reserve" => Setting::MarketReserve(share()?),
        "account_type" => Setting::AccountType(word()?.parse().map_err(|_| refused())?),
        "fees" => Setting::Fees(word()?.parse().map_err(|_| refused())?),
        "cost" => Setting::Cost(word()?.parse().map_err(|_| refused())?),
        "fractional" => Setting::Fractional(on()?),
        "short" => return Ok(vec![Setting::ShortUs(on()?), Setting::ShortHk(on()?)]),
        "short_us" => Setting::ShortUs(on()?),
        "short_hk" => Setting::ShortHk(on()?),
        "liquidate" => Setting::Liquidate(on()?),
        "grid_questionnaire" => Setting::GridQuestionnaire(on()?),
        "coarse_fills" => Setting::CoarseFills(on()?),
        "open_orders" => Setting::OpenOrders(small()?),
        "grid_triggers" => Setting::GridTriggers(small()?),
        "journal_entries" => Setting::JournalEntries(number()?),
        _ => return Err(wrong(SETTINGS)),
    }])
}

fn wrong(text: &str) -> Problem {
    Refusal::BadQuery(text.to_owned()).into()
}
