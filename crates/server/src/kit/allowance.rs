//! Rate limit and quota headers, which report the account's remaining allowance in every history
//! response, and visibility checks for endpoints that cost no quota.

use access::Demand;
use history::Sessions;
use hyper::header::{HeaderName, HeaderValue};
use market::{Floors, Symbol};

use super::call::Answer;
use super::doc::{HeaderDoc, Kind};
use super::envelope::seconds_up;
use super::site::Site;
use crate::caller::Caller;
use crate::refusal::Refusal;

const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const QUOTA_LIMIT: HeaderName = HeaderName::from_static("x-quota-limit");
const QUOTA_USED: HeaderName = HeaderName::from_static("x-quota-used");
const QUOTA_RESET: HeaderName = HeaderName::from_static("x-quota-reset");

/// The headers' descriptions in the OpenAPI document.
pub(crate) const HEADERS: [HeaderDoc; 6] = [
    HeaderDoc::new(
        "x-ratelimit-limit",
        "RateLimit",
        "Maximum number of history calls in the rate limit window; absent if the account has no rate limit",
        Kind::Whole,
    ),
    HeaderDoc::new(
        "x-ratelimit-remaining",
        "RateRemaining",
        "Remaining history calls in the window; absent if the account has no rate limit",
        Kind::Whole,
    ),
    HeaderDoc::new(
        "x-ratelimit-reset",
        "RateReset",
        "Seconds until the oldest call leaves the window and one more call is available; absent if the \
         account has no rate limit",
        Kind::Whole,
    ),
    HeaderDoc::new("x-quota-limit", "QuotaLimit", "Maximum number of securities per month", Kind::Whole),
    HeaderDoc::new("x-quota-used", "QuotaUsed", "Number of securities used this month", Kind::Whole),
    HeaderDoc::new("x-quota-reset", "QuotaReset", "First day of the next month, in Hong Kong", Kind::Date),
];

/// Sets the headers to the state after the request. An account without a rate limit gets no rate
/// limit headers. If the state cannot be read, the response is sent without these headers.
pub(crate) fn add_headers(answer: &mut Answer, caller: &Caller, site: &Site) {
    let headers = answer.headers_mut();
    match site.core.access.allowance(&caller.who, site.core.uptime()) {
        Ok(Some(allowance)) => {
            headers.insert(RATE_LIMIT, HeaderValue::from(allowance.limit));
            headers.insert(RATE_REMAINING, HeaderValue::from(allowance.remaining));
            headers.insert(RATE_RESET, HeaderValue::from(seconds_up(allowance.more_in)));
        }
        Ok(None) => {}
        // Already logged by the heartbeat job.
        Err(error) if error.is_unreachable() => {}
        Err(error) => tracing::error!(%error, "cannot read the rate limit state of an account"),
    }
    if site.core.is_degraded() {
        // Do not wait for a database that is known to be unreachable.
        return;
    }
    match site.core.access.usage(caller.who.account(), caller.quota_time) {
        Ok(Some(usage)) => {
            headers.insert(QUOTA_LIMIT, HeaderValue::from(usage.limit));
            headers.insert(QUOTA_USED, HeaderValue::from(usage.used));
            if let Ok(date) = HeaderValue::from_str(&usage.resets.to_string()) {
                headers.insert(QUOTA_RESET, date);
            }
        }
        Ok(None) => {}
        Err(error) if error.is_unreachable() => {}
        Err(error) => tracing::error!(%error, "cannot read the quota usage of an account"),
    }
}

/// The part of a security's data that an account may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visible {
    /// Widest visible trading hours.
    pub(crate) widest: Sessions,
    /// Start of the visible history.
    pub(crate) floors: Floors,
}

/// Checks that the caller may see a security, without charging the quota. Returns the visible part
/// of its data.
pub(crate) fn may_see(symbol: &Symbol, caller: &Caller, site: &Site) -> Result<Visible, Refusal> {
    site.core.known(symbol, site.core.version_check()?, caller.as_of)?;
    site.core.own_region_only(caller)?;
    let demand = Demand::Quotes { caller: &caller.who, market: symbol.market().into() };
    let permit = site.core.access.admit(demand, caller.now())?;
    let widest = if permit.overnight() { Sessions::All } else { Sessions::Extended };
    let floors = site.core.floors_of(permit.account()).of(symbol.market());
    site.core.access.spend(permit, site.core.machine_now())?;
    Ok(Visible { widest, floors })
}
