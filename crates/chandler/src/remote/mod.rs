//! Another server, seen from the command line: signing in to it, and asking it as the account that signed in.
//!
//! [`http`] is the only part that knows a network; everything else is given something that sends requests, so that the
//! tests need none. [`oauth`] runs the device flow, [`files`] keeps what it brings, [`session`] asks with it, [`candles`]
//! reads history. [`flags`] say which server is meant.

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
