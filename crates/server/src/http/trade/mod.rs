//! Orders of paper accounts, in the form that SDKs know. A file an endpoint.
//!
//! A request becomes a command of the engine ([`fields`] reads its values), the engine's values become rows ([`order_row`]); what an
//! order does is decided in the crates `trading` and `paper`.

mod cancel;
mod detail;
mod docs;
mod estimate;
mod executions;
mod fields;
mod history;
mod margin_ratio;
mod marks;
mod order_row;
mod preview;
mod replace;
mod submit;
mod today;
mod why;
mod words;

use access::Scope;

use crate::kit::{Asks, PermittedHandler, Row};
use crate::metrics::Task;

pub use detail::order_detail_document;
pub use executions::execution_document;
pub use order_row::order_document;

pub(super) const ROUTES: &[Row] = &[
    Row::post("/v1/trade/order", Asks::Account, Scope::Trade, Task::Orders, submit::answer)
        .at_home()
        .doc(&docs::SUBMIT),
    Row::put("/v1/trade/order", Asks::Account, Scope::Trade, Task::Orders, replace::answer)
        .at_home()
        .doc(&docs::REPLACE),
    Row::delete("/v1/trade/order", Asks::Account, Scope::Trade, Task::Orders, cancel::answer)
        .at_home()
        .doc(&docs::CANCEL),
    get("/v1/trade/order", detail::answer).doc(&docs::DETAIL),
    get("/v1/trade/order/why", why::answer).doc(&docs::WHY),
    Row::post("/v1/trade/order/preview", Asks::Account, Scope::Trade, Task::Orders, preview::answer)
        .at_home()
        .question()
        .doc(&docs::PREVIEW),
    get("/v1/trade/order/today", today::answer).doc(&docs::TODAY),
    get("/v1/trade/order/history", history::answer).doc(&docs::HISTORY),
    get("/v1/trade/execution/today", executions::today).doc(&docs::EXECUTIONS_TODAY),
    get("/v1/trade/execution/history", executions::history).doc(&docs::EXECUTIONS_HISTORY),
    get("/v3/trade/execution/all", executions::all).doc(&docs::EXECUTIONS_ALL),
    get("/v1/trade/marks", marks::answer).doc(&docs::MARKS),
    get("/v1/trade/estimate/buy_limit", estimate::answer).doc(&docs::ESTIMATE),
    get("/v1/risk/margin-ratio", margin_ratio::answer).doc(&docs::MARGIN_RATIO),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Asks::Account, Scope::Trade, Task::Orders, handler).at_home()
}
