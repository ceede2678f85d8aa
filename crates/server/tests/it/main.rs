//! The whole server in process: bytes in, bytes out, on loopback.

mod http;
mod link;
mod support;
