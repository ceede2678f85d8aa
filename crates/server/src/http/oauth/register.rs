//! Dynamic client registration (RFC 7591), reading and deleting a registration (RFC 7592), and
//! authorization server metadata (RFC 8414).

use access::{AUTH_METHODS, NewClient, OAuthError, Registration, SCOPE, grant_type};
use bytes::Bytes;
use hyper::StatusCode;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::answer::{self, Refusable};
use crate::kit::doc::{AnswerDoc, Credentials, Doc, Media, Parameter, Tag};
use crate::kit::paths::AUTHORIZE;
use crate::kit::{Answer, Call, Site, base_url, envelope};

const BODY_MAX: usize = 64 << 10;

pub(super) const ADD: Doc = Doc::new(Tag::OAuth, "registerClient", "Register a client (RFC 7591)")
    .body(&[Media::json::<Metadata>()])
    .answers(&[AnswerDoc::status(
        "201",
        "The client, with secrets that cannot be retrieved later",
        &[Media::json::<OAuthClient>()],
    )])
    .refuses(&[answer::REFUSED, answer::NOT_JSON, answer::TOO_FAST, answer::FAILED]);

pub(super) const READ: Doc = Doc::new(
    Tag::OAuth,
    "readClient",
    "Read a client registration, authenticated by its registration token (RFC 7592)",
)
.credentials(Credentials::Registration)
.parameters(&[CLIENT_ID])
.answers(&[AnswerDoc::ok("The client", &[Media::json::<OAuthClient>()])])
.refuses(&[answer::UNAUTHENTICATED, answer::FAILED]);

pub(super) const REMOVE: Doc =
    Doc::new(Tag::OAuth, "removeClient", "Delete a client and revoke its tokens (RFC 7592)")
        .credentials(Credentials::Registration)
        .parameters(&[CLIENT_ID])
        .answers(&[AnswerDoc::status("204", "Removed", &[])])
        .refuses(&[answer::UNAUTHENTICATED, answer::FAILED]);

const CLIENT_ID: Parameter = Parameter::path("client_id", "Client id from the registration");

/// Client metadata. Unknown fields are ignored, as the RFC requires.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "OAuthClientRequest")]
struct Metadata {
    #[schemars(length(max = 128))]
    client_name: Option<String>,
    /// URIs with https, with http and a loopback host, or with a private-use scheme.
    #[schemars(length(max = 10), inner(length(max = 1024)))]
    redirect_uris: Option<Vec<String>>,
    #[schemars(transform = grant_types)]
    grant_types: Option<Vec<String>>,
    #[schemars(transform = response_types)]
    response_types: Option<Vec<String>>,
    #[schemars(transform = auth_methods, extend("default" = "none"))]
    token_endpoint_auth_method: Option<String>,
}

/// A registered OAuth client.
#[derive(Serialize, JsonSchema)]
struct OAuthClient {
    client_id: String,
    /// Registration time in Unix seconds.
    client_id_issued_at: i64,
    registration_client_uri: String,
    client_name: String,
    redirect_uris: Vec<String>,
    #[schemars(transform = grant_types)]
    grant_types: Vec<String>,
    #[schemars(transform = response_types)]
    response_types: Vec<&'static str>,
    #[schemars(transform = auth_methods)]
    token_endpoint_auth_method: String,
    scope: &'static str,
    registration_access_token: String,
    /// Client secret, returned once, only to clients that requested a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    client_secret: Option<String>,
    /// Always 0, because the secret does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    client_secret_expires_at: Option<i64>,
}

fn grant_types(schema: &mut Schema) {
    schema.insert("items".to_owned(), json!({"type": "string", "enum": grant_type::ALL}));
}

fn response_types(schema: &mut Schema) {
    schema.insert("items".to_owned(), json!({"type": "string", "const": "code"}));
}

fn auth_methods(schema: &mut Schema) {
    schema.insert("enum".to_owned(), json!(AUTH_METHODS));
}

pub(super) fn add(call: &Call<'_>, site: &Site) -> Refusable<Answer> {
    // Requiring JSON prevents CSRF, because a page on another site can post a form without a
    // preflight request, but not JSON.
    if !is_json(call) {
        return Ok(answer::not_json());
    }
    if call.body.len() > BODY_MAX {
        return Err(OAuthError::InvalidClientMetadata("the body is larger than 65536 bytes"));
    }
    // The parser's error message would quote the input, so it is omitted.
    let metadata: Metadata = call.object().map_err(|_| {
        OAuthError::InvalidClientMetadata("the body is not a JSON object of strings and lists of strings")
    })?;
    let new = NewClient {
        name: metadata.client_name,
        redirect_uris: metadata.redirect_uris.unwrap_or_default(),
        grant_types: metadata.grant_types,
        response_types: metadata.response_types,
        auth_method: metadata.token_endpoint_auth_method,
    };
    let registered = site.core.access.register_client(&new, call.peer.ip(), site.core.moment())?;
    let client = OAuthClient {
        client_secret: registered.secret.as_ref().map(|secret| secret.expose().to_owned()),
        client_secret_expires_at: Some(0),
        ..describe(&registered.client, registered.registration_token.expose(), call, site)
    };
    Ok(answer::object(201, &client))
}

pub(super) fn read(call: &Call<'_>, site: &Site) -> Refusable<Answer> {
    let Some(token) = bearer(call) else { return Ok(answer::not_its_token()) };
    let client = site.core.access.registration(call.path_value("client_id"), token)?;
    Ok(match client {
        // The response must contain the token (RFC 7592, section 3), which the client has just
        // sent.
        Some(client) => answer::object(200, &describe(&client, token, call, site)),
        None => answer::not_its_token(),
    })
}

pub(super) fn remove(call: &Call<'_>, site: &Site) -> Refusable<Answer> {
    let Some(token) = bearer(call) else { return Ok(answer::not_its_token()) };
    if !site.core.access.unregister_client(call.path_value("client_id"), token, site.core.machine_now())? {
        return Ok(answer::not_its_token());
    }
    let mut answer = envelope::json(204, Bytes::new());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    Ok(answer)
}

fn describe(client: &Registration, token: &str, call: &Call<'_>, site: &Site) -> OAuthClient {
    let base = base_url(call, site);
    OAuthClient {
        client_id: client.id.clone(),
        client_id_issued_at: client.created_at.0,
        registration_client_uri: format!("{base}/oauth2/register/{}", client.id),
        client_name: client.name.clone(),
        redirect_uris: client.redirect_uris.clone(),
        grant_types: client.grant_types.clone(),
        response_types: if client.has_codes() { vec!["code"] } else { Vec::new() },
        token_endpoint_auth_method: client.auth_method.clone(),
        scope: SCOPE,
        registration_access_token: token.to_owned(),
        client_secret: None,
        client_secret_expires_at: None,
    }
}

fn is_json(call: &Call<'_>) -> bool {
    let kind = call.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn bearer<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    let (scheme, token) = call.header("authorization")?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

pub(super) const METADATA: Doc = Doc::new(Tag::OAuth, "oauthMetadata", "OAuth server metadata (RFC 8414)")
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

pub(super) fn metadata(call: &Call<'_>, site: &Site) -> Answer {
    let base = base_url(call, site);
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
