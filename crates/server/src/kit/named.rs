//! Query strings in which every name must be known and unique.

use std::ops::RangeInclusive;

use market::Date;

use super::fields::{Fields, Names, echo};
use crate::refusal::Refusal;

#[derive(Debug)]
pub(crate) struct QueryParameters(Fields);

impl QueryParameters {
    pub(crate) fn parse(query: &str, known: &[&str]) -> Result<QueryParameters, Refusal> {
        let fields = Fields::parse(query.as_bytes(), Names::Known(known));
        fields.map(QueryParameters).map_err(|error| Refusal::BadQuery(error.to_string()))
    }

    /// Returns a parameter's value. An empty value is treated as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)
    }

    /// Parses an integer within `range`, or returns `otherwise` if it is absent.
    pub(crate) fn number(
        &self,
        name: &str,
        range: RangeInclusive<u32>,
        otherwise: u32,
    ) -> Result<u32, Refusal> {
        let Some(text) = self.get(name) else { return Ok(otherwise) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            Refusal::BadQuery(format!("{name} {:?} is outside {least} to {most}", echo(text)))
        })
    }

    /// Parses a record id.
    pub(crate) fn id(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let id = digits.then(|| text.parse().ok()).flatten();
        id.map(Some).ok_or_else(|| Refusal::BadQuery(format!("{name} {:?} is not a number", echo(text))))
    }

    pub(crate) fn date(&self, name: &str) -> Result<Option<Date>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let compact = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
        let date = if compact { market::parse_date(text).ok() } else { text.parse().ok() };
        let written = date.filter(|date: &Date| compact || date.to_string() == text);
        written.map(Some).ok_or_else(|| {
            Refusal::BadQuery(format!("{name} {:?} is not a date: write 2026-11-13", echo(text)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["limit", "end", "after"];

    #[track_caller]
    fn refused<T: std::fmt::Debug>(found: Result<T, Refusal>, says: &str) {
        let Err(Refusal::BadQuery(text)) = found else { panic!("{found:?}") };
        assert!(text.contains(says), "{text}");
    }

    #[test]
    fn names_must_be_known_and_unique() {
        let named = QueryParameters::parse("limit=5&after=&end=2026-11-13", &KNOWN).unwrap();
        assert_eq!((named.get("limit"), named.get("after")), (Some("5"), None));
        refused(QueryParameters::parse("limit=5&limit=5", &KNOWN), "limit is there more than once");
        refused(
            QueryParameters::parse("limits=5&x=1", &KNOWN),
            "unknown parameter \"limits\", \"x\": there are limit, end",
        );
        refused(QueryParameters::parse("x", &[]), "there are none");
    }

    #[test]
    fn numbers_and_dates_are_parsed_strictly() {
        let of = |query: &str| QueryParameters::parse(query, &KNOWN).unwrap();
        assert_eq!(of("").number("limit", 1..=9, 7), Ok(7));
        assert_eq!(of("limit=9").number("limit", 1..=9, 7), Ok(9));
        for wrong in ["limit=0", "limit=10", "limit=+1", "limit=1.0", "limit=99999999999999999999"] {
            refused(of(wrong).number("limit", 1..=9, 7), "is outside 1 to 9");
        }
        assert_eq!(of("after=29").id("after"), Ok(Some(29)));
        refused(of("after=-1").id("after"), "is not a number");
        let day: Date = "2026-11-13".parse().unwrap();
        assert_eq!(
            (of("end=2026-11-13").date("end"), of("end=20261113").date("end")),
            (Ok(Some(day)), Ok(Some(day)))
        );
        for wrong in ["end=2026-11-31", "end=2026-11-13T00:00:00", "end=13.11.2026", "end=today"] {
            refused(of(wrong).date("end"), "is not a date");
        }
    }
}
