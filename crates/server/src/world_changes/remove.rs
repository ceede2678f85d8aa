//! Deletes worlds on request, and worlds that ended some days ago.

use access::Actor;
use world::{Change, State};

use crate::core::Core;
use crate::links::Links;
use crate::mailbox::{ClosedBy, Kick};
use crate::worlds::{World, WorldError};

/// Maximum number of worlds that one portion of the job deletes.
const PORTION: u32 = 16;
const DAY_S: i64 = 86_400;

/// Deletes a world if its state permits this. The account of the world is revoked, and its
/// connections are closed.
pub(crate) fn remove(core: &Core, links: &Links, world: &World, by: &Actor) -> Result<(), WorldError> {
    // Held, so that no change is stored between the checks and the deletion.
    let _changing = world.begin();
    let accounts = core.access.database();
    let _: State = world.standing().state.after(Change::Delete)?;
    world.write_out(&accounts)?;
    let row = accounts.world_of(world.account)?;
    // The deletion fails if the clock is moved in the meantime.
    let row = row.filter(|row| row.clock == world.stored()).ok_or(WorldError::Moved)?;
    if !core.access.delete_world(&row, by, core.machine_now())? {
        return Err(WorldError::Moved);
    }
    core.worlds.forget(world.account);
    core.world_lives.forget(world.account, Kick::Closed(ClosedBy::Owner));
    core.alerts.forget(world.account);
    for connection in links.list(Some(world.account)) {
        links.close(connection.id, ClosedBy::Owner);
    }
    Ok(())
}

/// Deletes worlds that ended at least this number of days ago by the machine clock. Returns whether
/// there may be more such worlds.
pub(crate) fn remove_ended(core: &Core, links: &Links, days: u32) -> Result<bool, WorldError> {
    let (now, accounts) = (core.machine_now(), core.access.database());
    accounts.note_ended_worlds(State::Ended.as_str(), now)?;
    let until = market::Timestamp(now.0.saturating_sub(i64::from(days).saturating_mul(DAY_S)));
    let mut removed = 0;
    for row in accounts.worlds_ended_until(until, PORTION)? {
        let world = core.worlds.of(&accounts, row.account)?;
        // A world that was reset in the meantime is not deleted.
        if world.standing().state != State::Ended {
            continue;
        }
        match remove(core, links, &world, &Actor::Service) {
            Ok(()) => removed += 1,
            Err(WorldError::Moved | WorldError::WrongState(_) | WorldError::Unknown) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed == PORTION)
}
