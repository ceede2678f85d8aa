//! Endpoints for an account's own data: identity, rights, usage, and open sessions.

mod connections;
mod me;
mod quota;
mod sign_ins;
mod token;

use access::Scope;

use crate::kit::{Accepts, Row, RowPace};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    // A long connection can serve quotes, orders, or both, so the quote or the trade scope is
    // enough.
    Row::get("/v1/socket/token", Accepts::Program, Scope::Quote, Task::SocketToken, token::socket_token)
        .or_scope(Scope::Trade)
        .doc(&token::SOCKET_TOKEN),
    Row::get("/v2/socket/token", Accepts::Program, Scope::Quote, Task::SocketToken, token::socket_token)
        .or_scope(Scope::Trade)
        .doc(&token::SOCKET_TOKEN_V2),
    Row::get("/v1/token/refresh", Accepts::Program, Scope::Account, Task::Account, token::refresh)
        .own_region_only()
        .doc(&token::REFRESH),
    Row::get("/v1/me", Accepts::Account, Scope::Account, Task::Account, me::me)
        .own_region_only()
        .doc(&me::ME),
    Row::get("/v1/quota", Accepts::Account, Scope::Account, Task::Account, quota::show)
        .own_region_only()
        .doc(&quota::SHOW),
    Row::post("/v1/quota/preview", Accepts::Account, Scope::Account, Task::Account, quota::preview)
        .own_region_only()
        .question()
        .paced(RowPace::Search)
        .doc(&quota::PREVIEW),
    Row::get("/v1/sign-ins", Accepts::Account, Scope::Account, Task::Account, sign_ins::list)
        .own_region_only()
        .doc(&sign_ins::LIST),
    Row::delete("/v1/sign-ins/{id}", Accepts::Account, Scope::Account, Task::Account, sign_ins::end)
        .own_region_only()
        .doc(&sign_ins::END),
    Row::get("/v1/connections", Accepts::Account, Scope::Account, Task::Account, connections::list)
        .own_region_only()
        .doc(&connections::LIST),
    Row::delete("/v1/connections/{id}", Accepts::Account, Scope::Account, Task::Account, connections::close)
        .own_region_only()
        .doc(&connections::CLOSE),
    Row::get("/v1/quote/my-quotes", Accepts::Account, Scope::Quote, Task::Account, me::packages)
        .doc(&me::PACKAGES),
];
