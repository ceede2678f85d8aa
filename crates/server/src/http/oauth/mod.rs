//! OAuth 2.0 for programs: client registration, device authorization, tokens, revocation, metadata.
//! Responses are plain OAuth JSON without the usual envelope. The consent pages are in `pages/`;
//! the OAuth rules are in `access::oauth`.

mod answer;
mod client;
mod register;
mod token;

use crate::kit::{Audience, OpenHandler, Row};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    get("/.well-known/oauth-authorization-server", |call, site| Ok(register::metadata(call, site)))
        .doc(&register::METADATA),
    post("/oauth2/register", |call, site| Ok(register::add(call, site).unwrap_or_else(answer::refused)))
        .doc(&register::ADD),
    get("/oauth2/register/{client_id}", |call, site| {
        Ok(register::read(call, site).unwrap_or_else(answer::refused))
    })
    .doc(&register::READ),
    Row::open_delete("/oauth2/register/{client_id}", Audience::Anyone, Task::OAuth, |call, site| {
        Ok(register::remove(call, site).unwrap_or_else(answer::refused))
    })
    .doc(&register::REMOVE),
    post("/oauth2/device/authorize", |call, site| Ok(token::authorize_device(call, site)))
        .doc(&token::AUTHORIZE_DEVICE),
    post("/oauth2/token", |call, site| Ok(token::issue(call, site))).doc(&token::ISSUE),
    post("/oauth2/revoke", |call, site| Ok(token::revoke(call, site))).doc(&token::REVOKE),
];

/// Returns a row without authentication, because OAuth clients authenticate in the handlers.
const fn get(path: &'static str, handler: OpenHandler) -> Row {
    Row::open_get(path, Audience::Anyone, Task::OAuth, handler)
}

const fn post(path: &'static str, handler: OpenHandler) -> Row {
    Row::open_post(path, Audience::Anyone, Task::OAuth, handler)
}
