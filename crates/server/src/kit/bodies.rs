//! The bodies of requests over HTTP that are in memory. What strangers send is bounded for each address and in all, what accounts send
//! for each account.

use std::sync::Arc;

use crate::unsent::{Held, Tally, Unsent};
use crate::workers::Who;

/// Bodies that are being read or answered, in bytes: of one address, of all strangers, of one account.
const OF_ADDRESS_MAX: usize = 1 << 20;
const OF_STRANGERS_MAX: usize = 16 << 20;
const OF_ACCOUNT_MAX: usize = 8 << 20;

/// The bodies in memory.
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
    /// Of everybody.
    pub(crate) fn bytes(&self) -> usize {
        self.addresses.bytes() + self.accounts.bytes()
    }

    /// Where the bytes of a body count.
    pub(crate) fn tallies(&self, who: Who) -> Vec<Held> {
        match who {
            Who::Account(_) => vec![self.accounts.of(who).hold(0)],
            Who::Address(_) => vec![self.addresses.of(who).hold(0), self.strangers.hold(0)],
        }
    }
}
