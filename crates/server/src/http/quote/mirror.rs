//! The pull commands over HTTP: the messages of the long connection encoded as JSON, with the same
//! route and refusals.

use serde_json::{Map, Value};
use wire::quote;

use crate::dispatch::{CommandRow, JsonReply};
use crate::kit::doc::refusals::{BAD_REQUEST, NO_QUOTES, NOT_OFFERED, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Media, RefusalDoc, Tag, data};
use crate::kit::envelope::{self, Empty, Problem};
use crate::kit::json_text::without_zero_fractions;
use crate::kit::{Admitted, Answer, Call, Site, allowance, counter};
use crate::message::undecodable;
use crate::refusal::Refusal;

const fn mirror(id: &'static str, summary: &'static str, body: &'static [Media]) -> Doc {
    Doc::new(Tag::Mirrors, id, summary).body(body).refuses(&[BAD_REQUEST])
}

/// Documents a command that returns prices of one security.
const fn quotes_of_one(id: &'static str, summary: &'static str, body: &'static [Media]) -> Doc {
    mirror(id, summary, body).refuses(&[BAD_REQUEST, NO_QUOTES])
}

pub(super) const HISTORY: Doc = mirror(
    "historyCandlesticks",
    "Command 27: historical candles, at most 1000",
    &[Media::json::<quote::SecurityHistoryCandlestickRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::SecurityCandlestickResponse>()])
    .headers(&allowance::HEADERS)])
.refuses(HISTORY_REFUSALS);
const HISTORY_REFUSALS: &[RefusalDoc] = &[BAD_REQUEST, NO_QUOTES, TOO_FAST];

pub(super) const CANDLESTICKS: Doc = quotes_of_one(
    "candlesticks",
    "Command 19: the latest candles, at most 1000",
    &[Media::json::<quote::SecurityCandlestickRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::SecurityCandlestickResponse>()])]);

pub(super) const INTRADAY: Doc = quotes_of_one(
    "intraday",
    "Command 18: minute prices of the latest trading day",
    &[Media::json::<quote::IntradayRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::IntradayResponse>()])]);

pub(super) const QUOTES: Doc = mirror(
    "quotes",
    "Command 11: the latest prices of up to 500 securities",
    &[Media::json::<quote::SymbolsRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::QuoteResponse>()])]);

pub(super) const TRADES: Doc = quotes_of_one(
    "trades",
    "Command 17: the latest trades, at most 1000",
    &[Media::json::<quote::TradesRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::TradesResponse>()])]);

pub(super) const CAPITAL_FLOW: Doc = quotes_of_one(
    "capitalFlow",
    "Command 24: cumulative net capital inflow since the open, by minute",
    &[Media::json::<quote::SymbolRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::CapitalFlowResponse>()])]);

pub(super) const CAPITAL_DISTRIBUTION: Doc = quotes_of_one(
    "capitalDistribution",
    "Command 25: capital inflow and outflow of the day, by trade size",
    &[Media::json::<quote::SymbolRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::CapitalDistributionResponse>()])]);

pub(super) const STATIC_INFO: Doc = mirror(
    "staticInfo",
    "Command 10: names, currencies and lots of up to 500 securities",
    &[Media::json::<quote::SymbolsRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::StaticInfoResponse>()])]);

pub(super) const TRADING_SESSIONS: Doc =
    mirror("tradingSessions", "Command 8: the trading hours of the markets", NOTHING)
        .answers(&[AnswerDoc::ok("The response", &[data::<quote::TradingSessionsResponse>()])]);

pub(super) const TRADING_DAYS: Doc = mirror(
    "tradingDays",
    "Command 9: the trading days of a market",
    &[Media::json::<quote::TradingDaysRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::TradingDaysResponse>()])]);

pub(super) const PROFILE: Doc = mirror(
    "profile",
    "Command 4: permissions of the account",
    &[Media::json::<quote::QuoteProfileRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::QuoteProfileResponse>()])]);

pub(super) const CALC_INDEXES: Doc = mirror(
    "calcIndexes",
    "Command 26: indexes of up to 500 securities, calculated from stored prices and shares; others are empty",
    &[Media::json::<quote::CalcIndexesRequest>()],
)
.answers(&[AnswerDoc::ok("The response", &[data::<quote::CalcIndexesResponse>()])]);

const NOTHING: &[Media] = &[Media::json::<Empty>()];

const fn not_offered(id: &'static str) -> Doc {
    Doc::new(Tag::NotOffered, id, "Not offered").body(NOTHING).refuses(&[BAD_REQUEST, NOT_OFFERED])
}

pub(super) const OPTION_QUOTES: Doc = not_offered("optionQuotes");
pub(super) const WARRANT_QUOTES: Doc = not_offered("warrantQuotes");
pub(super) const DEPTH: Doc = not_offered("depth");
pub(super) const BROKERS: Doc = not_offered("brokers");
pub(super) const PARTICIPANTS: Doc = not_offered("participants");
pub(super) const OPTION_EXPIRY_DATES: Doc = not_offered("optionExpiryDates");
pub(super) const OPTION_STRIKES: Doc = not_offered("optionStrikes");
pub(super) const WARRANT_ISSUERS: Doc = not_offered("warrantIssuers");
pub(super) const WARRANTS: Doc = not_offered("warrants");

/// Numeric fields, which some clients send as strings.
const NUMBERS: [&str; 6] = ["period", "adjust_type", "query_type", "direction", "count", "trade_session"];

pub(super) fn answer(
    call: &Call<'_>,
    command: u8,
    site: &Site,
    admitted: &Admitted,
) -> Result<Answer, Problem> {
    let Admitted { caller, permit, .. } = admitted;
    let fields = fields(call.body)?;
    let JsonReply { data, candles } =
        CommandRow::find(command)?.answer_json(&site.core, caller, permit, fields)?;
    call.note.candles(candles);
    Ok(envelope::success(data))
}

/// Parses the body as a JSON object. An empty body means an empty object.
fn fields(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(&without_zero_fractions(body)).map_err(|error| undecodable(&error))? {
        Value::Object(fields) => {
            let mut fields = plain(fields);
            counter::fields(&mut fields).map_err(|error| Refusal::BadQuery(error.to_string()))?;
            Ok(fields)
        }
        _ => Err(Refusal::Malformed("the body is not a JSON object".to_owned())),
    }
}

/// Normalizes the variants that clients send: null fields are removed, camel-case names become
/// snake case, and numeric strings become numbers.
fn plain(fields: Map<String, Value>) -> Map<String, Value> {
    let mut plainer = Map::new();
    for (name, field) in fields {
        let name = snake_case(&name);
        let field = match field {
            Value::Null => continue,
            Value::Object(fields) => Value::Object(plain(fields)),
            Value::String(text) if NUMBERS.contains(&name.as_str()) => match text.parse::<i32>() {
                Ok(number) => Value::from(number),
                Err(_) if text.is_empty() => continue,
                Err(_) => Value::String(text),
            },
            other => other,
        };
        plainer.insert(name, field);
    }
    plainer
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, read_as: &str) {
        let read = Value::Object(fields(written.as_bytes()).unwrap());
        assert_eq!(read, serde_json::from_str::<Value>(read_as).unwrap());
    }

    #[test]
    fn field_variants_are_normalized() {
        check("", "{}");
        check(r#"{"symbol":"700.HK","date_request":null}"#, r#"{"symbol":"700.HK"}"#);
        check(
            r#"{"adjustType":1,"offsetRequest":{"count":"5","date":null}}"#,
            r#"{"adjust_type":1,"offset_request":{"count":5}}"#,
        );
        check(r#"{"period":"1000","symbol":"700","trade_session":""}"#, r#"{"period":1000,"symbol":"700"}"#);
        check(r#"{"period":"day"}"#, r#"{"period":"day"}"#);
    }

    #[test]
    fn a_body_that_is_not_an_object_is_refused() {
        for body in ["null", "[]", "[\"700.HK\",1000]", "7", "{", "symbol=700.HK", "{}{}", "\u{feff}{}"] {
            assert!(matches!(fields(body.as_bytes()), Err(Refusal::Malformed(_))), "{body}");
        }
        let deep = "{\"a\":".repeat(10_000);
        assert!(matches!(fields(deep.as_bytes()), Err(Refusal::Malformed(_))));
    }
}
