//! What all long connections share besides the core: the seats that are taken, and what clients have shown of themselves.

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
