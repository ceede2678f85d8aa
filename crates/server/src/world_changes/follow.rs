//! Follows worlds that another node has moved: replaces the world by its stored row, and sends this
//! node's clients the pushes between the last published instant and the new instant. The pushes and
//! their numbers depend only on the store and the instants, so they equal those of the other node.

use std::sync::{Arc, MutexGuard};

use history::AsOf;
use store::AccountId;

use crate::core::Core;
use crate::live::SlowReaders;
use crate::mailbox::Kick;
use crate::pushes;
use crate::worlds::{World, WorldError};

/// Reads the rows of all worlds in memory again, and removes worlds that were deleted. Counts the
/// connections and streams of moving worlds on other nodes.
pub(crate) fn refresh(core: &Core) -> Result<(), WorldError> {
    for world in core.worlds.all() {
        if world.is_moving() {
            count_elsewhere(core, &world);
        }
        // A world that is being changed on this server is skipped, because its row will change.
        if let Some(_changing) = world.try_begin()
            && !follow(core, &world)?
        {
            core.worlds.forget(world.account);
            core.alerts.forget(world.account);
        }
    }
    Ok(())
}

/// Counts the connections and streams of a moving world on other nodes, because a world pauses when
/// the last one on any node is closed. If the database does not respond, the last count is used.
fn count_elsewhere(core: &Core, world: &World) {
    let Ok(Some(elsewhere)) = core.access.clients_elsewhere(world.account) else { return };
    if world.clients.counted_elsewhere(elsewhere, core.uptime()) {
        core.worlds.moving.notify_one();
    }
}

/// Reads the row of a world before a request, because another node may have moved the world. If the
/// database does not respond, the last known clock is used.
pub(crate) fn look(core: &Core, account: AccountId) {
    if !core.access.is_shared() {
        return;
    }
    let followed = core.worlds.of(&core.access.database(), account).and_then(|world| {
        let Some(_changing) = world.try_begin() else { return Ok(true) };
        follow(core, &world)
    });
    if let Err(error) = followed {
        tracing::debug!(%error, account = account.0, "cannot read the row of a world");
    }
}

impl World {
    /// Begins a change of a world that another node may have moved.
    pub(super) fn begin_current<'a>(
        self: &'a Arc<World>,
        core: &Core,
    ) -> Result<MutexGuard<'a, ()>, WorldError> {
        let changing = self.begin();
        if core.access.is_shared() {
            if !follow(core, self)? {
                return Err(WorldError::Unknown);
            }
            // The other node may have ended before it stored its last step.
            self.recover(&core.access.database())?;
        }
        Ok(changing)
    }
}

/// Replaces a world by its stored row, unless the world is running or has unstored changes on this
/// server. Returns whether the row exists. The caller must have begun a change.
fn follow(core: &Core, world: &Arc<World>) -> Result<bool, WorldError> {
    if world.is_moving() || world.has_unwritten() {
        return Ok(true);
    }
    let (before, accounts) = (world.standing(), core.access.database());
    let Some(row) = accounts.world_of(world.account)? else { return Ok(false) };
    let is_behind = |published| published != before.now;
    if row.clock == world.stored() && !pushes::published_until(core, world.account).is_some_and(is_behind) {
        return Ok(true);
    }
    // Requests wait until the pushes up to the new instant are queued.
    let movement = world.begin_movement();
    let acting = world.end_operations();
    if !world.adopt(&accounts)? {
        return Ok(false);
    }
    world.accept_row();
    let after = world.standing();
    let published = pushes::published_until(core, world.account);
    if after.step < before.step || published.is_some_and(|published| after.now < published) {
        world.clients.close(Kick::ClockSetBack);
        core.world_lives.forget(world.account, Kick::ClockSetBack);
    } else if published.is_some_and(|published| published < after.now) {
        let moved = (after.now, after.step);
        let published = pushes::publish_step(core, world, moved, None, SlowReaders::OF_SERVER);
        published.map_err(|error| WorldError::Publish(error.into()))?;
        pushes::compare_alerts_of_world(core, world.account, AsOf::Replay(after.now));
    }
    drop((acting, movement));
    if before != after {
        core.world_lives.wake_streams(world.account);
    }
    Ok(true)
}
