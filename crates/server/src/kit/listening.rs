//! The server's listeners.

use std::net::SocketAddr;

use access::Region;
use schemars::JsonSchema;
use serde::Serialize;

/// A listener, as shown to operators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listening {
    pub(crate) kind: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) region: Option<Region>,
    pub(crate) is_tls: bool,
}

/// A listener of the server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Listener")]
pub(crate) struct ListenerDocument {
    kind: &'static str,
    address: String,
    /// Region whose accounts it serves; null for all.
    region: Option<&'static str>,
    tls: bool,
}

impl Listening {
    pub(crate) fn document(&self) -> ListenerDocument {
        ListenerDocument {
            kind: self.kind,
            address: self.address.to_string(),
            region: self.region.map(Region::as_str),
            tls: self.is_tls,
        }
    }
}

/// The kind of listener that accepted a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    Public,
    /// Serves only monitoring, without authentication.
    Internal,
}
