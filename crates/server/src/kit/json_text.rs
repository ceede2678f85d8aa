//! Handles quirks of client JSON: integers with a zero fraction, such as 1000.0, and duplicate
//! fields.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Rewrites numbers such as `1000.0` as `1000`, so that they parse as integers. The function works
/// on the text, because a parsed tree would hide duplicate fields.
pub(crate) fn without_zero_fractions(json: &[u8]) -> Cow<'_, [u8]> {
    if !json.windows(2).any(|pair| pair == b".0") {
        return Cow::Borrowed(json);
    }
    let mut written = Vec::with_capacity(json.len());
    let (mut rest, mut is_in_string, mut is_escaped) = (json, false, false);
    while let Some((byte, after)) = rest.split_first() {
        if !is_in_string
            && let Some(length) = zero_fraction(rest)
            // Checked last, because it scans back over all digits of the number.
            && ends_in_integer(&written)
        {
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        match byte {
            b'"' if !is_escaped => is_in_string = !is_in_string,
            b'\\' if is_in_string => {
                is_escaped = !is_escaped;
                written.push(*byte);
                rest = after;
                continue;
            }
            _ => {}
        }
        is_escaped = false;
        written.push(*byte);
        rest = after;
    }
    Cow::Owned(written)
}

fn ends_in_integer(json: &[u8]) -> bool {
    let before = json.iter().rev().find(|byte| !byte.is_ascii_digit());
    json.last().is_some_and(u8::is_ascii_digit) && !before.is_some_and(|byte| b".eE+".contains(byte))
}

/// Returns the length of the zero fraction at the start, or `None` if there is no such fraction or
/// the number does not end after it.
fn zero_fraction(json: &[u8]) -> Option<usize> {
    let zeros = json.strip_prefix(b".")?.iter().take_while(|byte| **byte == b'0').count();
    let next = json.get(1 + zeros);
    let is_end = next.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b'}' | b']'));
    (zeros > 0 && is_end).then_some(1 + zeros)
}

/// Parses an object into a tree, for bodies that are modified before they are decoded. Duplicate
/// field names are rejected at every depth, because `serde_json::Value` would silently use the last
/// of two fields with the same name.
pub(crate) fn parse_unique(json: &[u8]) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::from_slice(json)? {
        Unique(Value::Object(fields)) => Ok(fields),
        Unique(_) => Err(Error::custom("expected an object")),
    }
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Unique(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Unique, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            if fields.contains_key(&name) {
                return Err(Error::custom(format_args!("duplicate field `{name}`")));
            }
            let Unique(value) = object.next_value()?;
            fields.insert(name, value);
        }
        Ok(Unique(Value::Object(fields)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_fractions_are_removed() {
        for (sent, read) in [
            (r#"{"a":1000.0,"b":-3.000 ,"c":[0.0,1.0]}"#, r#"{"a":1000,"b":-3 ,"c":[0,1]}"#),
            ("7.0", "7"),
            (r#"{"a":1.05,"b":1.50,"c":1.0e3,"d":10.01}"#, r#"{"a":1.05,"b":1.50,"c":1.0e3,"d":10.01}"#),
            (r#"{"1.0,":"2.0, \"3.0,","c\\":4.0}"#, r#"{"1.0,":"2.0, \"3.0,","c\\":4}"#),
            // Invalid JSON is unchanged.
            ("[.0,1.0.0,x.0]", "[.0,1.0.0,x.0]"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8_lossy(&without_zero_fractions(sent.as_bytes())), read, "{sent}");
        }
    }

    #[test]
    fn duplicate_fields_are_rejected() {
        let json = br#"{"a":[1,-2,3.5,"x",null,true,{"b":{}}],"c":18446744073709551615}"#;
        assert_eq!(parse_unique(json).unwrap(), serde_json::from_slice::<Map<String, Value>>(json).unwrap());
        for json in [r#"{"a":1,"b":2,"a":1}"#, r#"{"b":[{"a":1,"\u0061":1}]}"#] {
            let error = parse_unique(json.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("duplicate field `a`"), "{error}");
        }
        assert!(parse_unique(b"7").is_err() && parse_unique(b"{\"a\":1} {}").is_err());
    }
}
