//! `GET /v1/quote/cmd`: where clients announce their commands. There is nothing to remember.

use crate::kit::envelope::{self, Empty};
use crate::kit::{Admitted, Answer, Call, Problem, Site};

pub(super) fn answer(_: &Call<'_>, _: &Site, _: Admitted) -> Result<Answer, Problem> {
    Ok(envelope::success(Empty {}))
}
