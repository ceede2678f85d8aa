use std::net::IpAddr;
use std::time::Duration;

use super::pollers::Pollers;
use crate::{Pace, RateLimit};

const REGISTRATIONS: RateLimit = RateLimit { requests: 20, within: Duration::from_secs(3_600) };
const STARTS: RateLimit = RateLimit { requests: 60, within: Duration::from_secs(600) };
/// Every refresh is on the disk before it is answered, and in the audit; a client needs one a month.
const REFRESHES: RateLimit = RateLimit { requests: 100, within: Duration::from_secs(600) };

/// How often each may ask. Forgetting costs a little patience, never a token.
#[derive(Debug)]
pub(crate) struct Limiters {
    pub(crate) pollers: Pollers,
    pub(super) registrations: Pace<IpAddr>,
    pub(super) devices: Pace<IpAddr>,
    /// By the number of the account.
    pub(super) refreshes: Pace<i64>,
}

impl Default for Limiters {
    fn default() -> Limiters {
        Limiters {
            pollers: Pollers::default(),
            registrations: Pace::of_addresses("registration", REGISTRATIONS),
            devices: Pace::of_addresses("device", STARTS),
            refreshes: Pace::of_accounts("refresh", REFRESHES),
        }
    }
}
