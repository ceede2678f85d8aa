//! Changes the first and the last instant of a world that has not begun.

use paper::{JournalOperation, PaperError};
use serde_json::json;
use world::{Change, Span};

use super::log::Log;
use super::past::{beginning, first_line, horizon_of};
use super::{LineKind, Standing, World, WorldError};
use crate::core::Core;
use crate::mailbox::Kick;

/// Changes the span of a world. A new start resets the account to the initial state of the world,
/// because its clock may be set back. Returns whether it was reset; in that case the caller closes
/// the connections.
pub(crate) fn set_span(core: &Core, world: &World, span: Span, actor: &str) -> Result<bool, WorldError> {
    let _changing = world.begin();
    let before = world.standing();
    let state = before.state.after(Change::Set)?;
    let (known, accounts) = (world.span.get(), core.access.database());
    if span.start() == known.start() {
        if span != known {
            world.note(LineKind::Changed, before.now, &json!({"end": span.end().to_string()}));
            world.write_with(&accounts, Some(before), None, Some(span))?;
        }
        return Ok(false);
    }
    world.add_events(core)?;
    world.write_out(&accounts)?;
    let first = first_line(&accounts, world)?.ok_or(WorldError::Unknown)?;
    let copied_at = horizon_of(&first);
    if let Some(at) = copied_at.filter(|at| span.start() < *at) {
        return Err(WorldError::BeforeCopy { start: span.start(), at });
    }
    let last = accounts.last_world_line(world.account, first.number)?;
    let mut remaining = Log::after(last.as_ref());
    let kind = if first.kind == LineKind::Forked.as_str() { LineKind::Forked } else { LineKind::Created };
    let note = beginning(span, &before.settings, copied_at);
    remaining.add(kind, span.start(), note.to_string(), String::new());
    let step = remaining.step;
    let after = Standing { state, step, ..Standing::at_start(span, before.settings) };
    world.write_with(&accounts, Some(after), Some((first.number, remaining)), Some(span))?;
    world.forget_ahead();
    core.world_lives.forget(world.account, Kick::ClockSetBack);
    let standing = core.paper.standing(world.account)?;
    if standing.entries == first.entries && standing.horizon == copied_at {
        return Ok(true);
    }
    let machine = core.machine_now();
    let name = core.paper.free_cut_name(world.account, machine)?;
    let operation = JournalOperation { name: &name, actor, reason: "the start was changed", machine };
    let keep = (copied_at.unwrap_or_default(), Some(first.entries));
    match core.paper.rewind_world(world.account, keep, &operation) {
        Ok(_) | Err(PaperError::NoJournal) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
