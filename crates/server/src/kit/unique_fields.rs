//! Parses JSON into a tree and rejects duplicate fields, for bodies that are modified before they
//! are decoded. `serde_json::Value` would silently use the last of two fields with the same name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses an object. Duplicate field names are rejected at every depth.
pub(crate) fn parse(json: &[u8]) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::from_slice(json)? {
        Unique(Value::Object(fields)) => Ok(fields),
        Unique(_) => Err(Error::custom("it is no object with fields")),
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
    fn duplicate_fields_are_rejected() {
        let json = br#"{"a":[1,-2,3.5,"x",null,true,{"b":{}}],"c":18446744073709551615}"#;
        assert_eq!(parse(json).unwrap(), serde_json::from_slice::<Map<String, Value>>(json).unwrap());
        for json in [r#"{"a":1,"b":2,"a":1}"#, r#"{"b":[{"a":1,"\u0061":1}]}"#] {
            let error = parse(json.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("duplicate field `a`"), "{error}");
        }
        assert!(parse(b"7").is_err() && parse(b"{\"a\":1} {}").is_err());
    }
}
