//! `POST /v1/gridtrading/cancel`, `/suspend` and `/restart`.

use schemars::JsonSchema;
use serde::Deserialize;
use trading::{Command, GridId};

use super::docs::REFUSALS;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::query::grid_not_found;
use crate::kit::trader::{Nothing, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const CANCEL: Doc = Doc::new(Tag::Trade, "cancelGridOrder", "Cancel a grid and its open orders")
    .body(&[Media::json::<Which>()])
    .answers(&[AnswerDoc::ok("The grid was cancelled", &[data::<Nothing>()])])
    .refuses(REFUSALS);

pub(super) const SUSPEND: Doc =
    Doc::new(Tag::Trade, "suspendGridOrder", "Suspend a grid; its open orders stay open")
        .body(&[Media::json::<Which>()])
        .answers(&[AnswerDoc::ok("The grid was suspended", &[data::<Nothing>()])])
        .refuses(REFUSALS);

pub(super) const RESTART: Doc =
    Doc::new(Tag::Trade, "restartGridOrder", "Resume a suspended grid from its base price")
        .body(&[Media::json::<Which>()])
        .answers(&[AnswerDoc::ok("The grid was resumed", &[data::<Nothing>()])])
        .refuses(REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "GridOrderId")]
#[serde(default)]
pub(super) struct Which {
    order_id: Field,
}

pub(super) fn cancel(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    change(call, site, &admitted, |id| Command::CancelGrid { id })
}

pub(super) fn suspend(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    change(call, site, &admitted, |id| Command::SuspendGrid { id })
}

pub(super) fn restart(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    change(call, site, &admitted, |id| Command::RestartGrid { id })
}

fn change(
    call: &Call<'_>,
    site: &Site,
    admitted: &Admitted,
    command: impl FnOnce(GridId) -> Command,
) -> Result<Answer, Problem> {
    let trader = Trader::open(site, admitted);
    let which: Which = body(call)?;
    let id = grid_id(&which.order_id)?;
    trader.command(&command(id), None)?;
    Ok(envelope::success(Nothing {}))
}

/// Parses a grid id. An invalid id is reported as not found.
pub(super) fn grid_id(field: &Field) -> Result<GridId, Problem> {
    field.required("order_id")?.parse().map_err(|_| grid_not_found())
}
