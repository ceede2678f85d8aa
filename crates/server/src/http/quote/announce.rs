//! `GET /v1/quote/cmd`: where clients announce their commands. There is nothing to remember.

use serde_json::json;

use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) fn answer(_: &Call<'_>, _: &Site, _: Admitted) -> Result<Answer, Problem> {
    Ok(envelope::success(json!({})))
}
