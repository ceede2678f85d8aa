//! Serde modules for the journal's text form of `market` values.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// Serializes symbols and dates as text.
pub(crate) mod text {
    use super::*;

    pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map_err(|error| D::Error::custom(format!("{text:?}: {error}")))
    }
}

/// Like [`text`], for optional values.
pub(crate) mod text_option {
    use super::*;

    pub(crate) fn serialize<T: Display, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(ToString::to_string).serialize(to)
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(|error| D::Error::custom(format!("{text:?}: {error}"))))
            .transpose()
    }
}

/// Serializes prices as plain decimals without trailing zeros.
pub(crate) mod price {
    use ::market::Price;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Price, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&crate::decimal::plain_price(*value))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Price, D::Error> {
        let text = String::deserialize(from)?;
        Price::parse(&text).map_err(|error| D::Error::custom(format!("{text:?}: {error}")))
    }
}

pub(crate) mod price_option {
    use ::market::Price;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Price>, to: S) -> Result<S::Ok, S::Error> {
        value.map(|price| crate::decimal::plain_price(price).to_string()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Price>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| Price::parse(&text).map_err(|error| D::Error::custom(format!("{text:?}: {error}"))))
            .transpose()
    }
}

/// Serializes instants as Unix seconds.
pub(crate) mod instant {
    use ::market::Timestamp;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(value.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp)
    }
}

pub(crate) mod instant_option {
    use ::market::Timestamp;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
        value.map(|at| at.0).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
        Option::<i64>::deserialize(from).map(|at| at.map(Timestamp))
    }
}

pub(crate) mod market {
    use ::market::Market;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(market: &Market, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(market.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Market, D::Error> {
        let text = String::deserialize(from)?;
        Market::parse(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is not a market")))
    }
}

/// Serializes a map with symbol keys as a list of pairs.
pub(crate) mod by_symbol {
    use std::collections::BTreeMap;

    use ::market::Symbol;

    use super::*;

    pub(crate) fn serialize<V, S>(map: &BTreeMap<Symbol, V>, to: S) -> Result<S::Ok, S::Error>
    where
        V: Serialize,
        S: Serializer,
    {
        to.collect_seq(map.iter().map(|(symbol, value)| (symbol.as_str(), value)))
    }

    pub(crate) fn deserialize<'de, V, D>(from: D) -> Result<BTreeMap<Symbol, V>, D::Error>
    where
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(String, V)>::deserialize(from)?;
        let symbol =
            |text: &str| text.parse().map_err(|error| D::Error::custom(format!("{text:?}: {error}")));
        pairs.into_iter().map(|(text, value)| Ok((symbol(&text)?, value))).collect()
    }
}

/// Implements serde through [`Display`] and [`FromStr`], for types that the journal stores as text.
macro_rules! serde_as_text {
    ($($name:ty),+) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                $crate::codec::text::serialize(self, to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                $crate::codec::text::deserialize(from)
            }
        }
    )+};
}
pub(crate) use serde_as_text;
