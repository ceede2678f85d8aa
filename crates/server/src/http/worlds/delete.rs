//! `DELETE /v1/worlds/{name}`: deletes a world and revokes its account.

use schemars::JsonSchema;
use serde::Serialize;

use super::request::{ACCOUNT, NAME, OF_A_WORLD, OwnerRequest, problem};
use crate::kit::Problem;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::world_changes;

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
        world_changes::remove(&self.site.core, &self.site.links, &world, &self.by).map_err(problem)?;
        Ok(Deleted { id: format!("w{}", world.id.0), name: world.name.clone() })
    }
}
