//! One attempt to do something to an account: with the account in hand everything is decided, then the account is given back, and only
//! then is the disk waited for. So the next request goes on from what this one has decided, and fails with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use market::Timestamp;
use store::{AccountId, AddOutcome, JournalEntry, Reader};
use trading::{
    AcceptedOrder, Account, Engine, Event, Order, OrderId, Outcome, Push, Refusal, Terms, has_same_terms,
    next_wake,
};

use crate::PaperError;
use crate::book::{self, AccountSlot, AccountState, Book, TRIES_MAX};
use crate::commit::{Audited, Named, Ticket};
use crate::feed::StoreFeed;
use crate::operator_words::Exchanged;
use crate::service::{Changed, Clock, Moment, Paper};
use crate::snapshot::{self, FORMAT};

/// Entries after which a snapshot is worth its writing, at least. It grows with the journal, so that all snapshots together cost no
/// more than a few readings of it.
const SNAPSHOT_AFTER: u64 = 2_000;
/// From so many entries on a snapshot takes too long for whoever waits for an answer: it is made aside.
const SNAPSHOT_ASIDE: u64 = 10_000;
/// How long the name of a request is remembered, by the machine's clock.
pub(crate) const NAMES_KEPT_S: i64 = 600;

/// How something is to be done.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestOptions<'a> {
    /// The idempotency key of the request.
    pub(crate) name: Option<&'a str>,
    /// Those of the order that it submits.
    pub(crate) terms: Option<&'a Terms>,
    pub(crate) audit: Option<Audited>,
    /// Nothing is asked of the account itself.
    pub(crate) is_read: bool,
    /// Keep how far it is and when something may happen next, also if nothing has.
    pub(crate) keeps_head: bool,
}

/// A request that was made before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earlier {
    order: Option<OrderId>,
    /// The entry that made the order.
    entry: Option<u64>,
    /// It may not be written yet.
    ticket: Option<Ticket>,
}

/// What an attempt has come to.
#[derive(Debug)]
pub(crate) enum Work<T> {
    Done(T),
    /// Nothing but a portion of what the market has brought: there is more.
    Behind(Behind),
}

/// An account that has come to one instant, on its way to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    pub(crate) at: Timestamp,
    pub(crate) to: Timestamp,
}

/// What became of an attempt that is on the disk.
#[derive(Debug)]
pub(crate) enum Finished<T> {
    Changed(Changed<T>),
    Behind(Behind),
}

/// What has been decided; it holds when it is written.
#[derive(Debug)]
pub(crate) enum Attempt<T> {
    Made {
        made: Work<T>,
        refusal: Option<Refusal>,
        ticket: Option<Ticket>,
        /// Of what others have decided before, on which this rests.
        before: Option<Ticket>,
        is_void: Arc<AtomicBool>,
        /// Held until it is written: whoever reads the account out of its journal again waits for that.
        place: Arc<AccountSlot>,
    },
    /// It was made before, under the same name.
    Repeated(Earlier),
    /// The account is further than the clock was at this moment.
    Ahead(Moment),
}

/// When something may happen to an account that nobody asks about. Only open orders and grids, and positions that may be sold by
/// force, are waited for: the rest shows when somebody asks.
fn wake(account: &Account, feed: &StoreFeed<'_>, now: Timestamp) -> Option<Timestamp> {
    let has_open = account.has_open_orders() || account.grids().has_open();
    let is_watched = has_open || account.settings().liquidate;
    if !is_watched {
        return None;
    }
    [next_wake(account, feed, now), feed.next_late(account, now)].into_iter().flatten().min()
}

/// What is stored of a request with an idempotency key: its order, and the entry that made it.
fn answer(order: OrderId, entry: Option<u64>) -> String {
    entry.map_or_else(|| order.to_string(), |entry| format!("{order} {entry}"))
}

/// Earlier versions stored the order alone.
fn parse_answer(answer: &str) -> (Option<OrderId>, Option<u64>) {
    let (order, entry) = answer.split_once(' ').unwrap_or((answer, ""));
    (order.parse().ok(), entry.parse().ok())
}

/// An order as an entry has it, if that submitted it.
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

impl Paper {
    pub(crate) fn attempt<T>(
        &self,
        id: AccountId,
        (reader, clock): (&mut Reader, &dyn Clock),
        asked: &RequestOptions<'_>,
        work: impl Fn(&Engine<'_>, &mut Account, Timestamp) -> Result<(Outcome, T), PaperError>,
    ) -> Result<Attempt<T>, PaperError> {
        let place = self.place(id);
        let mut kept = place.lock();
        let mut book = self.current(&mut kept, id)?;
        let moment = clock.moment().not_before(book.account.horizon());
        if let Some(name) = asked.name
            && let Some(earlier) = self.repeated(&book, id, name, moment)?
        {
            let conflict = self.conflict(&book, id, asked, &earlier)?;
            kept.book = Some(book);
            return conflict.map_or(Ok(Attempt::Repeated(earlier)), |refusal| Err(refusal.into()));
        }
        let now = moment.as_of.now();
        if asked.is_read && book.account.horizon().is_some_and(|horizon| horizon > now) {
            kept.book = Some(book);
            return Ok(Attempt::Ahead(moment));
        }
        let feed = self.feed_at(reader, moment, kept.version)?;
        feed.notice(&book.account);
        let engine = Engine::new(&feed, self.tables());
        // The book is out of its place meanwhile: if anything fails, the next request reads the journal again.
        let portion = self.portion.advance(&engine, &mut book.account, now);
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
        let is_kept = asked.keeps_head || !outcome.entries.is_empty();
        // The rest is due immediately.
        let since = behind.map_or(now, |behind| behind.at);
        let wake = if is_kept { feed.checked(wake(&book.account, &feed, since))? } else { None };
        let portion_only = RequestOptions { keeps_head: asked.keeps_head, ..RequestOptions::default() };
        let asked = if behind.is_some() { &portion_only } else { asked };
        let ticket = self.enqueue(id, &mut book, (outcome, wake), asked, moment)?;
        book.last_ticket = ticket.or(before);
        kept.last_ticket = book.last_ticket.or(kept.last_ticket);
        let is_void = book.is_void.clone();
        kept.book = Some(book);
        drop(kept);
        Ok(Attempt::Made { made, refusal, ticket, before, is_void, place })
    }

    /// Puts what has happened in line to be written, if anything has.
    fn enqueue(
        &self,
        id: AccountId,
        book: &mut Book,
        (outcome, wake): (Outcome, Option<Timestamp>),
        asked: &RequestOptions<'_>,
        moment: Moment,
    ) -> Result<Option<Ticket>, PaperError> {
        if outcome.entries.is_empty() && !(asked.keeps_head && book.has_moved(wake)) {
            return Ok(None);
        }
        let own = outcome.entries.last().filter(|_| outcome.refusal.is_none());
        let order = own.and_then(|entry| entry.event.order());
        let named = asked.name.zip(order);
        let request = named.map(|(name, order)| Named {
            name: name.to_owned(),
            answer: answer(order, own.map(|entry| entry.number)),
            at: moment.machine,
        });
        let mut audit = asked.audit.clone().filter(|_| outcome.refusal.is_none());
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

    /// Waits until an attempt is on the disk. `None` if another process was quicker: then all of it has to be decided anew.
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
                // Whether it was written is in the store by then.
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

    /// The book as the journal has it now. Another process may have added to it, or taken from it; what it added, listeners hear of
    /// now, before anything that follows from it.
    pub(crate) fn current(&self, kept: &mut AccountState, id: AccountId) -> Result<Book, PaperError> {
        kept.version = None;
        for _ in 0..TRIES_MAX {
            let held = kept.book.take().filter(|book| !book.is_void.load(Ordering::Acquire));
            let followed = match held {
                // Ahead of the journal. If another process comes in between, the addition that follows from this is void.
                Some(book) if book.last_ticket.is_some_and(|ticket| !self.committer.is_finished(ticket)) => {
                    return Ok(book);
                }
                Some(mut book) => {
                    book.unwritten_names.clear();
                    let (head, version) = self.accounts.journal_head_and_version(id)?.unzip();
                    kept.version = version;
                    match head {
                        head if head == book.head => return Ok(book),
                        Some(head) if book.is_behind(&head) => {
                            book.catch_up(&self.accounts, id, head)?.map(|pushes| (book, pushes))
                        }
                        _ => self.loaded(kept, id)?,
                    }
                }
                None => self.loaded(kept, id)?,
            };
            if let Some((book, pushes)) = followed {
                self.committer.tell(id, &pushes);
                return Ok(book);
            }
        }
        Err(PaperError::Contended { account: id.0 })
    }

    /// The book out of the journal. What was decided here and is not written yet comes first: its listeners hear of it once.
    fn loaded(&self, kept: &AccountState, id: AccountId) -> Result<Option<(Book, Vec<Push>)>, PaperError> {
        if let Some(ticket) = kept.last_ticket {
            self.committer.wait_for(&self.accounts, ticket);
        }
        kept.load(&self.accounts, id)
    }

    /// The order of a request that was made before under the same name, and the ticket it waits for if it is not written yet.
    fn repeated(
        &self,
        book: &Book,
        id: AccountId,
        name: &str,
        moment: Moment,
    ) -> Result<Option<Earlier>, PaperError> {
        // One that is written by now is in the store.
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

    /// Why a request is not the earlier one that had the same idempotency key: the order was submitted on other terms.
    fn conflict(
        &self,
        book: &Book,
        id: AccountId,
        asked: &RequestOptions<'_>,
        earlier: &Earlier,
    ) -> Result<Option<Refusal>, PaperError> {
        // One that is not written yet is looked up again when it is.
        let Some((name, terms)) = asked.name.zip(asked.terms) else { return Ok(None) };
        let (Some(order), None) = (earlier.order, earlier.ticket) else { return Ok(None) };
        let Some(known) = book.account.order(order) else { return Ok(None) };
        // The account has the terms of a later replacement or release.
        let Some(accepted) = self.accepted(id, known, earlier.entry)? else { return Ok(None) };
        let is_same = has_same_terms(terms, &accepted.terms, accepted.facts.kind);
        let refusal = || {
            Refusal::plain(format!(
                "client_request_id {name:?} was used for order {order}, which has other terms: use a new one"
            ))
        };
        Ok((!is_same).then(refusal))
    }

    /// An order as it was submitted. The entry is stored with the request: under a standing clock an instant may have any number of
    /// them. One that was stored without it is looked for.
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

    /// Keeps a snapshot when enough has been added since the last one. It is for speed alone, so nothing depends on its success.
    fn keep_snapshot(&self, id: AccountId, place: &AccountSlot) {
        let mut kept = place.lock();
        let Some(book) = kept.book.as_mut() else { return };
        let number = book.account.entries();
        let is_due = number >= book.snapshot.saturating_add(SNAPSHOT_AFTER.max(book.snapshot / 2));
        let is_written = book.last_ticket.is_none_or(|ticket| self.committer.is_finished(ticket));
        let Some(head) = book.head.filter(|_| is_due && is_written) else { return };
        if book.is_void.load(Ordering::Acquire) {
            return;
        }
        // Whether it succeeds or not, the next one is tried when as much has been added again.
        book.snapshot = number;
        let (accounts, account) = (self.accounts.clone(), book.account.clone());
        let keep = move || {
            let Some(state) = snapshot::encode(&account) else { return };
            // Where the journal was cut meanwhile, nothing is kept, and the next request will see it.
            if let Err(error) = accounts.keep_journal_snapshot(id, &head, FORMAT, &state) {
                tracing::warn!(%error, account = id.0, "cannot keep a snapshot");
            }
        };
        if number < SNAPSHOT_ASIDE {
            keep();
            return;
        }
        if let Err(error) = std::thread::Builder::new().name("snapshot".to_owned()).spawn(keep) {
            tracing::warn!(%error, account = id.0, "cannot make a snapshot");
        }
    }
}
