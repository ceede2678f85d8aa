//! `GET /v1/risk/margin-ratio`: the fraction of a position's value that must be covered.

use market::MarginFactor;
use schemars::JsonSchema;
use serde::Serialize;

use super::docs::{REFUSALS, SYMBOL};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::{Query, missing};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use paper::PaperError;

pub(super) const MARGIN_RATIO: Doc =
    Doc::new(Tag::Trade, "marginRatio", "What part of a position must be covered")
        .parameters(&[SYMBOL.required()])
        .answers(&[AnswerDoc::ok("Initial, maintenance and forced selling", &[data::<Ratios>()])])
        .refuses(REFUSALS);

/// Ratio of a security without stored margin factors: it must be fully covered.
const WHOLE: &str = "1";

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MarginRatios")]
pub(super) struct Ratios {
    im_factor: String,
    mm_factor: String,
    fm_factor: String,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let symbol = Query::parse(call.query)?.symbol()?.ok_or_else(|| missing("symbol"))?;
    let stored = trader.site().core.with_reader(|reader| {
        let view = reader.view();
        Ok::<_, PaperError>((view.security(&symbol)?, view.margin(&symbol)?))
    });
    let (security, margin) = stored.map_err(Problem::from_paper)?;
    if security.is_none() && !symbol.is_us_option() {
        return Err(Problem::trade_parameter("symbol not tradable"));
    }
    let text =
        |factor: Option<MarginFactor>| factor.map_or_else(|| WHOLE.to_owned(), |factor| factor.to_string());
    Ok(envelope::success(Ratios {
        im_factor: text(margin.as_ref().map(|margin| margin.im)),
        mm_factor: text(margin.as_ref().map(|margin| margin.mm)),
        fm_factor: text(margin.as_ref().map(|margin| margin.fm)),
    }))
}
