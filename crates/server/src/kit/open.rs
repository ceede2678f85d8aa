//! CORS for endpoints that pages on other sites may call with a token.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderValue,
};

use super::call::Answer;

/// Response headers that a script may read.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "x-quota-limit, x-quota-used, x-quota-reset, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, \
     x-next, x-trace-id, link, retry-after, accept-ranges, content-range, etag",
);

pub(crate) fn open(answer: &mut Answer) {
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
}

/// Adds the headers of a preflight response.
pub(crate) fn preflight(answer: &mut Answer) {
    open(answer);
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("authorization, accept, range, if-range"),
    );
    // Chromium caches a preflight for at most two hours.
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
}
