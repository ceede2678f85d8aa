//! How much is done to one account at a time. An account that has a lot to catch up with is brought forward in portions, each written
//! before the next begins, so that no other account waits for all of them.
//!
//! Portions are counted in work, not in time: entries that are made, and candles that are looked at. Where a portion ends makes no
//! difference to the account.

use market::{Symbol, Timestamp};
use trading::{Account, Engine, Outcome};

/// The work of one portion, and how many of them one request waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portion {
    /// A portion ends with the instant at which so many entries are made.
    pub(crate) entries: usize,
    /// Minutes of the market times securities that are watched.
    pub(crate) candles: i64,
    pub(crate) each_request: u32,
}

impl Default for Portion {
    fn default() -> Portion {
        Portion { entries: 1_000, candles: 200_000, each_request: 5 }
    }
}

/// However many securities are watched, a portion reaches an hour far.
const SPAN_MIN_S: i64 = 3_600;

impl Portion {
    /// Whether requests wait for all that is to be done.
    pub(crate) fn is_patient(&self) -> bool {
        self.each_request == u32::MAX
    }

    /// Brings an account that has begun to an instant, or a portion of the way.
    pub(crate) fn advance(&self, engine: &Engine<'_>, account: &mut Account, to: Timestamp) -> Outcome {
        let Some(horizon) = account.horizon().filter(|horizon| *horizon < to) else {
            return Outcome::default();
        };
        let through = Timestamp(horizon.0.saturating_add(self.span(account))).min(to);
        engine.advance_within(account, through, self.entries)
    }

    /// How many seconds of the market a portion covers.
    fn span(&self, account: &Account) -> i64 {
        let may_force = account.settings().liquidate;
        let held = account.positions().map(|(symbol, _)| symbol).filter(|_| may_force);
        let gridded = account.watching_grids().map(|grid| &grid.symbol);
        let mut watched: Vec<&Symbol> = account.open_symbols().chain(gridded).chain(held).collect();
        watched.sort_unstable();
        watched.dedup();
        let watched = i64::try_from(watched.len().max(1)).unwrap_or(i64::MAX);
        (self.candles.saturating_mul(60) / watched).max(SPAN_MIN_S)
    }
}
