//! `POST /v1/gridtrading/submit`, `preview` and `replace`: creates a grid, returns the expected
//! result without creating it, and gives a grid another rule. No SDK calls `preview`.

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

pub(super) const PREVIEW: Doc =
    Doc::new(Tag::Trade, "previewGridOrder", "Whether a grid would be taken, and where it would trade")
        .about("Nothing is done. What would be refused is an answer like every other, with its reason.")
        .body(&[Media::json::<Body>()])
        .answers(&[AnswerDoc::ok(
            "Its levels, and what buying at all of them takes",
            &[data::<GridPreview>()],
        )])
        .refuses(REFUSALS);

pub(super) fn preview(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    // A read-only account cannot submit grids.
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
    Doc::new(Tag::Trade, "replaceGridOrder", "Gives a grid another rule; its open orders are taken back")
        .body(&[Media::json::<Replacement>()])
        .answers(&[AnswerDoc::ok("It has it", &[data::<Nothing>()])])
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
