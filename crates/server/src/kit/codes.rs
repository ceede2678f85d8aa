//! HTTP statuses and codes of refusals. The OpenAPI document includes this table and uses it to
//! describe the endpoints' refusals.

use wire::code;

pub(crate) const TOKEN_EXPIRED: u64 = 401_003;
pub(crate) const TOKEN_INVALID: u64 = 401_004;
pub(crate) const SIGNATURE_INVALID: u64 = 403_201;
pub(crate) const KEY_UNKNOWN: u64 = 403_203;
pub(crate) const NOT_AUTHORISED: u64 = 403_008;
pub(crate) const SCOPE_MISSING: u64 = 403_008;
/// A browser session names a world that does not exist or belongs to another account.
pub(crate) const NO_WORLD: u64 = 404_001;
pub(crate) const TOO_OFTEN: u64 = 429_002;
pub(crate) const INTERNAL: u64 = 500_000;
/// A change was sent to the database, but the database's response was lost.
pub(crate) const OUTCOME_UNKNOWN: u64 = 503_001;
/// A parameter of a trading request is invalid, or the account cannot fulfil the request.
pub(crate) const TRADE_PARAMETER: u64 = 602_001;
/// An enumeration number in a grid's rule is missing or invalid.
pub(crate) const GRID_RULE: u64 = 602_080;
pub(crate) const SHORT_SALE: u64 = 602_301;
/// A request for the security list is invalid.
pub(crate) const LIST_PARAMETER: u64 = 310_010;
/// The security list cannot be read.
pub(crate) const LIST_FAILED: u64 = 310_011;

/// All pairs of status and code, with their meaning.
pub(crate) const CODES: [(u16, u64, &str); 33] = [
    (400, code::INVALID, "a parameter or field is missing, unknown or invalid"),
    (400, 400, "the HTTP request is malformed"),
    (
        400,
        TRADE_PARAMETER,
        "a field of an order or asset request is missing or invalid, or the order's state does not allow \
         the change",
    ),
    (400, GRID_RULE, "an integer in a grid's rule is missing or out of range"),
    (400, SHORT_SALE, "a short sale while short selling is disabled"),
    (400, LIST_PARAMETER, "a parameter of the security list is missing or invalid"),
    (401, TOKEN_EXPIRED, "the access token has expired"),
    (
        401,
        TOKEN_INVALID,
        "the access token is missing, unknown, revoked, or belongs to another region than the listener",
    ),
    (
        403,
        NOT_AUTHORISED,
        "the access token lacks the scope of this call, the call is for operators, the account is read-only \
         or may not write topics, a browser session was used without x-csrf or from another site, or a \
         download URL is expired or modified",
    ),
    (403, SIGNATURE_INVALID, "the signature does not match, or the clock is more than 300 seconds off"),
    (403, KEY_UNKNOWN, "the app key is unknown"),
    (403, code::NO_ACCESS, "the account has no right to this market"),
    (403, code::TOO_MANY, "the monthly quota is used up, or too many securities were requested"),
    (404, 404, "the resource does not exist, or the account may not see it"),
    (404, NO_WORLD, "the browser session names a world that does not exist"),
    (404, code::NO_QUOTES, "no candles are stored for this security"),
    (405, 405, "the method is not allowed; the header allow lists the allowed ones"),
    (406, 406, "none of the accepted media types is supported"),
    (408, 408, "the body did not arrive in time"),
    (
        409,
        409,
        "another operation, such as an import, is running; the name of a new account is taken, an account \
         was changed concurrently, or it is revoked or the last operator",
    ),
    (410, 410, "the path has moved; the message names the new one"),
    (413, 413, "the body is too large"),
    (416, 416, "the range starts after the end"),
    (
        429,
        code::RATE,
        "too many history calls in the account's rate limit window, too many calls per second, or too many \
         concurrent requests: retry after the time in retry-after",
    ),
    (
        429,
        TOO_OFTEN,
        "too many token renewals or closed connections, more than 20 searches per second, more than 10 \
         watchlist and security list requests per second, more than 30 order and asset requests in 30 \
         seconds, more than 100 topic requests in 10 seconds, too many new topics or replies, or too many \
         pending requests",
    ),
    (500, code::SERVER, "internal error; the server log has the trace id"),
    (500, INTERNAL, "internal error; the server log has the trace id"),
    (500, LIST_FAILED, "the security list cannot be read; the server log has the trace id"),
    (
        501,
        code::SERVER,
        "a command, path or field of the SDKs that is not supported, or a feature that is not configured on \
         this server, as named in the message. Unsupported paths are not listed here",
    ),
    (
        503,
        code::SERVER,
        "the database is unreachable: cached data is still served, and nothing is charged or changed; or a \
         paper account is catching up with the market, with its progress in the message; retry after the \
         time in retry-after",
    ),
    (
        503,
        OUTCOME_UNKNOWN,
        "the database did not confirm a change, which may or may not have been made: retry an order with \
         the same client_request_id, and check the state before retrying anything else",
    ),
    (507, code::SERVER, "the disk of the database is full: nothing was changed or charged"),
    (507, 507, "the disk of the store is full"),
];

/// Returns the documented meaning of a code with a status, or `None` if there is no such pair.
pub(crate) fn meaning(status: &str, code: u64) -> Option<&'static str> {
    let found = CODES.iter().find(|(known, number, _)| *number == code && known.to_string() == status);
    found.map(|(_, _, words)| *words)
}
