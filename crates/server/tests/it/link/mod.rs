//! Long connections from the outside: signing in, protocol violations, and overload. Timeouts are
//! tested beside the code, where the clock can be paused.

mod broken;
mod gateway;
mod load;
mod session;
