//! `GET /v1/token/refresh` issues a new access token for an API key before the old token expires.
//! `GET /v1/socket/token` issues a one-time password for a long connection.

use access::RenewError;
use market::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::doc::refusals::{BAD_REQUEST, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope, fields};
use crate::written::Instant;

pub(super) const REFRESH: Doc = Doc::new(
    Tag::Account,
    "refreshToken",
    "Issue a new access token for the API key that signed the request; the old token stays valid for 60 \
     seconds",
)
.parameters(&[Parameter::query(
    "expired_at",
    Kind::Instant,
    "Expiry of the new token, from one minute to ten years ahead; default: 90 days ahead",
)])
.answers(&[AnswerDoc::ok("The new token", &[data::<RenewedToken>()])])
.refuses(&[BAD_REQUEST, TOO_FAST]);

/// A new access token.
#[derive(Serialize, JsonSchema)]
struct RenewedToken {
    token: String,
    expired_at: Instant,
}

pub(super) fn refresh(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let now = site.core.machine_now();
    let expires_at =
        wanted(call.query)?.unwrap_or(Timestamp(now.0.saturating_add(access::RENEWED_LIFE_DEFAULT_S)));
    let header = |name: &str| call.header(name);
    let token =
        site.core.access.renew(&call.signed(&header), expires_at, now).map_err(|error| match error {
            RenewError::Denied(denial) => denial.into(),
            RenewError::Life => Problem::bad_request(&error.to_string()),
            RenewError::TooOften => Problem::too_often(&error.to_string(), access::FORMER_LIFE_S),
        })?;
    Ok(envelope::success(RenewedToken {
        token: token.expose().to_owned(),
        expired_at: Instant::utc(expires_at),
    }))
}

/// Parses the requested expiry, dropping fractions of a second. Returns `None` if the expiry is
/// absent.
fn wanted(query: &str) -> Result<Option<Timestamp>, Problem> {
    let mut values = fields::values(query, "expired_at");
    let Some(text) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Problem::bad_request("expired_at is given more than once"));
    }
    let instant: jiff::Timestamp = text
        .parse()
        .map_err(|_| Problem::bad_request("expired_at is not an instant such as 2027-01-01T00:00:00Z"))?;
    Ok(Some(Timestamp(instant.as_second())))
}

pub(super) const SOCKET_TOKEN: Doc =
    Doc::new(Tag::Service, "socketToken", "Issue a one-time password for a long connection").answers(ANSWERS);
pub(super) const SOCKET_TOKEN_V2: Doc = Doc::new(
    Tag::Service,
    "socketTokenV2",
    "Issue a one-time password for a long connection, at the path used by some clients",
)
.answers(ANSWERS);
const ANSWERS: &[AnswerDoc] = &[AnswerDoc::ok("The one-time password", &[data::<SocketToken>()])];

/// A one-time password for a long connection.
#[derive(Serialize, JsonSchema)]
struct SocketToken {
    /// One-time password that authenticates one long connection within 60 seconds.
    otp: String,
    /// Maximum number of connections of the account.
    limit: u32,
    /// Number of open connections of the account.
    online: u32,
}

pub(super) fn socket_token(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (who, core) = (admitted.who(), &site.core);
    let slots = site.slots(who)?;
    let otp = core.access.issue_otp(who, core.uptime())?;
    Ok(envelope::success(SocketToken {
        otp: otp.expose().to_owned(),
        limit: slots.limit,
        online: slots.online,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_expiry_times_are_accepted() {
        let seconds = |query: &str| wanted(query).ok().map(|at| at.map(|at| at.0));
        assert_eq!(seconds(""), Some(None));
        assert_eq!(seconds("other=1"), Some(None));
        assert_eq!(seconds("expired_at=2026-11-15T02%3A00%3A00Z"), Some(Some(1_794_708_000)));
        assert_eq!(seconds("expired_at=2026-11-15T10:00:00.123456789%2B08:00"), Some(Some(1_794_708_000)));
        for wrong in
            ["expired_at=", "expired_at=2026-11-15", "expired_at=1794708000", "expired_at=x&expired_at=x"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
