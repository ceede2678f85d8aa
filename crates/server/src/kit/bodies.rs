//! Memory limits for HTTP request bodies: for each account, and before authentication for each
//! address and for all addresses together.

use std::sync::Arc;

use crate::unsent::{Held, Tally, Unsent};
use crate::workers::Who;

/// Limits in bytes for bodies being read or answered: per address, for all addresses, per account.
const OF_ADDRESS_MAX: usize = 1 << 20;
const OF_STRANGERS_MAX: usize = 16 << 20;
const OF_ACCOUNT_MAX: usize = 8 << 20;

/// Counts the bytes of bodies in memory.
#[derive(Debug)]
pub(crate) struct Bodies {
    addresses: Unsent,
    accounts: Unsent,
    strangers: Arc<Tally>,
}

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies {
            addresses: Unsent::new(OF_ADDRESS_MAX),
            accounts: Unsent::new(OF_ACCOUNT_MAX),
            strangers: Tally::new(OF_STRANGERS_MAX),
        }
    }
}

impl Bodies {
    /// The bytes of all bodies.
    pub(crate) fn bytes(&self) -> usize {
        self.addresses.bytes() + self.accounts.bytes()
    }

    /// The counters for the bytes of a caller's body.
    pub(crate) fn tallies(&self, who: Who) -> Vec<Held> {
        match who {
            Who::Account(_) => vec![self.accounts.of(who).hold(0)],
            Who::Address(_) => vec![self.addresses.of(who).hold(0), self.strangers.hold(0)],
        }
    }
}
