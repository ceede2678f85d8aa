//! Counter ids, with which newer SDKs and the official CLI identify a security over HTTP, such as
//! `ST/HK/700`, `ETF/US/SPY` or `IX/US/.DJI` (kind, market, code). A `counter_id` in a request
//! replaces its `symbol`.

use std::borrow::Cow;

use market::Symbol;
use serde_json::{Map, Value};

use super::fields::echo;

pub(crate) const COUNTER_ID: &str = "counter_id";
const SYMBOL: &str = "symbol";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CounterError {
    #[error("counter_id {0:?} is not a counter id: write kind/market/code, like ST/HK/700")]
    Form(String),
    #[error("counter_id is neither a string nor a list of strings")]
    NoText,
    #[error("symbol and counter_id name different securities")]
    Differs,
}

/// Converts a counter id to a symbol, without checking that the symbol exists.
fn symbol_of(counter_id: &str) -> Result<String, CounterError> {
    let parts: Vec<&str> = counter_id.splitn(4, '/').collect();
    match parts.as_slice() {
        [kind, market, code]
            if kind.bytes().all(|byte| byte.is_ascii_alphabetic())
                && parts.iter().all(|part| !part.is_empty()) =>
        {
            Ok(format!("{code}.{market}"))
        }
        _ => Err(CounterError::Form(echo(counter_id))),
    }
}

/// Returns whether two lists of symbols are equal in canonical form.
fn are_same<'a>(some: impl IntoIterator<Item = &'a str>, others: impl IntoIterator<Item = &'a str>) -> bool {
    let canonical = |text: &'a str| match text.parse::<Symbol>() {
        Ok(symbol) => Cow::Owned(symbol.as_str().to_owned()),
        Err(_) => Cow::Borrowed(text),
    };
    some.into_iter().map(canonical).eq(others.into_iter().map(canonical))
}

/// Replaces the counter ids in a query string with symbols. Returns `None` if the query has no
/// counter ids.
pub(crate) fn query(query: &str) -> Result<Option<String>, CounterError> {
    let pairs = || form_urlencoded::parse(query.as_bytes());
    let ids: Vec<String> = pairs()
        .filter(|(name, value)| name == COUNTER_ID && !value.is_empty())
        .map(|(_, value)| symbol_of(&value))
        .collect::<Result<_, _>>()?;
    if pairs().all(|(name, _)| name != COUNTER_ID) {
        return Ok(None);
    }
    let symbols: Vec<Cow<'_, str>> =
        pairs().filter(|(name, value)| name == SYMBOL && !value.is_empty()).map(|(_, value)| value).collect();
    let named = symbols.iter().map(AsRef::as_ref);
    if !ids.is_empty() && !symbols.is_empty() && !are_same(named, ids.iter().map(String::as_str)) {
        return Err(CounterError::Differs);
    }
    let mut written = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs().filter(|(name, _)| name != COUNTER_ID) {
        if name != SYMBOL || !value.is_empty() {
            written.append_pair(&name, &value);
        }
    }
    if symbols.is_empty() {
        written.extend_pairs(ids.iter().map(|id| (SYMBOL, id)));
    }
    Ok(Some(written.finish()))
}

/// Replaces the counter ids in a JSON object with symbols.
pub(crate) fn fields(fields: &mut Map<String, Value>) -> Result<(), CounterError> {
    let of_text = |value: &Value| symbol_of(value.as_str().ok_or(CounterError::NoText)?);
    let named = match fields.remove(COUNTER_ID) {
        None => return Ok(()),
        Some(value) if is_absent(&value) => return Ok(()),
        Some(Value::Array(ids)) => {
            Value::Array(ids.iter().map(|id| of_text(id).map(Value::String)).collect::<Result<_, _>>()?)
        }
        Some(id) => Value::String(of_text(&id)?),
    };
    match fields.get(SYMBOL).filter(|value| !is_absent(value)) {
        Some(symbol) if !are_same(texts(symbol), texts(&named)) => Err(CounterError::Differs),
        Some(_) => Ok(()),
        None => {
            fields.insert(SYMBOL.to_owned(), named);
            Ok(())
        }
    }
}

fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        _ => false,
    }
}

/// Returns the strings in a JSON string or array.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    value.as_str().into_iter().chain(list.iter().filter_map(Value::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_counter_id_is_parsed_as_kind_market_and_code() {
        for (id, symbol) in [
            ("ST/HK/9001", "9001.HK"),
            ("ST/HK/00700", "00700.HK"),
            ("ETF/US/SPY", "SPY.US"),
            ("IX/HK/HSI", "HSI.HK"),
            ("IX/US/.DJI", ".DJI.US"),
            ("WT/HK/10005", "10005.HK"),
            ("ST/SH/600519", "600519.SH"),
            ("ST/US/BRK.B", "BRK.B.US"),
        ] {
            assert_eq!(symbol_of(id).as_deref(), Ok(symbol));
            assert!(symbol.parse::<Symbol>().is_ok(), "{symbol}");
        }
        for wrong in ["700.HK", "ST/HK", "ST//700", "/HK/700", "ST/HK/", "ST/HK/700/1", "S1/HK/700", "700_HK"]
        {
            assert_eq!(symbol_of(wrong), Err(CounterError::Form(wrong.to_owned())));
        }
    }

    #[test]
    fn counter_ids_in_a_query_become_symbols() {
        for (sent, read) in [
            ("symbol=700.HK&count=1", None),
            ("counter_id=ST/HK/700&count=1", Some("count=1&symbol=700.HK")),
            ("symbol=&counter_id=ST%2FHK%2F700", Some("symbol=700.HK")),
            ("counter_id=IX/US/.DJI&counter_id=ETF/US/SPY", Some("symbol=.DJI.US&symbol=SPY.US")),
            ("symbol=00700.HK&counter_id=ST/HK/700", Some("symbol=00700.HK")),
            ("counter_id=&count=1", Some("count=1")),
        ] {
            assert_eq!(query(sent).unwrap().as_deref(), read, "{sent}");
        }
        assert_eq!(query("symbol=5.HK&counter_id=ST/HK/700"), Err(CounterError::Differs));
        assert_eq!(query("counter_id=700.HK"), Err(CounterError::Form("700.HK".to_owned())));
    }

    #[test]
    fn counter_ids_in_a_body_become_symbols() {
        let read = |sent: Value| {
            let Value::Object(mut sent) = sent else { panic!() };
            fields(&mut sent).map(|()| Value::Object(sent))
        };
        for (sent, wanted) in [
            (json!({"counter_id": "ST/HK/700", "side": "Buy"}), json!({"symbol": "700.HK", "side": "Buy"})),
            (json!({"counter_id": ["ST/HK/700", "ETF/US/SPY"]}), json!({"symbol": ["700.HK", "SPY.US"]})),
            (json!({"counter_id": null, "symbol": "x"}), json!({"symbol": "x"})),
            (json!({"counter_id": "", "symbol": "x"}), json!({"symbol": "x"})),
            (json!({"counter_id": "ST/HK/700", "symbol": "00700.HK"}), json!({"symbol": "00700.HK"})),
            (json!({"counter_id": "ST/HK/700", "symbol": ""}), json!({"symbol": "700.HK"})),
        ] {
            assert_eq!(read(sent), Ok(wanted));
        }
        assert_eq!(read(json!({"counter_id": 7})), Err(CounterError::NoText));
        assert_eq!(read(json!({"counter_id": ["ST/HK/700", 7]})), Err(CounterError::NoText));
        let two = json!({"counter_id": "ST/HK/700", "symbol": "5.HK"});
        assert_eq!(read(two), Err(CounterError::Differs));
    }
}
