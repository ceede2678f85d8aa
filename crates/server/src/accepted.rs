//! A new connection: its listener, its remote address, and its connection slots.

use std::net::SocketAddr;
use std::sync::Arc;

use access::Region;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::task::TaskTracker;

use crate::connection_limits::UnauthenticatedSlot;
use crate::core::Core;
use crate::kit::{ListenerKind, Site};
use crate::link::Hub;
use crate::metrics::Connection;
use crate::proxies::{self, TrustedProxy};

/// Everything a new connection needs: the shared state, the shutdown signal, and its slot in the
/// connection limit.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    pub(crate) site: Arc<Site>,
    /// State of long connections. An HTTP connection may be upgraded to one.
    pub(crate) hub: Arc<Hub>,
    pub(crate) shutdown: watch::Receiver<bool>,
    /// Tracks long connections, which outlive the HTTP request that started them, so that shutdown
    /// can wait until they are closed.
    pub(crate) tasks: TaskTracker,
    pub(crate) place: Arc<OwnedSemaphorePermit>,
    /// Slot in the limit on unauthenticated connections.
    pub(crate) unauthenticated: UnauthenticatedSlot,
    /// The local address that accepted the connection.
    pub(crate) reached: SocketAddr,
    /// Remote address, or the client's address for a request through a trusted proxy.
    pub(crate) peer: SocketAddr,
    pub(crate) trusted: Arc<[TrustedProxy]>,
    /// Region of the listener, or `None` if the listener serves every region.
    pub(crate) region: Option<Region>,
    pub(crate) listener_kind: ListenerKind,
}

impl Accepted {
    /// Takes a slot among the unauthenticated connections from the peer's address. Returns `None`
    /// if no slot becomes free. Trusted proxies need no slot, because a proxy carries many clients
    /// and limits its clients itself.
    pub(crate) async fn with_unauthenticated_slot(mut self) -> Option<Accepted> {
        if !proxies::is_trusted(&self.trusted, self.peer.ip()) {
            self.unauthenticated = self.site.unauthenticated.enter(self.peer.ip()).await?;
        }
        Some(self)
    }
}

/// Guard that counts a connection as open until dropped.
#[derive(Debug)]
pub(crate) struct ConnectionCount {
    core: Arc<Core>,
    kind: Connection,
}

impl ConnectionCount {
    pub(crate) fn new(core: &Arc<Core>, kind: Connection) -> ConnectionCount {
        core.metrics.opened(kind);
        ConnectionCount { core: core.clone(), kind }
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.core.metrics.closed(self.kind);
    }
}
