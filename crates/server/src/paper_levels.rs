//! Levels earned by paper trading. Accounts are tallied once per market day, by a job
//! (`jobs/paper_accounts.rs`) or, if a level is requested before the job has run, immediately
//! (`Core::tally`).

use std::sync::Arc;

use tokio::sync::Notify;

/// Triggers a tally of all accounts.
#[derive(Debug, Default)]
pub(crate) struct PaperLevels {
    due: Arc<Notify>,
}

impl PaperLevels {
    /// Schedules a tally. Call it after the market clock was moved, or an account's journal was
    /// truncated.
    pub(crate) fn tally_soon(&self) {
        self.due.notify_one();
    }

    pub(crate) fn due(&self) -> &Arc<Notify> {
        &self.due
    }
}
