//! What operators do through the service: see accounts, grant and withdraw, tell what levels rest upon, read the audit.
//! The command line does the same on the machine of the store.

mod docs;
mod office;
mod shapes;

use access::Scope;
use serde::Serialize;

use crate::kit::{Admitted, Answer, Asks, Call, PermittedHandler, Problem, Row, Site, envelope};
use crate::metrics::Task;
use office::{Office, Report};

pub(super) const ROUTES: &[Row] = &[
    get("/v1/admin/accounts", |call, site, by| answer(call, site, &by, |office| office.accounts()))
        .doc(&docs::ACCOUNTS),
    get("/v1/admin/accounts/{name}", |call, site, by| answer(call, site, &by, |office| office.account()))
        .doc(&docs::SHOW_ACCOUNT),
    post("/v1/admin/accounts/{name}", |call, site, by| {
        answer(call, site, &by, |office| office.set_account())
    })
    .doc(&docs::SET_ACCOUNT),
    post("/v1/admin/accounts/{name}/rights", |call, site, by| {
        answer(call, site, &by, |office| office.grant())
    })
    .doc(&docs::GRANT),
    delete("/v1/admin/accounts/{name}/rights", |call, site, by| {
        answer(call, site, &by, |office| office.withdraw())
    })
    .doc(&docs::WITHDRAW),
    get("/v1/admin/reported-assets", |call, site, by| {
        answer(call, site, &by, |office| office.reported_assets())
    })
    .doc(&docs::REPORTED_ASSETS),
    post("/v1/admin/reported-assets", |call, site, by| {
        answer(call, site, &by, |office| office.report(Report::Assets))
    })
    .doc(&docs::REPORT_ASSETS),
    get("/v1/admin/reported-orders", |call, site, by| {
        answer(call, site, &by, |office| office.reported_orders())
    })
    .doc(&docs::REPORTED_ORDERS),
    post("/v1/admin/reported-orders", |call, site, by| {
        answer(call, site, &by, |office| office.report(Report::Orders))
    })
    .doc(&docs::REPORT_ORDERS),
    get("/v1/admin/rates", |call, site, by| answer(call, site, &by, |office| office.rates()))
        .doc(&docs::RATES),
    post("/v1/admin/rates", |call, site, by| answer(call, site, &by, |office| office.report(Report::Rates)))
        .doc(&docs::REPORT_RATES),
    get("/v1/admin/levels", |call, site, by| answer(call, site, &by, |office| office.levels()))
        .doc(&docs::LEVELS),
    post("/v1/admin/levels/{level}", |call, site, by| answer(call, site, &by, |office| office.set_level()))
        .doc(&docs::SET_LEVEL),
    get("/v1/admin/audit", |call, site, by| answer(call, site, &by, |office| office.audit()))
        .doc(&docs::AUDIT),
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

fn answer<T: Serialize>(
    call: &Call<'_>,
    site: &Site,
    by: &Admitted,
    work: impl FnOnce(&Office<'_>) -> Result<T, Problem>,
) -> Result<Answer, Problem> {
    work(&Office::open(call, site, by)).map(envelope::success)
}
