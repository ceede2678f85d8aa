//! Clients that register themselves (RFC 7591), look at it and take it back (RFC 7592).

use access::{NewClient, OAuthError, Registration, SCOPE};
use bytes::Bytes;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{self, Refusable};
use super::metadata;
use crate::kit::Site;
use crate::kit::{Answer, Call, envelope};

const BODY_MAX: usize = 64 << 10;

/// Fields that mean something here. Others are passed over, as the standard wants it.
#[derive(Deserialize)]
struct Metadata {
    client_name: Option<String>,
    redirect_uris: Option<Vec<String>>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
    token_endpoint_auth_method: Option<String>,
}

pub(super) fn add(call: &Call<'_>, site: &Site) -> Refusable<Answer> {
    // A form of somebody else's page can be sent here without being asked first; JSON cannot.
    if !is_json(call) {
        return Ok(answer::not_json());
    }
    if call.body.len() > BODY_MAX {
        return Err(OAuthError::InvalidClientMetadata("the body is larger than 65536 bytes"));
    }
    // The text of the parser would quote what it does not understand; which field it was is all there is to know.
    let metadata: Metadata = serde_json::from_slice(call.body).map_err(|_| {
        OAuthError::InvalidClientMetadata("the body is not a JSON object of texts and lists of texts")
    })?;
    let new = NewClient {
        name: metadata.client_name,
        redirect_uris: metadata.redirect_uris.unwrap_or_default(),
        grant_types: metadata.grant_types,
        response_types: metadata.response_types,
        auth_method: metadata.token_endpoint_auth_method,
    };
    let registered = site.core.access.register_client(&new, call.peer.ip(), site.core.moment())?;
    let mut object = describe(&registered.client, call, site);
    if let Value::Object(fields) = &mut object {
        fields.insert("registration_access_token".to_owned(), registered.registration_token.expose().into());
        fields.insert("client_secret_expires_at".to_owned(), 0.into());
        if let Some(secret) = &registered.secret {
            fields.insert("client_secret".to_owned(), secret.expose().into());
        }
    }
    Ok(answer::object(201, &object))
}

pub(super) fn read(call: &Call<'_>, site: &Site) -> Refusable<Answer> {
    let Some(token) = bearer(call) else { return Ok(answer::not_its_token()) };
    let client = site.core.access.registration(call.parameter, token)?;
    Ok(match client {
        Some(client) => {
            let mut object = describe(&client, call, site);
            if let Value::Object(fields) = &mut object {
                // Whoever asks has just shown it; the standard wants it back (RFC 7592, 3).
                fields.insert("registration_access_token".to_owned(), token.into());
            }
            answer::object(200, &object)
        }
        None => answer::not_its_token(),
    })
}

pub(super) fn remove(call: &Call<'_>, site: &Site) -> Refusable<Answer> {
    let Some(token) = bearer(call) else { return Ok(answer::not_its_token()) };
    if !site.core.access.unregister_client(call.parameter, token, site.core.machine_now())? {
        return Ok(answer::not_its_token());
    }
    let mut answer = envelope::json(204, Bytes::new());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    Ok(answer)
}

fn describe(client: &Registration, call: &Call<'_>, site: &Site) -> Value {
    let base = metadata::base(call, site);
    let response_types: &[&str] = if client.has_codes() { &["code"] } else { &[] };
    json!({
        "client_id": client.id,
        "client_id_issued_at": client.created_at.0,
        "registration_client_uri": format!("{base}/oauth2/register/{}", client.id),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": client.grant_types,
        "response_types": response_types,
        "token_endpoint_auth_method": client.auth_method,
        "scope": SCOPE,
    })
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
