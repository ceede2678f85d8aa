//! `GET /v1/example/{symbol}`: which market a symbol is of.

use serde_json::json;

use crate::command;
use crate::kit::{Answer, Asks, Call, Problem, Row, Site, envelope};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] =
    &[Row::get("/v1/example/{symbol}", Asks::Account, Task::Data, show).at_home()];

fn show(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    let caller = call.caller(site)?;
    let symbol = command::symbol(call.parameter)?;
    Ok(envelope::success(json!({
        "symbol": symbol.as_str(),
        "market": symbol.market().as_str(),
        "asked_by": caller.who.account().0,
    })))
}
