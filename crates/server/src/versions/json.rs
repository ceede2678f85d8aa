//! Restores fields in JSON responses to their format before a change.

use market::Symbol;
use serde_json::{Map, Value};

use super::changes::Before;

/// Restores a field to its earlier format. The path consists of list names, each followed by `[].`,
/// and the field name.
pub(super) fn undo(value: &mut Value, path: &str, before: Before) {
    let Value::Object(fields) = value else { return };
    let Some((list, rest)) = path.split_once("[].") else { return undo_field(fields, path, before) };
    if let Some(Value::Array(items)) = fields.get_mut(list) {
        items.iter_mut().for_each(|item| undo(item, rest, before));
    }
}

fn undo_field(fields: &mut Map<String, Value>, name: &str, before: Before) {
    if before == Before::Absent {
        fields.remove(name);
        return;
    }
    match (before, fields.get_mut(name)) {
        (Before::Whole, Some(Value::String(number))) => {
            // Text stays text, because older clients also parse text as a number. They accept no
            // fraction.
            if let Some((whole, _)) = number.split_once('.') {
                *number = if matches!(whole, "" | "-" | "-0") { "0".to_owned() } else { whole.to_owned() };
            }
        }
        (Before::Word { newer, older }, Some(Value::String(word))) if *word == newer => {
            *word = older.to_owned();
        }
        (Before::NoOptions, Some(Value::Array(rows))) => rows.retain(|row| !is_option(row)),
        _ => {}
    }
}

/// Returns whether a number, or text that is a number, has a nonzero fraction.
pub(super) fn has_fraction(value: &Value) -> bool {
    let number = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return false,
    };
    number.split_once('.').is_some_and(|(_, rest)| rest.bytes().any(|digit| digit != b'0'))
}

fn is_option(row: &Value) -> bool {
    let symbol = row.get("symbol").and_then(Value::as_str).unwrap_or_default();
    symbol.parse().is_ok_and(|symbol: Symbol| symbol.is_us_option())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(mut value: Value, path: &str, before: Before, wanted: &Value) {
        undo(&mut value, path, before);
        assert_eq!(value, *wanted);
    }

    #[test]
    fn a_fraction_is_detected_in_numbers_and_text() {
        for value in [json!("0.5"), json!(0.5), json!("100.010"), json!(" 1.5")] {
            assert!(has_fraction(&value), "{value}");
        }
        for value in
            [json!("100"), json!(100), json!("100.0"), json!("100."), json!(1.0), json!(""), json!(null)]
        {
            assert!(!has_fraction(&value), "{value}");
        }
    }

    #[test]
    fn a_field_is_restored_at_any_depth() {
        let nested = json!({"list": [{"rows": [{"a": "1", "b": "2"}]}, {"rows": []}, {}]});
        check(
            nested.clone(),
            "list[].rows[].b",
            Before::Absent,
            &json!({"list": [{"rows": [{"a": "1"}]}, {"rows": []}, {}]}),
        );
        check(nested.clone(), "other[].b", Before::Absent, &nested);
        check(json!(null), "b", Before::Absent, &json!(null));
        for (number, whole) in
            [("100", "100"), ("100.75", "100"), ("-0.5", "0"), (".5", "0"), ("-1.5", "-1"), ("", "")]
        {
            check(json!({"a": number}), "a", Before::Whole, &json!({"a": whole}));
        }
        let word = Before::Word { newer: "NEW", older: "OLD" };
        check(json!({"a": "NEW"}), "a", word, &json!({"a": "OLD"}));
        check(json!({"a": "ELSE"}), "a", word, &json!({"a": "ELSE"}));
        let rows = json!({"rows": [{"symbol": "700.HK"}, {"symbol": "AAPL260116C200000.US"}]});
        check(rows, "rows", Before::NoOptions, &json!({"rows": [{"symbol": "700.HK"}]}));
    }
}
