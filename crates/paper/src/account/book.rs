//! One account in memory: the state at a given journal head, loaded from a snapshot and the
//! journal.

use std::io::{BufWriter, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use market::Timestamp;
use store::{AccountId, Accounts, JournalHead, SNAPSHOT_BYTES_MAX};
use trading::{Account, Entry, OrderId, Outcome, Push};

use super::commit::{Audited, KeyedRequest, Pending, Ticket};
use crate::PaperError;
use crate::listener::LastPushed;

/// Maximum number of attempts at a decision or a read that conflicts with another process's writes.
pub(crate) const TRIES_MAX: u32 = 8;

/// Version of the snapshot format, which is an account as compressed JSON. Orders are similar to
/// each other, so a snapshot of 50,000 orders shrinks from 60 MB to 3 MB.
///
/// Snapshots in other versions are ignored and rewritten.
pub(crate) const SNAPSHOT_FORMAT: &str = "6";
/// The fastest compression level. Higher levels take several times as long and reduce the size by
/// only a tenth.
const SNAPSHOT_LEVEL: i32 = 1;
/// Maximum decompressed size in bytes. Larger snapshots are rejected.
const SNAPSHOT_TEXT_BYTES_MAX: u64 = 1 << 30;
const WRITTEN_AT_ONCE: usize = 256 << 10;

/// An account's slot in memory. Every operation on the account holds its lock.
#[derive(Debug)]
pub(crate) struct AccountSlot {
    state: Mutex<AccountState>,
    pub(crate) last_pushed: Arc<LastPushed>,
    /// Last use, as a sequence number of the service's requests. Used for LRU eviction.
    pub(crate) used: AtomicU64,
}

impl Default for AccountSlot {
    fn default() -> AccountSlot {
        let last_pushed = Arc::<LastPushed>::default();
        let stored =
            AccountState { book: None, last_ticket: None, version: None, last_pushed: last_pushed.clone() };
        AccountSlot { state: Mutex::new(stored), last_pushed, used: AtomicU64::new(0) }
    }
}

impl AccountSlot {
    pub(crate) fn lock(&self) -> MutexGuard<'_, AccountState> {
        // A thread that panicked had taken the book out of its slot, so the next request reloads
        // the book.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Account state protected by the slot's lock.
#[derive(Debug)]
pub(crate) struct AccountState {
    /// `None` while a request works on the book, and after a failure, when the book must be
    /// reloaded from the journal.
    pub(crate) book: Option<Book>,
    /// Ticket of the last append, even if its book was dropped.
    pub(crate) last_ticket: Option<Ticket>,
    /// Version of the accounts database, if the current request read it together with the journal
    /// head.
    pub(crate) version: Option<i64>,
    pub(crate) last_pushed: Arc<LastPushed>,
}

impl AccountState {
    /// Loads the book from the journal, and returns it with the pushes that listeners have not
    /// received. Returns `None` if the journal was truncated concurrently.
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
        let report = self.last_pushed.before(accounts, id, &head)?;
        let stored = accounts.journal_snapshot(id, SNAPSHOT_FORMAT)?.filter(|(number, _)| *number <= report);
        let stored = stored.and_then(|(number, state)| Some((number, decode_snapshot(&state)?)));
        if let Some((number, account)) = stored {
            (book.snapshot, book.account) = (number, account);
        }
        book.account.set_numbers_used(numbers_used);
        let Some(pushes) = book.follow(accounts, id, head, report)? else { return Ok(None) };
        self.last_pushed.set(Some(&head));
        Ok(Some((book, pushes)))
    }
}

#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) account: Account,
    /// Head of the journal; `None` before the first entry.
    pub(crate) head: Option<JournalHead>,
    /// Number of the last entry covered by a snapshot.
    pub(crate) snapshot: u64,
    /// Ticket of the last append, which may not be durable yet.
    pub(crate) last_ticket: Option<Ticket>,
    /// Idempotency keys of requests that may not be durable yet.
    pub(crate) unwritten_names: Vec<(String, OrderId, Ticket)>,
    /// Set if an append failed, which invalidates this state.
    pub(crate) is_void: Arc<AtomicBool>,
    last_pushed: Arc<LastPushed>,
}

impl Book {
    /// Creates the book of an account that was copied in memory. `head` is the head of the copied
    /// journal.
    pub(crate) fn of_copy(account: Account, head: JournalHead, last_pushed: Arc<LastPushed>) -> Book {
        Book { account, head: Some(head), last_pushed, ..Book::empty() }
    }

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

    /// Returns whether `head` extends this book's head by appends only.
    pub(crate) fn is_behind(&self, head: &JournalHead) -> bool {
        self.head.is_some_and(|known| head.follows(&known))
    }

    /// Returns whether the stored horizon or wake-up time is out of date.
    pub(crate) fn has_moved(&self, wake: Option<Timestamp>) -> bool {
        self.head.is_some_and(|head| {
            head.wake != wake || self.account.horizon().is_some_and(|horizon| horizon > head.horizon)
        })
    }

    /// Builds the append for an outcome, and advances the book's head to the journal head after
    /// that append.
    pub(crate) fn pending(
        &mut self,
        account: AccountId,
        outcome: Outcome,
        wake: Option<Timestamp>,
        request: Option<KeyedRequest>,
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

    /// Applies the entries up to `head`, and returns the pushes for entries with numbers above
    /// `report`. Returns `None` if the journal was truncated concurrently; the book is then
    /// unusable.
    fn follow(
        &mut self,
        accounts: &Accounts,
        id: AccountId,
        head: JournalHead,
        report: u64,
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
                if entry.number > report {
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

    /// Applies entries appended by other processes, and returns the pushes that listeners have not
    /// received. Returns `None` if the journal was truncated concurrently.
    pub(crate) fn catch_up(
        &mut self,
        accounts: &Accounts,
        id: AccountId,
        head: JournalHead,
    ) -> Result<Option<Vec<Push>>, PaperError> {
        let entries = self.account.entries();
        // Listeners that subscribed after these entries were written do not receive them.
        let report = self.last_pushed.within(&head).map_or(entries, |report| report.max(entries));
        let Some(pushes) = self.follow(accounts, id, head, report)? else { return Ok(None) };
        self.last_pushed.set(Some(&head));
        Ok(Some(pushes))
    }
}

/// Reads and decodes one page of journal entries after number `after`.
pub(crate) fn read(accounts: &Accounts, id: AccountId, after: u64) -> Result<Vec<Entry>, PaperError> {
    accounts.journal_entries(id, after)?.iter().map(|row| parsed(id, row)).collect()
}

pub(crate) fn parsed(id: AccountId, row: &store::JournalEntry) -> Result<Entry, PaperError> {
    let entry: Entry = serde_json::from_str(&row.text).map_err(|source| PaperError::Entry {
        account: id.0,
        number: row.number,
        source,
    })?;
    // A copied journal retains the numbers of its entries, so this check also passes for copies.
    if entry.version > trading::VERSION || entry.number != row.number {
        return Err(PaperError::Foreign { account: id.0, number: row.number, version: entry.version });
    }
    // Entries that a copy shares with its source contain ids of the source.
    Ok(entry.of_account(id.0.unsigned_abs()))
}

/// Returns how an id of an order or a grid ends in stored entries. The account before it may be that
/// of a source of the journal. `id` is the id for account 0.
pub(crate) fn ending_of(id: impl std::fmt::Display) -> String {
    format!("{id:0>9}\"")
}

/// Reads the whole journal at one head. Retries if the journal is truncated concurrently. Returns
/// `None` if there is no journal.
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
        // Entries appended during the read belong to a later head.
        all.truncate(usize::try_from(head.last_number).unwrap_or(usize::MAX));
        return Ok(Some((head, all)));
    }
    Err(PaperError::Contended { account: id.0 })
}

/// Encodes entries for the store. Entries written before the account's first request have no
/// instant; they are stored at the zero timestamp and sort first.
pub(crate) fn written(id: AccountId, entries: &[Entry]) -> Result<Vec<(Timestamp, String)>, PaperError> {
    let write = |entry: &Entry| match serde_json::to_string(entry) {
        Ok(text) => Ok((entry.at.unwrap_or_default(), text)),
        Err(source) => Err(PaperError::Write { account: id.0, source }),
    };
    entries.iter().map(write).collect()
}

/// Encodes an account as a snapshot. Returns `None` if the account is too large.
pub(crate) fn encode_snapshot(account: &Account) -> Option<Vec<u8>> {
    let encoder = zstd::Encoder::new(Vec::new(), SNAPSHOT_LEVEL).ok()?;
    let mut out = BufWriter::with_capacity(WRITTEN_AT_ONCE, encoder);
    serde_json::to_writer(&mut out, account).ok()?;
    out.flush().ok()?;
    let state = out.into_inner().ok()?.finish().ok()?;
    (state.len() <= SNAPSHOT_BYTES_MAX).then_some(state)
}

/// Decodes a snapshot. Returns `None` if it cannot be decoded; the caller then reads the journal.
pub(crate) fn decode_snapshot(state: &[u8]) -> Option<Account> {
    let mut text = Vec::new();
    zstd::Decoder::new(state).ok()?.take(SNAPSHOT_TEXT_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
