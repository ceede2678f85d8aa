//! Grid order endpoints of paper accounts, in the JSON format of the SDKs. One file per subject.
//!
//! [`rule`] parses a rule; the crate `trading` validates it and runs the grid.

mod change;
mod detail;
mod docs;
mod grid_row;
mod list;
mod rule;
mod setup;
mod submit;
mod triggers;

use access::Scope;

use crate::kit::{Accepts, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    post("/v1/gridtrading/submit", submit::submit).orders().doc(&submit::SUBMIT),
    post("/v1/gridtrading/replace", submit::replace).orders().doc(&submit::REPLACE),
    // This endpoint is not part of the SDK API.
    post("/v1/gridtrading/preview", submit::preview).question().doc(&submit::PREVIEW),
    get("/v1/gridtrading/list", list::answer).doc(&list::LIST),
    post("/v1/gridtrading/list", list::by_ids).question().doc(&list::BY_IDS),
    get("/v1/gridtrading/detail", detail::detail).doc(&detail::DETAIL),
    get("/v1/gridtrading/trigger_history_list", triggers::answer).doc(&triggers::TRIGGERS),
    // This endpoint is not part of the SDK API.
    get("/v1/gridtrading/why", detail::why).paced(RowPace::Journal).doc(&detail::WHY),
    post("/v1/gridtrading/cancel", change::cancel).orders().doc(&change::CANCEL),
    post("/v1/gridtrading/suspend", change::suspend).orders().doc(&change::SUSPEND),
    post("/v1/gridtrading/restart", change::restart).orders().doc(&change::RESTART),
    post("/v1/record/questionnaire", setup::questionnaire).orders().doc(&setup::QUESTIONNAIRE),
    get("/v1/orders/info", setup::symbol_info).doc(&setup::SYMBOL_INFO),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Accepts::Account, Scope::Trade, Task::Orders, handler)
        .own_region_only()
        .paced(RowPace::Trade)
}

const fn post(path: &'static str, handler: PermittedHandler) -> Row {
    Row::post(path, Accepts::Account, Scope::Trade, Task::Orders, handler)
        .own_region_only()
        .paced(RowPace::Trade)
}
