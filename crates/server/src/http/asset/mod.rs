//! Asset endpoints of paper accounts: cash, positions, cash movements. One file per endpoint.

mod account;
mod cashflow;
mod docs;
mod equity;
mod exchange_rates;
mod fund;
mod portfolio;
mod stock;

use access::Scope;

use crate::kit::{Asks, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    get("/v1/asset/account", account::answer).doc(&account::ACCOUNT),
    get("/v1/asset/stock", stock::answer).doc(&stock::STOCK),
    get("/v1/asset/cashflow", cashflow::answer).paced(RowPace::Journal).doc(&cashflow::CASH_FLOW),
    get("/v1/asset/fund", fund::answer).doc(&fund::FUND),
    get("/v1/asset/portfolio", portfolio::answer).doc(&portfolio::PORTFOLIO),
    get("/v1/asset/equity", equity::answer).paced(RowPace::Journal).doc(&equity::EQUITY),
    get("/v1/asset/exchange_rates", exchange_rates::answer).doc(&exchange_rates::EXCHANGE_RATES),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Asks::Account, Scope::Trade, Task::Orders, handler).own_region_only().paced(RowPace::Trade)
}
