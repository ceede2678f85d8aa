//! Operator actions on a whole journal: rewind to an instant, reset, and fork into another account.

use market::Timestamp;
use store::{AccountId, AuditNote, CopyOutcome, JournalCopy, JournalCut, JournalHead, Rewind, RewindOutcome};
use trading::Account;

use crate::PaperError;
use crate::account::book::{AccountState, Book, TRIES_MAX};
use crate::service::Paper;

/// Actor, reason and machine time of an operator action, and the name under which the removed
/// entries are archived.
#[derive(Clone, Copy, Debug)]
pub struct JournalOperation<'a> {
    pub name: &'a str,
    pub actor: &'a str,
    pub reason: &'a str,
    pub machine: Timestamp,
}

/// Horizon and number of journal entries of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub entries: u64,
    /// Instant to which the account has been advanced; `None` before the first request.
    pub horizon: Option<Timestamp>,
}

impl Standing {
    fn of(head: Option<JournalHead>) -> Standing {
        let horizon = head.map(|head| head.horizon).filter(|horizon| *horizon > Timestamp::default());
        Standing { entries: head.map_or(0, |head| head.last_number), horizon }
    }
}

/// Whether the numbers of removed orders and grids are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Continue,
    BeginAgain,
}

impl JournalOperation<'_> {
    /// Returns the audit text: the action, followed by the reason if one is given.
    fn words(&self, done: String) -> String {
        if self.reason.is_empty() { done } else { format!("{done}: {}", self.reason) }
    }

    fn note<'a>(&'a self, words: &'a str) -> AuditNote<'a> {
        AuditNote { at: self.machine, actor: self.actor, reason: words }
    }
}

impl Paper {
    /// Returns the stored horizon and the number of journal entries of an account. Does not change
    /// the account.
    pub fn standing(&self, id: AccountId) -> Result<Standing, PaperError> {
        Ok(Standing::of(self.accounts.journal_head(id)?))
    }

    /// Returns an account at its journal head. Does not advance or begin the account.
    pub fn described(&self, id: AccountId) -> Result<Account, PaperError> {
        let place = self.place(id);
        let mut state = place.lock();
        let book = self.current(&mut state, id)?;
        let account = book.account.clone();
        state.book = Some(book);
        Ok(account)
    }

    /// Returns the number of orders of an account, open or not. Does not advance or open the
    /// account.
    pub fn order_count(&self, id: AccountId) -> Result<usize, PaperError> {
        let place = self.place(id);
        let mut state = place.lock();
        let book = self.current(&mut state, id)?;
        let count = book.account.orders().len();
        state.book = Some(book);
        Ok(count)
    }

    /// Removes all entries after the instant `to`, and archives them under the operation's name.
    pub fn rewind(
        &self,
        id: AccountId,
        to: Timestamp,
        operation: &JournalOperation<'_>,
    ) -> Result<Standing, PaperError> {
        // Entries made before the first request are stored at the zero timestamp, so a rewind never
        // removes them.
        let to = to.max(Timestamp::default());
        let done = format!("rewound to {to}, the removed part archived as {:?}", operation.name);
        self.cut(id, operation, ("paper.rewound", done), Numbers::Continue, |head| {
            if to > head.horizon {
                return Err(PaperError::NotBefore { horizon: head.horizon, to });
            }
            Ok((self.accounts.journal_number_at(id, to)?, to))
        })
    }

    /// Like [`Paper::rewind`], for the account of a world. The numbers of orders begin again, so
    /// that a second run equals the first. With `keep`, retains the entries up to that number,
    /// instead of those up to the instant.
    pub fn rewind_world(
        &self,
        id: AccountId,
        (to, keep): (Timestamp, Option<u64>),
        operation: &JournalOperation<'_>,
    ) -> Result<Standing, PaperError> {
        let done = format!("rewound to {to}, the removed part archived as {:?}", operation.name);
        self.cut(id, operation, ("paper.rewound", done), Numbers::BeginAgain, |head| {
            if to > head.horizon {
                return Err(PaperError::NotBefore { horizon: head.horizon, to });
            }
            Ok((keep.map_or_else(|| self.accounts.journal_number_at(id, to), Ok)?, to))
        })
    }

    /// Removes all entries except those made before the first request. If no operator opened the
    /// account, it becomes empty and begins again with the defaults.
    pub fn reset(&self, id: AccountId, operation: &JournalOperation<'_>) -> Result<Standing, PaperError> {
        let none = Timestamp::default();
        let done = format!("reset, the removed part archived as {:?}", operation.name);
        self.cut(id, operation, ("paper.reset", done), Numbers::Continue, |_| {
            Ok((self.accounts.journal_number_at(id, none)?, none))
        })
    }

    fn cut(
        &self,
        id: AccountId,
        operation: &JournalOperation<'_>,
        (event, done): (&'static str, String),
        numbers: Numbers,
        keeps: impl Fn(&JournalHead) -> Result<(u64, Timestamp), PaperError>,
    ) -> Result<Standing, PaperError> {
        let (place, words) = (self.place(id), operation.words(done));
        for _ in 0..TRIES_MAX {
            // The lock stops new decisions in this process. Wait for the pending appends.
            let mut state = place.lock();
            if let Some(ticket) = state.last_ticket {
                self.committer.wait_for(&self.accounts, ticket);
            }
            let head = self.accounts.journal_head(id)?.ok_or(PaperError::NoJournal)?;
            let (keep, to) = keeps(&head)?;
            let numbers_used = match numbers {
                Numbers::Continue => self.numbers_used(&mut state, id, &head)?,
                Numbers::BeginAgain => 0,
            };
            let (name, note) = (operation.name, operation.note(&words));
            let rewind = Rewind { account: id, after: head, keep, numbers_used, to, name, event, note };
            match self.accounts.rewind_journal(&rewind)? {
                RewindOutcome::Done(head) => {
                    state.book = None;
                    state.last_pushed.cut(&head);
                    self.committer.notify(id, &[]);
                    return Ok(Standing::of(Some(head)));
                }
                RewindOutcome::NameTaken => return Err(PaperError::NameTaken(name.to_owned())),
                RewindOutcome::Stale => {}
            }
        }
        Err(PaperError::Contended { account: id.0 })
    }

    /// Returns the highest number used for an order or a grid. If the journal cannot be read,
    /// returns an upper bound: each number was assigned by an entry, so there are at least as many
    /// entries as numbers.
    fn numbers_used(
        &self,
        state: &mut AccountState,
        id: AccountId,
        head: &JournalHead,
    ) -> Result<u64, PaperError> {
        match self.current(state, id) {
            Ok(book) if book.head == Some(*head) => {
                let used = book.account.numbers_used();
                state.book = Some(book);
                Ok(used)
            }
            _ => Ok(self.accounts.numbers_used(id)?.saturating_add(head.last_number)),
        }
    }

    /// Copies the journal up to an instant, or the whole journal, to an account without a journal.
    /// The copied orders get ids of the new account, because order ids are globally unique.
    pub fn fork(
        &self,
        from: AccountId,
        to: AccountId,
        until: Option<Timestamp>,
        operation: &JournalOperation<'_>,
    ) -> Result<Standing, PaperError> {
        for _ in 0..TRIES_MAX {
            let of = self.accounts.journal_head(from)?.ok_or(PaperError::NoJournal)?;
            let until = until.unwrap_or(of.horizon).max(Timestamp::default());
            if until > of.horizon {
                return Err(PaperError::NotBefore { horizon: of.horizon, to: until });
            }
            let last = self.accounts.journal_number_at(from, until)?;
            let words = operation.words(format!("copied from account {} as of {until}", from.0));
            let copy = JournalCopy {
                source: from,
                of,
                copy: to,
                last,
                horizon: until,
                // The new account is due immediately, so that the background runner computes the
                // next wake-up time.
                wake: Some(until),
                event: "paper.forked",
                note: operation.note(&words),
            };
            let known = self.copied(from, to, &of, (last, until))?;
            let place = self.place(to);
            let mut state = place.lock();
            match self.accounts.copy_journal(&copy)? {
                CopyOutcome::Copied(head) => {
                    let last_pushed = state.last_pushed.clone();
                    state.book = known.map(|account| Book::of_copy(account, head, last_pushed));
                    // Mark the copied entries as pushed, so that listeners do not receive them.
                    state.last_pushed.set(Some(&head));
                    self.committer.notify(to, &[]);
                    return Ok(Standing::of(Some(head)));
                }
                CopyOutcome::NotEmpty => return Err(PaperError::NotEmpty),
                CopyOutcome::Stale => {}
            }
        }
        Err(PaperError::Contended { account: from.0 })
    }

    /// Returns the account in memory with the ids of its copy, if the copy contains the whole
    /// journal. Otherwise the copy is loaded from its journal when it is first used.
    fn copied(
        &self,
        from: AccountId,
        to: AccountId,
        of: &JournalHead,
        (last, until): (u64, Timestamp),
    ) -> Result<Option<Account>, PaperError> {
        if (last, until) != (of.last_number, of.horizon) {
            return Ok(None);
        }
        let place = self.place(from);
        let mut state = place.lock();
        let book = self.current(&mut state, from)?;
        let account = (book.head == Some(*of)).then(|| book.account.clone());
        state.book = Some(book);
        drop(state);
        let numbers_used = self.accounts.numbers_used(to)?;
        Ok(account.map(|account| {
            let mut account = account.of_account(to.0.unsigned_abs());
            account.set_numbers_used(numbers_used);
            account
        }))
    }

    /// Returns an unused name for archived entries: the machine's time, followed by a number if
    /// that name is already used.
    pub fn free_cut_name(&self, id: AccountId, machine: Timestamp) -> Result<String, PaperError> {
        let taken = self.cuts(id)?;
        let is_free = |name: &String| taken.iter().all(|cut| cut.name != *name);
        let numbered = (2..).map(|number: u64| format!("{machine} ({number})"));
        let mut names = std::iter::once(machine.to_string()).chain(numbered);
        // The sequence of names is longer than the list of archived parts, so a free name is always
        // found.
        Ok(names.find(is_free).unwrap_or_default())
    }

    /// Returns the archived parts of a journal, oldest first.
    pub fn cuts(&self, id: AccountId) -> Result<Vec<JournalCut>, PaperError> {
        Ok(self.accounts.journal_cuts(id)?)
    }

    /// Returns every account with a journal.
    pub fn with_journals(&self) -> Result<Vec<AccountId>, PaperError> {
        Ok(self.accounts.journal_heads()?.into_iter().map(|(id, _)| id).collect())
    }

    /// Deletes a batch of expired idempotency keys, and returns the number of deleted keys.
    pub fn forget_requests(&self, machine: Timestamp) -> Result<u64, PaperError> {
        let stored = Timestamp(machine.0.saturating_sub(crate::account::NAMES_KEPT_S));
        Ok(self.accounts.forget_journal_requests(stored)?)
    }
}
