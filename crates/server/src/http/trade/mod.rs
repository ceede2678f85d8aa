//! Order endpoints of paper accounts, in the JSON format of the SDKs. One file per endpoint.
//!
//! Requests become engine commands ([`json_fields`](crate::kit::json_fields) parses their values),
//! and the engine's values become rows ([`order_row`]). The crates `trading` and `paper` implement
//! the order behavior.

mod cancel;
mod detail;
mod docs;
mod estimate;
mod executions;
mod history;
mod margin_ratio;
mod marks;
mod order_row;
mod preview;
mod replace;
mod submit;
mod today;
mod why;

use access::Scope;

use crate::kit::{Asks, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

pub use order_row::charge_name;

pub(super) const ROUTES: &[Row] = &[
    Row::post("/v1/trade/order", Asks::Account, Scope::Trade, Task::Orders, submit::answer)
        .own_region_only()
        .paced(RowPace::Trade)
        .orders()
        .doc(&submit::SUBMIT),
    Row::put("/v1/trade/order", Asks::Account, Scope::Trade, Task::Orders, replace::answer)
        .own_region_only()
        .paced(RowPace::Trade)
        .orders()
        .doc(&replace::REPLACE),
    Row::delete("/v1/trade/order", Asks::Account, Scope::Trade, Task::Orders, cancel::answer)
        .own_region_only()
        .paced(RowPace::Trade)
        .orders()
        .doc(&cancel::CANCEL),
    get("/v1/trade/order", detail::answer).doc(&detail::DETAIL),
    get("/v1/trade/order/why", why::answer).paced(RowPace::Journal).doc(&why::WHY),
    Row::post("/v1/trade/order/preview", Asks::Account, Scope::Trade, Task::Orders, preview::answer)
        .own_region_only()
        .paced(RowPace::Trade)
        .question()
        .doc(&preview::PREVIEW),
    get("/v1/trade/order/today", today::answer).doc(&today::TODAY),
    get("/v1/trade/order/history", history::answer).doc(&history::HISTORY),
    get("/v1/trade/execution/today", executions::today).doc(&executions::EXECUTIONS_TODAY),
    get("/v1/trade/execution/history", executions::history).doc(&executions::EXECUTIONS_HISTORY),
    get("/v3/trade/execution/all", executions::all).doc(&executions::EXECUTIONS_ALL),
    get("/v1/trade/marks", marks::answer).doc(&marks::MARKS),
    get("/v1/trade/estimate/buy_limit", estimate::answer).doc(&estimate::ESTIMATE),
    get("/v1/risk/margin-ratio", margin_ratio::answer).doc(&margin_ratio::MARGIN_RATIO),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Asks::Account, Scope::Trade, Task::Orders, handler).own_region_only().paced(RowPace::Trade)
}
