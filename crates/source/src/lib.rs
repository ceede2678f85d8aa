//! The client of a compatible server, which may be another Chandler: sign-in over HTTP, the quote
//! connection, typed requests, answers and errors.
//!
//! Everything is blocking and for one thread: a [`Connection`] sends a request and later receives
//! its answer, so several requests may be in work. Every wait has a deadline. The crate knows the
//! protocol ([`wire`]) and market values ([`market`]), and no store. It reads no wall clock: the
//! time of a signature is an argument.
//!
//! Start at `connection.rs`, then `request.rs` (what is requested) and `answer.rs` (what comes
//! back). `sign_in.rs` gets the one-time password, `stream.rs` opens the WebSocket.

mod address;
mod answer;
mod connection;
mod credentials;
mod error;
mod request;
mod sign_in;
mod stream;

pub use address::{Addresses, ParseAddressError};
pub use answer::{Answer, Calendar, Line, Page, Profile, RateLimit, StaticInfo, WrongRow};
pub use connection::{Connection, Event, RequestId};
pub use credentials::{Credentials, SecretText};
pub use error::{Kind, SourceError};
pub use request::{Adjust, Anchor, Count, Period, Request, Sessions};
pub use sign_in::{OneTimePassword, one_time_password};
pub use wire::Status;

/// Names this client in requests.
pub const USER_AGENT: &str = concat!("chandler-mirror/", env!("CARGO_PKG_VERSION"));
