//! Append-only journals of paper accounts. Entries are ordered by number.
//!
//! Concurrency control is optimistic: an addition names the revision of the journal that it
//! follows. If another process has changed the journal since then, nothing is written and the
//! caller reads the journal again. Two nodes therefore never decide on different histories, and no
//! lock is needed for correctness. Nodes still take an account lock ([`Accounts::journal_lock`]),
//! because a slightly slower node would otherwise lose every race. Additions to several journals
//! share one transaction, and therefore one fsync.

use std::collections::HashSet;

use market::Timestamp;

use super::{journal_sql as sql, statements, tallies};
use crate::accounts::copied_parts::{self, Numbered, PartKind};
use crate::accounts::{Accounts, AuditNote, WriteLock, audit, check_texts};
use crate::engine::{Db, Fault, Role, Row, Sql, StoreError, Value, natural, signed};
use crate::ids::AccountId;

/// Maximum number of entries per read. A journal is read in pages, so that the read connection is
/// never held for long.
const ENTRIES_MAX: u32 = 4_096;
/// Maximum size of an entry, in bytes. A safety limit; the engine's entries are far smaller.
const ENTRY_BYTES_MAX: usize = 64 << 10;
/// Maximum size of a snapshot, in bytes.
pub const SNAPSHOT_BYTES_MAX: usize = crate::candles::BLOCK_BYTES_MAX;
/// Number of idempotency keys removed per transaction.
const FORGOTTEN_AT_ONCE: u32 = 2_000;

/// Current position of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalHead {
    /// Increases with every change of the journal: by one when entries are added, and to the first
    /// revision of the next era when entries are removed.
    pub revision: u64,
    /// Number of the last entry, or 0 if the journal has no entries.
    pub last_number: u64,
    /// Market time up to which the account has been simulated.
    pub horizon: Timestamp,
    /// The next time at which the account must be processed without a request; `None` if there is
    /// no such time.
    pub wake: Option<Timestamp>,
}

/// A journal entry. The store does not interpret the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    pub number: u64,
    /// Market time of the entry.
    pub at: Timestamp,
    pub text: String,
    /// The account that stores the row. A copied journal shares entries of its source,
    /// whose texts contain ids of the source.
    pub account: AccountId,
}

/// An idempotency key and the response of its request.
#[derive(Clone, Copy, Debug)]
pub struct KeyedRequest<'a> {
    pub name: &'a str,
    pub answer: &'a str,
    /// Wall-clock time of the request.
    pub at: Timestamp,
}

/// Entries to be added to one journal.
#[derive(Clone, Copy, Debug)]
pub struct Addition<'a> {
    pub account: AccountId,
    /// The head that the entries follow; `None` for the first entries of a journal.
    pub after: Option<JournalHead>,
    /// Time and text of each entry.
    pub entries: &'a [(Timestamp, String)],
    pub horizon: Timestamp,
    pub wake: Option<Timestamp>,
    pub request: Option<KeyedRequest<'a>>,
    /// Audit event and note, for changes by an operator.
    pub audit: Option<(&'a str, AuditNote<'a>)>,
}

/// Result of adding entries to a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddOutcome {
    Added(JournalHead),
    /// The journal has changed since `after`. Nothing of this addition was written.
    Stale,
}

/// A named part of a journal that a rewind removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalCut {
    pub name: String,
    pub rewound_to: Timestamp,
    /// The horizon before the rewind.
    pub horizon: Timestamp,
    /// Wall-clock time of the rewind.
    pub cut_at: Timestamp,
    pub entries: u64,
}

/// A rewind of a journal.
#[derive(Clone, Copy, Debug)]
pub struct Rewind<'a> {
    pub account: AccountId,
    pub after: JournalHead,
    /// Number of the last entry that remains.
    pub keep: u64,
    /// The highest order or grid number that the journal has allocated. Later additions get higher
    /// numbers.
    pub numbers_used: u64,
    pub to: Timestamp,
    /// Name of the removed part.
    pub name: &'a str,
    /// Name of the audit event.
    pub event: &'static str,
    pub note: AuditNote<'a>,
}

/// A copy of a journal for an account without a journal.
#[derive(Clone, Copy, Debug)]
pub struct JournalCopy<'a> {
    pub source: AccountId,
    /// A head of the source that includes the copied entries.
    pub of: JournalHead,
    pub copy: AccountId,
    /// Number of the last copied entry.
    pub last: u64,
    pub horizon: Timestamp,
    pub wake: Option<Timestamp>,
    pub event: &'static str,
    pub note: AuditNote<'a>,
}

/// Result of copying a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOutcome {
    Copied(JournalHead),
    /// The source was rewound since the head `of`. Nothing was copied.
    Stale,
    /// The account has a journal already.
    NotEmpty,
}

/// Result of rewinding a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindOutcome {
    Done(JournalHead),
    Stale,
    /// Another removed part of the journal already has this name.
    NameTaken,
}

/// Returns the name of the counter for the numbers that an account's journal has used.
pub(crate) fn numbers_counter(id: AccountId) -> String {
    format!("numbers.{}", id.0)
}

/// Number of rows in the table `turn`.
const ACCOUNT_LOCKS: i64 = 256;

// PostgreSQL only: the SQLite schema has no table `turn`.
const ACCOUNT_LOCK: Sql = Sql::new("lock a journal", "select number from turn where number = $1 for update");

/// The account lock for a journal, released on drop.
#[derive(Debug)]
pub struct JournalLock(Option<Box<Db>>);

impl Drop for JournalLock {
    fn drop(&mut self) {
        // A connection that cannot roll back is closed.
        self.0.iter().for_each(|db| db.rollback().unwrap_or_default());
    }
}

impl Accounts {
    /// Returns the head of an account's journal, or `None` if the account has no journal.
    pub fn journal_head(&self, id: AccountId) -> Result<Option<JournalHead>, StoreError> {
        head(&self.read(), id)
    }

    /// Returns the journal head and the accounts version ([`Accounts::version`]) in one query, for
    /// callers that need both with every request. Returns `None` if the account has no journal.
    pub fn journal_head_and_version(&self, id: AccountId) -> Result<Option<(JournalHead, i64)>, StoreError> {
        self.read().first(sql::HEAD_AND_VERSION, [id.0], |row| Ok((JournalHead::read(row, 0)?, row.get(4)?)))
    }

    /// Waits for the account lock of a journal and holds it until the guard is dropped. The lock is
    /// only an optimization, because stale additions are rejected anyway. It prevents livelock
    /// between servers that change one account concurrently.
    pub fn journal_lock(&self, id: AccountId) -> Result<JournalLock, StoreError> {
        let Some(locks) = &self.locks else { return Ok(JournalLock(None)) };
        let db = Db::on_server(locks, Role::Writer);
        db.begin_write()?;
        let lock = JournalLock(Some(Box::new(db)));
        lock.0.iter().try_for_each(|db| {
            db.first(ACCOUNT_LOCK, [id.0.rem_euclid(ACCOUNT_LOCKS)], |_| Ok(())).map(drop)
        })?;
        Ok(lock)
    }

    /// Returns the journal heads of `ids`. Accounts without a journal are skipped. On PostgreSQL
    /// all queries are sent in one round trip.
    pub fn journal_heads_of(&self, ids: &[AccountId]) -> Result<Vec<(AccountId, JournalHead)>, StoreError> {
        let values: Vec<[Value<'_>; 1]> = ids.iter().map(|id| [Value::Int(id.0)]).collect();
        let mut heads = Vec::with_capacity(ids.len());
        self.read().each_of_all(sql::HEAD, values.iter().map(<[Value<'_>; 1]>::as_slice), |at, row| {
            let head = JournalHead::read(row, 0)?;
            heads.extend(ids.get(at).map(|id| (*id, head)));
            Ok(())
        })?;
        Ok(heads)
    }

    /// Returns the heads of all journals.
    pub fn journal_heads(&self) -> Result<Vec<(AccountId, JournalHead)>, StoreError> {
        self.read().all(sql::HEADS, [], |row| Ok((AccountId(row.get(0)?), JournalHead::read(row, 1)?)))
    }

    /// Returns at most `limit` accounts whose wake time is at or before `at`, earliest first.
    /// Accounts of worlds have separate clocks and are not returned.
    pub fn due_journals(&self, at: Timestamp, limit: u32) -> Result<Vec<AccountId>, StoreError> {
        self.read().all(sql::DUE, (at.0, limit), |row| Ok(AccountId(row.get(0)?)))
    }

    /// Returns the earliest wake time of all accounts except those of worlds, or `None` if no account
    /// has a wake time.
    pub fn next_wake(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read().first(sql::NEXT_WAKE, [], |row| Ok(Timestamp(row.get(0)?)))
    }

    /// Returns the next entries after the number `after`, in order. Returns at most one page.
    pub fn journal_entries(&self, id: AccountId, after: u64) -> Result<Vec<JournalEntry>, StoreError> {
        entries(&self.read(), id, (after, u64::MAX), ENTRIES_MAX)
    }

    /// Returns the entry with this number, or `None` if it does not exist.
    pub fn journal_entry(&self, id: AccountId, number: u64) -> Result<Option<JournalEntry>, StoreError> {
        Ok(entries(&self.read(), id, (number.saturating_sub(1), number), 1)?.pop())
    }

    /// Returns the next entries after a number whose time is between two instants, both inclusive.
    pub fn journal_entries_between(
        &self,
        id: AccountId,
        after: u64,
        (from, through): (Timestamp, Timestamp),
    ) -> Result<Vec<JournalEntry>, StoreError> {
        let db = self.read();
        let before = last_entry(&db, id, |at| at < from)?;
        let last = last_entry(&db, id, |at| at <= through)?;
        entries(&db, id, (after.max(before), last), ENTRIES_MAX)
    }

    /// Returns the number of the last entry at or before `at`, or 0 if there is no such entry.
    pub fn journal_number_at(&self, id: AccountId, at: Timestamp) -> Result<u64, StoreError> {
        last_entry(&self.read(), id, |of_entry| of_entry <= at)
    }

    /// Returns the highest order or grid number that may have been allocated by a removed part of
    /// the journal, or by entries lost in a restore. Must be read after the head, because every
    /// change of this number also changes the head.
    pub fn numbers_used(&self, id: AccountId) -> Result<u64, StoreError> {
        let found = self.read().first(sql::NUMBERS_USED, [numbers_counter(id)], |row| natural(row, 0))?;
        Ok(found.unwrap_or(0))
    }

    /// Adds entries to journals in one transaction, which is durable on return. A stale addition
    /// does not prevent additions to other journals. An addition without entries only moves the
    /// horizon.
    pub fn add_to_journals(&self, additions: &[Addition<'_>]) -> Result<Vec<AddOutcome>, StoreError> {
        let accounts: Vec<AccountId> = additions.iter().map(|addition| addition.account).collect();
        self.within(WriteLock::Of(&accounts), |db| {
            let mut stale = HashSet::new();
            let mut outcomes = Vec::with_capacity(additions.len());
            for addition in additions {
                // Later additions to the same journal build on the stale addition, so they are also
                // stale.
                let is_stale = stale.contains(&addition.account);
                let outcome = if is_stale { AddOutcome::Stale } else { add(db, addition)? };
                if outcome == AddOutcome::Stale {
                    stale.insert(addition.account);
                }
                outcomes.push(outcome);
            }
            Ok(outcomes)
        })
    }

    /// Returns the stored response for an idempotency key, or `None` if there is no response newer
    /// than `after`.
    pub fn journal_request(
        &self,
        id: AccountId,
        name: &str,
        after: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        self.read().first(sql::REQUEST, (id.0, name, after.0), |row| row.get(0))
    }

    /// Removes one batch of idempotency keys up to and including the time `up_to`. Returns the
    /// number of removed keys, or 0 if no such keys are left.
    pub fn forget_journal_requests(&self, up_to: Timestamp) -> Result<u64, StoreError> {
        self.change(|db| Ok(db.run(sql::FORGET_REQUESTS, (up_to.0, FORGOTTEN_AT_ONCE))? as u64))
    }

    /// Returns the snapshot stored in this format, with the number of the last entry that it
    /// includes, or `None` if there is no such snapshot.
    pub fn journal_snapshot(
        &self,
        id: AccountId,
        format: &str,
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        self.read().first(sql::SNAPSHOT, (id.0, format), |row| Ok((natural(row, 0)?, row.get(1)?)))
    }

    /// Stores a snapshot of the journal at the head `of`. If entries were removed since then, the
    /// snapshot is invalid and is not stored. Returns whether the snapshot was stored.
    pub fn keep_journal_snapshot(
        &self,
        id: AccountId,
        of: &JournalHead,
        format: &str,
        state: &[u8],
    ) -> Result<bool, StoreError> {
        self.change_of(id, |db| {
            let is_of_it = head(db, id)?.is_some_and(|now| now.follows(of));
            if is_of_it {
                db.run(sql::PUT_SNAPSHOT, (id.0, signed(of.last_number), format, state))?;
            }
            Ok(is_of_it)
        })
    }

    pub fn drop_journal_snapshot(&self, id: AccountId) -> Result<(), StoreError> {
        self.change_of(id, |db| db.run(sql::DROP_SNAPSHOT, [id.0]).map(drop))
    }

    /// Removes the entries after the number `keep` and archives them under a name.
    pub fn rewind_journal(&self, rewind: &Rewind<'_>) -> Result<RewindOutcome, StoreError> {
        let Rewind { account, after, keep, numbers_used, to, name, event, note } = rewind;
        check_texts("a rewind", &[name])?;
        // Locks all accounts, because copies may have to store the entries that they share.
        self.change(|db| {
            if head(db, *account)? != Some(*after) {
                return Ok(RewindOutcome::Stale);
            }
            if db.one(sql::HAS_CUT, (account.0, name), |row| row.get::<bool>(0))? {
                return Ok(RewindOutcome::NameTaken);
            }
            db.run(sql::ADD_CUT, (account.0, name, to.0, after.horizon.0, note.at.0))?;
            db.run(sql::ADD_CUT_ENTRIES, (name, account.0, signed(*keep)))?;
            db.run(sql::ADD_CUT_SHARED, (name, account.0, signed(*keep)))?;
            copied_parts::release(db, PartKind::Journal, *account, *keep)?;
            db.run(sql::CUT, (account.0, signed(*keep)))?;
            db.run(sql::DROP_SNAPSHOT, [account.0])?;
            db.run(sql::RAISE_NUMBERS_USED, (numbers_counter(*account), signed(*numbers_used)))?;
            // A retry must be treated as a new request, because the effect of the original request
            // was rewound.
            db.run(sql::FORGET_REQUESTS_OF, [account.0])?;
            let now = JournalHead {
                revision: next_era(after.revision),
                last_number: (*keep).min(after.last_number),
                horizon: *to,
                // The wake time makes the account due, so that it is processed again.
                wake: Some(*to),
            };
            put_head(db, *account, &now)?;
            tallies::take_back(db, *account, *to)?;
            statements::take_back(db, *account, *to)?;
            audit::write(db, Some(*account), event, note)?;
            Ok(RewindOutcome::Done(now))
        })
    }

    /// Copies the beginning of a journal. The copy shares the entries, so the time does not depend
    /// on their number.
    pub fn copy_journal(&self, copy: &JournalCopy<'_>) -> Result<CopyOutcome, StoreError> {
        let JournalCopy { source, of, copy, last, horizon, wake, event, note } = copy;
        self.within(WriteLock::Of(&[*source, *copy]), |db| {
            if !head(db, *source)?.is_some_and(|now| now.follows(of)) {
                return Ok(CopyOutcome::Stale);
            }
            let revision = u64::from(*last > 0);
            let now = JournalHead { revision, last_number: *last, horizon: *horizon, wake: *wake };
            if !move_head(db, *copy, None, &now)? {
                return Ok(CopyOutcome::NotEmpty);
            }
            copied_parts::share(db, PartKind::Journal, (*source, *copy), *last)?;
            audit::write(db, Some(*copy), event, note)?;
            Ok(CopyOutcome::Copied(now))
        })
    }

    /// Returns the removed parts of a journal, in the order of removal.
    pub fn journal_cuts(&self, id: AccountId) -> Result<Vec<JournalCut>, StoreError> {
        self.read().all(sql::CUTS, [id.0], |row| {
            Ok(JournalCut {
                name: row.get(0)?,
                rewound_to: Timestamp(row.get(1)?),
                horizon: Timestamp(row.get(2)?),
                cut_at: Timestamp(row.get(3)?),
                entries: natural(row, 4)?,
            })
        })
    }

    /// Returns the next entries of a removed part after the number `after`.
    pub fn journal_cut_entries(
        &self,
        id: AccountId,
        name: &str,
        after: u64,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        self.read().all(sql::CUT_ENTRIES, (id.0, name, signed(after), ENTRIES_MAX), JournalEntry::read)
    }
}

fn add(db: &Db, addition: &Addition<'_>) -> Result<AddOutcome, StoreError> {
    let Addition { account, after, entries, horizon, wake, request, audit } = addition;
    if entries.iter().any(|(_, text)| text.len() > ENTRY_BYTES_MAX) {
        return Err(StoreError::unfit("an entry of a journal", "it is too long"));
    }
    let (revision, mut number) = after.map_or((0, 0), |head| (head.revision, head.last_number));
    let now = JournalHead {
        // Without new entries the revision does not change, so cached journals remain valid.
        revision: revision.saturating_add(u64::from(!entries.is_empty())),
        last_number: number.saturating_add(entries.len() as u64),
        horizon: *horizon,
        wake: *wake,
    };
    if !move_head(db, *account, after.as_ref(), &now)? {
        return Ok(AddOutcome::Stale);
    }
    for (at, text) in *entries {
        number = number.saturating_add(1);
        db.run(sql::ADD_ENTRY, (account.0, signed(number), at.0, text))?;
    }
    if let Some(KeyedRequest { name, answer, at }) = request {
        check_texts("a request", &[name, answer])?;
        db.run(sql::PUT_REQUEST, (account.0, name, answer, at.0))?;
    }
    if let Some((event, note)) = audit {
        audit::write(db, Some(*account), event, note)?;
    }
    Ok(AddOutcome::Added(now))
}

pub(super) fn head(db: &Db, id: AccountId) -> Result<Option<JournalHead>, StoreError> {
    db.first(sql::HEAD, [id.0], |row| JournalHead::read(row, 0))
}

/// Returns the entries after one number and up to another, at most `most`.
fn entries(
    db: &Db,
    id: AccountId,
    (after, last): (u64, u64),
    most: u32,
) -> Result<Vec<JournalEntry>, StoreError> {
    copied_parts::read_parts(after, most, |after, most| {
        db.all(sql::ENTRIES, (id.0, signed(after), signed(last), most), |row| {
            let entry = JournalEntry::read(row)?;
            let part_end = row.get::<Option<i64>>(4)?.map(|_| natural(row, 4)).transpose()?;
            Ok(Numbered { number: entry.number, part_end, row: entry })
        })
    })
}

/// Returns the number of the last entry whose time satisfies `is_early`, or 0 if there is no such
/// entry.
fn last_entry(db: &Db, id: AccountId, is_early: impl Fn(Timestamp) -> bool) -> Result<u64, StoreError> {
    let last = head(db, id)?.map_or(0, |head| head.last_number);
    copied_parts::last_early(last, is_early, |number| {
        db.first(sql::INSTANT, (id.0, signed(number)), |row| Ok(Timestamp(row.get(0)?)))
    })
}

/// Replaces a journal's head if it still equals the old head. Returns whether it was replaced.
fn move_head(
    db: &Db,
    id: AccountId,
    from: Option<&JournalHead>,
    to: &JournalHead,
) -> Result<bool, StoreError> {
    let Some(from) = from else {
        let is_first = head(db, id)?.is_none();
        if is_first {
            put_head(db, id, to)?;
        }
        return Ok(is_first);
    };
    let [(revision, last, horizon, wake), (old_revision, old_last, old_horizon, old_wake)] =
        [to, from].map(JournalHead::columns);
    let row = (revision, last, horizon, wake, id.0, old_revision, old_last, old_horizon, old_wake);
    if db.run(sql::MOVE_HEAD, row)? > 0 {
        return Ok(true);
    }
    // Either the head differs, or its row is damaged and reading the head fails.
    head(db, id).map(|_| false)
}

fn put_head(db: &Db, id: AccountId, head: &JournalHead) -> Result<(), StoreError> {
    let (revision, last_number, horizon, wake) = head.columns();
    db.run(sql::PUT_HEAD, (id.0, revision, last_number, horizon, wake)).map(drop)
}

/// Number of low bits of a revision that count additions. The other bits are the era.
const ERA_BITS: u32 = 32;

/// Returns the first revision of the next era.
fn next_era(revision: u64) -> u64 {
    era(revision).saturating_add(1) << ERA_BITS
}

pub(super) fn era(revision: u64) -> u64 {
    revision >> ERA_BITS
}

impl JournalHead {
    /// Returns the era of the revision. Within an era, entries are only added.
    pub fn era(&self) -> u64 {
        era(self.revision)
    }

    /// Returns whether only entries were added between `other` and this head.
    pub fn follows(&self, other: &JournalHead) -> bool {
        self.era() == other.era()
            && self.revision >= other.revision
            && self.last_number >= other.last_number
            && self.horizon >= other.horizon
    }

    fn columns(&self) -> (i64, i64, i64, Option<i64>) {
        let wake = self.wake.map(|wake| wake.0);
        (signed(self.revision), signed(self.last_number), self.horizon.0, wake)
    }

    fn read(row: &Row<'_>, first: usize) -> Result<JournalHead, Fault> {
        Ok(JournalHead {
            revision: natural(row, first)?,
            last_number: natural(row, first + 1)?,
            horizon: Timestamp(row.get(first + 2)?),
            wake: row.get::<Option<i64>>(first + 3)?.map(Timestamp),
        })
    }
}

impl JournalEntry {
    fn read(row: &Row<'_>) -> Result<JournalEntry, Fault> {
        let account = AccountId(row.get(3)?);
        Ok(JournalEntry { number: natural(row, 0)?, at: Timestamp(row.get(1)?), text: row.get(2)?, account })
    }
}
