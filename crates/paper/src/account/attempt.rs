//! One attempt at a request: decide everything under the account's lock, release the lock, then
//! wait for the disk. The next request builds on this decision before it is written, and fails with
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use market::Timestamp;
use store::{AccountId, AddOutcome, JournalEntry};
use trading::{
    AcceptedOrder, Account, Engine, Event, Order, OrderId, Outcome, Push, Refusal, Terms, has_same_terms,
    next_wake,
};

use super::book::{self, AccountSlot, AccountState, Book, TRIES_MAX};
use super::commit::{Audited, Named, Ticket};
use super::{Changed, PaperAccount};
use crate::PaperError;
use crate::clock::Moment;
use crate::feed::StoreFeed;
use crate::operator_words::Exchanged;
use crate::service::Paper;
use crate::snapshot::{self, FORMAT};

/// Minimum number of entries between snapshots. The interval grows with the journal, so that all
/// snapshots together cost no more than a few readings of it.
const SNAPSHOT_AFTER: u64 = 2_000;
/// From this many entries on, a snapshot takes too long for a request and is written by a
/// separate thread.
const SNAPSHOT_ASIDE: u64 = 10_000;
/// How long idempotency keys are stored, in seconds of the machine's clock.
pub(crate) const NAMES_KEPT_S: i64 = 600;

/// Options of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestOptions<'a> {
    /// The idempotency key of the request.
    pub(crate) name: Option<&'a str>,
    /// The terms of the order that the request submits.
    pub(crate) terms: Option<&'a Terms>,
    pub(crate) audit: Option<Audited>,
    /// The request changes nothing by itself.
    pub(crate) is_read: bool,
    /// Store the horizon and the next wake-up even if nothing happened.
    pub(crate) keeps_head: bool,
}

/// An earlier request with the same idempotency key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earlier {
    order: Option<OrderId>,
    /// The entry that created the order.
    entry: Option<u64>,
    /// Set if it may not be written yet.
    ticket: Option<Ticket>,
}

/// Result of an attempt.
#[derive(Debug)]
pub(crate) enum Work<T> {
    Done(T),
    /// Only a portion of the catch-up was done; there is more.
    Behind(Behind),
}

/// An account that was advanced to `at` on the way to `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    pub(crate) at: Timestamp,
    pub(crate) to: Timestamp,
}

/// Result of an attempt that is on the disk.
#[derive(Debug)]
pub(crate) enum Finished<T> {
    Changed(Changed<T>),
    Behind(Behind),
}

/// A decision. It is valid once it is written.
#[derive(Debug)]
pub(crate) enum Attempt<T> {
    Made {
        made: Work<T>,
        refusal: Option<Refusal>,
        ticket: Option<Ticket>,
        /// The earlier, possibly unwritten addition that this one builds on.
        before: Option<Ticket>,
        is_void: Arc<AtomicBool>,
        /// Held until the addition is written, so that reloading the account from its journal waits
        /// for it.
        place: Arc<AccountSlot>,
    },
    /// A request with the same idempotency key was made before.
    Repeated(Earlier),
    /// The account's horizon is later than the clock of this request.
    Ahead(Moment),
}

/// When something may next happen to an account without a request. Only open orders and grids, and
/// positions that may be liquidated, need it: everything else is computed on the next read.
fn wake(account: &Account, feed: &StoreFeed<'_>, now: Timestamp) -> Option<Timestamp> {
    let has_open = account.has_open_orders() || account.grids().has_open();
    let is_watched = has_open || account.settings().liquidate;
    if !is_watched {
        return None;
    }
    [next_wake(account, feed, now), feed.next_late(account, now)].into_iter().flatten().min()
}

/// The stored form of a request with an idempotency key: its order, and the entry that created it.
fn answer(order: OrderId, entry: Option<u64>) -> String {
    entry.map_or_else(|| order.to_string(), |entry| format!("{order} {entry}"))
}

/// Earlier versions stored the order alone.
fn parse_answer(answer: &str) -> (Option<OrderId>, Option<u64>) {
    let (order, entry) = answer.split_once(' ').unwrap_or((answer, ""));
    (order.parse().ok(), entry.parse().ok())
}

/// The order as submitted in an entry, if that entry submitted it.
fn accepted_in(
    id: AccountId,
    row: &JournalEntry,
    order: OrderId,
) -> Result<Option<AcceptedOrder>, PaperError> {
    if !row.text.contains(&order.to_string()) {
        return Ok(None);
    }
    let accepted = match book::parsed(id, row)?.event {
        Event::Accepted(accepted) | Event::Rejected { order: Some(accepted), .. } => accepted,
        _ => return Ok(None),
    };
    Ok((accepted.id == order).then_some(*accepted))
}

impl PaperAccount<'_> {
    /// Decides a request under the account's lock, and queues the new entries for writing.
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
        // The book is taken out of its slot. If anything fails, the next request reads the journal
        // again.
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
        // The rest is due immediately.
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
    /// Queues the new entries for writing, if there are any.
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
        let own = outcome.entries.last().filter(|_| outcome.refusal.is_none());
        let order = own.and_then(|entry| entry.event.order());
        let named = options.name.zip(order);
        let request = named.map(|(name, order)| Named {
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

    /// Waits until an attempt is on the disk. `None` if another process wrote first: everything
    /// must then be decided again.
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
                // By then the store shows whether it was written.
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

    /// The book at the current head of the journal. Another process may have added to the journal
    /// or cut it; its additions are pushed to listeners here, before anything that follows from
    /// them.
    pub(crate) fn current(&self, state: &mut AccountState, id: AccountId) -> Result<Book, PaperError> {
        state.version = None;
        for _ in 0..TRIES_MAX {
            let held = state.book.take().filter(|book| !book.is_void.load(Ordering::Acquire));
            let followed = match held {
                // Ahead of the journal. If another process writes in between, the next addition is
                // void.
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
                self.committer.notify(id, &pushes);
                return Ok(book);
            }
        }
        Err(PaperError::Contended { account: id.0 })
    }

    /// Loads the book from the journal. Waits for unwritten additions of this process first, so
    /// that listeners receive them once.
    fn loaded(&self, state: &AccountState, id: AccountId) -> Result<Option<(Book, Vec<Push>)>, PaperError> {
        if let Some(ticket) = state.last_ticket {
            self.committer.wait_for(&self.accounts, ticket);
        }
        state.load(&self.accounts, id)
    }

    /// The order of an earlier request with the same idempotency key, and its ticket if it is not
    /// written yet.
    fn repeated(
        &self,
        book: &Book,
        id: AccountId,
        name: &str,
        moment: Moment,
    ) -> Result<Option<Earlier>, PaperError> {
        // A written one is in the store.
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

    /// Why a repeated idempotency key is refused: the order was submitted on other terms.
    fn conflict(
        &self,
        book: &Book,
        id: AccountId,
        request: &RequestOptions<'_>,
        earlier: &Earlier,
    ) -> Result<Option<Refusal>, PaperError> {
        // A request that is not written yet is looked up again once it is.
        let Some((name, terms)) = request.name.zip(request.terms) else { return Ok(None) };
        let (Some(order), None) = (earlier.order, earlier.ticket) else { return Ok(None) };
        let Some(known) = book.account.order(order) else { return Ok(None) };
        // The account holds the terms after later replacements or releases.
        let Some(accepted) = self.accepted(id, known, earlier.entry)? else { return Ok(None) };
        let is_same = has_same_terms(terms, &accepted.terms, accepted.facts.kind);
        let refusal = || {
            Refusal::plain(format!(
                "client_request_id {name:?} was used for order {order}, which has other terms: use a new one"
            ))
        };
        Ok((!is_same).then(refusal))
    }

    /// An order as it was submitted. The entry number is stored with the request, because under a
    /// fixed clock one instant may have any number of entries. Without it, the entry is searched
    /// for.
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

    /// Writes a snapshot when enough entries were added since the last one. Snapshots are only for
    /// speed: correctness does not depend on them.
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
        // Even if it fails, the next attempt is made only after as many entries again.
        book.snapshot = number;
        let (accounts, account) = (self.accounts.clone(), book.account.clone());
        let save_snapshot = move || {
            let Some(state) = snapshot::encode(&account) else { return };
            // If the journal was cut meanwhile, nothing is stored, and the next request notices the
            // cut.
            if let Err(error) = accounts.keep_journal_snapshot(id, &head, FORMAT, &state) {
                tracing::warn!(%error, account = id.0, "cannot keep a snapshot");
            }
        };
        if number < SNAPSHOT_ASIDE {
            save_snapshot();
            return;
        }
        if let Err(error) = std::thread::Builder::new().name("snapshot".to_owned()).spawn(save_snapshot) {
            tracing::warn!(%error, account = id.0, "cannot make a snapshot");
        }
    }
}
