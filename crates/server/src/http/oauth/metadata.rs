//! Authorization server metadata (RFC 8414).

use access::{AUTH_METHODS, SCOPE, grant_type};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer;
use crate::kit::Site;
pub(super) use crate::kit::base_url as base;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag};
use crate::kit::paths::AUTHORIZE;
use crate::kit::{Answer, Call};

pub(super) const DOC: Doc = Doc::new(Tag::OAuth, "oauthMetadata", "What OAuth offers here (RFC 8414)")
    .answers(&[AnswerDoc::ok("The metadata", &[Media::json::<OAuthMetadata>()])]);

#[derive(Debug, Serialize, JsonSchema)]
struct OAuthMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    device_authorization_endpoint: String,
    registration_endpoint: String,
    revocation_endpoint: String,
    scopes_supported: Vec<&'static str>,
    response_types_supported: Vec<&'static str>,
    response_modes_supported: Vec<&'static str>,
    grant_types_supported: Vec<&'static str>,
    token_endpoint_auth_methods_supported: Vec<&'static str>,
    revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    code_challenge_methods_supported: Vec<&'static str>,
}

pub(super) fn describe(call: &Call<'_>, site: &Site) -> Answer {
    let base = base(call, site);
    let at = |path: &str| format!("{base}{path}");
    answer::object(
        200,
        &OAuthMetadata {
            authorization_endpoint: at(AUTHORIZE),
            token_endpoint: at("/oauth2/token"),
            device_authorization_endpoint: at("/oauth2/device/authorize"),
            registration_endpoint: at("/oauth2/register"),
            revocation_endpoint: at("/oauth2/revoke"),
            issuer: base,
            scopes_supported: vec![SCOPE],
            response_types_supported: vec!["code"],
            response_modes_supported: vec!["query"],
            grant_types_supported: grant_type::ALL.to_vec(),
            token_endpoint_auth_methods_supported: AUTH_METHODS.to_vec(),
            revocation_endpoint_auth_methods_supported: AUTH_METHODS.to_vec(),
            code_challenge_methods_supported: vec!["S256", "plain"],
        },
    )
}
