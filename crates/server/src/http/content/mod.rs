//! Community endpoints: topics about securities, and replies to them. Paths without `/v1` are
//! aliases.

mod input;
mod replies;
mod shape;
mod topics;

use access::Scope;

use crate::kit::{Accepts, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

/// Reading topics needs the quote scope. Posting, and listing the account's own topics, need the
/// account scope.
pub(super) const ROUTES: &[Row] = &[
    get("/v1/content/topics/mine", Scope::Account, topics::mine).doc(&topics::MINE),
    get("/content/topics/mine", Scope::Account, topics::mine).doc(&topics::MINE_ALIAS),
    get("/v1/content/topics", Scope::Quote, topics::newest).doc(&topics::NEWEST),
    get("/content/topics", Scope::Quote, topics::newest).doc(&topics::NEWEST_ALIAS),
    post("/v1/content/topics", topics::create).doc(&topics::CREATE),
    post("/content/topics", topics::create).doc(&topics::CREATE_ALIAS),
    get("/v1/content/topics/{topic_id}", Scope::Quote, topics::detail).doc(&topics::DETAIL),
    get("/content/topics/{topic_id}", Scope::Quote, topics::detail).doc(&topics::DETAIL_ALIAS),
    get("/v1/content/topics/{topic_id}/comments", Scope::Quote, replies::list).doc(&replies::LIST),
    get("/content/topics/{topic_id}/comments", Scope::Quote, replies::list).doc(&replies::LIST_ALIAS),
    post("/v1/content/topics/{topic_id}/comments", replies::create).doc(&replies::CREATE),
    post("/content/topics/{topic_id}/comments", replies::create).doc(&replies::CREATE_ALIAS),
    get("/v1/content/{symbol}/topics", Scope::Quote, topics::about).doc(&topics::ABOUT),
    get("/content/{symbol}/topics", Scope::Quote, topics::about).doc(&topics::ABOUT_ALIAS),
];

const fn get(path: &'static str, scope: Scope, handler: PermittedHandler) -> Row {
    Row::get(path, Accepts::Account, scope, Task::Community, handler)
        .own_region_only()
        .outside_worlds()
        .paced(RowPace::Community)
}

const fn post(path: &'static str, handler: PermittedHandler) -> Row {
    Row::post(path, Accepts::Account, Scope::Account, Task::Community, handler)
        .own_region_only()
        .outside_worlds()
        .paced(RowPace::Community)
}
