//! Watchlist endpoints in the JSON format of the SDKs. `access` decides what a group may contain.
//! These handlers parse requests, and record the price of a newly followed security that is visible
//! to the account at the market clock.

mod groups;
mod update;

use access::Scope;

use crate::kit::{Accepts, Row, RowPace};
use crate::metrics::Task;

const GROUPS: &str = "/v1/watchlist/groups";
const PINNED: &str = "/v1/watchlist/pinned";

pub(super) const ROUTES: &[Row] = &[
    limited(Row::get(GROUPS, Accepts::Account, Scope::Quote, Task::Data, groups::answer)).doc(&groups::LIST),
    limited(Row::post(GROUPS, Accepts::Account, Scope::Quote, Task::Data, update::create))
        .doc(&update::CREATE),
    limited(Row::put(GROUPS, Accepts::Account, Scope::Quote, Task::Data, update::update))
        .doc(&update::UPDATE),
    limited(Row::delete(GROUPS, Accepts::Account, Scope::Quote, Task::Data, update::delete))
        .doc(&update::DELETE),
    limited(Row::post(PINNED, Accepts::Account, Scope::Quote, Task::Data, update::pin)).doc(&update::PIN),
];

/// Restricts a row to its region and the list rate limit, and allows a client to repeat a change.
/// SDKs sign with a timestamp in seconds, so a client that adds, removes and adds a security again
/// within a second sends identical requests, and all of them must take effect.
const fn limited(row: Row) -> Row {
    row.own_region_only().paced(RowPace::Lists).orders().of_owner()
}
