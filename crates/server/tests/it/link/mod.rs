//! Long connections tested over sockets: signing in, protocol violations, and overload. Timeouts
//! are tested in unit tests, where the clock can be paused.

mod broken;
mod gateway;
mod load;
mod session;
