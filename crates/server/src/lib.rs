//! The service at its edges: listeners, long connections, HTTP. Alone in knowing sockets, JSON and HTTP statuses.
//!
//! Every request takes one route, whatever door it came in by ([`route`](crate::route)): bytes become a request, the
//! request is admitted, a command answers it, the answer becomes bytes. Start with `route.rs`, then `command/`, a file a
//! command; `link/` is one long connection, `http/` the other door, `pages/` what a person
//! sees there, `listen.rs` where connections come from.

mod backoff;
mod caller;
mod certificate;
mod command;
mod core;
mod directory;
mod doorstep;
mod encoded_page;
mod entrance;
mod facts;
mod glance;
mod holdings;
mod http;
mod jobs;
mod kit;
mod limits;
mod link;
mod links;
mod listen;
mod local;
mod mailbox;
mod metrics;
mod own_names;
mod pace;
mod pages;
mod places;
mod proxies;
mod public_url;
mod quota_document;
mod refusal;
mod request_log;
mod route;
mod settings;
mod tls;
mod unsent;
mod workers;
mod written;

pub use crate::core::{Clock, MarketClock};
pub use certificate::{Certificate, Concern};
pub use http::{import_document, openapi};
pub use limits::Limits;
pub use listen::{Addresses, Reloader, Server, ServerError};
pub use proxies::{ParseTrustedProxyError, TrustedProxy};
pub use public_url::{ParsePublicUrlError, PublicUrl};
pub use quota_document::quota_document;
pub use settings::{EXPOSURE_ADVICE, Settings};
pub use tls::{TlsError, TlsFiles};
pub use workers::THREADS_MAX;
