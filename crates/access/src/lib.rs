//! Who may ask, how often and how much: accounts, signatures, one-time passwords, sessions, rate and quota.
//!
//! The crate refuses to know that there is a network: no HTTP, no packets, no codes. It reads no clock either; three
//! kinds of time come in as arguments and are never mixed. *Now* ([`Timestamp`](market::Timestamp)) is the wall clock
//! that signatures and sessions are held against; the *market's now*, of the same type, decides which month a quota
//! belongs to; *uptime* is a clock that only runs forward, for the rate window and for one-time passwords.
//!
//! Start with [`Access`]. [`Access::identify`] turns a signed request into a [`Caller`]; [`Access::sign_on`] and
//! [`Access::resume`] do the same for a connection. Then there is one door: [`Access::admit`] turns a [`Demand`] into a
//! [`Permit`], or says why not with a [`Refusal`]; nothing else makes a permit. What is kept is kept by `store`.
//!
//! Only history requests have a rate. The general throttle of all quote commands that clients are told of is a
//! courtesy between them and the service, and is not enforced here.

mod access;
mod account;
mod admit;
mod connection;
mod error;
mod identify;
mod keys;
mod otp;
mod quota;
mod random;
mod rate;
mod secret;
mod session;
mod sign_on;
mod signature;

pub use access::{Access, Created, Look, NewAccount, TOKEN_LIFE_DEFAULT_S};
pub use account::{Account, CONNECTIONS_MAX, NAME_CHARS_MAX, ParseRightsError, Right, Rights, Terms};
pub use admit::{Allowance, Demand, Permit, Refusal, Ticket};
pub use connection::{Connection, ConnectionId, Seats};
pub use error::{AccessError, Denial};
pub use identify::Caller;
pub use otp::OTP_LIFE;
pub use quota::{Level, Month, QUOTA_MAX, Usage};
pub use rate::{ParseRateRuleError, RateRule};
pub use secret::Secret;
pub use session::{SESSION_LIFE_S, Session};
pub use sign_on::{Moment, SignedOn};
pub use signature::{SignedRequest, TIMESTAMP_TOLERANCE_S, verify_signature};
pub use store::AccountId;
