//! Compares price alerts with the quotes of a clock, and notifies the streams of the accounts whose
//! alerts have fired.

use std::sync::PoisonError;

use access::{AccessError, AccountId};
use history::{AsOf, HistoryError};
use market::Timestamp;
use store::StoreError;

use super::Channel;
use crate::account_news::Subject;
use crate::core::Core;

#[derive(Debug, thiserror::Error)]
pub(crate) enum AlertError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("cannot read or store an alert: {0}")]
    Store(#[from] StoreError),
}

/// Compares the alerts of all accounts without a world. Returns the market time if there are enabled
/// alerts. Blocks on disk I/O.
pub(crate) fn compare_alerts(core: &Core) -> Result<Option<Timestamp>, AlertError> {
    let as_of = Channel::of_server(core).as_of();
    Ok(compare(core, None, as_of)?.then(|| as_of.now()))
}

/// Compares the alerts of a world, or of all accounts without one, up to the instant of their clock.
/// Returns whether there are enabled alerts. Blocks on disk I/O.
fn compare(core: &Core, world: Option<AccountId>, as_of: AsOf) -> Result<bool, AlertError> {
    let version = core.access.version_check()?;
    let accounts = core.access.database();
    let group = core.alerts.of(world);
    let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
    if !group.load(world, version, &accounts)? {
        return Ok(false);
    }
    let quotes = core.with_reader(|reader| group.read(&core.history, reader, as_of))?;
    for account in group.compare(&quotes, as_of, &accounts)? {
        core.listeners.news().changed(account, Subject::Alerts);
    }
    Ok(true)
}

/// Compares the alerts of a world after a movement. A failure does not fail the movement: the next
/// one compares the same quotes.
pub(crate) fn compare_alerts_of_world(core: &Core, account: AccountId, as_of: AsOf) {
    if let Err(error) = compare(core, Some(account), as_of) {
        tracing::error!(%error, account = account.0, "cannot compare the alerts of a world");
    }
}
