//! What an account has left, in the headers of every answer about history.

use hyper::header::{HeaderName, HeaderValue};

use super::call::Answer;
use super::envelope::seconds_up;
use super::site::Site;
use crate::caller::Caller;

const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const QUOTA_LIMIT: HeaderName = HeaderName::from_static("x-quota-limit");
const QUOTA_USED: HeaderName = HeaderName::from_static("x-quota-used");
const QUOTA_RESET: HeaderName = HeaderName::from_static("x-quota-reset");

/// Writes the headers as things stand after the request. An account without a rate rule has none of its three; a failure
/// to look is no reason to take an answer back.
pub(crate) fn tell(answer: &mut Answer, caller: &Caller, site: &Site) {
    let headers = answer.headers_mut();
    match site.core.access.allowance(&caller.who, site.core.uptime()) {
        Ok(Some(allowance)) => {
            headers.insert(RATE_LIMIT, HeaderValue::from(allowance.limit));
            headers.insert(RATE_REMAINING, HeaderValue::from(allowance.remaining));
            headers.insert(RATE_RESET, HeaderValue::from(seconds_up(allowance.more_in)));
        }
        Ok(None) => {}
        Err(error) => tracing::error!(%error, "cannot look up what an account may ask"),
    }
    match site.core.access.usage(caller.who.account(), site.core.market_now()) {
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
