//! Visibility checks for endpoints that cost no quota.

use access::Demand;
use history::Sessions;
use market::{Floors, Symbol};

use super::site::Site;
use crate::caller::Caller;
use crate::refusal::Refusal;

/// The part of a security's data that an account may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visible {
    /// Widest visible trading hours.
    pub(crate) widest: Sessions,
    /// Start of the visible history.
    pub(crate) floors: Floors,
}

/// Checks that the caller may see a security, without counting it against the quota.
pub(crate) fn may_see(symbol: &Symbol, caller: &Caller, site: &Site) -> Result<Visible, Refusal> {
    site.core.known(symbol, site.core.version_check()?, caller.as_of)?;
    site.core.own_region_only(caller)?;
    let demand = Demand::Quotes { caller: &caller.who, market: symbol.market().into() };
    let permit = site.core.access.admit(demand, caller.now())?;
    let widest = if permit.overnight() { Sessions::All } else { Sessions::Extended };
    let floors = site.core.floors_of(permit.account()).of(symbol.market());
    site.core.access.spend(permit, site.core.machine_now())?;
    Ok(Visible { widest, floors })
}
