//! Endpoints for stored data: securities, coverage, and imports. They return no history, so they
//! cost no quota. Figures that need a price are rate-limited as calls of command 26.

mod corporate;
mod coverage;
mod imports;
mod inventory;
mod listing;
mod market_status;
mod securities;
mod security_list;

use access::Scope;
use wire::command;

use crate::kit::{Accepts, Row, RowPace};
use crate::metrics::Task;
pub use imports::import_document;
pub use inventory::StoreInventory;

pub(super) const ROUTES: &[Row] = &[
    Row::get("/v1/securities", Accepts::Account, Scope::Quote, Task::Data, securities::search)
        .own_region_only()
        .paced(RowPace::Search)
        .doc(&securities::SEARCH),
    Row::get("/v1/securities/{symbol}", Accepts::Account, Scope::Quote, Task::Data, securities::show)
        .own_region_only()
        .doc(&securities::SHOW),
    Row::get(
        "/v1/securities/{symbol}/actions",
        Accepts::Account,
        Scope::Quote,
        Task::Data,
        securities::actions,
    )
    .own_region_only()
    .doc(&securities::ACTIONS),
    Row::get(
        "/v1/securities/{symbol}/figures",
        Accepts::Account,
        Scope::Quote,
        CALC_INDEXES,
        securities::figures,
    )
    .own_region_only()
    .paced(RowPace::Calls)
    .doc(&securities::FIGURES),
    Row::get("/v1/inventory", Accepts::Account, Scope::Quote, Task::Data, inventory::answer)
        .own_region_only()
        .paced(RowPace::Search)
        .doc(&inventory::LIST),
    Row::get(
        "/v1/quote/get_security_list",
        Accepts::Account,
        Scope::Quote,
        Task::Data,
        security_list::answer,
    )
    .own_region_only()
    .paced(RowPace::Lists)
    .doc(&security_list::LIST),
    Row::get("/v1/quote/dividends", Accepts::Account, Scope::Quote, Task::Data, corporate::dividends)
        .own_region_only()
        .doc(&corporate::DIVIDENDS),
    Row::get("/v1/quote/dividends/details", Accepts::Account, Scope::Quote, Task::Data, corporate::dividends)
        .own_region_only()
        .doc(&corporate::DIVIDEND_DETAILS),
    Row::get("/v1/quote/company-act", Accepts::Account, Scope::Quote, Task::Data, corporate::company_acts)
        .own_region_only()
        .doc(&corporate::COMPANY_ACTS),
    Row::get("/v1/quote/market-status", Accepts::Account, Scope::Quote, Task::Data, market_status::answer)
        .doc(&market_status::STATUS),
    Row::get("/v1/coverage", Accepts::Account, Scope::Quote, Task::Data, coverage::rows)
        .own_region_only()
        .paced(RowPace::Search)
        .doc(&coverage::ROWS),
    Row::get("/v1/coverage/{symbol}", Accepts::Account, Scope::Quote, Task::Data, coverage::days)
        .own_region_only()
        .paced(RowPace::Search)
        .doc(&coverage::DAYS),
    Row::get("/v1/imports", Accepts::Account, Scope::Operator, Task::Data, imports::list)
        .own_region_only()
        .doc(&imports::LIST),
    Row::get("/v1/quarantine", Accepts::Account, Scope::Operator, Task::Data, imports::quarantine)
        .own_region_only()
        .doc(&imports::QUARANTINE),
];

/// Ratios are computed by command 26 and are rate-limited as calls of that command.
const CALC_INDEXES: Task = Task::of_command(command::CALC_INDEXES);
