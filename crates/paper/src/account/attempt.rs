//! Decides a request while holding the account's lock, releases the lock, then waits for the
//! commit. The next request builds on the decision before it is durable, and fails if its commit
//! fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use market::Timestamp;
use store::{AccountId, AddOutcome, JournalEntry};
use trading::{
    AcceptedOrder, Account, Engine, Event, Order, OrderId, Outcome, Push, Refusal, Terms, has_same_terms,
    next_wake,
};

use super::book::{self, AccountSlot, AccountState, Book, SNAPSHOT_FORMAT, TRIES_MAX, encode_snapshot};
use super::commit::{Audited, KeyedRequest, Ticket};
use super::{Changed, PaperAccount};
use crate::PaperError;
use crate::clock::Moment;
use crate::feed::StoreFeed;
use crate::operator_words::Exchanged;
use crate::service::Paper;

/// Minimum number of entries between snapshots. The interval grows with the journal, so the total
/// cost of all snapshots stays proportional to the journal's length.
const SNAPSHOT_AFTER: u64 = 2_000;
/// Number of entries from which snapshots are written by a separate thread, because writing one
/// would delay the request for too long.
const SNAPSHOT_ASIDE: u64 = 10_000;
/// Retention of idempotency keys, in seconds of machine time.
pub(crate) const NAMES_KEPT_S: i64 = 600;

/// Options of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestOptions<'a> {
    /// Idempotency key.
    pub(crate) name: Option<&'a str>,
    /// Terms of the order that the request submits, if any.
    pub(crate) terms: Option<&'a Terms>,
    pub(crate) audit: Option<Audited>,
    /// Whether the request is a read. A read writes only the entries produced by advancing the
    /// account.
    pub(crate) is_read: bool,
    /// Whether to store the horizon and the next wake-up time even if there are no new entries.
    pub(crate) keeps_head: bool,
}

/// An earlier request with the same idempotency key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earlier {
    order: Option<OrderId>,
    /// Number of the journal entry that created the order.
    entry: Option<u64>,
    /// Ticket of the request, if the request may not be durable yet.
    ticket: Option<Ticket>,
}

/// Result of deciding a request.
#[derive(Debug)]
pub(crate) enum Work<T> {
    Done(T),
    /// The account is still behind after one portion of catch-up work, so the request was not
    /// executed.
    Behind(Behind),
}

/// An account that has been advanced to `at` and must reach `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    pub(crate) at: Timestamp,
    pub(crate) to: Timestamp,
}

/// Result of an attempt whose entries are durable.
#[derive(Debug)]
pub(crate) enum Finished<T> {
    Changed(Changed<T>),
    Behind(Behind),
}

/// A decision, which becomes valid once its entries are durable.
#[derive(Debug)]
pub(crate) enum Attempt<T> {
    Made {
        made: Work<T>,
        refusal: Option<Refusal>,
        ticket: Option<Ticket>,
        /// The preceding append, on which this append builds. It may not be durable yet.
        before: Option<Ticket>,
        is_void: Arc<AtomicBool>,
        /// Held until the append is durable, so that the slot is not evicted and a reload of the
        /// account waits for the append.
        place: Arc<AccountSlot>,
    },
    /// An earlier request had the same idempotency key.
    Repeated(Earlier),
    /// The account's horizon is later than the request's clock.
    Ahead(Moment),
}

/// Returns when the account must next be advanced without a request. Returns `None` unless the
/// account has open orders or grids, or allows liquidation: all other changes are computed on the
/// next read.
fn wake(account: &Account, feed: &StoreFeed<'_>, now: Timestamp) -> Option<Timestamp> {
    let has_open = account.has_open_orders() || account.grids().has_open();
    let is_watched = has_open || account.settings().liquidate;
    if !is_watched {
        return None;
    }
    [next_wake(account, feed, now), feed.next_late(account, now)].into_iter().flatten().min()
}

/// Encodes the stored result of a request with an idempotency key: the order id, and the number of
/// the entry that created the order.
fn answer(order: OrderId, entry: Option<u64>) -> String {
    entry.map_or_else(|| order.to_string(), |entry| format!("{order} {entry}"))
}

/// Decodes the result of [`answer`]. Earlier versions stored the order id without an entry number.
fn parse_answer(answer: &str) -> (Option<OrderId>, Option<u64>) {
    let (order, entry) = answer.split_once(' ').unwrap_or((answer, ""));
    (order.parse().ok(), entry.parse().ok())
}

/// Returns the submitted order, or `None` if this entry did not submit it.
fn accepted_in(
    id: AccountId,
    row: &JournalEntry,
    order: OrderId,
) -> Result<Option<AcceptedOrder>, PaperError> {
    if !row.text.contains(&book::ending_of(order.with_account(0))) {
        return Ok(None);
    }
    let accepted = match book::parsed(id, row)?.event {
        Event::Accepted(accepted) | Event::Rejected { order: Some(accepted), .. } => accepted,
        _ => return Ok(None),
    };
    Ok((accepted.id == order).then_some(*accepted))
}

impl PaperAccount<'_> {
    /// Decides a request while holding the account's lock, and queues the new entries for the next
    /// commit.
    pub(super) fn attempt<T>(
        &mut self,
        request: &RequestOptions<'_>,
        work: impl Fn(&Engine<'_>, &mut Account, Timestamp) -> Result<(Outcome, T), PaperError>,
    ) -> Result<Attempt<T>, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let place = paper.place(id);
        let mut state = place.lock();
        let mut book = paper.current(&mut state, id)?;
        let moment = self.moment(&book.account);
        if let Some(name) = request.name
            && let Some(earlier) = paper.repeated(&book, id, name, moment)?
        {
            let conflict = paper.conflict(&book, id, request, &earlier)?;
            state.book = Some(book);
            return conflict.map_or(Ok(Attempt::Repeated(earlier)), |refusal| Err(refusal.into()));
        }
        let now = moment.as_of.now();
        if request.is_read && book.account.horizon().is_some_and(|horizon| horizon > now) {
            state.book = Some(book);
            return Ok(Attempt::Ahead(moment));
        }
        let feed = paper.feed_at(self.reader, moment, state.version)?;
        feed.notice(&book.account);
        let engine = Engine::new(&feed, paper.tables());
        // The book has been taken out of its slot. After an error the slot stays empty, and the
        // next request reloads the journal.
        let portion = paper.portion.advance(&engine, &mut book.account, now);
        let behind = book.account.horizon().filter(|at| *at < now).map(|at| Behind { at, to: now });
        let (mut outcome, made) = match behind {
            Some(behind) => (Outcome::default(), Work::Behind(behind)),
            None => {
                let (outcome, made) = work(&engine, &mut book.account, now)?;
                (outcome, Work::Done(made))
            }
        };
        outcome.follow(portion);
        let (outcome, made) = feed.checked((outcome, made))?;
        let refusal = outcome.refusal.clone();
        let before = book.last_ticket;
        let is_kept = request.keeps_head || !outcome.entries.is_empty();
        // An account that is behind is due again immediately.
        let since = behind.map_or(now, |behind| behind.at);
        let wake = if is_kept { feed.checked(wake(&book.account, &feed, since))? } else { None };
        let portion_only = RequestOptions { keeps_head: request.keeps_head, ..RequestOptions::default() };
        let request = if behind.is_some() { &portion_only } else { request };
        let ticket = paper.enqueue(id, &mut book, (outcome, wake), request, moment)?;
        book.last_ticket = ticket.or(before);
        state.last_ticket = book.last_ticket.or(state.last_ticket);
        let is_void = book.is_void.clone();
        state.book = Some(book);
        drop(state);
        Ok(Attempt::Made { made, refusal, ticket, before, is_void, place })
    }
}

impl Paper {
    /// Queues the new entries for the next commit and returns a ticket. Returns `None` if there is
    /// nothing to write.
    fn enqueue(
        &self,
        id: AccountId,
        book: &mut Book,
        (outcome, wake): (Outcome, Option<Timestamp>),
        options: &RequestOptions<'_>,
        moment: Moment,
    ) -> Result<Option<Ticket>, PaperError> {
        if outcome.entries.is_empty() && !(options.keeps_head && book.has_moved(wake)) {
            return Ok(None);
        }
        let own = outcome.last_entry().filter(|_| outcome.refusal.is_none());
        let order = own.and_then(|entry| entry.event.order());
        let named = options.name.zip(order);
        let request = named.map(|(name, order)| KeyedRequest {
            name: name.to_owned(),
            answer: answer(order, own.map(|entry| entry.number)),
            at: moment.machine,
        });
        let mut audit = options.audit.clone().filter(|_| outcome.refusal.is_none());
        if let (Some(audit), Some(exchanged)) = (&mut audit, Exchanged::of(&outcome.entries)) {
            audit.reason = exchanged.completed(&audit.reason);
        }
        let ticket = self.committer.enqueue(book.pending(id, outcome, wake, request, audit)?);
        book.unwritten_names.retain(|(_, _, ticket)| !self.committer.is_finished(*ticket));
        if let Some((name, order)) = named {
            book.unwritten_names.push((name.to_owned(), order, ticket));
        }
        Ok(Some(ticket))
    }

    /// Waits until an attempt is durable. Returns `None` if another process wrote first, in which
    /// case the request must be decided again.
    pub(crate) fn finish<T>(
        &self,
        id: AccountId,
        attempt: Attempt<T>,
    ) -> Result<Option<Finished<T>>, PaperError> {
        let (made, refusal, ticket, before, is_void, place) = match attempt {
            Attempt::Ahead(moment) => return Ok(Some(Finished::Changed(Changed::Ahead(moment)))),
            Attempt::Repeated(Earlier { order, ticket: None, .. }) => {
                return Ok(Some(Finished::Changed(Changed::Repeated(order))));
            }
            Attempt::Repeated(Earlier { ticket: Some(ticket), .. }) => {
                // The earlier request is now either written or failed, and the retry finds out
                // which.
                self.committer.wait_for(&self.accounts, ticket);
                return Ok(None);
            }
            Attempt::Made { made, refusal, ticket, before, is_void, place } => {
                (made, refusal, ticket, before, is_void, place)
            }
        };
        let is_written = match (ticket, before) {
            (Some(ticket), _) => matches!(self.committer.wait(&self.accounts, ticket)?, AddOutcome::Added(_)),
            (None, Some(before)) => {
                self.committer.wait_for(&self.accounts, before);
                !is_void.load(Ordering::Acquire)
            }
            (None, None) => true,
        };
        if !is_written {
            return Ok(None);
        }
        if ticket.is_some() {
            self.keep_snapshot(id, &place);
        }
        match (made, refusal) {
            (Work::Behind(behind), _) => Ok(Some(Finished::Behind(behind))),
            (Work::Done(_), Some(refusal)) => Err(refusal.into()),
            (Work::Done(made), None) => Ok(Some(Finished::Changed(Changed::Made(made)))),
        }
    }

    /// Returns the book at the current journal head. If another process has appended entries or
    /// truncated the journal, first catches up or reloads, and pushes the new entries to listeners.
    pub(crate) fn current(&self, state: &mut AccountState, id: AccountId) -> Result<Book, PaperError> {
        state.version = None;
        let before = state.last_pushed.mark();
        for _ in 0..TRIES_MAX {
            let held = state.book.take().filter(|book| !book.is_void.load(Ordering::Acquire));
            let followed = match held {
                // The book is ahead of the journal. If another process writes first, the pending
                // append fails, which also voids the next append.
                Some(book) if book.last_ticket.is_some_and(|ticket| !self.committer.is_finished(ticket)) => {
                    return Ok(book);
                }
                Some(mut book) => {
                    book.unwritten_names.clear();
                    let (head, version) = self.accounts.journal_head_and_version(id)?.unzip();
                    state.version = version;
                    match head {
                        head if head == book.head => return Ok(book),
                        Some(head) if book.is_behind(&head) => {
                            book.catch_up(&self.accounts, id, head)?.map(|pushes| (book, pushes))
                        }
                        _ => self.loaded(state, id)?,
                    }
                }
                None => self.loaded(state, id)?,
            };
            if let Some((book, pushes)) = followed {
                if !pushes.is_empty() || state.last_pushed.has_moved(before) {
                    self.committer.notify(id, &pushes);
                }
                return Ok(book);
            }
        }
        Err(PaperError::Contended { account: id.0 })
    }

    /// Loads the book from the journal, or returns `None` if the journal was truncated
    /// concurrently. Waits for this process's pending appends first, so that listeners receive them
    /// only once.
    fn loaded(&self, state: &AccountState, id: AccountId) -> Result<Option<(Book, Vec<Push>)>, PaperError> {
        if let Some(ticket) = state.last_ticket {
            self.committer.wait_for(&self.accounts, ticket);
        }
        state.load(&self.accounts, id)
    }

    /// Returns the earlier request with the same idempotency key, or `None`. The result includes a
    /// ticket if the earlier request is not durable yet.
    fn repeated(
        &self,
        book: &Book,
        id: AccountId,
        name: &str,
        moment: Moment,
    ) -> Result<Option<Earlier>, PaperError> {
        // A key whose ticket is finished is looked up in the store instead.
        let is_waiting = |(known, _, ticket): &&(String, OrderId, Ticket)| {
            known == name && !self.committer.is_finished(*ticket)
        };
        if let Some((_, order, ticket)) = book.unwritten_names.iter().find(is_waiting) {
            return Ok(Some(Earlier { order: Some(*order), entry: None, ticket: Some(*ticket) }));
        }
        let after = Timestamp(moment.machine.0.saturating_sub(NAMES_KEPT_S));
        let answer = self.accounts.journal_request(id, name, after)?;
        Ok(answer.map(|answer| {
            let (order, entry) = parse_answer(&answer);
            Earlier { order, entry, ticket: None }
        }))
    }

    /// Returns a refusal if the idempotency key was used for an order with different terms,
    /// otherwise `None`.
    fn conflict(
        &self,
        book: &Book,
        id: AccountId,
        request: &RequestOptions<'_>,
        earlier: &Earlier,
    ) -> Result<Option<Refusal>, PaperError> {
        // The terms of a pending request are compared on the retry, when the earlier request is
        // durable.
        let Some((name, terms)) = request.name.zip(request.terms) else { return Ok(None) };
        let (Some(order), None) = (earlier.order, earlier.ticket) else { return Ok(None) };
        let Some(known) = book.account.order(order) else { return Ok(None) };
        // The account holds the current terms, which replacements may have changed, so compare with
        // the submitted terms.
        let Some(accepted) = self.accepted(id, known, earlier.entry)? else { return Ok(None) };
        let is_same = has_same_terms(terms, &accepted.terms, accepted.facts.kind);
        let refusal = || {
            Refusal::plain(format!(
                "client_request_id {name:?} was used for order {order}, which has different terms: use a \
                 new one"
            ))
        };
        Ok((!is_same).then(refusal))
    }

    /// Returns an order as it was submitted. `entry` is the journal entry number stored with the
    /// idempotency key. Without `entry`, scans the entries at the instant of submission, which may
    /// be many under a fixed clock.
    pub(crate) fn accepted(
        &self,
        id: AccountId,
        order: &Order,
        entry: Option<u64>,
    ) -> Result<Option<AcceptedOrder>, PaperError> {
        if let Some(entry) = entry
            && let Some(row) = self.accounts.journal_entry(id, entry)?
            && let Some(accepted) = accepted_in(id, &row, order.id)?
        {
            return Ok(Some(accepted));
        }
        let instant = (order.submitted_at, order.submitted_at);
        let mut after = 0;
        loop {
            let rows = self.accounts.journal_entries_between(id, after, instant)?;
            let Some(last) = rows.last() else { return Ok(None) };
            after = last.number;
            for row in &rows {
                if let Some(accepted) = accepted_in(id, row, order.id)? {
                    return Ok(Some(accepted));
                }
            }
        }
    }

    /// Writes a snapshot if enough entries were appended since the last snapshot. Snapshots only
    /// make loading faster; correctness does not depend on them.
    fn keep_snapshot(&self, id: AccountId, place: &AccountSlot) {
        let mut cached = place.lock();
        let Some(book) = cached.book.as_mut() else { return };
        let number = book.account.entries();
        let is_due = number >= book.snapshot.saturating_add(SNAPSHOT_AFTER.max(book.snapshot / 2));
        let is_written = book.last_ticket.is_none_or(|ticket| self.committer.is_finished(ticket));
        let Some(head) = book.head.filter(|_| is_due && is_written) else { return };
        if book.is_void.load(Ordering::Acquire) {
            return;
        }
        // Updated before the write, so that a failing snapshot is not retried on every request.
        book.snapshot = number;
        let (accounts, account) = (self.accounts.clone(), book.account.clone());
        let save_snapshot = move || {
            let Some(state) = encode_snapshot(&account) else { return };
            // If the journal was truncated concurrently, the store rejects the snapshot, and the next
            // request detects the truncation.
            if let Err(error) = accounts.keep_journal_snapshot(id, &head, SNAPSHOT_FORMAT, &state) {
                tracing::warn!(%error, account = id.0, "cannot store a snapshot");
            }
        };
        if number < SNAPSHOT_ASIDE {
            save_snapshot();
            return;
        }
        if let Err(error) = std::thread::Builder::new().name("snapshot".to_owned()).spawn(save_snapshot) {
            tracing::warn!(%error, account = id.0, "cannot create a snapshot");
        }
    }
}
