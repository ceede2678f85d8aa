//! Levels that are earned on paper: accounts are tallied once for each day of the market, by a job (`jobs/paper_levels.rs`) and, where
//! somebody asks about a level before it has come so far, at once (`Core::tally`).

use std::sync::Arc;

use tokio::sync::Notify;

/// What begins a tally of all accounts.
#[derive(Debug, Default)]
pub(crate) struct PaperLevels {
    due: Arc<Notify>,
}

impl PaperLevels {
    /// The market's clock was moved, or the journal of an account cut.
    pub(crate) fn tally_soon(&self) {
        self.due.notify_one();
    }

    pub(crate) fn due(&self) -> &Arc<Notify> {
        &self.due
    }
}
