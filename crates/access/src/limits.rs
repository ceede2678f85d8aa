//! Rate limits of accounts and addresses, brute-force limits, and the cache of paid securities.
//! Limits are counted in memory or in the database that the nodes share.

use std::sync::Arc;
use std::time::Duration;

use store::{AccountId, RateAsk, Shared};

use crate::calls::Calls;
use crate::cluster::{Cluster, is_decided_here};
use crate::guesses::Guesses;
use crate::health::briefly;
use crate::oauth;
use crate::quota::PaidSecurities;
use crate::shared_rates::SharedRates;
use crate::{AccessError, RateLimit, RateLimiter};

#[derive(Debug)]
pub(crate) struct Limits {
    /// History requests admitted by this process, per account.
    rates: RateLimiter<AccountId>,
    /// This node's cache of the rate windows stored in the shared database.
    shared_rates: SharedRates,
    calls: Calls,
    pub(crate) paid: PaidSecurities,
    pub(crate) oauth: oauth::Limiters,
    pub(crate) guesses: Guesses,
}

impl Limits {
    pub(crate) fn of(shared: Option<Arc<Shared>>) -> Limits {
        Limits {
            rates: RateLimiter::of_accounts(),
            shared_rates: SharedRates::default(),
            calls: Calls::default(),
            paid: PaidSecurities::default(),
            oauth: oauth::Limiters::default(),
            guesses: Guesses::of(shared),
        }
    }

    /// Counts `calls` history requests, or returns the time to wait if they exceed the limit.
    pub(crate) fn pass_rate(
        &self,
        cluster: &Cluster,
        id: AccountId,
        limit: RateLimit,
        calls: u32,
        uptime: Duration,
    ) -> Result<Result<(), Duration>, AccessError> {
        let Some(shared) = cluster.shared() else {
            return Ok(self.rates.pass(id, limit, calls, uptime));
        };
        let local = || cluster.health.local_limit(limit, uptime);
        if cluster.goes_on_alone()? {
            let passed = self.rates.pass(id, local(), calls, uptime);
            if passed.is_ok() {
                // The database has not counted this request, even if it has recovered in the
                // meantime.
                cluster.health.note_lacking(uptime);
            }
            return Ok(passed);
        }
        let ask = RateAsk { requests: limit.requests, within: limit.within, calls };
        if let Some(wait) = self.shared_rates.refused(id, &ask, uptime) {
            return Ok(Err(wait));
        }
        // Every admission is also counted in this process, in case the database becomes
        // unreachable.
        cluster.health.note_losses(shared.connection_losses(), uptime);
        let before = local();
        if let Err(wait) = self.rates.pass(id, before, calls, uptime) {
            return Ok(Err(wait));
        }
        let passed = match briefly(|| shared.take_rate(id, &ask)) {
            Ok(decision) => Ok(self.shared_rates.decided(id, &ask, decision, uptime)),
            // The database may or may not have counted the request, so this node decides.
            Err(error) if is_decided_here(&error) => {
                cluster.note_unanswered(&error);
                cluster.health.note_lacking(uptime);
                Ok(Ok(()))
            }
            Err(error) => Err(error.into()),
        };
        // The query may have detected broken connections.
        cluster.health.note_losses(shared.connection_losses(), uptime);
        let after = local();
        match passed {
            Ok(Ok(())) if after == before => Ok(Ok(())),
            Ok(Ok(())) => {
                self.rates.take_back([id], calls);
                Ok(self.rates.pass(id, after, calls, uptime))
            }
            refused => {
                self.rates.take_back([id], calls);
                refused
            }
        }
    }

    /// Returns the number of history requests that an account has left, and the time until it may
    /// send more.
    pub(crate) fn rate_left(
        &self,
        cluster: &Cluster,
        id: AccountId,
        limit: RateLimit,
        uptime: Duration,
    ) -> Result<(u32, Duration), AccessError> {
        let Some(shared) = cluster.shared() else {
            return Ok(self.rates.remaining(&id, limit, uptime));
        };
        let local = self.rates.remaining(&id, cluster.health.local_limit(limit, uptime), uptime);
        if cluster.goes_on_alone()? {
            return Ok(local);
        }
        let RateLimit { requests, within } = limit;
        let ask = RateAsk { requests, within, calls: 1 };
        let of_all = match self.shared_rates.remaining(id, &ask, uptime) {
            Some(known) => known,
            None => match cluster.check_query(briefly(|| shared.rate_times(id))) {
                Ok(times) => (requests.saturating_sub(times.count(within)), times.until_more(within)),
                Err(error) if error.is_unanswered() => {
                    self.rates.remaining(&id, cluster.health.share(limit, uptime), uptime)
                }
                Err(error) => return Err(error),
            },
        };
        Ok(if local.0 < of_all.0 { local } else { of_all })
    }

    /// Counts a call against the general rate limit, or returns the time to wait.
    pub(crate) fn pass_call(
        &self,
        cluster: &Cluster,
        id: AccountId,
        per_second: u32,
        uptime: Duration,
    ) -> Result<Result<(), Duration>, AccessError> {
        const SECOND: Duration = Duration::from_secs(1);
        let Some(shared) = cluster.shared() else { return Ok(self.calls.pass(id, per_second, uptime)) };
        let Some(each) = SECOND.checked_div(per_second) else { return Ok(Ok(())) };
        if !cluster.goes_on_alone()? {
            match briefly(|| shared.take_call(id, each, SECOND.max(each))) {
                Err(error) if is_decided_here(&error) => cluster.note_unanswered(&error),
                taken => return Ok(taken?),
            }
        }
        let share = cluster.health.share(RateLimit { requests: per_second, within: SECOND }, uptime);
        Ok(self.calls.pass(id, share.requests, uptime))
    }
}
