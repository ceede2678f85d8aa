//! `POST /v1/gridtrading/submit`: starts a grid.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trading::{Command, Currency, SubmitGrid};

use super::docs::REFUSALS;
use super::rule::{RuleBody, rule};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::query::unknown;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const SUBMIT: Doc = Doc::new(Tag::Trade, "submitGridOrder", "Begins a grid of the paper account")
    .about(
        "From its base price a grid sells at every step up and buys at every step down, within its bounds and while the position \
         is within its limits; the price that triggered is the next base.",
    )
    .body(&[Media::json::<Body>()])
    .answers(&[AnswerDoc::ok("The number of the grid", &[data::<Submitted>()])])
    .refuses(REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "GridSubmission")]
#[serde(default)]
pub(super) struct Body {
    symbol: Field,
    /// The security's currency; no other one is supported.
    settlement_currency: Field,
    #[schemars(with = "RuleBody")]
    grid_trading_rule: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridSubmitted")]
pub(super) struct Submitted {
    order_id: String,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let requested = parse_request(body(call)?)?;
    let done = trader.command(&Command::SubmitGrid(Box::new(requested)), None)?;
    let order_id = done.grid.ok_or_else(Problem::internal)?.to_string();
    Ok(envelope::success(Submitted { order_id }))
}

pub(super) fn parse_request(body: Body) -> Result<SubmitGrid, Problem> {
    let symbol = body.symbol.word("symbol", Some("symbol not tradable"))?;
    let currency = body.settlement_currency.text("settlement_currency")?;
    let currency = currency
        .map(|text| text.parse::<Currency>().map_err(|_| unknown("settlement_currency", text)))
        .transpose()?;
    Ok(SubmitGrid { symbol, settlement_currency: currency, rule: rule(body.grid_trading_rule)? })
}
