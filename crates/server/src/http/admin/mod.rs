//! Operator endpoints, which list, create and revoke accounts, grant and withdraw rights, report
//! assets and orders for levels, hide topics, and read the audit log. The command line offers the
//! same operations on the store's machine.

mod account_life;
mod accounts;
mod admin_request;
mod audit;
mod clock;
mod mirrors;
mod paper_accounts;
mod reports;
mod rights;
mod topics;

use access::Scope;
use serde::Serialize;

use crate::kit::{Accepts, Admitted, Answer, Call, PermittedHandler, Problem, Row, Site, envelope};
use crate::metrics::Task;
use admin_request::AdminRequest;
pub(super) use clock::move_to as move_clock;
use paper_accounts::{OperatorRequest, PaperAccount};
use reports::Report;

pub(super) const ROUTES: &[Row] = &[
    get("/v1/admin/accounts", |call, site, by| answer(call, site, &by, |request| request.accounts()))
        .doc(&accounts::ACCOUNTS),
    post("/v1/admin/accounts", |call, site, by| answer(call, site, &by, |request| request.create_account()))
        .doc(&account_life::CREATE_ACCOUNT),
    get("/v1/admin/accounts/{name}", |call, site, by| answer(call, site, &by, |request| request.account()))
        .doc(&accounts::SHOW_ACCOUNT),
    post("/v1/admin/accounts/{name}", |call, site, by| {
        answer(call, site, &by, |request| request.set_account())
    })
    .doc(&accounts::SET_ACCOUNT),
    post("/v1/admin/accounts/{name}/revoke", |call, site, by| {
        answer(call, site, &by, |request| request.revoke())
    })
    .doc(&account_life::REVOKE),
    post("/v1/admin/accounts/{name}/password-link", |call, site, by| {
        answer(call, site, &by, |request| request.issue_password_link())
    })
    .doc(&account_life::ISSUE_PASSWORD_LINK),
    delete("/v1/admin/accounts/{name}/password-link", |call, site, by| {
        answer(call, site, &by, |request| request.withdraw_password_link())
    })
    .doc(&account_life::WITHDRAW_PASSWORD_LINK),
    post("/v1/admin/accounts/{name}/rights", |call, site, by| {
        answer(call, site, &by, |request| request.grant())
    })
    .doc(&rights::GRANT),
    delete("/v1/admin/accounts/{name}/rights", |call, site, by| {
        answer(call, site, &by, |request| request.withdraw())
    })
    .doc(&rights::WITHDRAW),
    get("/v1/admin/reported-assets", |call, site, by| {
        answer(call, site, &by, |request| request.reported_assets())
    })
    .doc(&reports::REPORTED_ASSETS),
    post("/v1/admin/reported-assets", |call, site, by| {
        answer(call, site, &by, |request| request.report(Report::Assets))
    })
    .doc(&reports::REPORT_ASSETS),
    get("/v1/admin/reported-orders", |call, site, by| {
        answer(call, site, &by, |request| request.reported_orders())
    })
    .doc(&reports::REPORTED_ORDERS),
    post("/v1/admin/reported-orders", |call, site, by| {
        answer(call, site, &by, |request| request.report(Report::Orders))
    })
    .doc(&reports::REPORT_ORDERS),
    get("/v1/admin/rates", |call, site, by| answer(call, site, &by, |request| request.rates()))
        .doc(&reports::RATES),
    post("/v1/admin/rates", |call, site, by| {
        answer(call, site, &by, |request| request.report(Report::Rates))
    })
    .doc(&reports::REPORT_RATES),
    get("/v1/admin/levels", |call, site, by| answer(call, site, &by, |request| request.levels()))
        .doc(&rights::LEVELS),
    post("/v1/admin/levels/{level}", |call, site, by| answer(call, site, &by, |request| request.set_level()))
        .doc(&rights::SET_LEVEL),
    get("/v1/admin/audit", |call, site, by| answer(call, site, &by, |request| request.audit()))
        .doc(&audit::AUDIT),
    get("/v1/admin/mirrors", |call, site, by| answer(call, site, &by, |request| request.mirrors()))
        .doc(&mirrors::LIST),
    post("/v1/admin/mirrors/{name}/fetch", |call, site, by| {
        answer(call, site, &by, |request| request.fetch())
    })
    .doc(&mirrors::FETCH),
    get("/v1/admin/topics", |call, site, by| answer(call, site, &by, |request| request.topics()))
        .doc(&topics::TOPICS),
    post("/v1/admin/topics/{id}/hide", |call, site, by| {
        answer(call, site, &by, |request| request.hide_topic())
    })
    .doc(&topics::HIDE),
    post("/v1/admin/topics/{id}/restore", |call, site, by| {
        answer(call, site, &by, |request| request.restore_topic())
    })
    .doc(&topics::RESTORE),
    get("/v1/admin/clock", |_, site, _| Ok(envelope::success(clock::show(site)))).doc(&clock::CLOCK),
    post("/v1/admin/clock", |call, site, _| clock::step(call, site).map(envelope::success)).doc(&clock::STEP),
    get("/v1/admin/paper/{name}", |call, site, by| paper_account(call, site, &by, |request| request.show()))
        .doc(&paper_accounts::SHOW),
    post("/v1/admin/paper/{name}/deposit", |call, site, by| {
        paper_account(call, site, &by, |request| request.deposit())
    })
    .doc(&paper_accounts::DEPOSIT),
    post("/v1/admin/paper/{name}/withdraw", |call, site, by| {
        paper_account(call, site, &by, |request| request.withdraw())
    })
    .doc(&paper_accounts::WITHDRAW),
    post("/v1/admin/paper/{name}/exchange", |call, site, by| {
        paper_account(call, site, &by, |request| request.exchange())
    })
    .doc(&paper_accounts::EXCHANGE),
    post("/v1/admin/paper/{name}/adjust", |call, site, by| {
        paper_account(call, site, &by, |request| request.adjust())
    })
    .doc(&paper_accounts::ADJUST),
    post("/v1/admin/paper/{name}/position", |call, site, by| {
        paper_account(call, site, &by, |request| request.position())
    })
    .doc(&paper_accounts::POSITION),
    post("/v1/admin/paper/{name}/credit", |call, site, by| {
        paper_account(call, site, &by, |request| request.credit())
    })
    .doc(&paper_accounts::CREDIT),
    post("/v1/admin/paper/{name}/settings", |call, site, by| {
        paper_account(call, site, &by, |request| request.settings())
    })
    .doc(&paper_accounts::CHANGE_SETTINGS),
    post("/v1/admin/paper/{name}/rewind", |call, site, by| {
        paper_account(call, site, &by, |request| request.rewind())
    })
    .doc(&paper_accounts::REWIND),
    post("/v1/admin/paper/{name}/reset", |call, site, by| {
        paper_account(call, site, &by, |request| request.reset())
    })
    .doc(&paper_accounts::RESET),
    post("/v1/admin/paper/{name}/fork", |call, site, by| {
        paper_account(call, site, &by, |request| request.fork())
    })
    .doc(&paper_accounts::FORK),
];

const fn get(path: &'static str, handler: PermittedHandler) -> Row {
    Row::get(path, Accepts::Account, Scope::Operator, Task::Admin, handler).own_region_only()
}

const fn post(path: &'static str, handler: PermittedHandler) -> Row {
    Row::post(path, Accepts::Account, Scope::Operator, Task::Admin, handler).own_region_only()
}

const fn delete(path: &'static str, handler: PermittedHandler) -> Row {
    Row::delete(path, Accepts::Account, Scope::Operator, Task::Admin, handler).own_region_only()
}

fn paper_account(
    call: &Call<'_>,
    site: &Site,
    by: &Admitted,
    work: impl FnOnce(&OperatorRequest<'_>) -> Result<PaperAccount, Problem>,
) -> Result<Answer, Problem> {
    work(&OperatorRequest::open(call, site, by)?).map(envelope::success)
}

fn answer<T: Serialize>(
    call: &Call<'_>,
    site: &Site,
    by: &Admitted,
    work: impl FnOnce(&AdminRequest<'_>) -> Result<T, Problem>,
) -> Result<Answer, Problem> {
    work(&AdminRequest::open(call, site, by)).map(envelope::success)
}
