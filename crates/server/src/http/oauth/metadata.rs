//! What there is (RFC 8414), and what the address of this service is.

use access::{AUTH_METHODS, SCOPE, grant_type};
use hyper::header::HOST;
use serde_json::json;

use super::answer;
use crate::kit::Site;
use crate::kit::{Answer, Call};
use crate::own_names::own_host;

pub(super) fn describe(call: &Call<'_>, site: &Site) -> Answer {
    let base = base(call, site);
    let at = |path: &str| format!("{base}{path}");
    answer::object(
        200,
        &json!({
            "issuer": base,
            "authorization_endpoint": at("/oauth2/authorize"),
            "token_endpoint": at("/oauth2/token"),
            "device_authorization_endpoint": at("/oauth2/device/authorize"),
            "registration_endpoint": at("/oauth2/register"),
            "revocation_endpoint": at("/oauth2/revoke"),
            "scopes_supported": [SCOPE],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": grant_type::ALL,
            "token_endpoint_auth_methods_supported": AUTH_METHODS,
            "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
            "code_challenge_methods_supported": ["S256", "plain"],
        }),
    )
}

/// Where clients and people reach this service: as the operator says, else under a name that is surely ours.
pub(super) fn base(call: &Call<'_>, site: &Site) -> String {
    if let Some(url) = &site.public_url {
        return url.to_string();
    }
    let host = call.headers.get(HOST).and_then(|host| host.to_str().ok());
    let names = site.tls.as_ref().map(|tls| tls.certificate().names.clone()).unwrap_or_default();
    let scheme = if site.is_https() { "https" } else { "http" };
    format!("{scheme}://{}", own_host(host, call.reached, &names))
}
