//! Refusals and headers shared by several endpoint groups.

use wire::code;

use super::{HeaderDoc, Kind, RefusalDoc};
use crate::kit::envelope::ProblemBody;
use crate::kit::{allowance, codes};

/// Header sent with every response.
pub(crate) const TRACE_ID: HeaderDoc = HeaderDoc::new(
    "x-trace-id",
    "TraceId",
    "Id of this response, which is also in the server log",
    Kind::Text,
);
pub(crate) const RETRY_AFTER: HeaderDoc =
    HeaderDoc::new("retry-after", "RetryAfter", "Seconds to wait", Kind::Whole);
pub(crate) const AUTHENTICATE: HeaderDoc =
    HeaderDoc::new("www-authenticate", "Authenticate", "Bearer", Kind::Text);

pub(crate) const BAD_REQUEST: RefusalDoc = RefusalDoc::new("400", "BadRequest", &[code::INVALID]);
pub(crate) const TRADE_REFUSED: RefusalDoc =
    RefusalDoc::new("400", "TradeRefused", &[codes::TRADE_PARAMETER, codes::SHORT_SALE]);
/// Trading refusals for grid orders.
pub(crate) const GRID_REFUSED: RefusalDoc =
    RefusalDoc::new("400", "GridRefused", &[codes::TRADE_PARAMETER, codes::GRID_RULE, codes::SHORT_SALE]);
pub(crate) const TRADE_TOO_FAST: RefusalDoc =
    RefusalDoc::new("429", "TradeTooFast", &[codes::TOO_OFTEN]).headers(&[RETRY_AFTER]);
pub(crate) const LISTS_TOO_FAST: RefusalDoc =
    RefusalDoc::new("429", "ListsTooFast", &[codes::TOO_OFTEN]).headers(&[RETRY_AFTER]);
pub(crate) const COMMUNITY_TOO_FAST: RefusalDoc =
    RefusalDoc::new("429", "CommunityTooFast", &[codes::TOO_OFTEN]).headers(&[RETRY_AFTER]);
pub(crate) const UNAUTHENTICATED: RefusalDoc =
    RefusalDoc::new("401", "Unauthenticated", &[codes::TOKEN_EXPIRED, codes::TOKEN_INVALID])
        .headers(&[AUTHENTICATE]);
pub(crate) const FORBIDDEN: RefusalDoc = RefusalDoc::new(
    "403",
    "Forbidden",
    &[codes::NOT_AUTHORISED, codes::SIGNATURE_INVALID, codes::KEY_UNKNOWN, code::NO_ACCESS, code::TOO_MANY],
)
.headers(&allowance::HEADERS);
pub(crate) const NOT_FOUND: RefusalDoc = RefusalDoc::new("404", "NotFound", &[404]);
pub(crate) const NO_QUOTES: RefusalDoc =
    RefusalDoc::new("404", "NoQuotes", &[code::NO_QUOTES]).headers(&allowance::HEADERS);
pub(crate) const NOT_ACCEPTABLE: RefusalDoc = RefusalDoc::new("406", "NotAcceptable", &[406]);
pub(crate) const CONFLICT: RefusalDoc = RefusalDoc::new("409", "Conflict", &[409]);
pub(crate) const UNSATISFIABLE: RefusalDoc = RefusalDoc::new("416", "Unsatisfiable", &[416]);
pub(crate) const TOO_FAST: RefusalDoc =
    RefusalDoc::new("429", "TooFast", &[code::RATE, codes::TOO_OFTEN]).headers(&TOO_FAST_HEADERS);
pub(crate) const FAILED: RefusalDoc = RefusalDoc::new("500", "Failed", &[code::SERVER, codes::INTERNAL]);
pub(crate) const NOT_OFFERED: RefusalDoc = RefusalDoc::new("501", "NotOffered", &[code::SERVER]);
/// Refusals that occur before a request reaches its endpoint, because of its method, size or rate.
pub(crate) const OTHERWISE: RefusalDoc = RefusalDoc::of::<ProblemBody>(
    "default",
    "Refused",
    "Any other refusal; the description of this document lists all codes",
);

const TOO_FAST_HEADERS: [HeaderDoc; 7] = {
    let [limit, remaining, reset, quota, used, month] = allowance::HEADERS;
    [RETRY_AFTER, limit, remaining, reset, quota, used, month]
};
