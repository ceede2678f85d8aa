//! Statement endpoints of paper accounts: list, download URLs, and files.

mod file;
mod file_key;
mod list;

use access::Scope;

use crate::kit::{Accepts, Audience, PermittedHandler, Row, RowPace};
use crate::metrics::Task;

pub(super) use file::stored;

pub(super) const ROUTES: &[Row] = &[
    // The list creates statements that are due, which reads the whole journal.
    get("/v1/statement/list", list::answer).paced(RowPace::Journal).doc(&list::LIST),
    get("/v1/statement/download", file::download).paced(RowPace::Trade).doc(&file::DOWNLOAD),
    // The signed URL is the only credential, and the handler verifies it first.
    Row::open_get("/files/statement/{file}", Audience::Anyone, Task::Orders, file::file).doc(&file::FILE),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Accepts::Account, Scope::Trade, Task::Orders, handler).own_region_only()
}
