//! Refusals and headers that several groups of endpoints share.

use super::{HeaderDoc, Kind, RefusalDoc};
use crate::kit::allowance;

/// A header of every answer.
pub(crate) const TRACE_ID: HeaderDoc =
    HeaderDoc::new("x-trace-id", "TraceId", "Names this answer; the operator's log has the same", Kind::Text);
pub(crate) const RETRY_AFTER: HeaderDoc =
    HeaderDoc::new("retry-after", "RetryAfter", "Seconds to wait", Kind::Whole);
pub(crate) const AUTHENTICATE: HeaderDoc =
    HeaderDoc::new("www-authenticate", "Authenticate", "Bearer", Kind::Text);

pub(crate) const BAD_REQUEST: RefusalDoc = RefusalDoc::new(
    "400",
    "BadRequest",
    "The request is not understood, or asks for something that cannot be: 301600",
);
pub(crate) const TRADE_REFUSED: RefusalDoc = RefusalDoc::new(
    "400",
    "TradeRefused",
    "602001: a field is missing or wrong, or the order is in no state for it; 602301: a short sale where they are off",
);
pub(crate) const TRADE_TOO_FAST: RefusalDoc = RefusalDoc::new(
    "429",
    "TradeTooFast",
    "429002: more than 30 requests about orders and assets in 30 seconds",
)
.headers(&[RETRY_AFTER]);
pub(crate) const UNAUTHENTICATED: RefusalDoc = RefusalDoc::new(
    "401",
    "Unauthenticated",
    "No valid access token: 401003 expired, 401004 unknown or missing",
)
.headers(&[AUTHENTICATE]);
pub(crate) const FORBIDDEN: RefusalDoc = RefusalDoc::new(
    "403",
    "Forbidden",
    "403008 not for this account or token, 403201 signature, 403203 app key, 301604 market not granted, \
     301607 quota used up or too many at once",
)
.headers(&allowance::HEADERS);
pub(crate) const NOT_FOUND: RefusalDoc =
    RefusalDoc::new("404", "NotFound", "404: there is no such thing, or it is not for this account to see");
pub(crate) const NO_QUOTES: RefusalDoc =
    RefusalDoc::new("404", "NoQuotes", "301603: there are no candles of this security")
        .headers(&allowance::HEADERS);
pub(crate) const NOT_ACCEPTABLE: RefusalDoc =
    RefusalDoc::new("406", "NotAcceptable", "None of the accepted media types is served");
pub(crate) const UNSATISFIABLE: RefusalDoc =
    RefusalDoc::new("416", "Unsatisfiable", "A piece that begins behind the end");
pub(crate) const TOO_FAST: RefusalDoc = RefusalDoc::new(
    "429",
    "TooFast",
    "301606: more history calls than the account has in its window; 429002: more of another kind than there may be",
)
.headers(&TOO_FAST_HEADERS);
pub(crate) const FAILED: RefusalDoc =
    RefusalDoc::new("500", "Failed", "301602 or 500000: our fault; the log has the trace id");
pub(crate) const NOT_OFFERED: RefusalDoc =
    RefusalDoc::new("501", "NotOffered", "301602: the protocol has this command, Chandler does not");
/// Refusals before the request reaches its endpoint: for its method, its size or its rate.
pub(crate) const OTHERWISE: RefusalDoc = RefusalDoc::new(
    "default",
    "Refused",
    "Any other refusal: the table in the description of this document has them all",
);

const TOO_FAST_HEADERS: [HeaderDoc; 7] = {
    let [limit, remaining, reset, quota, used, month] = allowance::HEADERS;
    [RETRY_AFTER, limit, remaining, reset, quota, used, month]
};
