//! `POST /v1/gridtrading/preview`: returns the expected result of a grid without creating it. No
//! SDK calls this endpoint.

use paper::GridPreview;

use super::docs::REFUSALS;
use super::submit::{Body, parse_request};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::body;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const PREVIEW: Doc =
    Doc::new(Tag::Trade, "previewGridOrder", "Whether a grid would be taken, and where it would trade")
        .about("Nothing is done. What would be refused is an answer like every other, with its reason.")
        .body(&[Media::json::<Body>()])
        .answers(&[AnswerDoc::ok(
            "Its levels, and what buying at all of them takes",
            &[data::<GridPreview>()],
        )])
        .refuses(REFUSALS);

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
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
