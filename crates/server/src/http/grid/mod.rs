//! Grid order endpoints of paper accounts, in the JSON format of the SDKs. One file per endpoint,
//! or per group of endpoints with the same request.
//!
//! [`rule`] parses a rule; the crate `trading` validates it and runs the grid.

mod change;
mod detail;
mod docs;
mod grid_row;
mod list;
mod preview;
mod questionnaire;
mod replace;
mod rule;
mod submit;
mod symbol_info;
mod triggers;
mod why;

use access::Scope;

use crate::kit::{Asks, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    post("/v1/gridtrading/submit", submit::answer).orders().doc(&submit::SUBMIT),
    post("/v1/gridtrading/replace", replace::answer).orders().doc(&replace::REPLACE),
    // This endpoint is not part of the SDK API.
    post("/v1/gridtrading/preview", preview::answer).question().doc(&preview::PREVIEW),
    get("/v1/gridtrading/list", list::answer).doc(&list::LIST),
    post("/v1/gridtrading/list", list::by_ids).question().doc(&list::BY_IDS),
    get("/v1/gridtrading/detail", detail::answer).doc(&detail::DETAIL),
    get("/v1/gridtrading/trigger_history_list", triggers::answer).doc(&triggers::TRIGGERS),
    // This endpoint is not part of the SDK API.
    get("/v1/gridtrading/why", why::answer).paced(RowPace::Journal).doc(&why::WHY),
    post("/v1/gridtrading/cancel", change::cancel).orders().doc(&change::CANCEL),
    post("/v1/gridtrading/suspend", change::suspend).orders().doc(&change::SUSPEND),
    post("/v1/gridtrading/restart", change::restart).orders().doc(&change::RESTART),
    post("/v1/record/questionnaire", questionnaire::answer).orders().doc(&questionnaire::QUESTIONNAIRE),
    get("/v1/orders/info", symbol_info::answer).doc(&symbol_info::SYMBOL_INFO),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Asks::Account, Scope::Trade, Task::Orders, handler).own_region_only().paced(RowPace::Trade)
}

const fn post(path: &'static str, handler: PermittedHandler) -> Row {
    Row::post(path, Asks::Account, Scope::Trade, Task::Orders, handler)
        .own_region_only()
        .paced(RowPace::Trade)
}
