//! How much is done to one account at a time. An account that has a lot to catch up with is brought forward in portions, each written
//! before the next begins, so that no other account waits for all of them.
//!
//! Portions are counted in work, not in time: entries made, and candles scanned. An account that watches nothing crosses years in one
//! portion. Where a portion ends makes no difference to the account.

use market::Timestamp;
use trading::{Account, AdvanceLimit, Engine, Outcome};

/// The work of one portion, and how many of them one request waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portion {
    /// A portion ends with the instant at which one of these is reached.
    pub(crate) limit: AdvanceLimit,
    pub(crate) each_request: u32,
    /// Entries of a journal that a request replays at most for what an account contributes to its level.
    pub(crate) replayed: u64,
}

impl Default for Portion {
    fn default() -> Portion {
        let limit = AdvanceLimit { entries: 1_000, candles: 200_000 };
        Portion { limit, each_request: 5, replayed: 10_000 }
    }
}

impl Portion {
    /// Whether requests wait for all that is to be done.
    pub(crate) fn is_patient(&self) -> bool {
        self.each_request == u32::MAX
    }

    /// Brings an account that has begun to an instant, or a portion of the way.
    pub(crate) fn advance(&self, engine: &Engine<'_>, account: &mut Account, to: Timestamp) -> Outcome {
        if account.horizon().is_none_or(|horizon| horizon >= to) {
            return Outcome::default();
        }
        engine.advance_within(account, to, self.limit)
    }
}
