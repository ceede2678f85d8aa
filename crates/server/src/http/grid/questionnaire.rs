//! `POST /v1/record/questionnaire`: records that the client accepts the risks of a strategy. SDKs
//! before 5.3 call it before the first grid.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use trading::Command;

use super::docs::REFUSALS;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::query::unknown;
use crate::kit::trader::{Nothing, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const QUESTIONNAIRE: Doc =
    Doc::new(Tag::Trade, "agreeToStrategy", "Agrees to what a strategy risks")
        .body(&[Media::json::<Body>()])
        .answers(&[AnswerDoc::ok("It is noted", &[data::<Nothing>()])])
        .refuses(REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Questionnaire")]
#[serde(default)]
pub(super) struct Body {
    /// strategy
    r#type: Field,
    /// {"agree": "true"}
    items: Map<String, Value>,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Body = body(call)?;
    match body.r#type.required("type")? {
        "strategy" => {}
        other => return Err(unknown("type", other)),
    }
    let agrees = match body.items.get("agree") {
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        Some(Value::Bool(agrees)) => *agrees,
        _ => false,
    };
    if !agrees {
        return Err(Problem::trade_parameter("agree must be true"));
    }
    trader.command(&Command::AgreeToStrategy, None)?;
    Ok(envelope::success(Nothing {}))
}
