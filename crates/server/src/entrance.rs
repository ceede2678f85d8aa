//! What a connection over HTTP begins with: which listener it came to, from where, and its places.

use std::net::SocketAddr;
use std::sync::Arc;

use access::Region;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::task::TaskTracker;

use crate::core::Core;
use crate::kit::{Face, Site};
use crate::link::Hub;
use crate::metrics::Connection;
use crate::proxies::{self, TrustedProxy};
use crate::unproven::UnprovenPlace;

/// What a connection needs to begin: the services, the signal to end, and its place among the others.
#[derive(Clone, Debug)]
pub(crate) struct Entrance {
    pub(crate) site: Arc<Site>,
    /// What long connections share; a connection over HTTP may turn into one.
    pub(crate) hub: Arc<Hub>,
    pub(crate) shutdown: watch::Receiver<bool>,
    /// Long connections outlive the HTTP request they began with, and are waited for all the same.
    pub(crate) tasks: TaskTracker,
    pub(crate) place: Arc<OwnedSemaphorePermit>,
    /// Its place among those on which nobody has proved who they are.
    pub(crate) unproven: UnprovenPlace,
    /// The address of ours that the connection came to.
    pub(crate) reached: SocketAddr,
    /// The other end of the connection; of a request that a trusted proxy passes on, who sent it.
    pub(crate) peer: SocketAddr,
    pub(crate) trusted: Arc<[TrustedProxy]>,
    /// The region whose accounts the listener is for; none if it is for all.
    pub(crate) region: Option<Region>,
    pub(crate) face: Face,
}

impl Entrance {
    /// With a place among the connections of its address on which nobody is known; nothing if there is none for it. A trusted
    /// proxy has many clients, and bounds them itself.
    pub(crate) async fn on_the_step(mut self) -> Option<Entrance> {
        if !proxies::is_trusted(&self.trusted, self.peer.ip()) {
            self.unproven = self.site.unproven.enter(self.peer.ip()).await?;
        }
        Some(self)
    }
}

/// A connection that is counted as long as it is here.
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
