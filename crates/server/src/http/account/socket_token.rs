//! `GET /v1/socket/token`: a one-time password for a long connection.

use serde_json::json;

use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) fn answer(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (who, core) = (admitted.who(), &site.core);
    let seats = site.seats(who)?;
    let otp = core.access.issue_otp(who, core.uptime())?;
    Ok(envelope::success(json!({"otp": otp.expose(), "limit": seats.limit, "online": seats.online})))
}
