//! What an account has left, in the headers of every answer about history.

use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};

use super::Answer;
use crate::route::Caller;
use crate::services::Services;

const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const QUOTA_LIMIT: HeaderName = HeaderName::from_static("x-quota-limit");
const QUOTA_USED: HeaderName = HeaderName::from_static("x-quota-used");
const QUOTA_RESET: HeaderName = HeaderName::from_static("x-quota-reset");

/// Writes the headers as things stand after the request. An account without a rate rule has none of its three; a failure
/// to look is no reason to take an answer back.
pub(super) fn tell(answer: &mut Answer, caller: &Caller, services: &Services) {
    let headers = answer.headers_mut();
    match services.access.allowance(&caller.who, services.uptime()) {
        Ok(Some(allowance)) => {
            headers.insert(RATE_LIMIT, HeaderValue::from(allowance.limit));
            headers.insert(RATE_REMAINING, HeaderValue::from(allowance.remaining));
            headers.insert(RATE_RESET, HeaderValue::from(seconds_up(allowance.more_in)));
        }
        Ok(None) => {}
        Err(error) => tracing::error!(%error, "cannot look up what an account may ask"),
    }
    match services.access.usage(caller.who.account(), services.market_now()) {
        Ok(Some(usage)) => {
            headers.insert(QUOTA_LIMIT, HeaderValue::from(usage.limit));
            headers.insert(QUOTA_USED, HeaderValue::from(usage.used));
            if let Ok(date) = HeaderValue::from_str(&usage.resets.to_string()) {
                headers.insert(QUOTA_RESET, date);
            }
        }
        Ok(None) => {}
        Err(error) => tracing::error!(%error, "cannot look up what an account has used"),
    }
}

/// Whole seconds, so that who waits for them is not too early.
pub(super) fn seconds_up(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX)
}
