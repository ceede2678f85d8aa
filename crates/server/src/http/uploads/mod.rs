//! Files that operators upload for import. Endpoints upload a file, check it in a dry run, import
//! it with progress reports, and undo the import. The command line offers the same operations on
//! the store's machine (`chandler import`, `chandler imports --undo`).

mod document;
mod file;
mod import;
mod reading;
mod undo;

use access::Scope;

use crate::kit::{Accepts, PermittedHandler, Row};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    Row::get("/v1/uploads", Accepts::Account, Scope::Operator, Task::Data, file::list)
        .own_region_only()
        .doc(&file::LIST),
    post("/v1/uploads", file::receive).takes_file().doc(&file::RECEIVE),
    Row::get("/v1/uploads/{upload}", Accepts::Account, Scope::Operator, Task::Data, file::show)
        .own_region_only()
        .doc(&file::SHOW),
    Row::delete("/v1/uploads/{upload}", Accepts::Account, Scope::Operator, Task::Data, file::remove)
        .own_region_only()
        .doc(&file::REMOVE),
    post("/v1/uploads/{upload}/dry-run", import::answer).doc(&import::DRY_RUN),
    post("/v1/uploads/{upload}/import", import::start).doc(&import::START),
    post("/v1/uploads/{upload}/stop", import::stop).doc(&import::STOP),
    post("/v1/imports/{import}/undo", undo::answer).doc(&undo::UNDO),
];

const fn post(path: &'static str, handler: PermittedHandler) -> Row {
    Row::post(path, Accepts::Account, Scope::Operator, Task::Data, handler).own_region_only()
}
