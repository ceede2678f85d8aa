//! What a node does with every beat so that it knows nothing that is not so any more: it forgets accounts from which something was taken elsewhere, and gives up
//! seats that nobody sits on.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use store::{AccountId, Shared, SlotEnding};

use crate::{Access, AccessError, ConnectionId};

/// Withdrawals are read for longer than this after they were made.
const WITHDRAWALS_KNOWN: Duration = Duration::from_secs(3_600);
/// If more come at once, everything is forgotten: it is read again by those who need it.
const WITHDRAWALS_MAX: u32 = 10_000;
/// How often seats are compared.
const SEATS_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    /// Up to which version withdrawals were taken note of, and when.
    withdrawals: Option<(i64, Duration)>,
    /// Slots of this node in the database without a connection when that was looked at last, and connections without a seat there.
    strays: HashSet<i64>,
    without_slot: HashSet<i64>,
    slots_at: Option<Duration>,
}

impl Access {
    /// What a node knows of an account is of use while the database is away; what was taken from it meanwhile must not be good again then.
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
            // Nobody has told what was taken before.
            None => {
                let version = self.current_version()?;
                self.forget_accounts(None, version);
                version
            }
        };
        self.lock_upkeep().withdrawals = Some((version, uptime));
        Ok(())
    }

    /// Gives up seats that the database has and this node has not, and takes those that the database lacks, each if it is so twice in a row: one that is taken
    /// just now is in both a moment later. They come to be where an answer of the database was lost, and while it was away.
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

    /// Connections that are to be closed here. The seat of one that is not here any more is given up: it was only not written yet.
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
        // Nothing is half done in it when a thread panics.
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
