//! Shared state of all long connections besides the core: the signed-in connections, and the
//! gateways that known clients use.

use std::net::SocketAddr;
use std::sync::Arc;

use access::Region;

use super::gateway::{Clients, Program};
use crate::core::Core;
use crate::links::Links;
use crate::places::UnauthenticatedSlot;

#[derive(Debug)]
pub(crate) struct Hub {
    pub(super) core: Arc<Core>,
    pub(super) links: Links,
    pub(super) clients: Clients,
}

impl Hub {
    pub(crate) fn new(core: Arc<Core>, links: Links) -> Hub {
        Hub { core, links, clients: Clients::default() }
    }
}

/// Origin of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) address: SocketAddr,
    /// Region of the listener, or `None` if it serves every region.
    pub(crate) region: Option<Region>,
    pub(crate) program: Program,
    /// Slot in the limit on unauthenticated connections.
    pub(crate) unauthenticated: UnauthenticatedSlot,
}
