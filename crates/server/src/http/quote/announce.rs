//! `GET /v1/quote/cmd`: where clients announce their commands. There is nothing to remember.

use crate::kit::envelope::{self, Empty};
use crate::kit::{Answer, Call, Problem, Site};

pub(super) fn answer(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    call.caller(site).map(|_| envelope::success(Empty {}))
}
