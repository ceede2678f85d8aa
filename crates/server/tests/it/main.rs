//! The whole server in process: bytes in, bytes out, on loopback.

mod commands;
mod http;
mod link;
mod places;
mod restored;
mod support;
mod tls;
