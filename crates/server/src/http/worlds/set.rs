//! `POST /v1/worlds/{name}/set`: changes the first and the last instant of a world that is in the
//! state `created`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::request::{ACCOUNT, NAME, OF_A_WORLD, OwnerRequest, instant, problem, wrong};
use super::shown::{AS_IT_IS_NOW, WorldDocument};
use super::span::checked_span;
use crate::kit::Problem;
use crate::kit::doc::{Doc, Media, Tag};
use crate::world_changes;

pub(super) const SET: Doc =
    Doc::new(Tag::Account, "setWorld", "Change the start and the end of a world that has not begun")
        .about(
            "With another start, the account of the world goes back to what the world was created with, and \
             connections of the world are closed, as with a reset.",
        )
        .parameters(&[NAME, ACCOUNT])
        .body(&[Media::json::<SetWorld>()])
        .answers(AS_IT_IS_NOW)
        .refuses(OF_A_WORLD);

/// New start and end of a world. At least one field is required; an absent field leaves its value
/// unchanged.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SetWorld {
    /// First instant, such as 2026-03-18T09:30:00+08:00.
    start: Option<String>,
    /// Last instant.
    end: Option<String>,
}

impl OwnerRequest<'_> {
    pub(super) fn set(&self) -> Result<WorldDocument, Problem> {
        let SetWorld { start, end } = self.call.json()?;
        if start.is_none() && end.is_none() {
            return Err(wrong("start or end is required"));
        }
        let (world, core) = (self.world()?, &self.site.core);
        let known = world.span.get();
        let start = start.as_deref().map_or(Ok(known.start()), instant)?;
        let end = end.as_deref().map_or(Ok(known.end()), instant)?;
        let span = checked_span(core, start, Some(end))?;
        if world_changes::set_span(core, &world, span, &self.by.to_string()).map_err(problem)? {
            self.site.links.close_set_back(world.account);
        }
        self.shown(&world)
    }
}
