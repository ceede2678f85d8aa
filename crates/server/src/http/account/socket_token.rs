//! `GET /v1/socket/token`: a one-time password for a long connection.

use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const DOC: Doc =
    Doc::new(Tag::Service, "socketToken", "A one-time password for a long connection").answers(ANSWERS);
pub(super) const DOC_V2: Doc =
    Doc::new(Tag::Service, "socketTokenV2", "The same, where some clients look for it").answers(ANSWERS);
const ANSWERS: &[AnswerDoc] = &[AnswerDoc::ok("The password", &[data::<SocketToken>()])];

/// No `Debug`: it holds a password.
#[derive(Serialize, JsonSchema)]
struct SocketToken {
    /// Signs a long connection in, once, within 60 seconds.
    otp: String,
    /// Most connections of the account.
    limit: u32,
    /// Open connections.
    online: u32,
}

pub(super) fn answer(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (who, core) = (admitted.who(), &site.core);
    let slots = site.slots(who)?;
    let otp = core.access.issue_otp(who, core.uptime())?;
    Ok(envelope::success(SocketToken {
        otp: otp.expose().to_owned(),
        limit: slots.limit,
        online: slots.online,
    }))
}
