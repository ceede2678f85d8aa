//! Values in order request bodies. Depending on the SDK, decimals are strings or numbers, numbers
//! may be strings, and an empty value means that the field is absent.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use market::{Date, Price, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use trading::{DecimalError, Percent, Quantity, parse_exact_price, parse_price};

use super::call::Call;
use super::envelope::Problem;
use super::query::{echo, missing, unknown};

/// Maximum length of a string other than a remark, in bytes.
const TEXT_MAX: usize = 128;
/// Maximum length of a remark in bytes. The engine limits the number of characters.
const REMARK_MAX: usize = 2_048;
/// The last second of the year 9999, in Unix seconds.
const TIME_MAX: i64 = 253_402_300_799;

/// Parses the body as a JSON object. Unknown fields are ignored.
pub(crate) fn body<T: serde::de::DeserializeOwned>(call: &Call<'_>) -> Result<T, Problem> {
    call.object().map_err(|error| Problem::trade_parameter(format!("the body cannot be read: {error}")))
}

/// A field as text, whether it was sent as a string or a number. `None` if the field is empty, null
/// or absent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field(Option<String>);

impl Field {
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        self.limited(name, TEXT_MAX)
    }

    pub(crate) fn remark(&self) -> Result<Option<String>, Problem> {
        let remark = self.limited("remark", REMARK_MAX)?;
        if remark.is_some_and(|remark| remark.chars().any(char::is_control)) {
            return Err(Problem::trade_parameter("remark has control characters"));
        }
        Ok(remark.map(str::to_owned))
    }

    fn limited(&self, name: &str, most: usize) -> Result<Option<&str>, Problem> {
        match self.0.as_deref() {
            Some(text) if text.len() > most => {
                Err(Problem::trade_parameter(format!("{name} has more than {most} bytes")))
            }
            text => Ok(text.filter(|text| !text.is_empty())),
        }
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, Problem> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    /// Parses a required value from a closed set. `otherwise` replaces the message for an unknown
    /// value.
    pub(crate) fn word<T: FromStr>(&self, name: &str, otherwise: Option<&str>) -> Result<T, Problem> {
        let text = self.required(name)?;
        text.parse().map_err(|_| otherwise.map_or_else(|| unknown(name, text), Problem::trade_parameter))
    }

    pub(crate) fn price(&self, name: &str) -> Result<Option<Price>, Problem> {
        self.decimal(name, parse_price)
    }

    /// Parses a price that need not be on a tick.
    pub(crate) fn exact_price(&self, name: &str) -> Result<Option<Price>, Problem> {
        self.decimal(name, parse_exact_price)
    }

    pub(crate) fn percent(&self, name: &str) -> Result<Option<Percent>, Problem> {
        self.decimal(name, Percent::parse)
    }

    pub(crate) fn quantity(&self, name: &str) -> Result<Quantity, Problem> {
        self.quantity_if_any(name)?.ok_or_else(|| missing(name))
    }

    pub(crate) fn quantity_if_any(&self, name: &str) -> Result<Option<Quantity>, Problem> {
        self.decimal(name, Quantity::parse)
    }

    fn decimal<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, DecimalError>,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let wrong = |error| Problem::trade_parameter(format!("{name} {:?} {error}", echo(text)));
        parse(text).map(Some).map_err(wrong)
    }

    pub(crate) fn date(&self, name: &str) -> Result<Option<Date>, Problem> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let date: Option<Date> = text.parse().ok().filter(|date: &Date| date.to_string() == text);
        let wrong =
            || Problem::trade_parameter(format!("{name} {:?} is not a date: write 2026-11-13", echo(text)));
        date.map(Some).ok_or_else(wrong)
    }

    pub(crate) fn whole(&self, name: &str) -> Result<Option<i32>, Problem> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let wrong = || Problem::trade_parameter(format!("{name} {:?} is not a whole number", echo(text)));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// Parses Unix seconds. Returns `None` if the field is absent or 0.
    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, Problem> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.parse::<i64>() {
            Ok(0) => Ok(None),
            Ok(seconds) if (1..=TIME_MAX).contains(&seconds) => Ok(Some(Timestamp(seconds))),
            _ => Err(Problem::trade_parameter(format!(
                "{name} {:?} is not a time in Unix seconds",
                echo(text)
            ))),
        }
    }

    /// Returns this field, or `other` if this field is absent. Used for alternative spellings.
    pub(crate) fn or(self, other: Field) -> Field {
        if self.0.is_some() { self } else { other }
    }
}

impl JsonSchema for Field {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Field".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "null"]})
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Field, D::Error> {
        struct Plain;

        impl Visitor<'_> for Plain {
            type Value = Field;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Field, E> {
                Ok(Field(Some(text.to_owned()).filter(|text| !text.is_empty())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Field, E> {
                Ok(Field(Some(number.to_string())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Field, E> {
                Ok(Field(Some(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Field, E> {
                Ok(Field(Some(number.to_string())))
            }

            fn visit_unit<E>(self) -> Result<Field, E> {
                Ok(Field(None))
            }
        }

        from.deserialize_any(Plain)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::{Value, json};

    use super::*;

    fn field(value: Value) -> Field {
        Field::deserialize(value).unwrap()
    }

    fn describe<T: fmt::Debug>(result: Result<T, Problem>) -> String {
        result.unwrap_err().into_parts().text
    }

    #[test]
    fn a_decimal_may_be_text_or_a_number() {
        for value in [json!("305.20"), json!(305.2), json!("305.2")] {
            assert_eq!(field(value).price("price").unwrap(), Some(Price(305_200_000)));
        }
        for none in [json!(""), json!(null)] {
            assert_eq!(field(none).price("price").unwrap(), None);
        }
        for (value, error) in [
            (json!("NaN"), "price \"NaN\" is not a decimal"),
            (json!("1e3"), "price \"1e3\" is not a decimal"),
            (json!("9".repeat(40)), "is too large"),
            (json!("-"), "price \"-\" is not a decimal"),
            (json!("9".repeat(200)), "price has more than 128 bytes"),
        ] {
            let report = describe(field(value).price("price"));
            assert!(report.contains(error), "{report}");
        }
        assert!(Field::deserialize(json!(["1"])).is_err() && Field::deserialize(json!(true)).is_err());
    }

    #[test]
    fn other_values_are_parsed_strictly() {
        assert_eq!(
            describe(field(json!("0.00001")).quantity("quantity")),
            "quantity \"0.00001\" has more than 4 decimals"
        );
        assert_eq!(describe(field(json!(null)).quantity("quantity")), "quantity required");
        assert_eq!(
            describe(field(json!("2026-2-1")).date("expire_date")),
            "expire_date \"2026-2-1\" is not a date: write 2026-11-13"
        );
        assert_eq!(
            field(json!("2026-02-01")).date("expire_date").unwrap().unwrap().to_string(),
            "2026-02-01"
        );
        assert_eq!(field(json!(3)).whole("trigger_count").unwrap(), Some(3));
        assert_eq!(
            describe(field(json!(1.5)).whole("trigger_count")),
            "trigger_count \"1.5\" is not a whole number"
        );
        assert_eq!(field(json!(0)).time("delayed_until").unwrap(), None);
        assert_eq!(describe(field(json!("a\nb")).remark()), "remark has control characters");
        let side: Result<trading::Side, Problem> = field(json!("Hold")).word("side", None);
        assert_eq!(describe(side), "side \"Hold\" is not known");
    }
}
