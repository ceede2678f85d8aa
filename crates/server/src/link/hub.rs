//! The shared state of all long connections besides the core: the signed-in connections, and the
//! gateways that known clients use.

use std::sync::Arc;

use super::gateway::Clients;
use crate::core::Core;
use crate::links::Links;

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
