//! Parser for query strings and forms (`name=value&name=value`). Callers convert parse errors to
//! refusals. In [`QueryParameters`], every name must be known and unique.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use market::Date;

use crate::refusal::Refusal;

/// Maximum number of characters of an invalid value quoted in a refusal.
const ECHO_CHARS_MAX: usize = 40;
/// Maximum number of unknown names quoted in a refusal.
const ECHO_NAMES_MAX: usize = 5;

/// Parsed fields with unique names.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

/// Accepted field names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names<'a> {
    /// Only these names are accepted.
    Known(&'a [&'a str]),
    /// Any names, but at most `most` fields.
    Any { most: usize },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FieldsError {
    /// A name occurs twice, which would be ambiguous.
    #[error("parameter {0} is given more than once")]
    Twice(String),
    #[error("unknown parameter {unknown}; accepted: {known}")]
    Unknown { unknown: String, known: String },
    #[error("there are more than {0} fields")]
    TooMany(usize),
}

impl Fields {
    pub(crate) fn parse(text: &[u8], names: Names<'_>) -> Result<Fields, FieldsError> {
        let (mut fields, mut unknown): (Vec<(String, String)>, Vec<String>) = Default::default();
        for (name, value) in form_urlencoded::parse(text) {
            match names {
                Names::Known(known) if !known.contains(&&*name) => unknown.push(format!("{:?}", echo(&name))),
                _ if fields.iter().any(|(there, _)| *there == name) => {
                    return Err(FieldsError::Twice(echo(&name)));
                }
                Names::Any { most } if fields.len() >= most => return Err(FieldsError::TooMany(most)),
                _ => fields.push((name.into_owned(), value.into_owned())),
            }
        }
        match names {
            Names::Known(known) if !unknown.is_empty() => {
                unknown.truncate(ECHO_NAMES_MAX);
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(FieldsError::Unknown { unknown: unknown.join(", "), known })
            }
            _ => Ok(Fields(fields)),
        }
    }

    /// Returns a field's value. An empty value is treated as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Moves a field's value out, so that no copy of a secret remains. Returns an empty string if
    /// the field is absent.
    pub(crate) fn take(&mut self, name: &str) -> String {
        let found = self.0.iter_mut().find(|(known, _)| known == name);
        found.map(|(_, value)| std::mem::take(value)).unwrap_or_default()
    }

    /// Returns names and values in request order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Prints only the names, because form values may be secret.
impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Returns all values of a name, in order. Other names are ignored, and the name may be repeated.
pub(crate) fn values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    let pairs = form_urlencoded::parse(query.as_bytes()).filter(move |(known, _)| known == name);
    pairs.map(|(_, value)| value)
}

/// Returns a prefix of the text that is short enough to quote in a refusal.
pub(crate) fn echo(text: &str) -> String {
    text.chars().take(ECHO_CHARS_MAX).collect()
}

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

    /// Parses an integer within `range`, or returns `otherwise` if the parameter is absent.
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

    /// Parses a record id. Returns `None` if the parameter is absent.
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

    const KNOWN: Names<'static> = Names::Known(&["limit", "end", "after"]);

    #[track_caller]
    fn refused(text: &str, names: Names<'_>, says: &str) {
        assert_eq!(
            Fields::parse(text.as_bytes(), names).map_err(|error| error.to_string()),
            Err(says.to_owned())
        );
    }

    #[test]
    fn names_must_be_known_and_unique() {
        let fields = Fields::parse(b"limit=5&after=&end=a%20b+c", KNOWN).unwrap();
        assert_eq!(
            ["limit", "after", "end", "x"].map(|name| fields.get(name)),
            [Some("5"), None, Some("a b c"), None]
        );
        refused("limit=5&limit=5", KNOWN, "parameter limit is given more than once");
        refused("limit=5&x=1&%6cimit=5", KNOWN, "parameter limit is given more than once");
        refused(
            "limits=5&x=1&x=2",
            KNOWN,
            "unknown parameter \"limits\", \"x\", \"x\"; accepted: limit, end, after",
        );
        refused(
            "a&b&c&d&e&f",
            Names::Known(&[]),
            "unknown parameter \"a\", \"b\", \"c\", \"d\", \"e\"; accepted: none",
        );
    }

    #[test]
    fn a_form_accepts_any_names_up_to_a_limit() {
        let any = Names::Any { most: 2 };
        assert!(Fields::parse(b"", any).is_ok() && Fields::parse(b"\xff\xfe=%ff&&&=", any).is_ok());
        refused("a=1&b=2&c=3", any, "there are more than 2 fields");
        refused("a=1&b=2&a=", any, "parameter a is given more than once");
    }

    #[test]
    fn debug_output_hides_values() {
        let mut fields = Fields::parse(b"name=ann&password=secret", Names::Any { most: 9 }).unwrap();
        assert_eq!(format!("{fields:?}"), r#"["name", "password"]"#);
        assert_eq!((fields.take("password").as_str(), fields.get("password")), ("secret", None));
        assert_eq!(fields.pairs().collect::<Vec<_>>(), [("name", "ann"), ("password", "")]);
    }

    #[test]
    fn repeated_values_keep_their_order() {
        let all: Vec<_> = values("a=1&b=2&%61=%33&a", "a").collect();
        assert_eq!(all, ["1", "3", ""]);
    }

    const PARAMETERS: [&str; 3] = ["limit", "end", "after"];

    #[track_caller]
    fn bad_query<T: std::fmt::Debug>(found: Result<T, Refusal>, says: &str) {
        let Err(Refusal::BadQuery(text)) = found else { panic!("{found:?}") };
        assert!(text.contains(says), "{text}");
    }

    #[test]
    fn query_parameters_must_be_known_and_unique() {
        let named = QueryParameters::parse("limit=5&after=&end=2026-11-13", &PARAMETERS).unwrap();
        assert_eq!((named.get("limit"), named.get("after")), (Some("5"), None));
        bad_query(QueryParameters::parse("limit=5&limit=5", &PARAMETERS), "limit is given more than once");
        bad_query(
            QueryParameters::parse("limits=5&x=1", &PARAMETERS),
            "unknown parameter \"limits\", \"x\"; accepted: limit, end",
        );
        bad_query(QueryParameters::parse("x", &[]), "accepted: none");
    }

    #[test]
    fn numbers_and_dates_are_parsed_strictly() {
        let of = |query: &str| QueryParameters::parse(query, &PARAMETERS).unwrap();
        assert_eq!(of("").number("limit", 1..=9, 7), Ok(7));
        assert_eq!(of("limit=9").number("limit", 1..=9, 7), Ok(9));
        for wrong in ["limit=0", "limit=10", "limit=+1", "limit=1.0", "limit=99999999999999999999"] {
            bad_query(of(wrong).number("limit", 1..=9, 7), "is outside 1 to 9");
        }
        assert_eq!(of("after=29").id("after"), Ok(Some(29)));
        bad_query(of("after=-1").id("after"), "is not a number");
        let day: Date = "2026-11-13".parse().unwrap();
        assert_eq!(
            (of("end=2026-11-13").date("end"), of("end=20261113").date("end")),
            (Ok(Some(day)), Ok(Some(day)))
        );
        for wrong in ["end=2026-11-31", "end=2026-11-13T00:00:00", "end=13.11.2026", "end=today"] {
            bad_query(of(wrong).date("end"), "is not a date");
        }
    }
}
