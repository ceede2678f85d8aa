//! `GET /v1/asset/fund`: fund positions. The list is always empty.

use schemars::JsonSchema;
use serde::Serialize;

use super::docs::{REFUSALS, SYMBOLS};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::Query;
use crate::kit::trader::CHANNEL;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const FUND: Doc =
    Doc::new(Tag::Trade, "fundPositions", "Positions of funds, of which there are none")
        .parameters(&[SYMBOLS])
        .answers(&[AnswerDoc::ok("One channel", &[data::<FundChannels>()])])
        .refuses(REFUSALS);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FundPositions")]
pub(super) struct FundChannels {
    list: [Channel; 1],
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FundChannel")]
struct Channel {
    account_channel: &'static str,
    fund_info: [(); 0],
}

pub(super) fn answer(call: &Call<'_>, _: &Site, _: Admitted) -> Result<Answer, Problem> {
    // The symbols select funds, and no account holds any, so only the syntax of the query is
    // checked.
    Query::parse(call.query)?;
    Ok(envelope::success(FundChannels { list: [Channel { account_channel: CHANNEL, fund_info: [] }] }))
}
