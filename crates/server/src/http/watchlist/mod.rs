//! Watchlists, in the form of the SDKs. `access` decides what a group may contain; here requests
//! are parsed, and a newly followed security gets the price visible to the account at the market's
//! clock.

mod groups;
mod update;

use access::Scope;

use crate::kit::{Asks, Row, RowPace};
use crate::metrics::Task;

const GROUPS: &str = "/v1/watchlist/groups";
const PINNED: &str = "/v1/watchlist/pinned";

pub(super) const ROUTES: &[Row] = &[
    limited(Row::get(GROUPS, Asks::Account, Scope::Quote, Task::Data, groups::answer)).doc(&groups::LIST),
    limited(Row::post(GROUPS, Asks::Account, Scope::Quote, Task::Data, update::create)).doc(&update::CREATE),
    limited(Row::put(GROUPS, Asks::Account, Scope::Quote, Task::Data, update::update)).doc(&update::UPDATE),
    limited(Row::delete(GROUPS, Asks::Account, Scope::Quote, Task::Data, update::delete))
        .doc(&update::DELETE),
    limited(Row::post(PINNED, Asks::Account, Scope::Quote, Task::Data, update::pin)).doc(&update::PIN),
];

/// SDKs sign with a timestamp in seconds, so a client that adds, removes and adds again within one
/// second sends equal requests, and each must take effect, as with orders.
const fn limited(row: Row) -> Row {
    row.own_region_only().paced(RowPace::Lists).orders()
}
