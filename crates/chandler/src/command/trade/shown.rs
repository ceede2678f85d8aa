//! Formats API documents about orders and cash for the terminal. Text from a server is untrusted.

use std::io::Write;

use market::{Market, OptionRight, OptionTerms, Symbol, Timestamp, Zone, parse_date};
use serde_json::Value;
use trading::plain_price;

use crate::failure::Failure;
use crate::output::{self, Table};
use crate::remote::field;

/// Returns a field as printable text. A number is formatted as in JSON; an absent field is an empty
/// string.
pub(crate) fn text(document: &Value, name: &str) -> String {
    match field(document, name) {
        Value::Null => String::new(),
        Value::String(text) => output::printable(text),
        other => output::printable(&other.to_string()),
    }
}

/// Prints an API document as JSON with RFC 3339 times and ISO dates. The API itself uses Unix
/// seconds and dates as digits, because the SDKs expect these formats.
pub(crate) fn json(document: &Value) -> Result<(), Failure> {
    let mut document = document.clone();
    write_times(&mut document);
    Ok(output::json(&document)?)
}

fn write_times(document: &mut Value) {
    match document {
        Value::Array(rows) => rows.iter_mut().for_each(write_times),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::Array(_) | Value::Object(_) => write_times(value),
                    _ if is_time(name) => *value = rfc3339(value),
                    _ if name == "dt" => *value = dashed(value),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Returns whether an API field is a time, by its name.
fn is_time(name: &str) -> bool {
    matches!(name, "at" | "time") || ["_at", "_time", "_until"].iter().any(|end| name.ends_with(end))
}

/// Converts Unix seconds, as a number or a string, to RFC 3339. 0 and an empty string, which mean
/// an unknown time, become `null`; other values are returned unchanged.
fn rfc3339(value: &Value) -> Value {
    let seconds = match value {
        Value::String(text) if text.is_empty() => Some(0),
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    };
    match seconds {
        Some(0) => Value::Null,
        Some(seconds) => Value::String(Timestamp(seconds).to_string()),
        None => value.clone(),
    }
}

/// Converts `20260318`, as a number or a string, to `2026-03-18`. Other values are returned
/// unchanged.
fn dashed(value: &Value) -> Value {
    let digits = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    parse_date(&digits).map_or_else(|_| value.clone(), |date| Value::String(date.to_string()))
}

pub(crate) fn rows<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    field(document, name).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Formats Unix seconds in the market's local time: `2026-03-18 10:02:00`. Empty if the time is
/// unknown.
pub(crate) fn clock(document: &Value, name: &str, symbol: &str) -> String {
    match text(document, name).parse() {
        Ok(0) | Err(_) => String::new(),
        Ok(seconds) => local(Timestamp(seconds), market_of(symbol)),
    }
}

/// Formats a time like [`clock`], followed by the market's time zone. Used for lists with several
/// markets.
pub(crate) fn zoned(document: &Value, name: &str, symbol: &str) -> String {
    let zone = match market_of(symbol) {
        Market::Hk => "HKT",
        Market::Us => "ET",
        Market::Cn => "CST",
    };
    let time = clock(document, name, symbol);
    if time.is_empty() { time } else { format!("{time} {zone}") }
}

/// Formats a time like [`clock`], followed by the zone's abbreviation at that time, such as EDT or
/// EST.
pub(crate) fn named_clock(document: &Value, name: &str, symbol: &str) -> String {
    match text(document, name).parse() {
        Ok(0) | Err(_) => String::new(),
        Ok(seconds) => {
            let (at, market) = (Timestamp(seconds), market_of(symbol));
            format!("{} {}", local(at, market), Zone::of(market).abbreviation(at))
        }
    }
}

/// Returns a symbol's market, or Hong Kong if the text is not a symbol, as in rows without a
/// security.
fn market_of(symbol: &str) -> Market {
    symbol.parse::<Symbol>().map_or(Market::Hk, |symbol| symbol.market())
}

pub(crate) fn local(at: Timestamp, market: Market) -> String {
    let (date, seconds) = Zone::of(market).local(at);
    format!("{date} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Formats `-80000.5` as `-80,000.5`.
pub(crate) fn grouped(plain: &str) -> String {
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain), |digits| ("-", digits));
    let (whole, rest) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let Ok(whole) = whole.parse() else { return plain.to_owned() };
    let rest = rest.map(|rest| format!(".{rest}")).unwrap_or_default();
    format!("{sign}{}{rest}", output::thousands(whole))
}

/// Formats an amount field with thousands separators.
pub(crate) fn amount(document: &Value, name: &str) -> String {
    grouped(&text(document, name))
}

/// Returns the label of an order state.
pub(crate) fn status(literal: &str) -> &str {
    match literal {
        "NotReported" => "waiting for market open",
        "DelayedNotReported" => "waits for its time",
        "VarietiesNotReported" => "waits for its price",
        "WaitToNew" | "NewStatus" => "open",
        "WaitToReplace" | "PendingReplaceStatus" => "being replaced",
        "PartialFilledStatus" => "filled in part",
        "FilledStatus" => "filled",
        "WaitToCancel" | "PendingCancelStatus" => "being cancelled",
        "CanceledStatus" => "cancelled",
        "RejectedStatus" => "rejected",
        "ExpiredStatus" => "expired",
        "PartialWithdrawal" => "filled in part, cancelled",
        other => other,
    }
}

/// Returns the label of an attached order's role.
pub(crate) fn leg(literal: &str) -> &str {
    match literal {
        "PROFIT_TAKER" => "take profit",
        "STOP_LOSS" => "stop loss",
        other => other,
    }
}

/// Returns the label of a grid state.
pub(crate) fn grid_status(literal: &str) -> &str {
    match literal {
        "Performing" => "running",
        "Suspended" => "paused",
        "Canceled" => "cancelled",
        "Expired" => "expired",
        other => other,
    }
}

/// Returns the side of a grid's order. The API document has a number for the side.
pub(crate) fn side_of(order: &Value) -> &'static str {
    match field(order, "action").as_i64() {
        Some(1) => "buy",
        Some(2) => "sell",
        _ => "",
    }
}

/// Formats a charge as its name and its code, or only the code if the charge has no name.
pub(crate) fn charge(code: &str) -> String {
    let name = server::charge_name(code);
    if name == code { code.to_owned() } else { format!("{name} ({code})") }
}

/// Returns the label of a cash flow type.
pub(crate) fn flow(literal: &str) -> &str {
    match literal {
        "Fee" => "charge",
        "BuyStock" => "bought",
        "SellStock" => "sold",
        "Deposit" => "deposit",
        "Withdrawal" => "withdrawal",
        "ExchangeOut" => "exchanged away",
        "ExchangeIn" => "exchanged for",
        "Dividend" => "dividend",
        "CashInLieu" => "cash for fractions",
        "RightsValue" => "value of rights",
        "Interest" => "interest",
        "OptionExpiry" => "option expired",
        "Adjustment" => "adjustment",
        other => other,
    }
}

/// Returns the name of a security. An option without a name is described by its terms.
pub(crate) fn security_name(symbol: &str, name: String) -> String {
    let option = symbol.parse::<Symbol>().ok().filter(|_| name.is_empty()).and_then(|symbol| symbol.option());
    let Some(OptionTerms { underlying, expiry, right, strike }) = option else { return name };
    let right = match right {
        OptionRight::Call => "call",
        OptionRight::Put => "put",
    };
    format!("{} {expiry} {right} {}", underlying.ticker(), plain_price(strike))
}

/// Prints a table, or `nothing` if there are no rows.
pub(crate) fn table(table: Table, nothing: &str) -> Result<(), Failure> {
    let mut out = output::stdout();
    if table.is_empty() {
        writeln!(out, "{nothing}")?;
    } else {
        writeln!(out, "{}", output::text(table))?;
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_have_separators_and_times_are_local() {
        for (plain, shown) in
            [("80000.50", "80,000.50"), ("-1234567", "-1,234,567"), ("0.5", "0.5"), ("", ""), ("no", "no")]
        {
            assert_eq!(grouped(plain), shown);
        }
        let document = json!({"at": "1773799320", "none": "0", "evil": "\u{1b}[31m"});
        assert_eq!(clock(&document, "at", "700.HK"), "2026-03-18 10:02:00");
        assert_eq!(clock(&document, "at", "AAPL.US"), "2026-03-17 22:02:00");
        assert_eq!((clock(&document, "none", "700.HK"), text(&document, "absent")), Default::default());
        assert_eq!(text(&document, "evil"), " [31m");
        assert_eq!(zoned(&document, "at", "700.HK"), "2026-03-18 10:02:00 HKT");
        assert_eq!(zoned(&document, "at", "AAPL.US"), "2026-03-17 22:02:00 ET");
        assert_eq!(zoned(&document, "none", "700.HK"), "");
    }

    #[test]
    fn api_times_are_printed_as_rfc_3339() {
        let mut document = json!({
            "orders": [{"order_id": "1794708000", "submitted_at": "1773799320", "trigger_at": "0", "delayed_until": ""}],
            "list": [{"dt": 20260318, "file_key": "/20260318/"}, {"dt": "20260318", "business_time": 1773799320}],
            "steps": [{"at": "1773799320", "candle": {"time": "2026-03-18T02:02:00Z"}}], "time_in_force": "Day",
            "trigger_times": 3, "expire_date": "2026-03-18", "expire_time": null,
        });
        write_times(&mut document);
        let expected = json!({
            "orders": [{"order_id": "1794708000", "submitted_at": "2026-03-18T02:02:00Z", "trigger_at": null, "delayed_until": null}],
            "list": [{"dt": "2026-03-18", "file_key": "/20260318/"}, {"dt": "2026-03-18", "business_time": "2026-03-18T02:02:00Z"}],
            "steps": [{"at": "2026-03-18T02:02:00Z", "candle": {"time": "2026-03-18T02:02:00Z"}}], "time_in_force": "Day",
            "trigger_times": 3, "expire_date": "2026-03-18", "expire_time": null,
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn codes_are_shown_as_labels() {
        assert_eq!(charge("STAMP_DUTY"), "Stamp duty (STAMP_DUTY)");
        assert_eq!(charge("HOUSE"), "HOUSE", "an operator's own");
        assert_eq!((flow("BuyStock"), flow("New")), ("bought", "New"));
        let named = |symbol: &str, name: &str| security_name(symbol, name.to_owned());
        assert_eq!(named("AAPL260417C190000.US", ""), "AAPL 2026-04-17 call 190");
        assert_eq!(named("AAPL260417P187500.US", ""), "AAPL 2026-04-17 put 187.5");
        assert_eq!(named("AAPL260417C190000.US", "Mine"), "Mine");
        assert_eq!(named("700.HK", ""), "");
    }
}
