//! GET endpoints for quotes, trades, capital flow, capital distribution and trading days, for people
//! and for the chart page. The endpoints run the same commands as the long connection.

use serde_json::{Map, Value};
use wire::{command, quote};

use crate::dispatch::{CommandRow, JsonReply};
use crate::kit::doc::refusals::{BAD_REQUEST, NO_QUOTES};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::envelope::{self, Problem};
use crate::kit::fields::QueryParameters;
use crate::kit::{Admitted, Answer, Call, Site};
use crate::refusal::Refusal;

const COUNT_MAX: u32 = 1000;
const COUNT_DEFAULT: u32 = 100;
const _: () = assert!(COUNT_MAX as usize == history::TRADES_MAX);

const SYMBOL: Parameter =
    Parameter::query("symbol", Kind::Text, "Symbol: 700.HK, AAPL.US, 600519.SH").required().such_as("700.HK");

pub(super) const QUOTES: Doc = Doc::new(Tag::Candles, "latestQuotes", "The latest quotes of securities")
    .about(
        "Securities that are unknown, have no candles, or are in markets that the account has no right \
     to are omitted.",
    )
    .parameters(&[Parameter::query("symbols", Kind::Text, "At most 500 symbols, separated by commas")
        .required()
        .such_as("700.HK,AAPL.US")])
    .answers(&[AnswerDoc::ok("The quotes", &[data::<quote::QuoteResponse>()])])
    .refuses(&[BAD_REQUEST]);

pub(super) const TRADES: Doc =
    Doc::new(Tag::Candles, "latestTrades", "The latest trades of a security, oldest first")
        .parameters(&[
            SYMBOL,
            Parameter::query("count", Kind::Between(1, COUNT_MAX), "Number of trades, up to the newest")
                .or(Word::Number(COUNT_DEFAULT)),
        ])
        .answers(&[AnswerDoc::ok("The trades", &[data::<quote::TradesResponse>()])])
        .refuses(&[BAD_REQUEST, NO_QUOTES]);

pub(super) const CAPITAL_FLOW: Doc =
    Doc::new(Tag::Candles, "capitalFlowOfDay", "Cumulative net capital inflow since the open, by minute")
        .about("For the newest trading day with stored trades.")
        .parameters(&[SYMBOL])
        .answers(&[AnswerDoc::ok(
            "One line per minute, oldest first",
            &[data::<quote::CapitalFlowResponse>()],
        )])
        .refuses(&[BAD_REQUEST, NO_QUOTES]);

pub(super) const CAPITAL_DISTRIBUTION: Doc = Doc::new(
    Tag::Candles,
    "capitalDistributionOfDay",
    "Capital inflow and outflow of the day, by trade size",
)
.about(
    "For the newest trading day with stored trades. Size thresholds are derived from the previous twenty \
 trading days.",
)
.parameters(&[SYMBOL])
.answers(&[AnswerDoc::ok("The sums", &[data::<quote::CapitalDistributionResponse>()])])
.refuses(&[BAD_REQUEST, NO_QUOTES]);

pub(super) const TRADING_DAYS: Doc =
    Doc::new(Tag::Candles, "tradingDaysOfMarket", "The trading days of a market")
        .parameters(&[
            Parameter::query("market", Kind::OneOf(&["US", "HK", "CN"]), "Market").required().such_as("HK"),
            Parameter::query("beg_day", Kind::Text, "First date, as YYYYMMDD; at most one year ago")
                .required()
                .such_as("20261101"),
            Parameter::query("end_day", Kind::Text, "Last date, at most 31 days after the first")
                .required()
                .such_as("20261130"),
        ])
        .answers(&[AnswerDoc::ok("The days", &[data::<quote::TradingDaysResponse>()])])
        .refuses(&[BAD_REQUEST]);

pub(super) fn quotes(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["symbols"])?;
    let texts = named.get("symbols").unwrap_or_default().split(',').filter(|text| !text.is_empty());
    let symbols: Vec<Value> = texts.map(Value::from).collect();
    let fields = Map::from_iter([("symbol".to_owned(), Value::from(symbols))]);
    answer(command::QUOTE, fields, site, &admitted)
}

pub(super) fn latest(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["symbol", "count"])?;
    let count = match named.get("count") {
        Some(text) => {
            text.parse::<i32>().map_err(|_| Refusal::BadQuery("count is not a number".to_owned()))?
        }
        None => COUNT_DEFAULT as i32,
    };
    let mut fields = of_symbol(&named);
    fields.insert("count".to_owned(), Value::from(count));
    answer(command::TRADES, fields, site, &admitted)
}

pub(super) fn flow(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["symbol"])?;
    answer(command::CAPITAL_FLOW, of_symbol(&named), site, &admitted)
}

pub(super) fn distribution(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["symbol"])?;
    answer(command::CAPITAL_DISTRIBUTION, of_symbol(&named), site, &admitted)
}

pub(super) fn trading_days(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    const NAMES: [&str; 3] = ["market", "beg_day", "end_day"];
    let named = QueryParameters::parse(call.query, &NAMES)?;
    let field = |name: &str| (name.to_owned(), Value::from(named.get(name).unwrap_or_default()));
    answer(command::TRADING_DAYS, NAMES.map(field).into_iter().collect(), site, &admitted)
}

/// Returns the message fields of a request for one symbol.
fn of_symbol(named: &QueryParameters) -> Map<String, Value> {
    let symbol = named.get("symbol").unwrap_or_default();
    Map::from_iter([("symbol".to_owned(), Value::from(symbol))])
}

fn answer(
    command: u8,
    fields: Map<String, Value>,
    site: &Site,
    admitted: &Admitted,
) -> Result<Answer, Problem> {
    let Admitted { caller, permit, .. } = admitted;
    let JsonReply { data, .. } =
        CommandRow::find(command)?.answer_json(&site.core, caller, permit, fields)?;
    Ok(envelope::success(data))
}
