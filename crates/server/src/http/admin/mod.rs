//! What operators do through the service: see accounts, grant and withdraw, tell what levels rest upon, read the audit.
//! The command line does the same on the machine of the store.

mod office;

use access::Scope;
use serde_json::Value;

use crate::kit::{Admitted, Answer, Asks, Call, PermittedHandler, Problem, Row, Site, envelope};
use crate::metrics::Task;
use office::{Office, Report};

pub(super) const ROUTES: &[Row] = &[
    get("/v1/admin/accounts", |call, site, by| answer(call, site, &by, |office| office.accounts())),
    get("/v1/admin/accounts/{name}", |call, site, by| answer(call, site, &by, |office| office.account())),
    post("/v1/admin/accounts/{name}", |call, site, by| {
        answer(call, site, &by, |office| office.set_account())
    }),
    post("/v1/admin/accounts/{name}/rights", |call, site, by| {
        answer(call, site, &by, |office| office.grant())
    }),
    delete("/v1/admin/accounts/{name}/rights", |call, site, by| {
        answer(call, site, &by, |office| office.withdraw())
    }),
    get("/v1/admin/reported-assets", |call, site, by| {
        answer(call, site, &by, |office| office.reported_assets())
    }),
    post("/v1/admin/reported-assets", |call, site, by| {
        answer(call, site, &by, |office| office.report(Report::Assets))
    }),
    get("/v1/admin/reported-orders", |call, site, by| {
        answer(call, site, &by, |office| office.reported_orders())
    }),
    post("/v1/admin/reported-orders", |call, site, by| {
        answer(call, site, &by, |office| office.report(Report::Orders))
    }),
    get("/v1/admin/rates", |call, site, by| answer(call, site, &by, |office| office.rates())),
    post("/v1/admin/rates", |call, site, by| answer(call, site, &by, |office| office.report(Report::Rates))),
    get("/v1/admin/levels", |call, site, by| answer(call, site, &by, |office| office.levels())),
    post("/v1/admin/levels/{level}", |call, site, by| answer(call, site, &by, |office| office.set_level())),
    get("/v1/admin/audit", |call, site, by| answer(call, site, &by, |office| office.audit())),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Asks::Account, Scope::Operator, Task::Admin, handler).at_home()
}

const fn post(path: &'static str, handler: PermittedHandler) -> Row {
    Row::post(path, Asks::Account, Scope::Operator, Task::Admin, handler).at_home()
}

const fn delete(path: &'static str, handler: PermittedHandler) -> Row {
    Row::delete(path, Asks::Account, Scope::Operator, Task::Admin, handler).at_home()
}

fn answer(
    call: &Call<'_>,
    site: &Site,
    by: &Admitted,
    work: impl FnOnce(&Office<'_>) -> Result<Value, Problem>,
) -> Result<Answer, Problem> {
    work(&Office::open(call, site, by)).map(envelope::success)
}
