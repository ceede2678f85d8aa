//! Selects the database for a query on a node: the local copy if it has the symbol, otherwise the
//! shared database.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use market::Symbol;

use super::copy::{LocalCopy, Mark, sql as copy_sql};
use crate::StoreError;
use crate::engine::Db;

/// Delay before reopening the copy after a failure.
const TRY_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The local copy.
    Near,
    /// The shared database.
    Far,
}

/// The local copy, as used by one view.
#[derive(Debug)]
pub(crate) struct Nearby {
    copy: Arc<LocalCopy>,
    /// Connection to the file `number`; `None` if it cannot be opened.
    db: Option<Db>,
    number: u64,
    /// Time of the last attempt to open the file.
    opened: Instant,
    /// The side that the current query uses.
    active_side: Cell<Option<Side>>,
    /// The side of the open snapshot.
    snapshot: Cell<Option<Side>>,
    /// The symbol for which the snapshot of the local copy was begun.
    pinned: RefCell<Option<Symbol>>,
}

impl Nearby {
    pub(crate) fn new(copy: Arc<LocalCopy>) -> Nearby {
        let number = copy.number();
        let db = copy.reader(number).ok();
        Nearby {
            copy,
            db,
            number,
            opened: Instant::now(),
            active_side: Cell::default(),
            snapshot: Cell::default(),
            pinned: RefCell::default(),
        }
    }

    /// Switches to the current file, if the copy was recreated. Called between queries.
    pub(crate) fn refresh(&mut self) {
        let number = self.copy.number();
        // The cause, such as too many open files, may be gone.
        let tries_again = self.db.is_none() && self.opened.elapsed() >= TRY_AGAIN;
        if number != self.number || tries_again {
            (self.number, self.db) = (number, self.copy.reader(number).ok());
            self.opened = Instant::now();
        }
    }

    pub(crate) fn copy(&self) -> &LocalCopy {
        &self.copy
    }

    /// Returns the connection to the local copy, for data that never changes.
    pub(crate) fn db(&self) -> Option<&Db> {
        self.db.as_ref()
    }

    /// Returns the connection to the local copy, if the current query uses it.
    pub(crate) fn active_db(&self) -> Option<&Db> {
        self.db.as_ref().filter(|_| self.active_side.get() == Some(Side::Near))
    }

    /// Returns the side that the enclosing query has chosen.
    pub(crate) fn active_side(&self) -> Option<Side> {
        self.active_side.get()
    }

    pub(crate) fn snapshot(&self) -> Option<Side> {
        self.snapshot.get()
    }

    /// Runs a query on one side, including nested queries.
    pub(crate) fn ask<T>(&self, side: Side, ask: impl FnOnce() -> T) -> T {
        let before = self.active_side.replace(Some(side));
        let answer = ask();
        self.active_side.set(before);
        answer
    }

    /// Returns a symbol's mark, if the copy has it and it is current.
    pub(crate) fn mark(&self, symbol: &Symbol) -> Option<Mark> {
        self.copy.mark(symbol, self.number).filter(|_| self.db.is_some())
    }

    pub(crate) fn is_still(&self, symbol: &Symbol, mark: Mark) -> bool {
        self.copy.is_still(symbol, mark, self.number)
    }

    /// Returns whether the local copy caused the error, so that the query can be repeated on the
    /// shared database. Reports damage to the copy.
    pub(crate) fn is_to_blame(&self, error: &StoreError) -> bool {
        let (place, is_damaged) = match error {
            StoreError::Damaged { place, .. }
            | StoreError::Value { place, .. }
            | StoreError::Disk { place, .. }
            | StoreError::Engine { place, .. }
            | StoreError::Emptied { place, .. } => (place, true),
            // These errors may be temporary.
            StoreError::Locked { place, .. }
            | StoreError::Interrupted { place, .. }
            | StoreError::Full { place, .. }
            | StoreError::Denied { place, .. } => (place, false),
            _ => return false,
        };
        let is_ours = self.db.as_ref().is_some_and(|db| db.url() == place);
        if is_ours && is_damaged {
            self.copy.damaged(self.number);
        }
        is_ours
    }

    /// Reports damage to the copy, when the query cannot be repeated on the shared database.
    pub(crate) fn note(&self, error: &StoreError) {
        self.is_to_blame(error);
    }

    /// Selects the side for a symbol in the open snapshot.
    pub(crate) fn side_in_snapshot(&self, symbol: &Symbol, snapshot: Side) -> Result<Side, StoreError> {
        if snapshot == Side::Far || self.pinned.borrow().as_ref() == Some(symbol) {
            return Ok(snapshot);
        }
        if self.mark(symbol).is_some() && self.has(symbol)? {
            return Ok(Side::Near);
        }
        self.copy.want(symbol);
        Ok(Side::Far)
    }

    /// Returns whether the copy has a current symbol in the open snapshot.
    fn has(&self, symbol: &Symbol) -> Result<bool, StoreError> {
        let Some(db) = &self.db else { return Ok(false) };
        let is_current = db.first(copy_sql::IS_CURRENT, [symbol.as_str()], |row| row.get(0))?;
        Ok(is_current.unwrap_or(false))
    }

    /// Begins a snapshot of the copy. Returns whether the copy has the symbol.
    pub(crate) fn begin(&self, symbol: &Symbol) -> Result<bool, StoreError> {
        let (Some(db), Some(_)) = (&self.db, self.mark(symbol)) else { return Ok(false) };
        // The first query fixes the snapshot.
        match db.begin_read().and_then(|()| self.has(symbol)) {
            Ok(true) => {
                self.snapshot.set(Some(Side::Near));
                self.pinned.replace(Some(symbol.clone()));
                Ok(true)
            }
            found => {
                db.commit().ok();
                found.or_else(|error| if self.is_to_blame(&error) { Ok(false) } else { Err(error) })
            }
        }
    }

    /// Records that a snapshot of the shared database was begun.
    pub(crate) fn begun_far(&self) {
        self.snapshot.set(Some(Side::Far));
    }

    /// Ends the snapshot. Returns whether it was one of the copy.
    pub(crate) fn end(&self) -> bool {
        self.pinned.replace(None);
        let was_near = self.snapshot.replace(None) == Some(Side::Near);
        if let Some(db) = self.db.as_ref().filter(|_| was_near) {
            // Nothing was written, so an error can be ignored; the next `begin` reports it.
            db.commit().ok();
        }
        was_near
    }
}
