//! Order endpoints of paper accounts, in the JSON format of the SDKs. One file per subject.
//!
//! Requests are parsed into engine commands with [`json_fields`](crate::kit::json_fields), and the
//! engine's orders are converted to rows ([`order_row`]). The crates `trading` and `paper`
//! implement the order behavior.

mod attached;
mod detail;
mod docs;
mod estimate;
mod executions;
mod lists;
mod marks;
mod order_row;
mod orders;

use access::Scope;

use crate::kit::{Accepts, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

pub use order_row::charge_name;

pub(super) const ROUTES: &[Row] = &[
    Row::post("/v1/trade/order", Accepts::Account, Scope::Trade, Task::Orders, orders::submit)
        .own_region_only()
        .paced(RowPace::Trade)
        .orders()
        .doc(&orders::SUBMIT),
    Row::put("/v1/trade/order", Accepts::Account, Scope::Trade, Task::Orders, orders::replace)
        .own_region_only()
        .paced(RowPace::Trade)
        .orders()
        .doc(&orders::REPLACE),
    Row::delete("/v1/trade/order", Accepts::Account, Scope::Trade, Task::Orders, orders::cancel)
        .own_region_only()
        .paced(RowPace::Trade)
        .orders()
        .doc(&orders::CANCEL),
    get("/v1/trade/order", detail::detail).doc(&detail::DETAIL),
    get("/v1/trade/order/why", detail::why).paced(RowPace::Journal).doc(&detail::WHY),
    Row::post("/v1/trade/order/preview", Accepts::Account, Scope::Trade, Task::Orders, orders::preview)
        .own_region_only()
        .paced(RowPace::Trade)
        .question()
        .doc(&orders::PREVIEW),
    get("/v1/trade/order/today", lists::today).doc(&lists::TODAY),
    get("/v1/trade/order/history", lists::history).doc(&lists::HISTORY),
    get("/v1/trade/execution/today", executions::today).doc(&executions::EXECUTIONS_TODAY),
    get("/v1/trade/execution/history", executions::history).doc(&executions::EXECUTIONS_HISTORY),
    get("/v3/trade/execution/all", executions::all).doc(&executions::EXECUTIONS_ALL),
    get("/v1/trade/marks", marks::answer).doc(&marks::MARKS),
    get("/v1/trade/estimate/buy_limit", estimate::estimate).doc(&estimate::ESTIMATE),
    get("/v1/risk/margin-ratio", estimate::margin_ratio).doc(&estimate::MARGIN_RATIO),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Accepts::Account, Scope::Trade, Task::Orders, handler)
        .own_region_only()
        .paced(RowPace::Trade)
}
