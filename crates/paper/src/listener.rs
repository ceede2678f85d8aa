//! Listeners for account changes, and the last journal entry of an account that was pushed to them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use market::Timestamp;
use store::{AccountId, Accounts, JournalHead, StoreError};
use trading::Push;

/// Receives account changes once they are durable. Implementations must not block or access an
/// account.
pub trait Listener: Send + Sync {
    /// Called in journal order when the journal of an account has changed. `pushes` are those of its
    /// orders and grids, and may be empty. Changes by other processes are reported once this process
    /// reads them.
    fn changed(&self, account: AccountId, pushes: &[Push]);

    /// Called when an account must be advanced at the market time `until` even without a request.
    fn waits(&self, _until: Timestamp) {}
}

/// A listener that ignores all changes.
#[derive(Clone, Copy, Debug)]
pub struct NoListener;

impl Listener for NoListener {
    fn changed(&self, _account: AccountId, _pushes: &[Push]) {}
}

/// The last journal entry that this process pushed to listeners, even if another process wrote the
/// entry.
#[derive(Debug, Default)]
pub(crate) struct LastPushed(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The last pushed entry, or `None` until this process has read the journal.
    mark: Option<Mark>,
    watchers: usize,
}

/// Identifies a journal entry. The number alone is not unique, because a later era may reuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    era: u64,
    number: u64,
}

impl Mark {
    fn of(head: Option<&JournalHead>) -> Mark {
        head.map_or(Mark { era: 0, number: 0 }, |head| Mark { era: head.era(), number: head.last_number })
    }
}

impl LastPushed {
    /// Adds a listener. The first listener does not receive entries written before this call.
    pub(crate) fn watch(&self, accounts: &Accounts, id: AccountId) -> Result<(), StoreError> {
        // The lock is held while the head is read, so that a second listener misses no entry
        // written after the head.
        let mut state = self.lock();
        if state.watchers == 0 {
            let head = Mark::of(accounts.journal_head(id)?.as_ref());
            // A mark beyond the head means that this process wrote and pushed entries after the
            // head was read.
            let is_further = |mark: &Mark| mark.era == head.era && mark.number > head.number;
            state.mark = Some(state.mark.filter(is_further).unwrap_or(head));
        }
        state.watchers += 1;
        Ok(())
    }

    pub(crate) fn unwatch(&self) {
        let mut state = self.lock();
        state.watchers = state.watchers.saturating_sub(1);
    }

    /// Records that all entries up to `head` were pushed.
    pub(crate) fn set(&self, head: Option<&JournalHead>) {
        self.lock().mark = Some(Mark::of(head));
    }

    /// Returns whether the journal has other entries than those that were pushed at `before`.
    pub(crate) fn has_moved(&self, before: Option<Mark>) -> bool {
        self.lock().mark != before
    }

    pub(crate) fn mark(&self) -> Option<Mark> {
        self.lock().mark
    }

    /// Updates the mark after this process truncated the journal to `head`.
    pub(crate) fn cut(&self, head: &JournalHead) {
        if let Some(mark) = &mut self.lock().mark {
            *mark = Mark { era: head.era(), number: mark.number.min(head.last_number) };
        }
    }

    /// Returns whether all entries up to `head` were pushed, and none after it.
    pub(crate) fn is_at(&self, head: &JournalHead) -> bool {
        self.lock().mark == Some(Mark::of(Some(head)))
    }

    /// Returns the number of the last pushed entry. Returns `None` if the number is unknown or the
    /// journal has been truncated since.
    pub(crate) fn within(&self, head: &JournalHead) -> Option<u64> {
        self.lock().mark.filter(|mark| mark.era == head.era()).map(|mark| mark.number)
    }

    /// Returns the number of the last entry up to `head` that needs no push: the last pushed entry,
    /// or the head if no mark is set. If another process truncated the journal and wrote new
    /// entries, the new entries still need a push, although entries with the same numbers were
    /// pushed before.
    pub(crate) fn before(
        &self,
        accounts: &Accounts,
        id: AccountId,
        head: &JournalHead,
    ) -> Result<u64, StoreError> {
        // Release the lock before querying the store.
        let mark = self.lock().mark;
        let Some(Mark { era, number }) = mark else { return Ok(head.last_number) };
        let mut number = number.min(head.last_number);
        let eras = usize::try_from(head.era().abs_diff(era)).unwrap_or(usize::MAX);
        if eras > 0 {
            // Every truncation starts a new era and stores the entries it removed.
            for cut in accounts.journal_cuts(id)?.iter().rev().take(eras) {
                let first = accounts.journal_cut_entries(id, &cut.name, 0)?.first().map(|entry| entry.number);
                number = first.map_or(number, |first| number.min(first.saturating_sub(1)));
            }
        }
        Ok(number)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state stays consistent if a thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
