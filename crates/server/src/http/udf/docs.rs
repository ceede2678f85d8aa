//! The OpenAPI descriptions of the UDF requests, and the form of their refusals.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Number;

use super::config::UdfConfig;
use super::marks::UdfMark;
use super::search::{QUERY_CHARS_MAX, UdfFound};
use super::symbols::UdfSymbol;
use crate::kit::allowance;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, RefusalDoc, Tag, Word};
use crate::kit::envelope::ProblemBody;

/// A refusal as TradingView's protocol has it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UdfError {
    #[schemars(extend("const" = "error"))]
    pub(super) s: &'static str,
    pub(super) errmsg: String,
    /// As in every other refusal.
    pub(super) code: u64,
}

/// An answer that may be a refusal: the status does not tell.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "its shape alone is used")]
enum OrError<T> {
    Answer(T),
    Error(UdfError),
}

/// A refusal before anybody has looked at what is asked for.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "its shape alone is used")]
enum Refused {
    Chart(UdfError),
    Other(ProblemBody),
}

/// Columns side by side, or that there are none. Days and longer are stamped with midnight UTC of their date. It is written digit by digit.
#[derive(JsonSchema)]
#[schemars(tag = "s", rename_all = "snake_case")]
#[expect(dead_code, reason = "its shape alone is used")]
enum UdfHistory {
    Ok {
        t: Vec<i64>,
        o: Vec<Number>,
        h: Vec<Number>,
        l: Vec<Number>,
        c: Vec<Number>,
        v: Vec<i64>,
    },
    #[schemars(rename_all = "camelCase")]
    NoData {
        /// Where there are older candles, the stamp of the newest of them.
        #[schemars(with = "i64", skip_serializing_if = "Option::is_none")]
        next_time: Option<i64>,
    },
}

const TOKEN: Parameter = Parameter::path("token", "An access token");
const SYMBOL: Parameter =
    Parameter::query("symbol", Kind::Text, "A ticker: a symbol, and behind it @forward, @extended or @all")
        .required()
        .such_as("CNDL.US@forward");
const RESOLUTION: Parameter =
    Parameter::query("resolution", Kind::Text, "1 2 3 5 10 15 20 30 45 60 120 180 240 1D 1W 1M 3M 12M")
        .such_as("1D");
const LANG: Parameter =
    Parameter::query("lang", Kind::Text, "Language of names: en, zh-CN or zh-HK; wins over accept-language");

const WORDS: &str = "The answer, or an object with s error and errmsg";
const REFUSALS: &[RefusalDoc] = &[
    RefusalDoc::of::<UdfError>(
        "401",
        "UdfUnauthenticated",
        "401003 or 401004: the access token has expired, is missing or not known",
    ),
    RefusalDoc::of::<UdfError>("403", "UdfForbidden", "403008, 403201 or 403203: the proof does not hold"),
    RefusalDoc::of::<UdfError>("500", "UdfFailed", "301602 or 500000: our fault"),
    RefusalDoc::of::<Refused>("default", "UdfRefused", "Any other refusal"),
];

const fn udf(id: &'static str, summary: &'static str) -> Doc {
    Doc::new(Tag::Udf, id, summary).refuses(REFUSALS)
}

pub(super) const CONFIG: Doc = udf("udfConfig", "What this datafeed can do")
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<UdfConfig>>()])]);

pub(super) const TIME: Doc = udf("udfTime", "The market's time in Unix seconds, as text")
    .answers(&[AnswerDoc::ok(WORDS, &[Media::text("text/plain"), Media::json::<UdfError>()])]);

pub(super) const SYMBOLS: Doc = udf("udfSymbols", "What a chart has to know of a security")
    .parameters(&[SYMBOL, LANG])
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<UdfSymbol>>()])]);

pub(super) const SEARCH: Doc = udf("udfSearch", "Securities by code or name")
    .parameters(&[
        Parameter::query(
            "query",
            Kind::TextUpTo(QUERY_CHARS_MAX),
            "Part of a code or name; behind an @ the way to see it",
        ),
        Parameter::query("type", Kind::Text, "stock or index"),
        Parameter::query("exchange", Kind::Text, "HK, US, SH, SZ, or what the security has"),
        Parameter::query("limit", Kind::AtLeast(1), "At most 100 rows").or(Word::Number(30)),
        LANG,
    ])
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<Vec<UdfFound>>>()])]);

pub(super) const MARKS: Doc = udf("udfMarks", "Corporate actions")
    .parameters(&[
        SYMBOL,
        RESOLUTION,
        Parameter::query("from", Kind::Stamp, "Unix seconds, included"),
        Parameter::query("to", Kind::Stamp, "Unix seconds, included"),
    ])
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<Vec<UdfMark>>>()])]);

pub(super) const HISTORY: Doc = udf("udfHistory", "Candles as columns; counts like every history request")
    .parameters(&[
        SYMBOL,
        RESOLUTION.required(),
        Parameter::query(
            "from",
            Kind::Stamp,
            "Unix seconds: candles are stamped at or after this. Needed where countback is not there, and passed over where it is",
        ),
        Parameter::query("to", Kind::Stamp, "Unix seconds: candles are stamped before this").required(),
        Parameter::query(
            "countback",
            Kind::AtLeast(1),
            "So many candles before to, however old; at most 10000",
        ),
    ])
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<UdfHistory>>()]).headers(&allowance::HEADERS)]);

pub(super) const CONFIG_BY_KEY: Doc = CONFIG.also("udfConfigByKey", &[TOKEN]);
pub(super) const TIME_BY_KEY: Doc = TIME.also("udfTimeByKey", &[TOKEN]);
pub(super) const SYMBOLS_BY_KEY: Doc = SYMBOLS.also("udfSymbolsByKey", &[TOKEN]);
pub(super) const SEARCH_BY_KEY: Doc = SEARCH.also("udfSearchByKey", &[TOKEN]);
pub(super) const MARKS_BY_KEY: Doc = MARKS.also("udfMarksByKey", &[TOKEN]);
pub(super) const HISTORY_BY_KEY: Doc = HISTORY.also("udfHistoryByKey", &[TOKEN]);
