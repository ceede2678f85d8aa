//! What an operator does to a journal as a whole: cut it at an instant, begin it anew, copy it to another account.

use market::Timestamp;
use store::{AccountId, AddOutcome, Addition, AuditNote, JournalCut, JournalHead, Rewind, RewindOutcome};
use trading::{Account, Entry};

use crate::PaperError;
use crate::book::{self, AccountState, TRIES_MAX};
use crate::service::Paper;

/// Who does it and why, by the machine's time; and what the part that is taken away will be called.
#[derive(Clone, Copy, Debug)]
pub struct Travel<'a> {
    pub name: &'a str,
    pub actor: &'a str,
    pub reason: &'a str,
    pub machine: Timestamp,
}

/// How far an account is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub entries: u64,
    /// None before the first request.
    pub horizon: Option<Timestamp>,
}

impl Standing {
    fn of(head: Option<JournalHead>) -> Standing {
        let horizon = head.map(|head| head.horizon).filter(|horizon| *horizon > Timestamp::default());
        Standing { entries: head.map_or(0, |head| head.last_number), horizon }
    }
}

impl Travel<'_> {
    /// What the audit says: what was done, and why if that is known.
    fn words(&self, done: String) -> String {
        if self.reason.is_empty() { done } else { format!("{done}: {}", self.reason) }
    }

    fn note<'a>(&'a self, words: &'a str) -> AuditNote<'a> {
        AuditNote { at: self.machine, actor: self.actor, reason: words }
    }
}

impl Paper {
    /// How far an account is, as it is written. Asking does not begin it.
    pub fn standing(&self, id: AccountId) -> Result<Standing, PaperError> {
        Ok(Standing::of(self.accounts.journal_head(id)?))
    }

    /// An account as its journal has it, whatever the market has brought since. Asking does not begin it.
    pub fn described(&self, id: AccountId) -> Result<Account, PaperError> {
        let place = self.place(id);
        let mut kept = place.lock();
        let book = self.current(&mut kept, id)?;
        let account = book.account.clone();
        kept.book = Some(book);
        Ok(account)
    }

    /// Takes back what happened after an instant, and keeps it under a name.
    pub fn rewind(&self, id: AccountId, to: Timestamp, travel: &Travel<'_>) -> Result<Standing, PaperError> {
        // What was entered before the first request is stored with this instant, and is before all others.
        let to = to.max(Timestamp::default());
        let done = format!("rewound to {to}, the rest kept as {:?}", travel.name);
        self.cut(id, travel, ("paper.rewound", done), |head| {
            if to > head.horizon {
                return Err(PaperError::NotBefore { horizon: head.horizon, to });
            }
            Ok((self.accounts.journal_number_at(id, to)?, to))
        })
    }

    /// Takes everything back but what was entered before the first request; an account that nobody had prepared has nothing left,
    /// and begins anew with what every account has.
    pub fn reset(&self, id: AccountId, travel: &Travel<'_>) -> Result<Standing, PaperError> {
        let none = Timestamp::default();
        let done = format!("begun anew, the rest kept as {:?}", travel.name);
        self.cut(id, travel, ("paper.reset", done), |_| {
            Ok((self.accounts.journal_number_at(id, none)?, none))
        })
    }

    fn cut(
        &self,
        id: AccountId,
        travel: &Travel<'_>,
        (event, done): (&'static str, String),
        keeps: impl Fn(&JournalHead) -> Result<(u64, Timestamp), PaperError>,
    ) -> Result<Standing, PaperError> {
        let (place, words) = (self.place(id), travel.words(done));
        for _ in 0..TRIES_MAX {
            // Nobody here decides anything meanwhile, and what was decided is written first.
            let mut kept = place.lock();
            if let Some(ticket) = kept.last_ticket {
                self.committer.wait_for(&self.accounts, ticket);
            }
            let head = self.accounts.journal_head(id)?.ok_or(PaperError::NoJournal)?;
            let (keep, to) = keeps(&head)?;
            let numbers_used = self.numbers_used(&mut kept, id, &head)?;
            let (name, note) = (travel.name, travel.note(&words));
            let rewind = Rewind { account: id, after: head, keep, numbers_used, to, name, event, note };
            match self.accounts.rewind_journal(&rewind)? {
                RewindOutcome::Done(head) => {
                    kept.book = None;
                    kept.last_pushed.cut(&head);
                    return Ok(Standing::of(Some(head)));
                }
                RewindOutcome::NameTaken => return Err(PaperError::NameTaken(name.to_owned())),
                RewindOutcome::Stale => {}
            }
        }
        Err(PaperError::Contended { account: id.0 })
    }

    /// The highest number that an order or a grid has had. If the journal cannot be read, no number that it could have given out: each took an
    /// entry.
    fn numbers_used(
        &self,
        kept: &mut AccountState,
        id: AccountId,
        head: &JournalHead,
    ) -> Result<u64, PaperError> {
        match self.current(kept, id) {
            Ok(book) if book.head == Some(*head) => {
                let used = book.account.numbers_used();
                kept.book = Some(book);
                Ok(used)
            }
            _ => Ok(self.accounts.numbers_used(id)?.saturating_add(head.last_number)),
        }
    }

    /// Copies what happened up to an instant, or all of it, to an account that has no journal. Its orders get ids of its own: no
    /// two accounts have one in common.
    pub fn fork(
        &self,
        from: AccountId,
        to: AccountId,
        until: Option<Timestamp>,
        travel: &Travel<'_>,
    ) -> Result<Standing, PaperError> {
        let (head, entries) = book::read_all(&self.accounts, from)?.ok_or(PaperError::NoJournal)?;
        let until = until.unwrap_or(head.horizon).max(Timestamp::default());
        if until > head.horizon {
            return Err(PaperError::NotBefore { horizon: head.horizon, to: until });
        }
        let copied = entries.iter().take_while(|entry| entry.at.is_none_or(|at| at <= until));
        let copied: Vec<Entry> = copied.map(|entry| entry.of_account(to.0.unsigned_abs())).collect();
        let words = travel.words(format!("copied from account {} as of {until}", from.0));
        let addition = Addition {
            account: to,
            after: None,
            entries: &book::written(to, &copied)?,
            horizon: until,
            // Whoever advances accounts looks at it.
            wake: Some(until),
            request: None,
            audit: Some(("paper.forked", travel.note(&words))),
        };
        let place = self.place(to);
        let mut kept = place.lock();
        match self.accounts.add_to_journals(&[addition])?.first() {
            Some(AddOutcome::Added(head)) => {
                kept.book = None;
                // What was copied happened to another account.
                kept.last_pushed.set(Some(head));
                Ok(Standing::of(Some(*head)))
            }
            _ => Err(PaperError::NotEmpty),
        }
    }

    /// A name for a part that is about to be cut, where the operator gives none: the machine's time, which several cuts may have.
    pub fn free_cut_name(&self, id: AccountId, machine: Timestamp) -> Result<String, PaperError> {
        let taken = self.cuts(id)?;
        let is_free = |name: &String| taken.iter().all(|cut| cut.name != *name);
        let numbered = (2..).map(|number: u64| format!("{machine} ({number})"));
        let mut names = std::iter::once(machine.to_string()).chain(numbered);
        // There are more numbers than cuts.
        Ok(names.find(is_free).unwrap_or_default())
    }

    /// What was taken from a journal, in that order.
    pub fn cuts(&self, id: AccountId) -> Result<Vec<JournalCut>, PaperError> {
        Ok(self.accounts.journal_cuts(id)?)
    }

    /// Every account that has a journal.
    pub fn with_journals(&self) -> Result<Vec<AccountId>, PaperError> {
        Ok(self.accounts.journal_heads()?.into_iter().map(|(id, _)| id).collect())
    }

    /// Forgets the names of requests that nobody will repeat, some of them. How many.
    pub fn forget_requests(&self, machine: Timestamp) -> Result<u64, PaperError> {
        let kept = Timestamp(machine.0.saturating_sub(crate::attempt::NAMES_KEPT_S));
        Ok(self.accounts.forget_journal_requests(kept)?)
    }
}
