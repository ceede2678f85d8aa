//! `GET /v1/quote/cmd`: accepts a command that a client announces. Nothing is stored.

use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::envelope::{self, Empty};
use crate::kit::{Admitted, Answer, Call, Problem, Site};

pub(super) const ANNOUNCE: Doc =
    Doc::new(Tag::Service, "announce", "Some clients announce a command here; nothing is done with it")
        .answers(&[AnswerDoc::ok("Nothing", &[data::<Empty>()])]);

pub(super) fn answer(_: &Call<'_>, _: &Site, _: Admitted) -> Result<Answer, Problem> {
    Ok(envelope::success(Empty {}))
}
