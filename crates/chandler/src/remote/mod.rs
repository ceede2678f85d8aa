//! The client side of the command line: signing in to a server, and requests as the signed-in
//! account.
//!
//! Only [`http`] uses the network; everything else takes something that sends requests, so that
//! tests need no network. [`oauth`] runs the device flow, [`files`] stores its result, [`session`]
//! sends requests with it, [`candles`] reads history. [`flags`] select the server.

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
