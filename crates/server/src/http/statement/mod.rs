//! Statements of paper accounts: their list, addresses to fetch them from, and the files themselves. A file an endpoint.

mod download;
mod file;
mod file_key;
mod list;

use access::Scope;

use crate::kit::{Asks, Audience, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    // What is due is made out of the whole journal.
    get("/v1/statement/list", list::answer).paced(RowPace::Journal).doc(&list::LIST),
    get("/v1/statement/download", download::answer).paced(RowPace::Trade).doc(&download::DOWNLOAD),
    // Whoever has the address needs no other proof: its signature is checked first of all.
    Row::open_get("/files/statement/{file}", Audience::Anyone, Task::Orders, file::answer).doc(&file::FILE),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Asks::Account, Scope::Trade, Task::Orders, handler).own_region_only()
}
