//! Worlds that run, within the limit on running worlds. With a shared database, the limit applies
//! over all nodes, and a world runs on one of them.

use std::sync::{Arc, PoisonError};

use market::Timestamp;
use store::{AccountId, NewSlot, RUNNING_WORLD, RunSlotOutcome};

use super::{Connection, ConnectionId, Lineage, Registry};
use crate::health::briefly;
use crate::{Access, AccessError};

/// Result of a request to run a world.
#[derive(Debug)]
pub enum RunOutcome {
    /// The world counts as running until the slot is dropped.
    Runs(Connection),
    /// The world runs on another node.
    RunsElsewhere,
    /// The maximum number of worlds is running.
    TooMany,
}

impl Access {
    /// Takes a slot for the world of an account, unless `most` worlds run already on all nodes.
    pub fn run_world(
        &self,
        account: AccountId,
        now: Timestamp,
        most: u32,
    ) -> Result<RunOutcome, AccessError> {
        let registry = &self.cluster.registry;
        let Some(shared) = self.cluster.shared() else { return Ok(registry.run_world(account, most)) };
        let (lineage, transport) = (Lineage::new()?.0, RUNNING_WORLD.to_owned());
        let slot = NewSlot { account, lineage, transport, address: String::new(), since: now };
        Ok(match briefly(|| shared.run_world(&slot, most))? {
            RunSlotOutcome::Held { id } => {
                RunOutcome::Runs(registry.running(ConnectionId::of_slot(id), slot))
            }
            RunSlotOutcome::Running => RunOutcome::RunsElsewhere,
            RunSlotOutcome::TooMany => RunOutcome::TooMany,
        })
    }

    /// Returns the number of connections and streams of an account on other nodes, or `None` if
    /// there are no other nodes.
    pub fn clients_elsewhere(&self, account: AccountId) -> Result<Option<u32>, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(None) };
        Ok(Some(briefly(|| shared.clients_elsewhere(account))?))
    }

    /// Writes which slots of this node were freed, so that other nodes see it immediately. If the
    /// database does not answer, a heartbeat writes them later.
    pub fn write_freed_slots(&self) {
        if let Some(shared) = self.cluster.shared()
            && let Err(error) = briefly(|| shared.write_left())
        {
            self.cluster.note_unanswered(&error);
        }
    }
}

impl Registry {
    /// Takes a slot on a server without a shared database.
    fn run_world(self: &Arc<Registry>, account: AccountId, most: u32) -> RunOutcome {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.running.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            return RunOutcome::TooMany;
        }
        inner.last += 1;
        let id = ConnectionId(inner.last);
        inner.running.insert(id);
        RunOutcome::Runs(Connection { id, account, registry: Arc::clone(self) })
    }

    fn running(self: &Arc<Registry>, id: ConnectionId, slot: NewSlot) -> Connection {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let account = slot.account;
        inner.running.insert(id);
        inner.slots.insert(id, slot);
        Connection { id, account, registry: Arc::clone(self) }
    }
}
