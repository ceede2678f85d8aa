//! Grid events without a candle: expiry, and suspension by a corporate action, after which the
//! grid's prices are no longer valid.

use market::{Symbol, Timestamp};

use super::id::GridId;
use super::sub_order::{BY_EXPIRY, cancellations};
use crate::event::Event;
use crate::words::SuspendReason;
use crate::work::Work;

/// Ends expired grids, after cancelling their open orders.
pub(crate) fn expire(work: &mut Work<'_>, at: Timestamp) {
    let due = work.account.grids.open().filter(|grid| grid.ends_at.is_some_and(|end| end <= at));
    let due: Vec<GridId> = due.map(|grid| grid.id).collect();
    for id in due {
        let Some(grid) = work.account.grid(id) else { continue };
        for event in cancellations(work.account, grid, BY_EXPIRY) {
            work.record(Some(at), event);
        }
        work.record(Some(at), Event::GridExpired { grid: id });
    }
}

/// Suspends the grids of a symbol that had a corporate action.
pub(crate) fn suspend_for_action(work: &mut Work<'_>, at: Timestamp, symbol: &Symbol) {
    let watching = work.account.grids.open().filter(|grid| grid.is_watching() && grid.symbol == *symbol);
    let watching: Vec<GridId> = watching.map(|grid| grid.id).collect();
    for grid in watching {
        work.record(Some(at), Event::GridSuspended { grid, reason: SuspendReason::CorporateAction });
    }
}
