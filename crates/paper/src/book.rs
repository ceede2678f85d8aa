//! One account in memory: what its journal comes to, as of a head of it.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use market::Timestamp;
use store::{AccountId, Accounts, JournalHead};
use trading::{Account, Entry, OrderId, Outcome, Push};

use crate::PaperError;
use crate::commit::{Audited, Named, Pending, Ticket};
use crate::last_pushed::LastPushed;
use crate::snapshot::{self, FORMAT};

/// How often something is decided or read anew because another process was quicker.
pub(crate) const TRIES_MAX: u32 = 8;

/// The place of an account in memory: whoever works on it holds the lock.
#[derive(Debug)]
pub(crate) struct AccountSlot {
    kept: Mutex<AccountState>,
    pub(crate) last_pushed: Arc<LastPushed>,
    /// When somebody last asked for it, in requests of the service.
    pub(crate) used: AtomicU64,
}

impl Default for AccountSlot {
    fn default() -> AccountSlot {
        let last_pushed = Arc::<LastPushed>::default();
        let kept =
            AccountState { book: None, last_ticket: None, version: None, last_pushed: last_pushed.clone() };
        AccountSlot { kept: Mutex::new(kept), last_pushed, used: AtomicU64::new(0) }
    }
}

impl AccountSlot {
    pub(crate) fn lock(&self) -> MutexGuard<'_, AccountState> {
        // Whoever panics has taken the book out, and it is read again.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is kept of an account.
#[derive(Debug)]
pub(crate) struct AccountState {
    /// None while somebody works on it, and after something has failed: then the journal is read again.
    pub(crate) book: Option<Book>,
    /// Of the last addition, also if its book is gone.
    pub(crate) last_ticket: Option<Ticket>,
    /// Of the accounts, where it was read with the head for the request that holds this.
    pub(crate) version: Option<i64>,
    pub(crate) last_pushed: Arc<LastPushed>,
}

impl AccountState {
    /// The book as the journal has it, and what listeners have not heard of yet. `None` if the journal was cut meanwhile.
    pub(crate) fn load(
        &self,
        accounts: &Accounts,
        id: AccountId,
    ) -> Result<Option<(Book, Vec<Push>)>, PaperError> {
        let head = accounts.journal_head(id)?;
        let mut book = Book { last_pushed: self.last_pushed.clone(), ..Book::empty() };
        let numbers_used = accounts.numbers_used(id)?;
        let Some(head) = head else {
            self.last_pushed.set(None);
            book.account.set_numbers_used(numbers_used);
            return Ok(Some((book, Vec::new())));
        };
        let told = self.last_pushed.before(accounts, id, &head)?;
        let kept = accounts.journal_snapshot(id, FORMAT)?.filter(|(number, _)| *number <= told);
        let kept = kept.and_then(|(number, state)| Some((number, snapshot::decode(&state)?)));
        if let Some((number, account)) = kept {
            (book.snapshot, book.account) = (number, account);
        }
        book.account.set_numbers_used(numbers_used);
        let Some(pushes) = book.follow(accounts, id, head, told)? else { return Ok(None) };
        self.last_pushed.set(Some(&head));
        Ok(Some((book, pushes)))
    }
}

#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) account: Account,
    /// None before the first entry.
    pub(crate) head: Option<JournalHead>,
    /// The last entry that a snapshot has.
    pub(crate) snapshot: u64,
    /// Of the last addition, which may not be written yet.
    pub(crate) last_ticket: Option<Ticket>,
    /// Names of requests that may not be written yet.
    pub(crate) unwritten_names: Vec<(String, OrderId, Ticket)>,
    /// An addition could not be written: what is here never happened.
    pub(crate) is_void: Arc<AtomicBool>,
    last_pushed: Arc<LastPushed>,
}

impl Book {
    fn empty() -> Book {
        Book {
            account: Account::default(),
            head: None,
            snapshot: 0,
            last_ticket: None,
            unwritten_names: Vec::new(),
            is_void: Arc::default(),
            last_pushed: Arc::default(),
        }
    }

    /// Whether a head is that of a journal which has only been added to since.
    pub(crate) fn is_behind(&self, head: &JournalHead) -> bool {
        self.head.is_some_and(|known| head.follows(&known))
    }

    /// Whether what is written of how far it is, and when something may happen next, is not so any more.
    pub(crate) fn has_moved(&self, wake: Option<Timestamp>) -> bool {
        self.head.is_some_and(|head| {
            head.wake != wake || self.account.horizon().is_some_and(|horizon| horizon > head.horizon)
        })
    }

    /// What is to be written, and the book as it will be when it is.
    pub(crate) fn pending(
        &mut self,
        account: AccountId,
        outcome: Outcome,
        wake: Option<Timestamp>,
        request: Option<Named>,
        audit: Option<Audited>,
    ) -> Result<Pending, PaperError> {
        let entries = written(account, &outcome.entries)?;
        let horizon = self.account.horizon().unwrap_or_default();
        let (revision, last_number) = self.head.map_or((0, 0), |head| (head.revision, head.last_number));
        let head = JournalHead {
            revision: revision.saturating_add(u64::from(!entries.is_empty())),
            last_number: last_number.saturating_add(entries.len() as u64),
            horizon,
            wake,
        };
        let after = self.head.replace(head);
        let (last_pushed, is_void) = (self.last_pushed.clone(), self.is_void.clone());
        let pushes = outcome.pushes;
        Ok(Pending { account, after, entries, horizon, wake, request, audit, pushes, last_pushed, is_void })
    }

    /// Takes in what was added to the journal since. What listeners are to hear of it: all after an entry. `None` if the journal was
    /// cut meanwhile: then this is neither what it was nor what it is.
    fn follow(
        &mut self,
        accounts: &Accounts,
        id: AccountId,
        head: JournalHead,
        told: u64,
    ) -> Result<Option<Vec<Push>>, PaperError> {
        let mut pushes = Vec::new();
        let is_whole = loop {
            if self.account.entries() >= head.last_number {
                break true;
            }
            let entries = read(accounts, id, self.account.entries())?;
            if entries.is_empty() {
                break false;
            }
            for entry in entries.iter().take_while(|entry| entry.number <= head.last_number) {
                if entry.number > told {
                    pushes.extend(self.account.take_in(entry));
                } else {
                    self.account.apply(entry);
                }
            }
        };
        if !accounts.journal_head(id)?.is_some_and(|now| now.follows(&head)) {
            return Ok(None);
        }
        if !is_whole {
            return Err(PaperError::Short { account: id.0, number: self.account.entries() });
        }
        self.account.set_horizon(self.account.began().and(Some(head.horizon)));
        self.head = Some(head);
        Ok(Some(pushes))
    }

    /// Follows a journal that others have added to; listeners are to hear of what was not pushed yet. `None` if it was cut meanwhile.
    pub(crate) fn catch_up(
        &mut self,
        accounts: &Accounts,
        id: AccountId,
        head: JournalHead,
    ) -> Result<Option<Vec<Push>>, PaperError> {
        let entries = self.account.entries();
        // Whoever listens since they were added is not to hear of them.
        let told = self.last_pushed.within(&head).map_or(entries, |told| told.max(entries));
        let Some(pushes) = self.follow(accounts, id, head, told)? else { return Ok(None) };
        self.last_pushed.set(Some(&head));
        Ok(Some(pushes))
    }
}

/// The next entries of a journal after a number.
pub(crate) fn read(accounts: &Accounts, id: AccountId, after: u64) -> Result<Vec<Entry>, PaperError> {
    accounts.journal_entries(id, after)?.iter().map(|row| parsed(id, row)).collect()
}

pub(crate) fn parsed(id: AccountId, row: &store::JournalEntry) -> Result<Entry, PaperError> {
    let entry: Entry = serde_json::from_str(&row.text).map_err(|source| PaperError::Entry {
        account: id.0,
        number: row.number,
        source,
    })?;
    // A copy of another account's journal is numbered as it was there, so this holds for it, too.
    if entry.version > trading::VERSION || entry.number != row.number {
        return Err(PaperError::Foreign { account: id.0, number: row.number, version: entry.version });
    }
    Ok(entry)
}

/// The whole journal at one of its heads. One that is cut meanwhile is read again.
pub(crate) fn read_all(
    accounts: &Accounts,
    id: AccountId,
) -> Result<Option<(JournalHead, Vec<Entry>)>, PaperError> {
    for _ in 0..TRIES_MAX {
        let Some(head) = accounts.journal_head(id)? else { return Ok(None) };
        let mut all = Vec::new();
        while (all.len() as u64) < head.last_number {
            let part = read(accounts, id, all.len() as u64)?;
            if part.is_empty() {
                break;
            }
            all.extend(part);
        }
        if !accounts.journal_head(id)?.is_some_and(|now| now.follows(&head)) {
            continue;
        }
        let number = all.len() as u64;
        if number < head.last_number {
            return Err(PaperError::Short { account: id.0, number });
        }
        // What was added meanwhile belongs to another head.
        all.truncate(usize::try_from(head.last_number).unwrap_or(usize::MAX));
        return Ok(Some((head, all)));
    }
    Err(PaperError::Contended { account: id.0 })
}

/// Entries as they are stored. What was entered before the first request has no instant, and stands before all others.
pub(crate) fn written(id: AccountId, entries: &[Entry]) -> Result<Vec<(Timestamp, String)>, PaperError> {
    let write = |entry: &Entry| match serde_json::to_string(entry) {
        Ok(text) => Ok((entry.at.unwrap_or_default(), text)),
        Err(source) => Err(PaperError::Write { account: id.0, source }),
    };
    entries.iter().map(write).collect()
}
