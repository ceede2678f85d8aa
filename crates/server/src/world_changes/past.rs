//! Resets a world to an earlier instant, changes the span of a world in the state `created`, and
//! copies a world as of an instant.

use market::Timestamp;
use paper::{JournalOperation, PaperError};
use serde_json::{Value, json};
use store::{AccountId, Accounts, StoreError, WorldLine};
use world::{Change, Settings, Span, State};

use crate::core::Core;
use crate::mailbox::Kick;
use crate::worlds::{LineKind, Log, Standing, World, WorldError};

/// Field for the instant of the copy, in the note at the beginning of the log of a copied world.
const COPIED_AT: &str = "copied_at";

/// Checks that an instant is between the start of a world and its clock.
pub(crate) fn check_past(core: &Core, world: &World, at: Timestamp) -> Result<(), WorldError> {
    let (start, now) = (world.span.start(), world.now(core.uptime()));
    if at < start || at > now { Err(WorldError::NotPast { at, start, now }) } else { Ok(()) }
}

/// Sets the clock of a world back, and removes the later entries of its account. The removed part
/// of the journal is archived, and the removed lines of the log are deleted. After a reset to the
/// start, only the initial state of the world remains.
///
/// The clock is set first. Until the journal is cut, the account is ahead of the clock and refuses
/// changes, so no order is placed in between. If the server is killed in between, the clock is at
/// the horizon of the account after a restart. The caller must close the connections.
pub(crate) fn reset(core: &Core, world: &World, at: Timestamp, actor: &str) -> Result<Standing, WorldError> {
    let _changing = world.begin();
    check_past(core, world, at)?;
    let before = world.standing();
    let after = before.state.after(Change::Reset)?;
    let is_start = at == world.span.start();
    let state = if is_start { State::Created } else { after };
    let accounts = core.access.database();
    world.add_events(core)?;
    world.write_out(&accounts)?;
    let first = if is_start { first_line(&accounts, world)? } else { None };
    // A copied account is rewound to the instant of the copy, and its work from there to the start
    // is repeated.
    let horizon = first.as_ref().and_then(horizon_of).unwrap_or(at);
    let cut = match &first {
        Some(first) => first.number.saturating_add(1),
        None => accounts.world_line_after(world.account, at)?.unwrap_or(u64::MAX >> 1),
    };
    let last = accounts.last_world_line(world.account, cut)?;
    let remaining = Log::reset_to(last.as_ref(), at, actor);
    let step = last.map_or(0, |last| last.step);
    let (course, stop_at, is_alone) = (None, None, false);
    let after = Standing { state, now: at, course, until: at, step, stop_at, is_alone, ..before };
    let after = world.write(&accounts, Some(after), Some((cut, remaining)))?;
    world.forget_ahead();
    core.world_lives.forget(world.account, Kick::ClockSetBack);
    let machine = core.machine_now();
    let name = core.paper.free_cut_name(world.account, machine)?;
    let operation = JournalOperation { name: &name, actor, reason: "the world was reset", machine };
    let keep = first.map(|first| first.entries);
    match core.paper.rewind_world(world.account, (horizon, keep), &operation) {
        // The journal has no entries after the instant, or no entries at all.
        Ok(_) | Err(PaperError::NotBefore { .. } | PaperError::NoJournal) => Ok(after),
        Err(error) => Err(error.into()),
    }
}

/// Returns the first note of a world's log. `copied_at` is the instant up to which the account was
/// copied.
fn beginning(span: Span, settings: &Settings, copied_at: Option<Timestamp>) -> Value {
    let (start, end) = (span.start().to_string(), span.end().to_string());
    let mut note = json!({"start": start, "end": end, "settings": settings.to_string()});
    if let (Some(at), Some(fields)) = (copied_at, note.as_object_mut()) {
        fields.insert(COPIED_AT.to_owned(), at.to_string().into());
    }
    note
}

/// Returns the instant up to which the account of a new world was copied, or `None` if it was not
/// copied.
fn copied_at(core: &Core, world: &World, kind: LineKind) -> Result<Option<Timestamp>, WorldError> {
    match kind {
        LineKind::Forked => Ok(core.paper.standing(world.account)?.horizon),
        _ => Ok(None),
    }
}

/// Returns the instant up to which the account of a world was copied, according to the first line
/// of its log.
fn horizon_of(first: &WorldLine) -> Option<Timestamp> {
    let note: Value = serde_json::from_str(&first.entry).ok()?;
    access::parse_instant(note.get(COPIED_AT)?.as_str()?).ok()
}

/// Returns the line with which the log of a world begins. For a copied world, this is the line
/// after the copied lines.
fn first_line(accounts: &Accounts, world: &World) -> Result<Option<WorldLine>, StoreError> {
    match accounts.last_world_line_of(world.account, LineKind::Forked.as_str())? {
        Some(forked) => Ok(Some(forked)),
        None => accounts.last_world_line_of(world.account, LineKind::Created.as_str()),
    }
}

/// Changes the span of a world. A new start resets the account to the initial state of the world,
/// because the clock may be set back. Returns whether the account was reset. If so, the caller must
/// close the connections.
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

/// Copies the paper account and the log of a world, as of an instant, into the account of a new
/// world.
pub(crate) fn copy_account(
    core: &Core,
    from: &World,
    to: AccountId,
    at: Timestamp,
    actor: &str,
) -> Result<(), WorldError> {
    let _changing = from.begin();
    let accounts = core.access.database();
    from.add_events(core)?;
    from.write_out(&accounts)?;
    // The journal has no entry between the last advance of the account and `at`. An account that
    // was never advanced has only its opening entry.
    let until = core.paper.standing(from.account)?.horizon.unwrap_or_default().min(at);
    let machine = core.machine_now();
    let operation = JournalOperation { name: "", actor, reason: "the world was forked", machine };
    core.paper.fork(from.account, to, Some(until), &operation)?;
    let end = accounts.world_line_after(from.account, at)?.unwrap_or(u64::MAX >> 1);
    Ok(accounts.copy_world_lines(from.account, to, end)?)
}

/// Copies the paper account of an account without a world, as of an instant that is not in the
/// future, into the account of a new world. If the account was last advanced before this instant,
/// the new world does the work in between.
pub(crate) fn copy_plain_account(
    core: &Core,
    from: AccountId,
    to: AccountId,
    at: Timestamp,
    actor: &str,
) -> Result<(), WorldError> {
    let standing = core.paper.standing(from)?;
    if standing.entries == 0 {
        // The source account would be opened with the defaults at its first request. The account of
        // the world is opened in the same way.
        return Ok(());
    }
    let until = standing.horizon.unwrap_or_default().min(at);
    let machine = core.machine_now();
    let reason = "a world was created with it";
    let operation = JournalOperation { name: "", actor, reason, machine };
    Ok(core.paper.fork(from, to, Some(until), &operation).map(drop)?)
}

/// Adds the first line to the log of a new world, after the copied lines if there are any.
pub(crate) fn begin_log(core: &Core, world: &World, kind: LineKind) -> Result<(), WorldError> {
    let _changing = world.begin();
    let accounts = core.access.database();
    world.read_log(&accounts)?;
    world.add_events(core)?;
    let standing = world.standing();
    let copied_at = copied_at(core, world, kind)?;
    world.note(kind, standing.now, &beginning(world.span.get(), &standing.settings, copied_at));
    let step = world.log().step;
    world.write(&accounts, Some(Standing { step, ..standing }), None).map(drop)
}
