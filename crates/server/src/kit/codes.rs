//! HTTP statuses and codes of refusals. The OpenAPI document includes this table and describes the
//! endpoints' refusals with it.

use wire::code;

pub(crate) const TOKEN_EXPIRED: u64 = 401_003;
pub(crate) const TOKEN_INVALID: u64 = 401_004;
pub(crate) const SIGNATURE_INVALID: u64 = 403_201;
pub(crate) const KEY_UNKNOWN: u64 = 403_203;
pub(crate) const NOT_AUTHORISED: u64 = 403_008;
pub(crate) const SCOPE_MISSING: u64 = 403_008;
pub(crate) const TOO_OFTEN: u64 = 429_002;
pub(crate) const INTERNAL: u64 = 500_000;
/// A change was sent to the database, and its response was lost.
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
pub(crate) const CODES: [(u16, u64, &str); 32] = [
    (400, code::INVALID, "the request is not understood, or asks for something that cannot be"),
    (400, 400, "the request is not well-formed HTTP for this service"),
    (
        400,
        TRADE_PARAMETER,
        "a field about orders or assets is missing or wrong, or the order is in no state for it",
    ),
    (400, GRID_RULE, "a whole number of a grid's rule is missing or out of range"),
    (400, SHORT_SALE, "a short sale where they are off"),
    (400, LIST_PARAMETER, "a parameter of the list of securities is missing or wrong"),
    (401, TOKEN_EXPIRED, "the access token has expired"),
    (
        401,
        TOKEN_INVALID,
        "the access token is missing, unknown, revoked, or of another region than the listener",
    ),
    (
        403,
        NOT_AUTHORISED,
        "the access token was issued without the scope of this call, the call is for operators, the account is read-only or may not \
         write topics, a browser's session came without its x-csrf or from another site, or a download address has expired or was changed",
    ),
    (403, SIGNATURE_INVALID, "the signature does not match, or the clock is more than 300 seconds off"),
    (403, KEY_UNKNOWN, "the app key is unknown"),
    (403, code::NO_ACCESS, "the account may not see this market"),
    (403, code::TOO_MANY, "the month's securities are used up, or too many at once"),
    (404, 404, "there is no such thing, or it is not for this account to see"),
    (404, code::NO_QUOTES, "there are no candles of this security"),
    (405, 405, "the path has other methods, which the header allow names"),
    (406, 406, "none of the accepted media types is served"),
    (408, 408, "the body did not arrive in time"),
    (
        409,
        409,
        "something else has to end first, as an import that runs; the name of a new account is taken, somebody else has changed an account meanwhile, or it is revoked or the last operator",
    ),
    (410, 410, "the path has moved; the message names the new one"),
    (413, 413, "the body is too large"),
    (416, 416, "the range begins behind the end"),
    (
        429,
        code::RATE,
        "more history calls than the account has in its window, too many calls in a second, or too many requests at once: wait as \
         retry-after says",
    ),
    (
        429,
        TOO_OFTEN,
        "a token was renewed or a connection closed too often, more than 20 searches in a second, more than 10 requests about \
         watchlists and lists of securities in a second, more than 30 about orders and assets in 30 seconds, more than 100 about topics in 10, topics or replies written too often, or too many unread \
         requests",
    ),
    (500, code::SERVER, "our fault; the log has the trace id"),
    (500, INTERNAL, "our fault; the log has the trace id"),
    (500, LIST_FAILED, "the list of securities cannot be read; the log has the trace id"),
    (
        501,
        code::SERVER,
        "a command, a path or a field of the SDKs that is not offered, or something that this server was not set up for; the message says \
         what. The paths that are not offered are not listed here",
    ),
    (
        503,
        code::SERVER,
        "the database is away: what this server knows is still answered, and nothing new is charged or changed; or a paper account has a \
         lot to catch up with, and the message says how far it is; wait as retry-after says",
    ),
    (
        503,
        OUTCOME_UNKNOWN,
        "the database did not confirm a change, which may or may not have been made: repeat an order with the same client_request_id, and \
         look before you repeat anything else",
    ),
    (507, code::SERVER, "the disk of the database is full: nothing was changed or charged"),
    (507, 507, "the disk of the store is full"),
];

/// Returns the documented meaning of a code with a status, or `None` if there is no such pair.
pub(crate) fn meaning(status: &str, code: u64) -> Option<&'static str> {
    let found = CODES.iter().find(|(known, number, _)| *number == code && known.to_string() == status);
    found.map(|(_, _, words)| *words)
}
