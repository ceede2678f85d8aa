//! `GET /v1/me`: who is signed in, and what the scripts of the pages prove themselves with.

use serde_json::json;

use crate::kit::Site;
use crate::kit::envelope::{self, Problem};
use crate::kit::named::Named;
use crate::kit::{Admitted, Answer, Call};

pub(super) fn show(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (account, who) = (admitted.account(), admitted.who());
    Named::parse(call.query, &[])?;
    // Only a browser needs the mark: whatever else proves who asks is sent by nobody's page unasked.
    let csrf = if who.is_browser() { call.session_csrf_token(site) } else { None };
    Ok(envelope::success(json!({"account": account.name, "role": account.role.as_str(), "csrf": csrf})))
}
