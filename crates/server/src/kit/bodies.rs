//! Memory limits for HTTP request bodies: per account and, before authentication, per address and
//! for all addresses together.

use std::sync::Arc;

use crate::unsent::{Held, Tally, Unsent};
use crate::workers::Who;

/// Maximum bytes of request bodies in memory: per address, for all addresses, and per account.
const OF_ADDRESS_MAX: usize = 1 << 20;
const OF_STRANGERS_MAX: usize = 16 << 20;
const OF_ACCOUNT_MAX: usize = 8 << 20;

/// Counts the bytes of request bodies in memory.
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
    /// Returns the total bytes of all bodies.
    pub(crate) fn bytes(&self) -> usize {
        self.addresses.bytes() + self.accounts.bytes()
    }

    /// Returns the counters that a caller's body is charged to.
    pub(crate) fn tallies(&self, who: Who) -> Vec<Held> {
        match who {
            Who::Account(_) => vec![self.accounts.of(who).hold(0)],
            Who::Address(_) => vec![self.addresses.of(who).hold(0), self.strangers.hold(0)],
        }
    }
}
