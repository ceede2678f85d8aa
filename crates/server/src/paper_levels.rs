//! Levels earned by paper trading. Accounts are tallied once per market day by a job
//! (`jobs/paper_accounts.rs`). If a level is requested before the job has run, the account is
//! tallied immediately (`Core::tally`).

use std::sync::Arc;

use tokio::sync::Notify;

/// Triggers a tally of all accounts.
#[derive(Debug, Default)]
pub(crate) struct PaperLevels {
    due: Arc<Notify>,
}

impl PaperLevels {
    /// Schedules a tally. Must be called after the market clock was moved or an account's journal
    /// was truncated.
    pub(crate) fn tally_soon(&self) {
        self.due.notify_one();
    }

    pub(crate) fn due(&self) -> &Arc<Notify> {
        &self.due
    }
}
