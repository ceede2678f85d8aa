//! Selection of the database for a query on a node: the local copy if it has the symbol, otherwise
//! the shared database.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use market::Symbol;

use super::copy::{LocalCopy, Mark, sql as copy_sql};
use crate::engine::{Db, StoreError};

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
    /// Connection to the file with the number `number`; `None` if the file cannot be opened.
    db: Option<Db>,
    number: u64,
    /// Time of the last attempt to open the file.
    opened: Instant,
    /// The database that the current query uses; `None` between queries.
    active_side: Cell<Option<Side>>,
    /// The database of the open snapshot; `None` if no snapshot is open.
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

    /// Switches to the current file if the copy was recreated. Must be called between queries.
    pub(crate) fn refresh(&mut self) {
        let number = self.copy.number();
        // The cause of the failure, such as too many open files, may have been resolved.
        let tries_again = self.db.is_none() && self.opened.elapsed() >= TRY_AGAIN;
        if number != self.number || tries_again {
            (self.number, self.db) = (number, self.copy.reader(number).ok());
            self.opened = Instant::now();
        }
    }

    pub(crate) fn copy(&self) -> &LocalCopy {
        &self.copy
    }

    /// Returns the connection to the local copy, or `None` if it could not be opened. Only for
    /// immutable data, because the copy may be outdated.
    pub(crate) fn db(&self) -> Option<&Db> {
        self.db.as_ref()
    }

    /// Returns the connection to the local copy, or `None` if the current query uses the shared
    /// database.
    pub(crate) fn active_db(&self) -> Option<&Db> {
        self.db.as_ref().filter(|_| self.active_side.get() == Some(Side::Near))
    }

    /// Returns the database that the enclosing query has chosen, or `None` outside a query.
    pub(crate) fn active_side(&self) -> Option<Side> {
        self.active_side.get()
    }

    pub(crate) fn snapshot(&self) -> Option<Side> {
        self.snapshot.get()
    }

    /// Runs `ask` with `side` as the active database. Nested queries use the same database.
    pub(crate) fn ask<T>(&self, side: Side, ask: impl FnOnce() -> T) -> T {
        let before = self.active_side.replace(Some(side));
        let answer = ask();
        self.active_side.set(before);
        answer
    }

    /// Returns a symbol's mark, or `None` if the copy does not have the symbol or the symbol is
    /// outdated.
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

    /// Reports damage to the copy. Called when the query cannot be repeated on the shared database.
    pub(crate) fn note(&self, error: &StoreError) {
        self.is_to_blame(error);
    }

    /// Selects the database for a symbol in the open snapshot.
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

    /// Returns whether the open snapshot of the copy has the symbol in a current state.
    fn has(&self, symbol: &Symbol) -> Result<bool, StoreError> {
        let Some(db) = &self.db else { return Ok(false) };
        let is_current = db.first(copy_sql::IS_CURRENT, [symbol.as_str()], |row| row.get(0))?;
        Ok(is_current.unwrap_or(false))
    }

    /// Begins a snapshot of the copy if the copy has the symbol. Returns whether the snapshot was
    /// begun.
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

    /// Ends the snapshot. Returns whether it was a snapshot of the local copy.
    pub(crate) fn end(&self) -> bool {
        self.pinned.replace(None);
        let was_near = self.snapshot.replace(None) == Some(Side::Near);
        if let Some(db) = self.db.as_ref().filter(|_| was_near) {
            // The snapshot wrote nothing, so an error can be ignored. The next `begin` reports a
            // broken connection.
            db.commit().ok();
        }
        was_near
    }
}
