use std::net::SocketAddr;

use access::Region;

use super::gateway::Program;
use crate::unauthenticated::UnauthenticatedSlot;

/// The origin of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) address: SocketAddr,
    /// The region of its listener; `None` if that serves every region.
    pub(crate) region: Option<Region>,
    pub(crate) program: Program,
    /// Its slot among the unauthenticated connections.
    pub(crate) unauthenticated: UnauthenticatedSlot,
}
