//! The service at its edges: listeners, long connections, HTTP. Alone in knowing sockets, JSON and HTTP statuses.
//!
//! Every request takes one route, whatever door it came in by ([`route`](crate::route)): bytes become a request, the
//! request is admitted, a command answers it, the answer becomes bytes. Start with `route.rs`, then `command/`, a file a
//! command; `link/` is one long connection, `http/` the other door, `pages/` what a person
//! sees there, `listen.rs` where connections come from.

mod certificate;
mod command;
mod directory;
mod facts;
mod http;
mod link;
mod listen;
mod local;
mod metrics;
mod pace;
mod pages;
mod proxies;
mod public_url;
mod refusal;
mod request_log;
mod route;
mod services;
mod tls;

pub use http::quota_document;
pub use listen::{Addresses, Reloader, Server, ServerError};
pub use proxies::{ParseTrustedProxyError, TrustedProxy};
pub use public_url::{ParsePublicUrlError, PublicUrl};
pub use services::Clock;
pub use tls::{TlsError, TlsFiles};

/// What the operator may set. The defaults are those of `chandler serve`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where HTTP and WebSocket are served.
    pub listen: std::net::SocketAddr,
    /// Where raw TCP is served.
    pub tcp: std::net::SocketAddr,
    /// Where HTTP and WebSocket are served to the accounts of one region alone.
    pub regional: Vec<(access::Region, std::net::SocketAddr)>,
    /// Where health, readiness, metrics and status are served, and nothing else, to whoever comes; none for no such place. Where
    /// there is one, the other listeners tell metrics and status to operators alone.
    pub internal: Option<std::net::SocketAddr>,
    /// What the listeners of HTTP and WebSocket show who they are with; none for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// How the service is called from outside; none if clients reach it under the name that they ask for.
    pub public_url: Option<PublicUrl>,
    /// Proxies that are believed when they say for whom they ask.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Who somebody on this machine is without signing in. For a demonstration alone: no configuration has a key for it, and
    /// it is passed over where a proxy is trusted.
    pub guest: Option<access::AccountId>,
    /// Connections of all kinds that may be open at once.
    pub connections_max: usize,
    /// Memory for encoded candles; 0 keeps none.
    pub cache_bytes: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        let loopback = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
        Settings {
            listen: loopback(8080),
            tcp: loopback(2020),
            regional: Vec::new(),
            internal: None,
            tls: None,
            public_url: None,
            trusted_proxies: Vec::new(),
            guest: None,
            connections_max: 16_384,
            cache_bytes: 256 << 20,
        }
    }
}
