//! The past of a world: going back to an instant, and copying a world as of an instant.

use market::Timestamp;
use paper::{JournalOperation, PaperError};
use store::AccountId;
use world::{Change, State};

use super::{Standing, World, WorldError};
use crate::core::Core;
use crate::mailbox::Kick;

/// Checks that a world can show an instant: it is not before the start, and not in the future.
pub(crate) fn check_past(core: &Core, world: &World, at: Timestamp) -> Result<(), WorldError> {
    let (start, now) = (world.span.start(), world.now(core.uptime()));
    if at < start || at > now { Err(WorldError::NotPast { start, now }) } else { Ok(()) }
}

/// Sets the clock of a world back, and removes what its account has done since then. The removed part
/// of the journal is archived.
///
/// The clock is set first: until the journal is cut, the account is ahead of its clock and refuses
/// changes, so that nothing is placed between the two. The caller closes the connections.
pub(crate) fn reset(core: &Core, world: &World, at: Timestamp, actor: &str) -> Result<Standing, WorldError> {
    let _changing = world.begin();
    check_past(core, world, at)?;
    let before = world.standing();
    let after = before.state.after(Change::Reset)?;
    let state = if at == world.span.start() { State::Created } else { after };
    let after = world.put(
        &core.access.database(),
        &before,
        Standing { state, now: at, course: None, stop_at: None, is_alone: false, ..before.clone() },
    )?;
    core.world_lives.forget(world.account, Kick::ClockSetBack);
    let machine = core.machine_now();
    let name = core.paper.free_cut_name(world.account, machine)?;
    let operation = JournalOperation { name: &name, actor, reason: "the world was reset", machine };
    match core.paper.rewind(world.account, at, &operation) {
        // The journal ends before that instant, or nothing has ever happened.
        Ok(_) | Err(PaperError::NotBefore { .. } | PaperError::NoJournal) => Ok(after),
        Err(error) => Err(error.into()),
    }
}

/// Copies the paper account of a world, as of an instant, to the account of a new world.
pub(crate) fn copy_account(
    core: &Core,
    from: &World,
    to: AccountId,
    at: Timestamp,
    actor: &str,
) -> Result<(), PaperError> {
    // Nothing happened between the last advance and the instant. An account that was never advanced
    // has only its opening.
    let until = core.paper.standing(from.account)?.horizon.unwrap_or_default().min(at);
    let machine = core.machine_now();
    let operation = JournalOperation { name: "", actor, reason: "the world was forked", machine };
    core.paper.fork(from.account, to, Some(until), &operation).map(drop)
}
