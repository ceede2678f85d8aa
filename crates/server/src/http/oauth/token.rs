//! The three OAuth endpoints that take forms: device authorization, token, and revocation.

use access::{DEVICE_CODE_LIFE_S, Grant, OAuthError, Offered, POLL_INTERVAL_S, Region, grant_type};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::answer::{self, Refusable};
use super::client::{self, ClientCredentials, Form};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, described_only, of_form, one_of};
use crate::kit::envelope::Empty;
use crate::kit::paths::CONFIRM;
use crate::kit::{Answer, Call, Site, base_url};
use crate::metrics::{self, Granted};

pub(super) const AUTHORIZE_DEVICE: Doc =
    Doc::new(Tag::OAuth, "authorizeDevice", "Start a device authorization (RFC 8628)")
        .body(&[Media::form::<OAuthDeviceRequest>()])
        .answers(&[AnswerDoc::ok(
            "The user code to display, and the device code to poll with",
            &[Media::json::<OAuthDevice>()],
        )])
        .refuses(&[answer::REFUSED, answer::UNAUTHENTICATED, answer::TOO_FAST, answer::FAILED]);

pub(super) const ISSUE: Doc = Doc::new(
    Tag::OAuth,
    "issueToken",
    "Exchange a code, a device code or a refresh token for tokens (RFC 6749)",
)
.parameters(&[Parameter::header(
    "x-dc-region",
    Kind::OneOf(&["ap", "us"]),
    "Distinguishes clients that poll with the same device code",
)])
.body(&[Media::form::<OAuthTokenRequest>()])
.answers(&[AnswerDoc::ok("The tokens", &[Media::json::<OAuthTokens>()])])
.refuses(&[answer::REFUSED, answer::UNAUTHENTICATED, answer::FAILED]);

pub(super) const REVOKE: Doc =
    Doc::new(Tag::OAuth, "revokeToken", "Revoke the sign-in that a token belongs to (RFC 7009)")
        .body(&[Media::form::<OAuthRevokeRequest>()])
        .answers(&[AnswerDoc::ok("The sign-in has ended or did not exist", &[Media::json::<Empty>()])])
        .refuses(&[answer::REFUSED, answer::UNAUTHENTICATED, answer::FAILED]);

described_only! {
    /// Device authorization request.
    #[schemars(transform = of_form)]
    struct OAuthDeviceRequest {
        /// Client id; may be sent in the authorization header instead.
        client_id: Option<String>,
        /// Client secret, for clients that have one; may be sent in the authorization header
        /// instead.
        client_secret: Option<String>,
        /// Requested scope: openapi, 3 or empty.
        scope: Option<String>,
    }

    #[schemars(transform = of_form)]
    struct OAuthTokenRequest {
        #[schemars(schema_with = "grant_types")]
        grant_type: String,
        client_id: Option<String>,
        /// Client secret, for clients that have one; may be sent in the authorization header
        /// instead.
        client_secret: Option<String>,
        code: Option<String>,
        redirect_uri: Option<String>,
        code_verifier: Option<String>,
        device_code: Option<String>,
        refresh_token: Option<String>,
        scope: Option<String>,
    }

    #[schemars(transform = of_form)]
    struct OAuthRevokeRequest {
        /// An access token or a refresh token.
        token: String,
        token_type_hint: Option<String>,
        client_id: Option<String>,
        /// Client secret, for clients that have one; may be sent in the authorization header
        /// instead.
        client_secret: Option<String>,
    }
}

/// Device code and user code.
#[derive(Serialize, JsonSchema)]
struct OAuthDevice {
    device_code: String,
    /// Code in the form ABCD-EFGH that the user enters.
    user_code: String,
    verification_uri: String,
    verification_uri_complete: String,
    /// Lifetime of the codes in seconds.
    expires_in: i64,
    /// Minimum time between two polls, in seconds.
    interval: u64,
}

/// Access token and refresh token.
#[derive(Serialize, JsonSchema)]
struct OAuthTokens {
    /// Access token, which starts with the account's region.
    access_token: String,
    #[schemars(extend("const" = "Bearer"))]
    token_type: &'static str,
    /// Lifetime of the access token in seconds.
    expires_in: i64,
    /// Refresh token, which replaces the previous refresh token.
    refresh_token: String,
    scope: String,
}

fn grant_types(_: &mut SchemaGenerator) -> Schema {
    one_of(&grant_type::ALL)
}

pub(super) fn authorize_device(call: &Call<'_>, site: &Site) -> Answer {
    respond(call, |form, said| {
        let scope = form.get("scope").unwrap_or_default();
        let start =
            site.core.access.start_device(&said.credentials(), scope, call.peer.ip(), site.core.moment());
        let start = start.inspect_err(|error| note_declined(call, site, said, None, error))?;
        let confirm = format!("{}{CONFIRM}", base_url(call, site));
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("user_code", start.user_code.expose())
            .append_pair("client_id", said.credentials().id)
            .finish();
        Ok(answer::object(
            200,
            &OAuthDevice {
                device_code: start.device_code.expose().to_owned(),
                user_code: start.user_code.expose().to_owned(),
                verification_uri_complete: format!("{confirm}?{query}"),
                verification_uri: confirm,
                expires_in: DEVICE_CODE_LIFE_S,
                interval: POLL_INTERVAL_S,
            },
        ))
    })
}

pub(super) fn issue(call: &Call<'_>, site: &Site) -> Answer {
    respond(call, |form, said| {
        let kind = form.need("grant_type", "grant_type is missing")?;
        let grant = match kind {
            grant_type::CODE => Grant::Code {
                code: form.need("code", "code is missing")?,
                redirect_uri: form.get("redirect_uri"),
                verifier: form.get("code_verifier"),
            },
            grant_type::DEVICE => Grant::Device {
                device_code: form.need("device_code", "device_code is missing")?,
                poller: call.header("x-dc-region").and_then(|region| region.parse::<Region>().ok()),
            },
            grant_type::REFRESH => Grant::Refresh {
                refresh_token: form.need("refresh_token", "refresh_token is missing")?,
                scope: form.get("scope").unwrap_or_default(),
            },
            _ => return Err(OAuthError::UnsupportedGrantType),
        };
        let tokens = site.core.access.redeem(&said.credentials(), &grant, call.region, site.core.moment());
        count(&grant, tokens.as_ref().err(), site);
        let tokens = tokens.inspect_err(|error| note_declined(call, site, said, Some(grant), error))?;
        Ok(answer::object(
            200,
            &OAuthTokens {
                access_token: tokens.access_token.expose().to_owned(),
                token_type: "Bearer",
                expires_in: tokens.expires_in,
                refresh_token: tokens.refresh_token.expose().to_owned(),
                scope: tokens.scope,
            },
        ))
    })
}

fn count(grant: &Grant<'_>, error: Option<&OAuthError>, site: &Site) {
    let grant = match grant {
        Grant::Code { .. } => metrics::Grant::Code,
        Grant::Device { .. } => metrics::Grant::Device,
        Grant::Refresh { .. } => metrics::Grant::Refresh,
    };
    let granted = match error {
        None => Granted::Issued,
        Some(OAuthError::AuthorizationPending | OAuthError::SlowDown) => Granted::Pending,
        Some(_) => Granted::Refused,
    };
    site.core.metrics.grant(grant, granted);
}

/// Revokes a token. `token_type_hint` is ignored, because one lookup finds tokens of both types.
pub(super) fn revoke(call: &Call<'_>, site: &Site) -> Answer {
    respond(call, |form, said| {
        let token = form.need("token", "token is missing")?;
        let revoked = site.core.access.revoke_token(&said.credentials(), token, site.core.machine_now());
        revoked.inspect_err(|error| note_declined(call, site, said, None, error))?;
        Ok(answer::object(200, &Empty {}))
    })
}

fn respond(call: &Call<'_>, work: impl FnOnce(&Form, &ClientCredentials) -> Refusable<Answer>) -> Answer {
    let answered = Form::read(call.headers, call.body).and_then(|form| {
        let said = ClientCredentials::read(call, &form)?;
        work(&form, &said)
    });
    let refused = if client::is_basic(call) { answer::refused_basic } else { answer::refused };
    answered.unwrap_or_else(refused)
}

/// Records a failed client authentication or an invalid grant in the audit log as a refused login.
fn note_declined(
    call: &Call<'_>,
    site: &Site,
    said: &ClientCredentials,
    grant: Option<Grant<'_>>,
    error: &OAuthError,
) {
    let offered = Offered::Client(said.credentials(), grant);
    if let Err(error) = site.core.access.note_declined(offered, error, call.peer.ip(), site.core.moment()) {
        tracing::error!(%error, "cannot record a refused login");
    }
}
