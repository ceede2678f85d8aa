//! Client of a compatible server, which may be another Chandler: sign-in over HTTP, the quote
//! connection, typed requests, responses and errors.
//!
//! All functions block. A [`Connection`] belongs to one thread, which sends a request and later
//! receives the response, so several requests may be pending. Every wait has a timeout. The crate
//! depends on the protocol ([`wire`]) and on market values ([`market`]), but on no store, and it
//! does not read the wall clock: the time of a signature is an argument.
//!
//! Start at `connection.rs`, then `request.rs` and `answer.rs`. `sign_in.rs` requests the one-time
//! password, and `stream.rs` opens the WebSocket.

mod address;
mod answer;
mod connection;
mod credentials;
mod error;
mod push;
mod request;
mod sign_in;
mod stream;

pub use address::{Addresses, ParseAddressError};
pub use answer::{Answer, Calendar, Line, Page, Profile, RateLimit, StaticInfo, WrongRow};
pub use connection::{Connection, Event, RequestId};
pub use credentials::{Credentials, SecretText};
pub use error::{Kind, SourceError};
pub use push::{Push, PushedTrade};
pub use request::{Adjust, Anchor, Count, Feed, Period, Request, Sessions};
pub use sign_in::{OneTimePassword, one_time_password};
pub use wire::Status;

/// `user-agent` of this client.
pub const USER_AGENT: &str = concat!("chandler-mirror/", env!("CARGO_PKG_VERSION"));
