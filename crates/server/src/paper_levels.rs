//! Levels that are earned by paper trading: accounts are tallied once for each market day, by a job
//! (`jobs/paper_levels.rs`) and, if a level is requested before the job has reached it, immediately
//! (`Core::tally`).

use std::sync::Arc;

use tokio::sync::Notify;

/// Triggers a tally of all accounts.
#[derive(Debug, Default)]
pub(crate) struct PaperLevels {
    due: Arc<Notify>,
}

impl PaperLevels {
    /// Call after the market's clock was moved, or an account's journal was cut.
    pub(crate) fn tally_soon(&self) {
        self.due.notify_one();
    }

    pub(crate) fn due(&self) -> &Arc<Notify> {
        &self.due
    }
}
