//! Market time and machine time of a request.

use history::AsOf;
use market::Timestamp;
use store::AccountId;

/// The times of a request: market time and machine time.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub as_of: AsOf,
    pub machine: Timestamp,
}

/// The clock of a request. It is read while holding the account's lock, and read again if the
/// account is already past the returned instant. When two requests are concurrent, the request that
/// is executed second therefore never has the earlier time.
pub trait Clock {
    /// Returns the times for an account. `horizon` is the instant to which the account has been
    /// advanced, or `None` if it is unknown.
    fn moment(&self, account: AccountId, horizon: Option<Timestamp>) -> Moment;
}

/// A moment is a fixed clock that returns itself.
impl Clock for Moment {
    fn moment(&self, _: AccountId, _: Option<Timestamp>) -> Moment {
        *self
    }
}

/// Maximum backward correction of the machine's clock that is hidden from accounts, in seconds.
const CORRECTED_BY_MAX_S: i64 = 2;

impl Moment {
    /// Replaces the market time with the account's horizon if the machine's clock was corrected
    /// backwards by a small amount. Returns the moment unchanged if the clock was set back further.
    pub(crate) fn not_before(self, horizon: Option<Timestamp>) -> Moment {
        match (self.as_of, horizon) {
            (AsOf::Live(now), Some(horizon))
                if horizon > now && horizon.0.saturating_sub(now.0) <= CORRECTED_BY_MAX_S =>
            {
                Moment { as_of: AsOf::Live(horizon), ..self }
            }
            _ => self,
        }
    }
}
