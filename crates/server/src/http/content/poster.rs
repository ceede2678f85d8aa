//! Checks who may post: the account must be opened, hold assets, and not be read-only.

use trading::Money;

use crate::kit::{Admitted, Problem, Site};

const READ_ONLY: &str = "this account is read-only: its operator lets it read topics, and write none";
const NOTHING_HELD: &str = "only an opened account that holds assets may write topics and replies: open /portfolio, or ask for \
    /v1/asset/account once";

/// Refuses an account that may not post. Does not open the account.
pub(super) fn check(site: &Site, admitted: &Admitted) -> Result<(), Problem> {
    let account = admitted.account();
    if account.terms.read_only {
        return Err(Problem::may_not_post(READ_ONLY));
    }
    let paper = site.core.paper.described(account.id).map_err(Problem::from_paper)?;
    let has_cash = paper.currencies().any(|(_, amount)| amount > Money::ZERO);
    if paper.entries() > 0 && (has_cash || paper.positions().next().is_some()) {
        return Ok(());
    }
    Err(Problem::may_not_post(NOTHING_HELD))
}
