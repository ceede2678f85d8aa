//! `GET /v1/example/{symbol}`: the market of a symbol.

use access::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command;
use crate::kit::doc::refusals::BAD_REQUEST;
use crate::kit::doc::{AnswerDoc, Doc, Parameter, Tag, data};
use crate::kit::{Accepts, Admitted, Answer, Call, Problem, Row, Site, envelope};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] =
    &[Row::get("/v1/example/{symbol}", Accepts::Account, Scope::Quote, Task::Data, show)
        .own_region_only()
        .doc(&DOC)];

const DOC: Doc = Doc::new(Tag::Candles, "example", "The market of a symbol")
    .parameters(&[Parameter::path("symbol", "Symbol such as 700.HK")])
    .answers(&[AnswerDoc::ok("The market", &[data::<Example>()])])
    .refuses(&[BAD_REQUEST]);

/// The response body. Doc comments become descriptions in the OpenAPI document.
#[derive(Serialize, JsonSchema)]
struct Example {
    symbol: String,
    /// Market of the symbol: HK, US or CN.
    market: &'static str,
    /// Number of the requesting account.
    asked_by: i64,
}

fn show(call: &Call<'_>, _: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let symbol = command::symbol(call.path_value("symbol"))?;
    Ok(envelope::success(Example {
        symbol: symbol.as_str().to_owned(),
        market: symbol.market().as_str(),
        asked_by: admitted.account().id.0,
    }))
}
