//! Heartbeat upkeep: drops cached accounts from which something was withdrawn at another node, and
//! releases orphaned connection slots.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use store::{AccountId, Shared, SlotEnding};

use crate::{Access, AccessError, ConnectionId};

/// Withdrawals stay readable for longer than this.
const WITHDRAWALS_KNOWN: Duration = Duration::from_secs(3_600);
/// If there are more, the whole cache is dropped and read again on demand.
const WITHDRAWALS_MAX: u32 = 10_000;
/// How often slots are compared with the database.
const SEATS_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    /// The version up to which withdrawals were applied, and when.
    withdrawals: Option<(i64, Duration)>,
    /// At the last comparison: slots of this node in the database without a connection, and
    /// connections without a slot in the database.
    strays: HashSet<i64>,
    without_slot: HashSet<i64>,
    slots_at: Option<Duration>,
}

impl Access {
    /// Drops cached state of accounts after withdrawals. The cache serves requests while the
    /// database is unreachable, and must not contain withdrawn credentials then.
    pub(crate) fn forget_withdrawn(&self, shared: &Shared, uptime: Duration) -> Result<(), AccessError> {
        let known = self.lock_upkeep().withdrawals;
        let known = known.filter(|(_, at)| uptime.saturating_sub(*at) < WITHDRAWALS_KNOWN);
        let version = match known {
            Some((version, _)) => {
                let rows = self.asked(shared.withdrawals(version, WITHDRAWALS_MAX))?;
                let last = rows.last().map_or(version, |(version, _)| *version);
                let accounts: HashSet<AccountId> = rows.iter().map(|(_, account)| *account).collect();
                let is_all = rows.len() >= WITHDRAWALS_MAX as usize;
                if !accounts.is_empty() {
                    self.forget_accounts((!is_all).then_some(&accounts), last);
                }
                last
            }
            // Earlier withdrawals are unknown.
            None => {
                let version = self.current_version()?;
                self.forget_accounts(None, version);
                version
            }
        };
        self.lock_upkeep().withdrawals = Some((version, uptime));
        Ok(())
    }

    /// Releases slots that exist in the database and not at this node, and writes those that the
    /// database lacks, each if it was so twice in a row: a slot that is just being taken is in both
    /// a moment later. They arise when a response of the database is lost, and while it is
    /// unreachable.
    pub(crate) fn compare_slots(&self, shared: &Arc<Shared>, uptime: Duration) -> Result<(), AccessError> {
        let mut upkeep = self.lock_upkeep();
        if upkeep.slots_at.is_some_and(|at| uptime.saturating_sub(at) < SEATS_EVERY) {
            return Ok(());
        }
        upkeep.slots_at = Some(uptime);
        drop(upkeep);
        let mut slots = self.registry.slots();
        let rows: HashSet<i64> = self.asked(shared.own_slots())?.into_iter().collect();
        let strays: HashSet<i64> =
            rows.iter().copied().filter(|id| !self.registry.has(ConnectionId::of_slot(*id))).collect();
        let mut upkeep = self.lock_upkeep();
        strays.intersection(&upkeep.strays).for_each(|id| shared.leave(*id));
        upkeep.strays = strays;
        let without_slot: HashSet<i64> =
            slots.iter().map(|(id, _)| *id).filter(|id| !rows.contains(id)).collect();
        let before = std::mem::replace(&mut upkeep.without_slot, without_slot);
        slots.retain(|(id, _)| before.contains(id) && upkeep.without_slot.contains(id));
        drop(upkeep);
        if !slots.is_empty() {
            self.asked(shared.renew_slots(&slots))?;
        }
        Ok(())
    }

    /// Connections to be closed at this node. The slot of one that is already closed is released:
    /// its release was still pending.
    pub(crate) fn to_close(
        &self,
        shared: &Arc<Shared>,
        ended: Vec<(i64, SlotEnding)>,
    ) -> Vec<(ConnectionId, SlotEnding)> {
        let ended = ended.into_iter().map(|(id, why)| (ConnectionId::of_slot(id), why));
        let (here, gone): (Vec<_>, Vec<_>) = ended.partition(|(id, _)| self.registry.has(*id));
        gone.into_iter().for_each(|(id, _)| shared.leave(id.slot()));
        here
    }

    fn lock_upkeep(&self) -> std::sync::MutexGuard<'_, Upkeep> {
        // A panicking thread leaves no partial update.
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
