//! A cache of admissions for one connection. A request like the one before it takes no lock and touches no counter that all connections
//! share: with many connections on several processors, those cost more than the rest of an answer from memory. It is not used any more once the
//! accounts' database has a new version.

use std::ops::Range;
use std::sync::Arc;

use market::{Symbol, Timestamp};

use crate::{Account, Caller, Month, Standing};

/// Securities that are remembered as paid for. A client that fetches much mostly pages through one after the other.
const SECURITIES_MAX: usize = 16;

/// Kept by a connection between its requests, and empty before the first.
#[derive(Debug, Default)]
pub struct AdmissionCache {
    /// Who was admitted, and as what.
    last: Option<(Caller, Arc<Grade>)>,
    /// What was paid for then, the last one asked for at the end.
    paid: Vec<Symbol>,
}

/// An account and its level, at a version of the database and for a day of the market's.
#[derive(Debug)]
pub(crate) struct Grade {
    pub(crate) version: i64,
    pub(crate) account: Arc<Account>,
    pub(crate) standing: Arc<Standing>,
    /// The day in Hong Kong, and its month.
    pub(crate) day: Range<Timestamp>,
    pub(crate) month: Month,
}

impl AdmissionCache {
    /// What a caller was admitted as at a version of the database.
    pub(crate) fn grade(&self, caller: &Caller, version: i64) -> Option<&Arc<Grade>> {
        let (of, grade) = self.last.as_ref()?;
        (of == caller && grade.version == version).then_some(grade)
    }

    /// Whether a security is paid for, as far as is remembered.
    pub(crate) fn is_paid(&self, grade: &Arc<Grade>, symbol: &Symbol) -> bool {
        self.last.as_ref().is_some_and(|(_, last)| Arc::ptr_eq(last, grade)) && self.paid.contains(symbol)
    }

    /// Remembers that a caller was admitted, and that a security is paid for.
    pub(crate) fn learn(&mut self, caller: &Caller, grade: &Arc<Grade>, symbol: &Symbol) {
        if !self.last.as_ref().is_some_and(|(of, last)| of == caller && Arc::ptr_eq(last, grade)) {
            self.last = Some((*caller, Arc::clone(grade)));
            self.paid.clear();
        }
        if self.paid.len() >= SECURITIES_MAX {
            self.paid.remove(0);
        }
        self.paid.push(symbol.clone());
    }
}
