//! The server: listeners, long connections, HTTP, pages. Only this crate and `wire` know protocol
//! numbers, JSON responses and HTTP statuses; the client in `chandler/src/remote` is their
//! counterpart.
//!
//! Every request takes the same route on any transport (`route.rs`): the request is parsed into a
//! query, the query is admitted, its command answers it, and the answer is encoded. Start with
//! `route.rs`, then `command/`, which has one type per command. `link/` implements long
//! connections, `http/` the endpoints, `pages/` the web pages, and `listen.rs` the listeners.

mod accepted;
mod account_news;
mod alerts;
mod backoff;
mod caller;
mod certificate;
mod command;
mod connection_limits;
mod core;
mod directory;
mod dispatch;
mod encoded_page;
mod facts;
mod http;
mod ingest;
mod intake;
mod jobs;
mod kit;
mod limit_hint;
mod link;
mod links;
mod list_cache;
mod listen;
mod live;
mod local;
mod mailbox;
mod market_clock;
mod market_status;
mod merge_backlog;
mod merge_turn;
mod message;
mod metrics;
mod mirror_sink;
mod names;
mod pages;
mod paper_levels;
mod preferences;
mod proxies;
mod public_url;
mod pushes;
mod quota_document;
mod quote_push;
mod refusal;
mod request_log;
mod route;
mod settings;
mod statement_pdf;
mod suspect;
mod tls;
mod trade_listeners;
mod unsent;
mod version_check;
mod versions;
mod workers;
mod world_changes;
mod worlds;
mod written;

pub use crate::core::Clock;
pub use certificate::{Certificate, Concern};
pub use command::{PAGED_MAX, quote_message};
pub use http::{
    InProcess, InProcessAnswer, InProcessRefusal, InProcessRequest, StoreInventory, charge_name,
    import_document, ingest_candle, ingest_trade, openapi,
};
pub use listen::{Addresses, ClockMover, Reloader, Server, ServerError};
pub use local::SignInLinks;
pub use market_clock::{CannotStep, ClockSpeed, MarketClock, MarketTime};
pub use market_status::trade_status as market_status;
pub use metrics::count_lost_log_lines;
pub use mirror_sink::MirrorSink;
pub use proxies::{ParseTrustedProxyError, TrustedProxy};
pub use public_url::{ParsePublicUrlError, PublicUrl};
pub use quota_document::quota_document;
pub use settings::{EXPOSURE_ADVICE, Limits, NodeSettings, PUSH_QUEUE_MIN, Settings};
pub use statement_pdf::{PdfError, statement_font, statement_pdf};
pub use tls::{TlsError, TlsFiles};
pub use workers::THREADS_MAX;
