//! `GET` and `POST /v1/admin/clock`: reads the market clock, and moves a stopped clock forward.

use market::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::admin_request::{instant, wrong};
use crate::core::Core;
use crate::kit::doc::refusals::BAD_REQUEST;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Call, Problem, Site};
use crate::pushes;
use crate::refusal::Refusal;
use crate::written::Instant;

pub(super) const CLOCK: Doc = Doc::new(Tag::Admin, "adminClock", "Current time of the market clock")
    .answers(&[AnswerDoc::ok("The clock", &[data::<Shown>()])]);

pub(super) const STEP: Doc = Doc::new(Tag::Admin, "adminStepClock", "Advance a stopped market clock")
    .body(&[Media::json::<Step>()])
    .answers(&[AnswerDoc::ok("The clock", &[data::<Shown>()])])
    .refuses(&[BAD_REQUEST]);

/// 2100-01-01, the exclusive upper bound of the clock. The clock cannot be moved back, so this
/// limit catches typos in the year.
const CLOCK_END: Timestamp = Timestamp(4_102_444_800);

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ClockStep")]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// An instant such as 2026-03-18T02:00:15Z, or Unix seconds as a number.
    now: Value,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Clock")]
pub(super) struct Shown {
    now: Instant,
    /// `standing` (stopped), `running`, or `machine` if the machine clock is used.
    pace: &'static str,
    /// Market seconds per machine second.
    speed: f64,
}

pub(super) fn show(site: &Site) -> Shown {
    shown(&site.core)
}

pub(super) fn step(call: &Call<'_>, site: &Site) -> Result<Shown, Problem> {
    let Step { now } = call.json()?;
    let to = instant(Some(now))?.ok_or_else(|| wrong("now is required, such as 2026-03-18T02:00:15Z"))?;
    move_to(&site.core, to)?;
    Ok(shown(&site.core))
}

/// Moves a stopped clock forward. Returns when all pushes of the movement are queued.
pub(in crate::http) fn move_to(core: &Core, to: Timestamp) -> Result<(), Problem> {
    if to >= CLOCK_END {
        return Err(wrong("the market clock ends with the year 2099"));
    }
    core.market_clock().step_to(to).map_err(|error| wrong(&error.to_string()))?;
    pushes::publish(core).map_err(Refusal::from)?;
    // Wake the jobs that bring accounts to the new time, so that this does not wait for a request.
    core.listeners.sooner().notify_one();
    // The pushes of the next minute are precomputed.
    core.live.sooner().notify_one();
    core.paper_levels.tally_soon();
    core.statements_due.notify_one();
    Ok(())
}

fn shown(core: &Core) -> Shown {
    let pace = core.market_clock().pace();
    Shown { now: Instant::utc(core.market_now().now()), pace: pace.kind(), speed: pace.factor() }
}
