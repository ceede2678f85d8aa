//! What an account may see of a security, where nothing is counted for it.

use access::Demand;
use history::Sessions;
use market::{Floors, Symbol};

use super::site::Site;
use crate::caller::Caller;
use crate::refusal::Refusal;

/// What somebody may see of a security.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visible {
    /// At most these hours.
    pub(crate) widest: Sessions,
    /// From when on.
    pub(crate) floors: Floors,
}

/// Whether whoever asks may look at a security, and what of it; nothing is counted for that.
pub(crate) fn may_see(symbol: &Symbol, caller: &Caller, site: &Site) -> Result<Visible, Refusal> {
    site.core.known(symbol, site.core.glance()?)?;
    site.core.at_home(caller)?;
    let demand = Demand::Quotes { caller: &caller.who, market: symbol.market().into() };
    let permit = site.core.access.admit(demand, site.core.market_now())?;
    let widest = if permit.overnight() { Sessions::All } else { Sessions::Extended };
    let floors = site.core.floors_of(permit.account()).of(symbol.market());
    site.core.access.spend(permit, site.core.machine_now())?;
    Ok(Visible { widest, floors })
}
