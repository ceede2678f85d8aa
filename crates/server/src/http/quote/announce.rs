//! `GET /v1/quote/cmd`: where clients announce their commands. There is nothing to remember.

use serde_json::json;

use crate::kit::{Answer, Call, Problem, Site, envelope};

pub(super) fn answer(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    call.caller(site).map(|_| envelope::success(json!({})))
}
