//! Work queue from queries to the worker thread of the local copy.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use market::Symbol;

use super::file::BodyOf;

/// Maximum number of symbols waiting to be fetched. If the queue is full, a request is dropped, and
/// the next query for the symbol repeats the request.
const SYMBOLS_MAX: usize = 4_096;
/// Maximum number of body bytes waiting to be written.
const BODY_BYTES_MAX: usize = 64 << 20;
/// Maximum number of symbols fetched per round. Limits the delay of the next poll of the shared
/// database.
const SYMBOLS_AT_ONCE: usize = 32;
const BODIES_AT_ONCE: usize = 256;

/// A body that was fetched for a query, to be stored for later queries.
#[derive(Debug)]
pub(super) struct FetchedBody {
    pub(super) of: BodyOf,
    pub(super) id: i64,
    pub(super) bytes: Box<[u8]>,
}

#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) symbols: Vec<Symbol>,
    pub(super) bodies: Vec<FetchedBody>,
    /// Symbols with inconsistent data, to be fetched again.
    pub(super) doubted: Vec<Symbol>,
    /// Number of a damaged file; `None` if no damage was reported.
    pub(super) damaged: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Notified when work is queued.
    wake: Condvar,
    /// Notified when queued work is done.
    done: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    symbols: BTreeSet<Symbol>,
    bodies: Vec<FetchedBody>,
    body_bytes: usize,
    doubted: BTreeSet<Symbol>,
    damaged: Option<u64>,
    look: bool,
    has_ended: bool,
    /// Number of the last ticket issued.
    given: u64,
    answered: u64,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, add: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting();
        add(&mut waiting);
        drop(waiting);
        self.wake.notify_one();
    }

    pub(super) fn want(&self, symbol: &Symbol) {
        self.add(|waiting| {
            if waiting.symbols.len() < SYMBOLS_MAX && !waiting.symbols.contains(symbol) {
                waiting.symbols.insert(symbol.clone());
            }
        });
    }

    pub(super) fn store_bodies(&self, bodies: impl Iterator<Item = FetchedBody>) {
        self.add(|waiting| {
            for body in bodies {
                if waiting.body_bytes.saturating_add(body.bytes.len()) <= BODY_BYTES_MAX {
                    waiting.body_bytes += body.bytes.len();
                    waiting.bodies.push(body);
                }
            }
        });
    }

    pub(super) fn doubt(&self, symbol: &Symbol) {
        self.add(|waiting| {
            waiting.doubted.insert(symbol.clone());
        });
    }

    pub(super) fn damaged(&self, number: u64) {
        self.add(|waiting| waiting.damaged = Some(number));
    }

    pub(super) fn look(&self) {
        self.add(|waiting| waiting.look = true);
    }

    pub(super) fn end(&self) {
        self.add(|waiting| waiting.has_ended = true);
        self.done.notify_all();
    }

    /// Waits for work, or until `due`, when the shared database must be polled. Returns the work
    /// and its ticket, or `None` after `end`.
    pub(super) fn take(&self, due: Instant) -> Option<(Work, u64)> {
        let mut waiting = self.waiting();
        loop {
            if waiting.has_ended {
                return None;
            }
            let left = due.saturating_duration_since(Instant::now());
            if waiting.has_work() || left.is_zero() {
                let given = waiting.given;
                return Some((waiting.take(), given));
            }
            waiting = self.wake.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Completes all tickets up to `ticket` if the queue is empty, and notifies the threads that
    /// wait for them.
    pub(super) fn answer(&self, ticket: u64) {
        let mut waiting = self.waiting();
        if !waiting.has_work() {
            waiting.answered = waiting.answered.max(ticket);
        }
        drop(waiting);
        self.done.notify_all();
    }

    /// Drops the queued symbols when the shared database is unreachable. The next query for a
    /// symbol requests it again.
    pub(super) fn give_up(&self) {
        self.waiting().symbols.clear();
    }

    /// Waits until all queued work is done and the shared database was polled.
    pub(super) fn settle(&self) {
        let mut waiting = self.waiting();
        waiting.given += 1;
        waiting.look = true;
        let ticket = waiting.given;
        self.wake.notify_one();
        while waiting.answered < ticket && !waiting.has_ended {
            waiting = self.done.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    #[cfg(test)]
    pub(super) fn has_work(&self) -> bool {
        self.waiting().has_work()
    }

    pub(super) fn symbols_waiting(&self) -> u64 {
        self.waiting().symbols.len() as u64
    }
}

impl Waiting {
    fn has_work(&self) -> bool {
        self.look
            || self.damaged.is_some()
            || !self.symbols.is_empty()
            || !self.bodies.is_empty()
            || !self.doubted.is_empty()
    }

    fn take(&mut self) -> Work {
        self.look = false;
        let symbols = first_of(&mut self.symbols);
        // A body is stored only if its symbol is in the copy, so symbols are fetched first, unless
        // too many bodies are waiting.
        let is_next = self.symbols.is_empty() || self.body_bytes > BODY_BYTES_MAX / 2;
        let count = if is_next { self.bodies.len().min(BODIES_AT_ONCE) } else { 0 };
        let bodies: Vec<FetchedBody> = self.bodies.drain(..count).collect();
        self.body_bytes -= bodies.iter().map(|body| body.bytes.len()).sum::<usize>().min(self.body_bytes);
        Work { symbols, bodies, doubted: first_of(&mut self.doubted), damaged: self.damaged.take() }
    }
}

/// Removes and returns at most `SYMBOLS_AT_ONCE` symbols.
fn first_of(symbols: &mut BTreeSet<Symbol>) -> Vec<Symbol> {
    let mut first = Vec::with_capacity(symbols.len().min(SYMBOLS_AT_ONCE));
    while first.len() < SYMBOLS_AT_ONCE
        && let Some(symbol) = symbols.pop_first()
    {
        first.push(symbol);
    }
    first
}
