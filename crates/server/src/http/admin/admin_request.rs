//! An operator's request, and code shared by the operator endpoints. The command line offers the
//! same operations on the store's machine.

use access::{AccessError, Account, Actor, Present};
use history::AsOf;
use market::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::{Map, Value};
use store::StoreError;

use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND};
use crate::kit::doc::{Kind, Parameter, RefusalDoc, Word};
use crate::kit::json_text::without_zero_fractions;
use crate::kit::{Admitted, Call, Problem, Site};
use crate::refusal::Refusal;

/// Maximum and default number of rows in a list.
pub(super) const ROWS_MAX: u32 = 1_000;

pub(super) const NAME: Parameter = Parameter::path("name", "The account's name or number");
pub(super) const ACCOUNT: Parameter =
    Parameter::query("account", Kind::Text, "The account's name or number").required();
pub(super) const LIMIT: Parameter =
    Parameter::query("limit", Kind::Between(1, ROWS_MAX), "Maximum number of rows")
        .or(Word::Number(ROWS_MAX));
/// Refusals of endpoints with an account name in the path.
pub(super) const WRONG_OR_UNKNOWN: &[RefusalDoc] = &[BAD_REQUEST, NOT_FOUND];

/// An operator's request.
pub(super) struct AdminRequest<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) site: &'a Site,
    pub(super) by: Actor,
    pub(super) as_of: AsOf,
    pub(super) present: Present,
}

impl<'a> AdminRequest<'a> {
    /// Creates the request. The caller must already be admitted as an operator.
    pub(super) fn open(call: &'a Call<'a>, site: &'a Site, by: &Admitted) -> AdminRequest<'a> {
        let as_of = by.caller.as_of;
        let present = site.core.present(as_of);
        AdminRequest { call, site, by: Actor::Account(by.account().id), as_of, present }
    }
}

impl AdminRequest<'_> {
    /// Decodes the request body. `fields` lists the expected fields for the error message.
    pub(super) fn change<T: DeserializeOwned>(&self, fields: &str) -> Result<T, Problem> {
        // Decode to a map first: serde would also accept an array for a struct.
        let fields_sent =
            serde_json::from_slice::<Map<String, Value>>(&without_zero_fractions(self.call.body));
        fields_sent.and_then(|sent| serde_json::from_value(Value::Object(sent))).map_err(|error| {
            let text = format!("the body cannot be decoded: {error}");
            match error.classify() {
                Category::Data => wrong(&format!("{text}: the fields are {fields}")),
                Category::Io | Category::Syntax | Category::Eof => Refusal::Malformed(text).into(),
            }
        })
    }

    pub(super) fn named(&self, name: &str) -> Result<Account, Problem> {
        let account = self.site.core.access.account_called(name).map_err(problem)?;
        account.ok_or_else(Problem::not_found)
    }

    pub(super) fn account_asked_for(&self) -> Result<Account, Problem> {
        let name = self.call.parameter_of("account");
        self.named(&name.ok_or_else(|| wrong("account is required: ?account=NAME"))?)
    }

    /// Parses an integer query parameter. Returns `None` if the parameter is absent.
    pub(super) fn whole(&self, name: &str) -> Result<Option<i64>, Problem> {
        let parse = |text: String| text.parse().map_err(|_| wrong(&format!("{name} is not a number")));
        self.call.parameter_of(name).map(parse).transpose()
    }

    pub(super) fn limit(&self) -> Result<u32, Problem> {
        let Some(text) = self.call.parameter_of("limit") else { return Ok(ROWS_MAX) };
        let limit = text.parse().ok().filter(|limit| (1..=ROWS_MAX).contains(limit));
        limit.ok_or_else(|| wrong(&format!("limit is a number from 1 to {ROWS_MAX}")))
    }
}

/// Converts an error to a response. Errors that the operator can fix are reported in full; other
/// errors are reported as internal.
pub(super) fn problem(error: AccessError) -> Problem {
    match error {
        error @ (AccessError::Terms(_) | AccessError::Report(_) | AccessError::Name { .. }) => {
            wrong(&error.to_string())
        }
        error @ (AccessError::TermsChanged | AccessError::Store(StoreError::Taken { .. })) => {
            Problem::conflict(error.to_string())
        }
        error => Problem::from_access(error),
    }
}

pub(super) fn wrong(text: &str) -> Problem {
    Refusal::BadQuery(text.to_owned()).into()
}

/// Parses a JSON timestamp: Unix seconds as a number, or a date or instant as a string. Returns
/// `None` if it is absent or null.
pub(super) fn instant(value: Option<Value>) -> Result<Option<Timestamp>, Problem> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => written(&text).map(Some),
        Some(Value::Number(seconds)) if seconds.is_i64() => Ok(seconds.as_i64().map(Timestamp)),
        Some(_) => Err(wrong("a time is a string, or Unix seconds as a number")),
    }
}

pub(super) fn written(text: &str) -> Result<Timestamp, Problem> {
    access::parse_instant(text).map_err(|error| wrong(&error.to_string()))
}

/// Deserializes a nullable field: `Some(None)` for null. An absent field gets the default, `None`.
pub(super) fn null_or<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(field).map(Some)
}

/// Deserializes a field that must not be null. An absent field gets the default, `None`.
pub(super) fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

/// Returns true for every value. Hides a field's default in the schema, because an absent field
/// leaves the value unchanged.
pub(super) fn has_no_default<T>(_: &T) -> bool {
    true
}
