//! The body of a response that is not a success.

use prost::Message;

use crate::control;

/// Error codes. One code may have several meanings, by command and status; its text says which.
pub mod code {
    /// A body that cannot be decoded, an unknown command, wrong parameters, an unknown symbol.
    pub const INVALID: u64 = 301_600;
    /// An internal error.
    pub const SERVER: u64 = 301_602;
    /// The security has no quotes.
    pub const NO_QUOTES: u64 = 301_603;
    /// The caller may not see the security's quotes.
    pub const NO_ACCESS: u64 = 301_604;
    /// Too many requests within a time window.
    pub const RATE: u64 = 301_606;
    /// Too many symbols or rows in one request, or too many securities in a month.
    pub const TOO_MANY: u64 = 301_607;
    /// All connections of the account are open.
    pub const CONNECTIONS: u64 = 403;
    /// The one-time password or session has expired.
    pub const EXPIRED: u64 = 401_003;
    /// The one-time password or session is unknown or missing.
    pub const UNAUTHENTICATED: u64 = 401_004;
}

/// The body of an error. It is never empty, because clients would show that as code 0 without a
/// message.
pub fn refusal_body(code: u64, msg: &str) -> Vec<u8> {
    control::Error { code, msg: msg.to_owned() }.encode_to_vec()
}
