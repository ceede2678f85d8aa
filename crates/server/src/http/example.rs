//! `GET /v1/example/{symbol}`: which market a symbol is of.

use access::Scope;
use serde_json::json;

use crate::command;
use crate::kit::{Admitted, Answer, Asks, Call, Problem, Row, Site, envelope};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] =
    &[Row::get("/v1/example/{symbol}", Asks::Account, Scope::Quote, Task::Data, show).at_home()];

fn show(call: &Call<'_>, _: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let symbol = command::symbol(call.parameter)?;
    Ok(envelope::success(json!({
        "symbol": symbol.as_str(),
        "market": symbol.market().as_str(),
        "asked_by": admitted.account().id.0,
    })))
}
