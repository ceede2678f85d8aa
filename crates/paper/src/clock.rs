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

/// The clock of a request. It is read under the account's lock, and read again if the account is
/// already past the returned instant. Of two concurrent requests, the one served second therefore
/// never has the earlier time, whichever was sent first.
pub trait Clock {
    /// Returns the times for an account. `horizon` is the instant to which the account has been
    /// advanced, if known.
    fn moment(&self, account: AccountId, horizon: Option<Timestamp>) -> Moment;
}

/// A fixed clock.
impl Clock for Moment {
    fn moment(&self, _: AccountId, _: Option<Timestamp>) -> Moment {
        *self
    }
}

/// Maximum backward correction of the machine's clock that accounts tolerate, in seconds.
const CORRECTED_BY_MAX_S: i64 = 2;

impl Moment {
    /// Returns the account's horizon instead if the machine's clock was corrected backwards by a
    /// small amount. A clock that an operator set back further is left unchanged.
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
