//! What is stored: securities, coverage, and imports. None of it is history, so it costs neither quota nor calls.

mod coverage;
mod imports;
mod securities;

use access::Scope;

use crate::kit::{Asks, Row, RowPace};
use crate::metrics::Task;
pub use imports::import_document;

pub(super) const ROUTES: &[Row] = &[
    Row::get("/v1/securities", Asks::Account, Scope::Quote, Task::Data, securities::search)
        .at_home()
        .paced(RowPace::Search)
        .doc(&securities::SEARCH),
    Row::get("/v1/securities/{symbol}", Asks::Account, Scope::Quote, Task::Data, securities::show)
        .at_home()
        .doc(&securities::SHOW),
    Row::get("/v1/securities/{symbol}/actions", Asks::Account, Scope::Quote, Task::Data, securities::actions)
        .at_home()
        .doc(&securities::ACTIONS),
    Row::get("/v1/coverage", Asks::Account, Scope::Operator, Task::Data, coverage::rows)
        .at_home()
        .doc(&coverage::ROWS),
    Row::get("/v1/coverage/{symbol}", Asks::Account, Scope::Operator, Task::Data, coverage::days)
        .at_home()
        .doc(&coverage::DAYS),
    Row::get("/v1/imports", Asks::Account, Scope::Operator, Task::Data, imports::list)
        .at_home()
        .doc(&imports::LIST),
    Row::get("/v1/quarantine", Asks::Account, Scope::Operator, Task::Data, imports::quarantine)
        .at_home()
        .doc(&imports::QUARANTINE),
];
