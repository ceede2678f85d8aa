//! What all long connections share besides the core: the list of signed-in connections, and which gateway known clients use.

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
