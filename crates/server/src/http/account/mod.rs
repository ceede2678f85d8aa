//! What an account asks about itself: who it is, what it may and has used, and what is open in its name.

mod connections;
mod me;
mod packages;
mod quota;
mod sign_ins;
mod socket_token;
mod token;

use access::Scope;

use crate::kit::{Asks, Row};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    // A long connection is for quotes, for orders, or for both.
    Row::get("/v1/socket/token", Asks::Program, Scope::Quote, Task::SocketToken, socket_token::answer)
        .or_scope(Scope::Trade)
        .doc(&socket_token::DOC),
    Row::get("/v2/socket/token", Asks::Program, Scope::Quote, Task::SocketToken, socket_token::answer)
        .or_scope(Scope::Trade)
        .doc(&socket_token::DOC_V2),
    Row::get("/v1/token/refresh", Asks::Program, Scope::Account, Task::Account, token::refresh)
        .at_home()
        .doc(&token::DOC),
    Row::get("/v1/me", Asks::Account, Scope::Account, Task::Account, me::show).at_home().doc(&me::DOC),
    Row::get("/v1/quota", Asks::Account, Scope::Account, Task::Account, quota::show)
        .at_home()
        .doc(&quota::SHOW),
    Row::post("/v1/quota/preview", Asks::Account, Scope::Account, Task::Account, quota::preview)
        .at_home()
        .question()
        .doc(&quota::PREVIEW),
    Row::get("/v1/sign-ins", Asks::Account, Scope::Account, Task::Account, sign_ins::list)
        .at_home()
        .doc(&sign_ins::LIST),
    Row::delete("/v1/sign-ins/{id}", Asks::Account, Scope::Account, Task::Account, sign_ins::end)
        .at_home()
        .doc(&sign_ins::END),
    Row::get("/v1/connections", Asks::Account, Scope::Account, Task::Account, connections::list)
        .at_home()
        .doc(&connections::LIST),
    Row::delete("/v1/connections/{id}", Asks::Account, Scope::Account, Task::Account, connections::close)
        .at_home()
        .doc(&connections::CLOSE),
    Row::get("/v1/quote/my-quotes", Asks::Account, Scope::Quote, Task::Account, packages::list)
        .doc(&packages::DOC),
];
