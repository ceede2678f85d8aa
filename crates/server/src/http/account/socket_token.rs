//! `GET /v1/socket/token`: a one-time password for a long connection.

use serde_json::json;

use crate::kit::{Answer, Call, Problem, Site, envelope};

pub(super) fn answer(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    let (caller, core) = (call.caller(site)?, &site.core);
    let seats = site.seats(&caller.who)?;
    let otp = core.access.issue_otp(&caller.who, core.uptime())?;
    Ok(envelope::success(json!({"otp": otp.expose(), "limit": seats.limit, "online": seats.online})))
}
