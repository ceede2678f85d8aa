//! Endpoints for worlds, which are accounts with their own market clocks. `/v1/worlds` is for
//! owners; `/v1/world` is for programs with the API key of a world.

mod create;
mod delete;
mod log;
mod opening;
mod request;
mod set;
mod shown;
mod source;
mod span;
mod step;

use access::Scope;
use serde::Serialize;

use crate::kit::{Accepts, Admitted, Answer, Call, PermittedHandler, Problem, Row, Site, envelope};
use crate::metrics::Task;
use request::{OwnRequest, OwnerRequest};

pub(super) const ROUTES: &[Row] = &[
    get("/v1/worlds", |call, site, by| owner(call, site, &by, |request| request.list())).doc(&shown::LIST),
    post("/v1/worlds", |call, site, by| owner(call, site, &by, |request| request.create()))
        .doc(&create::CREATE),
    get("/v1/worlds/{name}", |call, site, by| owner(call, site, &by, |request| request.show()))
        .doc(&shown::SHOW),
    delete("/v1/worlds/{name}", |call, site, by| owner(call, site, &by, |request| request.delete()))
        .doc(&delete::DELETE),
    post("/v1/worlds/{name}/set", |call, site, by| owner(call, site, &by, |request| request.set()))
        .doc(&set::SET),
    post("/v1/worlds/{name}/step", |call, site, by| owner(call, site, &by, |request| request.step()))
        .doc(&step::STEP),
    get("/v1/worlds/{name}/log", |call, site, by| owner(call, site, &by, |request| request.log()))
        .doc(&log::LOG),
    post("/v1/worlds/{name}/end", |call, site, by| owner(call, site, &by, |request| request.end()))
        .doc(&step::END),
    post("/v1/worlds/{name}/run", |call, site, by| owner(call, site, &by, |request| request.run()))
        .doc(&step::RUN),
    post("/v1/worlds/{name}/pause", |call, site, by| owner(call, site, &by, |request| request.pause()))
        .doc(&step::PAUSE),
    post("/v1/worlds/{name}/fork", |call, site, by| owner(call, site, &by, |request| request.fork()))
        .doc(&create::FORK),
    post("/v1/worlds/{name}/token", |call, site, by| owner(call, site, &by, |request| request.token()))
        .doc(&create::TOKEN),
    post("/v1/worlds/{name}/reset", |call, site, by| owner(call, site, &by, |request| request.reset()))
        .doc(&step::RESET),
    get("/v1/world", |call, site, by| own(call, site, &by, |request| request.show())).doc(&shown::OWN),
    post("/v1/world/step", |call, site, by| own(call, site, &by, |request| request.step()))
        .doc(&step::OWN_STEP),
    post("/v1/world/run", |call, site, by| own(call, site, &by, |request| request.run())).doc(&step::OWN_RUN),
    post("/v1/world/pause", |call, site, by| own(call, site, &by, |request| request.pause()))
        .doc(&step::OWN_PAUSE),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Accepts::Account, Scope::Account, Task::Account, handler).own_region_only()
}

const fn post(path: &'static str, handler: PermittedHandler) -> Row {
    Row::post(path, Accepts::Account, Scope::Account, Task::Account, handler).own_region_only()
}

const fn delete(path: &'static str, handler: PermittedHandler) -> Row {
    Row::delete(path, Accepts::Account, Scope::Account, Task::Account, handler).own_region_only()
}

fn owner<T: Serialize>(
    call: &Call<'_>,
    site: &Site,
    by: &Admitted,
    work: impl FnOnce(&OwnerRequest<'_>) -> Result<T, Problem>,
) -> Result<Answer, Problem> {
    work(&OwnerRequest::open(call, site, by)?).map(envelope::success)
}

fn own<T: Serialize>(
    call: &Call<'_>,
    site: &Site,
    by: &Admitted,
    work: impl FnOnce(&OwnRequest<'_>) -> Result<T, Problem>,
) -> Result<Answer, Problem> {
    work(&OwnRequest::open(call, site, by)?).map(envelope::success)
}
