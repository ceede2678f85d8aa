//! The command line as a client: signing in to a server, and sending requests as the signed-in
//! account.
//!
//! Only [`http`] uses the network. All other modules take an implementation of its trait, so their
//! tests need no network. [`oauth`] runs the device flow, [`files`] stores the tokens, [`session`]
//! sends requests with them, and [`candles`] reads history. [`flags`] selects the server.

pub(crate) mod candles;
pub(crate) mod files;
mod flags;
pub(crate) mod http;
pub(crate) mod oauth;
pub(crate) mod session;
mod time;

pub(crate) use flags::Flags;
pub(crate) use http::field;
pub(crate) use session::ServerFlags;
pub(crate) use time::{MachineTime, Time};
