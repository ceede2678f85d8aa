//! How far those who listen to an account have heard of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use store::{AccountId, Accounts, JournalHead, StoreError};

/// The last entry of a journal that was pushed to listeners here, whoever wrote it.
#[derive(Debug, Default)]
pub(crate) struct LastPushed(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// None until somebody here has read the journal.
    mark: Option<Mark>,
    watchers: usize,
}

/// An entry. In another era its number may be that of another one.
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
    /// Counts somebody who listens. The first one is to hear of nothing that was written before.
    pub(crate) fn watch(&self, accounts: &Accounts, id: AccountId) -> Result<(), StoreError> {
        // Held while the head is read: whoever comes second hears of all that is written once they listen.
        let mut state = self.lock();
        if state.watchers == 0 {
            let head = Mark::of(accounts.journal_head(id)?.as_ref());
            // Of what this process has written since the head was read, listeners have been told.
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

    /// There is nothing left to push of a journal with this head.
    pub(crate) fn set(&self, head: Option<&JournalHead>) {
        self.lock().mark = Some(Mark::of(head));
    }

    /// The journal was cut here, and has this head now.
    pub(crate) fn cut(&self, head: &JournalHead) {
        if let Some(mark) = &mut self.lock().mark {
            *mark = Mark { era: head.era(), number: mark.number.min(head.last_number) };
        }
    }

    /// Whether listeners here have heard of all of a journal with this head.
    pub(crate) fn is_at(&self, head: &JournalHead) -> bool {
        self.lock().mark == Some(Mark::of(Some(head)))
    }

    /// The last entry that was pushed of a journal that has only been added to since, if any is known.
    pub(crate) fn within(&self, head: &JournalHead) -> Option<u64> {
        self.lock().mark.filter(|mark| mark.era == head.era()).map(|mark| mark.number)
    }

    /// The last entry of a journal with this head that was pushed, or needs not be: without a mark, all that is there. Entries that
    /// another process put in the place of those it cut are not pushed yet, though their numbers were.
    pub(crate) fn before(
        &self,
        accounts: &Accounts,
        id: AccountId,
        head: &JournalHead,
    ) -> Result<u64, StoreError> {
        // Let go before the store is asked.
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
        // Nothing is half done in it when a thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
