//! What operators do through the service: see accounts, grant and withdraw, tell what levels rest upon, read the audit.
//! The command line does the same on the machine of the store.

mod office;

use serde_json::Value;

use crate::kit::{Answer, Asks, Call, Problem, Row, Site, envelope};
use crate::metrics::Task;
use office::{Office, Report};

pub(super) const ROUTES: &[Row] = &[
    get("/v1/admin/accounts", |call, site| answer(call, site, |office| office.accounts())),
    get("/v1/admin/accounts/{name}", |call, site| answer(call, site, |office| office.account())),
    post("/v1/admin/accounts/{name}", |call, site| answer(call, site, |office| office.set_account())),
    post("/v1/admin/accounts/{name}/rights", |call, site| answer(call, site, |office| office.grant())),
    delete("/v1/admin/accounts/{name}/rights", |call, site| answer(call, site, |office| office.withdraw())),
    get("/v1/admin/reported-assets", |call, site| answer(call, site, |office| office.reported_assets())),
    post("/v1/admin/reported-assets", |call, site| {
        answer(call, site, |office| office.report(Report::Assets))
    }),
    get("/v1/admin/reported-orders", |call, site| answer(call, site, |office| office.reported_orders())),
    post("/v1/admin/reported-orders", |call, site| {
        answer(call, site, |office| office.report(Report::Orders))
    }),
    get("/v1/admin/rates", |call, site| answer(call, site, |office| office.rates())),
    post("/v1/admin/rates", |call, site| answer(call, site, |office| office.report(Report::Rates))),
    get("/v1/admin/levels", |call, site| answer(call, site, |office| office.levels())),
    post("/v1/admin/levels/{level}", |call, site| answer(call, site, |office| office.set_level())),
    get("/v1/admin/audit", |call, site| answer(call, site, |office| office.audit())),
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

fn answer(
    call: &Call<'_>,
    site: &Site,
    work: impl FnOnce(&Office<'_>) -> Result<Value, Problem>,
) -> Result<Answer, Problem> {
    work(&Office::open(call, site)?).map(envelope::success)
}
