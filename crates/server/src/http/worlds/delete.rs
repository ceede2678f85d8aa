//! `DELETE /v1/worlds/{name}`: deletes a world and revokes its account.

use access::Actor;
use schemars::JsonSchema;
use serde::Serialize;
use world::{Change, State};

use super::request::{ACCOUNT, NAME, OF_A_WORLD, OwnerRequest, problem};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::{Problem, Site};
use crate::mailbox::{ClosedBy, Kick};
use crate::worlds::{World, WorldError};

pub(super) const DELETE: Doc =
    Doc::new(Tag::Account, "deleteWorld", "Delete a world that has ended, or has not begun")
        .about("Its API key becomes invalid, its connections are closed, and its name is free again.")
        .parameters(&[NAME, ACCOUNT])
        .answers(&[AnswerDoc::ok("The deleted world", &[data::<Deleted>()])])
        .refuses(OF_A_WORLD);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeletedWorld")]
pub(super) struct Deleted {
    id: String,
    name: String,
}

impl OwnerRequest<'_> {
    pub(super) fn delete(&self) -> Result<Deleted, Problem> {
        let world = self.world()?;
        remove(self.site, &world, &self.by)?;
        Ok(Deleted { id: format!("w{}", world.id.0), name: world.name.clone() })
    }
}

/// Deletes a world if its state permits it.
pub(super) fn remove(site: &Site, world: &World, by: &Actor) -> Result<(), Problem> {
    // Nothing is stored for the world between the checks and the deletion.
    let _changing = world.begin();
    let accounts = site.core.access.database();
    let _: State = world.standing().state.after(Change::Delete).map_err(|error| problem(error.into()))?;
    world.write_out(&accounts).map_err(problem)?;
    let row = accounts.world_of(world.account).map_err(|error| problem(error.into()))?;
    // The deletion fails if the clock is moved meanwhile.
    let row = row.filter(|row| row.clock == world.stored()).ok_or_else(|| problem(WorldError::Moved))?;
    let deleted = site.core.access.delete_world(&row, by, site.core.machine_now());
    if !deleted.map_err(Problem::from_access)? {
        return Err(problem(WorldError::Moved));
    }
    site.core.worlds.forget(world.account);
    site.core.world_lives.forget(world.account, Kick::Closed(ClosedBy::Owner));
    for connection in site.links.list(Some(world.account)) {
        site.links.close(connection.id, ClosedBy::Owner);
    }
    Ok(())
}
