//! `POST /v1/gridtrading/submit` creates a grid, `preview` returns the expected result without
//! creating the grid, and `replace` changes a grid's rule. No SDK calls `preview`.

use paper::GridPreview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trading::{Command, Currency, SubmitGrid};

use super::change::grid_id;
use super::docs::REFUSALS;
use super::rule::{RuleBody, rule};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::query::unknown;
use crate::kit::trader::{Nothing, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const SUBMIT: Doc = Doc::new(Tag::Trade, "submitGridOrder", "Start a grid on the paper account")
    .about(
        "Starting from its base price, a grid sells at every step up and buys at every step down, within \
         its price bounds and position limits. The trigger price becomes the new base price.",
    )
    .body(&[Media::json::<Body>()])
    .answers(&[AnswerDoc::ok("Grid id", &[data::<Submitted>()])])
    .refuses(REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "GridSubmission")]
#[serde(default)]
pub(super) struct Body {
    symbol: Field,
    /// Must be the security's currency.
    settlement_currency: Field,
    #[schemars(with = "RuleBody")]
    grid_trading_rule: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridSubmitted")]
pub(super) struct Submitted {
    order_id: String,
}

pub(super) fn submit(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
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

pub(super) const PREVIEW: Doc = Doc::new(
    Tag::Trade,
    "previewGridOrder",
    "Preview whether a grid would be accepted, and at which prices it would trade",
)
.about("Nothing is changed. A grid that would be refused also gets status 200, with the reason.")
.body(&[Media::json::<Body>()])
.answers(&[AnswerDoc::ok("Price levels, and the cost of buying at all of them", &[data::<GridPreview>()])])
.refuses(REFUSALS);

pub(super) fn preview(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    if trader.is_read_only() {
        return Err(Problem::read_only());
    }
    let requested = parse_request(body(call)?)?;
    let preview = trader.ask(|account| {
        account.catch_up()?;
        account.preview_grid(&requested)
    })?;
    Ok(envelope::success(preview))
}

pub(super) const REPLACE: Doc =
    Doc::new(Tag::Trade, "replaceGridOrder", "Replace the rule of a grid; its open orders are cancelled")
        .body(&[Media::json::<Replacement>()])
        .answers(&[AnswerDoc::ok("The rule was replaced", &[data::<Nothing>()])])
        .refuses(REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "GridReplacement")]
#[serde(default)]
pub(super) struct Replacement {
    order_id: Field,
    #[schemars(with = "RuleBody")]
    grid_trading_rule: Map<String, Value>,
}

pub(super) fn replace(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Replacement = body(call)?;
    let id = grid_id(&body.order_id)?;
    let rule = Box::new(rule(body.grid_trading_rule)?);
    trader.command(&Command::ReplaceGrid { id, rule }, None)?;
    Ok(envelope::success(Nothing {}))
}
