//! `GET /v1/me`: who is signed in, and what the scripts of the pages prove themselves with.

use serde_json::json;

use super::envelope::{self, Problem};
use super::named::Named;
use super::{Answer, Asked, Me};
use crate::services::Services;

pub(super) fn show(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let Me { account, who } = asked.me(services)?;
    Named::parse(asked.query, &[])?;
    // Only a browser needs the mark: whatever else proves who asks is sent by nobody's page unasked.
    let csrf = if who.is_browser() { asked.session_mark(services) } else { None };
    Ok(envelope::success(json!({"account": account.name, "role": account.role.as_str(), "csrf": csrf})))
}
