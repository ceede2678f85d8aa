//! Asset endpoints of paper accounts: cash, positions, cash movements. One file per subject.

mod account;
mod benchmark;
mod journal;
mod performance;
mod portfolio;
mod positions;

use access::Scope;

use crate::kit::{Accepts, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    get("/v1/asset/account", account::account).doc(&account::ACCOUNT),
    get("/v1/asset/stock", positions::stock).doc(&positions::STOCK),
    get("/v1/asset/cashflow", journal::cash_flow).paced(RowPace::Journal).doc(&journal::CASH_FLOW),
    get("/v1/asset/fund", positions::fund).doc(&positions::FUND),
    get("/v1/asset/portfolio", portfolio::answer).doc(&portfolio::PORTFOLIO),
    get("/v1/asset/performance", performance::answer).doc(&performance::PERFORMANCE),
    get("/v1/asset/equity", journal::equity).paced(RowPace::Journal).doc(&journal::EQUITY),
    get("/v1/asset/exchange_rates", account::exchange_rates).doc(&account::EXCHANGE_RATES),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Accepts::Account, Scope::Trade, Task::Orders, handler)
        .own_region_only()
        .paced(RowPace::Trade)
}
