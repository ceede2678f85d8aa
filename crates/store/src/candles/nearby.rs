//! Which database a question goes to on a node: the local copy where it has the symbol, and else the one that all nodes share.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use market::Symbol;

use super::copy::{LocalCopy, Mark, sql as copy_sql};
use crate::StoreError;
use crate::engine::Db;

/// How much later the copy is opened again that could not be.
const TRY_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The local copy.
    Near,
    /// The database that is shared.
    Far,
}

/// The local copy, as one view sees it.
#[derive(Debug)]
pub(crate) struct Nearby {
    copy: Arc<LocalCopy>,
    /// A connection to the file with this number; none if that cannot be opened.
    db: Option<Db>,
    number: u64,
    /// When it was last opened, or could not be.
    opened: Instant,
    /// The side of the question that is being answered.
    asking: Cell<Option<Side>>,
    /// The side of the snapshot that is open.
    snapshot: Cell<Option<Side>>,
    /// The symbol that a snapshot of the local copy is known to have.
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
            asking: Cell::default(),
            snapshot: Cell::default(),
            pinned: RefCell::default(),
        }
    }

    /// To be called between questions: the copy may have been begun anew.
    pub(crate) fn refresh(&mut self) {
        let number = self.copy.number();
        // What kept it from being opened, such as too many open files, may be over.
        let tries_again = self.db.is_none() && self.opened.elapsed() >= TRY_AGAIN;
        if number != self.number || tries_again {
            (self.number, self.db) = (number, self.copy.reader(number).ok());
            self.opened = Instant::now();
        }
    }

    pub(crate) fn copy(&self) -> &LocalCopy {
        &self.copy
    }

    /// The connection to the local copy, for what is the same in any state.
    pub(crate) fn db(&self) -> Option<&Db> {
        self.db.as_ref()
    }

    /// The connection to the local copy, if that is what the present question is asked.
    pub(crate) fn asked(&self) -> Option<&Db> {
        self.db.as_ref().filter(|_| self.asking.get() == Some(Side::Near))
    }

    /// The side that is decided already, by the question that this one is a part of.
    pub(crate) fn asking(&self) -> Option<Side> {
        self.asking.get()
    }

    pub(crate) fn snapshot(&self) -> Option<Side> {
        self.snapshot.get()
    }

    /// Asks one side, with all questions that are part of this one.
    pub(crate) fn ask<T>(&self, side: Side, ask: impl FnOnce() -> T) -> T {
        let before = self.asking.replace(Some(side));
        let answer = ask();
        self.asking.set(before);
        answer
    }

    /// The state of a symbol in the copy, if it is there.
    pub(crate) fn mark(&self, symbol: &Symbol) -> Option<Mark> {
        self.copy.mark(symbol, self.number).filter(|_| self.db.is_some())
    }

    pub(crate) fn is_still(&self, symbol: &Symbol, mark: Mark) -> bool {
        self.copy.is_still(symbol, mark, self.number)
    }

    /// Takes note of an error of the copy. Whether it is one: then the shared database has the answer.
    pub(crate) fn is_to_blame(&self, error: &StoreError) -> bool {
        let (place, is_damaged) = match error {
            StoreError::Damaged { place, .. }
            | StoreError::Value { place, .. }
            | StoreError::Disk { place, .. }
            | StoreError::Engine { place, .. }
            | StoreError::Emptied { place, .. } => (place, true),
            // Another time it may be as good as ever.
            StoreError::Locked { place, .. }
            | StoreError::Interrupted { place, .. }
            | StoreError::Full { place, .. }
            | StoreError::Denied { place, .. } => (place, false),
            _ => return false,
        };
        let is_ours = self.db.as_ref().is_some_and(|db| db.place() == place);
        if is_ours && is_damaged {
            self.copy.damaged(self.number);
        }
        is_ours
    }

    /// The same where nobody else can be asked any more.
    pub(crate) fn note(&self, error: &StoreError) {
        self.is_to_blame(error);
    }

    /// The side for a symbol in the snapshot that is open.
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

    /// Whether the copy has a symbol as it is, in the state that is being read.
    fn has(&self, symbol: &Symbol) -> Result<bool, StoreError> {
        let Some(db) = &self.db else { return Ok(false) };
        let is_current = db.first(copy_sql::IS_CURRENT, [symbol.as_str()], |row| row.get(0))?;
        Ok(is_current.unwrap_or(false))
    }

    /// Begins a snapshot of the copy, if it has the symbol.
    pub(crate) fn begin(&self, symbol: &Symbol) -> Result<bool, StoreError> {
        let (Some(db), Some(_)) = (&self.db, self.mark(symbol)) else { return Ok(false) };
        // The first question decides which state it is.
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

    /// The shared database has begun a snapshot.
    pub(crate) fn begun_far(&self) {
        self.snapshot.set(Some(Side::Far));
    }

    /// Ends a snapshot of the copy. Whether it was one.
    pub(crate) fn end(&self) -> bool {
        self.pinned.replace(None);
        let was_near = self.snapshot.replace(None) == Some(Side::Near);
        if let Some(db) = self.db.as_ref().filter(|_| was_near) {
            // Nothing was written, so nothing is lost if this fails; the next `begin` would say so.
            db.commit().ok();
        }
        was_near
    }
}
