//! What operators do through the service: see accounts, grant and withdraw, tell what levels rest upon, read the audit.
//! The command line does the same on the machine of the store.

mod docs;
mod office;
mod shapes;

use serde::Serialize;

use crate::kit::{Answer, Asks, Call, Problem, Row, Site, envelope};
use crate::metrics::Task;
use office::{Office, Report};

pub(super) const ROUTES: &[Row] = &[
    get("/v1/admin/accounts", |call, site| answer(call, site, |office| office.accounts()))
        .doc(&docs::ACCOUNTS),
    get("/v1/admin/accounts/{name}", |call, site| answer(call, site, |office| office.account()))
        .doc(&docs::SHOW_ACCOUNT),
    post("/v1/admin/accounts/{name}", |call, site| answer(call, site, |office| office.set_account()))
        .doc(&docs::SET_ACCOUNT),
    post("/v1/admin/accounts/{name}/rights", |call, site| answer(call, site, |office| office.grant()))
        .doc(&docs::GRANT),
    delete("/v1/admin/accounts/{name}/rights", |call, site| answer(call, site, |office| office.withdraw()))
        .doc(&docs::WITHDRAW),
    get("/v1/admin/reported-assets", |call, site| answer(call, site, |office| office.reported_assets()))
        .doc(&docs::REPORTED_ASSETS),
    post("/v1/admin/reported-assets", |call, site| answer(call, site, |office| office.report(Report::Assets)))
        .doc(&docs::REPORT_ASSETS),
    get("/v1/admin/reported-orders", |call, site| answer(call, site, |office| office.reported_orders()))
        .doc(&docs::REPORTED_ORDERS),
    post("/v1/admin/reported-orders", |call, site| answer(call, site, |office| office.report(Report::Orders)))
        .doc(&docs::REPORT_ORDERS),
    get("/v1/admin/rates", |call, site| answer(call, site, |office| office.rates())).doc(&docs::RATES),
    post("/v1/admin/rates", |call, site| answer(call, site, |office| office.report(Report::Rates)))
        .doc(&docs::REPORT_RATES),
    get("/v1/admin/levels", |call, site| answer(call, site, |office| office.levels())).doc(&docs::LEVELS),
    post("/v1/admin/levels/{level}", |call, site| answer(call, site, |office| office.set_level()))
        .doc(&docs::SET_LEVEL),
    get("/v1/admin/audit", |call, site| answer(call, site, |office| office.audit())).doc(&docs::AUDIT),
];

type Handler = fn(&Call<'_>, &Site) -> Result<Answer, Problem>;

const fn get(path: &'static str, handler: Handler) -> Row {
    Row::get(path, Asks::Account, Task::Admin, handler).at_home()
}

const fn post(path: &'static str, handler: Handler) -> Row {
    Row::post(path, Asks::Account, Task::Admin, handler).at_home()
}

const fn delete(path: &'static str, handler: Handler) -> Row {
    Row::delete(path, Asks::Account, Task::Admin, handler).at_home()
}

fn answer<T: Serialize>(
    call: &Call<'_>,
    site: &Site,
    work: impl FnOnce(&Office<'_>) -> Result<T, Problem>,
) -> Result<Answer, Problem> {
    work(&Office::open(call, site)?).map(envelope::success)
}
