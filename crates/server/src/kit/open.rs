//! What pages of other sites may ask for, each with a token of its own.
//!
//! To allow every origin gives nobody the session of a browser. A browser sends our cookie with no request that a script of
//! another site makes (`SameSite=Lax`); if one did, it says so in `Sec-Fetch-Site` and is refused for it; and an answer that
//! allows every origin is withheld from a script that asked with cookies. What is left are requests that carry a
//! token which the other page must have been given.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderValue,
};

use super::call::Answer;

/// What a script may read beside the body.
const TOLD: HeaderValue = HeaderValue::from_static(
    "x-quota-limit, x-quota-used, x-quota-reset, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, \
     x-next, x-trace-id, link, retry-after, accept-ranges, content-range, etag",
);

pub(crate) fn open(answer: &mut Answer) {
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, TOLD);
}

/// The answer to a browser that asks before it lets a page send a header of its own.
pub(crate) fn preflight(answer: &mut Answer) {
    open(answer);
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("authorization, accept, range, if-range"),
    );
    // Chromium keeps it for two hours at most.
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
}
