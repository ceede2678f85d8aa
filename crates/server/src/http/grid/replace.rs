//! `POST /v1/gridtrading/replace`: replaces a grid's rule. The grid continues from the new base
//! price.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use trading::Command;

use super::change::grid_id;
use super::docs::REFUSALS;
use super::rule::{RuleBody, rule};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::trader::{Nothing, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const REPLACE: Doc =
    Doc::new(Tag::Trade, "replaceGridOrder", "Gives a grid another rule; its open orders are taken back")
        .body(&[Media::json::<Body>()])
        .answers(&[AnswerDoc::ok("It has it", &[data::<Nothing>()])])
        .refuses(REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "GridReplacement")]
#[serde(default)]
pub(super) struct Body {
    order_id: Field,
    #[schemars(with = "RuleBody")]
    grid_trading_rule: Map<String, Value>,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Body = body(call)?;
    let id = grid_id(&body.order_id)?;
    let rule = Box::new(rule(body.grid_trading_rule)?);
    trader.command(&Command::ReplaceGrid { id, rule }, None)?;
    Ok(envelope::success(Nothing {}))
}
