use std::net::SocketAddr;

use access::Region;

use super::gateway::Program;
use crate::unauthenticated::UnauthenticatedSlot;

/// Where a connection came from.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) address: SocketAddr,
    /// The region of its listener; `None` if that serves every region.
    pub(crate) region: Option<Region>,
    pub(crate) program: Program,
    /// Its place among those on which nobody has signed in.
    pub(crate) unauthenticated: UnauthenticatedSlot,
}
