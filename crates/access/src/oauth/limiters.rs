use std::net::IpAddr;
use std::time::Duration;

use crate::{Pace, RateLimit};

const REGISTRATIONS: RateLimit = RateLimit { requests: 20, within: Duration::from_secs(3_600) };
const STARTS: RateLimit = RateLimit { requests: 60, within: Duration::from_secs(600) };
/// Limit of token refreshes per account. Each is written to disk and to the audit before the reply;
/// a client needs one a month.
const REFRESHES: RateLimit = RateLimit { requests: 100, within: Duration::from_secs(600) };

/// Rate limits of the OAuth endpoints.
#[derive(Debug)]
pub(crate) struct Limiters {
    pub(super) registrations: Pace<IpAddr>,
    pub(super) devices: Pace<IpAddr>,
    /// Keyed by account id.
    pub(super) refreshes: Pace<i64>,
}

impl Default for Limiters {
    fn default() -> Limiters {
        Limiters {
            registrations: Pace::of_addresses("registration", REGISTRATIONS),
            devices: Pace::of_addresses("device", STARTS),
            refreshes: Pace::of_accounts("refresh", REFRESHES),
        }
    }
}
