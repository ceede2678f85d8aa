//! Parameters and refusal format shared by the UDF requests.

use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::Call;
use crate::kit::doc::{Doc, Kind, Parameter, RefusalDoc, Tag, described_only};
use crate::kit::envelope::ProblemBody;
pub(super) use crate::kit::fields::echo;
use crate::refusal::Refusal;

/// A refusal in the format of TradingView's UDF protocol.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UdfError {
    #[schemars(extend("const" = "error"))]
    pub(super) s: &'static str,
    pub(super) errmsg: String,
    /// Error code, as in other refusals.
    pub(super) code: u64,
}

described_only! {
    /// A response or a refusal. A refusal may have status 200 too.
    #[schemars(untagged, inline)]
    pub(super) enum OrError<T> {
        Answer(T),
        Error(UdfError),
    }

    /// A refusal, in the UDF format or in the common format.
    #[schemars(untagged, inline)]
    enum Refused {
        Chart(UdfError),
        Other(ProblemBody),
    }
}

pub(super) const TOKEN: Parameter = Parameter::path("token", "An access token");
pub(super) const SYMBOL: Parameter = Parameter::query(
    "symbol",
    Kind::Text,
    "Ticker: a symbol, optionally followed by @forward, @extended or @all",
)
.required()
.such_as("CNDL.US@forward");
pub(super) const RESOLUTION: Parameter =
    Parameter::query("resolution", Kind::Text, "1 2 3 5 10 15 20 30 45 60 120 180 240 1D 1W 1M 3M 12M")
        .such_as("1D");
pub(super) const LANG: Parameter =
    Parameter::query("lang", Kind::Text, "Language of names: en, zh-CN or zh-HK; overrides accept-language");

pub(super) const WORDS: &str = "The response, or an object with s = error and errmsg";
const REFUSALS: &[RefusalDoc] = &[
    RefusalDoc::of::<UdfError>(
        "401",
        "UdfUnauthenticated",
        "401003 or 401004: the access token has expired, is missing or is unknown",
    ),
    RefusalDoc::of::<UdfError>(
        "403",
        "UdfForbidden",
        "403008, 403201 or 403203: the credentials are invalid",
    ),
    RefusalDoc::of::<UdfError>("500", "UdfFailed", "301602 or 500000: internal error"),
    RefusalDoc::of::<Refused>("default", "UdfRefused", "Any other refusal"),
];

pub(super) const fn udf(id: &'static str, summary: &'static str) -> Doc {
    Doc::new(Tag::Udf, id, summary).refuses(REFUSALS)
}

/// Returns a required parameter, or an error if the parameter is absent or empty.
pub(super) fn required(call: &Call<'_>, name: &str) -> Result<String, Refusal> {
    let found = call.parameter_of(name).filter(|text| !text.is_empty());
    found.ok_or_else(|| Refusal::Malformed(format!("{name} is missing")))
}

/// Parses an integer parameter. Returns `None` if the parameter is absent or empty.
pub(super) fn number(call: &Call<'_>, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(text) = call.parameter_of(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || Refusal::Malformed(format!("{name} {:?} is not a whole number", echo(&text)));
    text.parse().map(Some).map_err(|_| wrong())
}
