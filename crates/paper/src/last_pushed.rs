//! The last journal entry that was pushed to the listeners of an account.

use std::sync::{Mutex, MutexGuard, PoisonError};

use store::{AccountId, Accounts, JournalHead, StoreError};

/// The last entry of a journal that this process pushed to listeners, whichever process wrote it.
#[derive(Debug, Default)]
pub(crate) struct LastPushed(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// `None` until this process has read the journal.
    mark: Option<Mark>,
    watchers: usize,
}

/// An entry. Its number alone is not unique: another era may reuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    era: u64,
    number: u64,
}

impl Mark {
    fn of(head: Option<&JournalHead>) -> Mark {
        head.map_or(Mark { era: 0, number: 0 }, |head| Mark { era: head.era(), number: head.last_number })
    }
}

impl LastPushed {
    /// Adds a listener. The first one does not receive entries that were written before.
    pub(crate) fn watch(&self, accounts: &Accounts, id: AccountId) -> Result<(), StoreError> {
        // Held while the head is read: a second listener receives everything that is written from
        // then on.
        let mut state = self.lock();
        if state.watchers == 0 {
            let head = Mark::of(accounts.journal_head(id)?.as_ref());
            // Our own writes since the head was read were already pushed.
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

    /// Marks a journal with this head as completely pushed.
    pub(crate) fn set(&self, head: Option<&JournalHead>) {
        self.lock().mark = Some(Mark::of(head));
    }

    /// Marks the head after this process cut the journal.
    pub(crate) fn cut(&self, head: &JournalHead) {
        if let Some(mark) = &mut self.lock().mark {
            *mark = Mark { era: head.era(), number: mark.number.min(head.last_number) };
        }
    }

    /// Whether everything up to this head was pushed.
    pub(crate) fn is_at(&self, head: &JournalHead) -> bool {
        self.lock().mark == Some(Mark::of(Some(head)))
    }

    /// The last pushed entry, if known and if the journal was only added to since.
    pub(crate) fn within(&self, head: &JournalHead) -> Option<u64> {
        self.lock().mark.filter(|mark| mark.era == head.era()).map(|mark| mark.number)
    }

    /// The last entry up to this head that was pushed or needs no push: without a mark, all of
    /// them. If another process cut the journal and wrote new entries, these are not pushed yet,
    /// although their numbers were.
    pub(crate) fn before(
        &self,
        accounts: &Accounts,
        id: AccountId,
        head: &JournalHead,
    ) -> Result<u64, StoreError> {
        // Release the lock before the store is queried.
        let mark = self.lock().mark;
        let Some(Mark { era, number }) = mark else { return Ok(head.last_number) };
        let mut number = number.min(head.last_number);
        let eras = usize::try_from(head.era().abs_diff(era)).unwrap_or(usize::MAX);
        if eras > 0 {
            // Each cut begins an era.
            for cut in accounts.journal_cuts(id)?.iter().rev().take(eras) {
                let first = accounts.journal_cut_entries(id, &cut.name, 0)?.first().map(|entry| entry.number);
                number = first.map_or(number, |first| number.min(first.saturating_sub(1)));
            }
        }
        Ok(number)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent when a thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
