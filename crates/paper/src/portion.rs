//! Limits on the work done for one account at a time. An account that is far behind is advanced in
//! portions, each committed before the next starts, so that other accounts do not wait for all of
//! it.
//!
//! Portions are measured in work, not in time: entries created and candles scanned. An account
//! without open orders crosses years in one portion. Portion boundaries do not affect the result.

use market::Timestamp;
use trading::{Account, AdvanceLimit, Engine, Outcome};

/// Work limit of one portion, and the number of portions per request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portion {
    /// A portion ends with the instant at which one of these limits is reached.
    pub(crate) limit: AdvanceLimit,
    pub(crate) each_request: u32,
    /// Maximum number of journal entries that a request replays to compute an account's
    /// contribution to its level.
    pub(crate) replayed: u64,
}

impl Default for Portion {
    fn default() -> Portion {
        let limit = AdvanceLimit { entries: 1_000, candles: 200_000 };
        Portion { limit, each_request: 5, replayed: 10_000 }
    }
}

impl Portion {
    /// Returns whether requests wait for the whole catch-up.
    pub(crate) fn is_patient(&self) -> bool {
        self.each_request == u32::MAX
    }

    /// Advances an account to an instant, or as far as one portion reaches. Does nothing before the
    /// account's first request.
    pub(crate) fn advance(&self, engine: &Engine<'_>, account: &mut Account, to: Timestamp) -> Outcome {
        if account.horizon().is_none_or(|horizon| horizon >= to) {
            return Outcome::default();
        }
        engine.advance_within(account, to, self.limit)
    }
}
