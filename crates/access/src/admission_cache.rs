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
    last: Option<(Caller, Standpoint)>,
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

/// What is known of an account that was let in.
#[derive(Clone, Debug)]
pub(crate) enum Standpoint {
    /// That it stood, at a version of the database.
    Stands { version: i64, account: Arc<Account> },
    /// Its level, too.
    Graded(Arc<Grade>),
}

impl Standpoint {
    pub(crate) fn account(&self) -> &Arc<Account> {
        match self {
            Standpoint::Stands { account, .. } => account,
            Standpoint::Graded(grade) => &grade.account,
        }
    }

    fn version(&self) -> i64 {
        match self {
            Standpoint::Stands { version, .. } => *version,
            Standpoint::Graded(grade) => grade.version,
        }
    }

    fn is(&self, grade: &Arc<Grade>) -> bool {
        matches!(self, Standpoint::Graded(known) if Arc::ptr_eq(known, grade))
    }
}

impl AdmissionCache {
    pub(crate) fn of(caller: &Caller, standpoint: Standpoint) -> AdmissionCache {
        AdmissionCache { last: Some((*caller, standpoint)), paid: Vec::new() }
    }

    /// What a caller was admitted as at a version of the database.
    pub(crate) fn standpoint(&self, caller: &Caller, version: i64) -> Option<&Standpoint> {
        let (of, standpoint) = self.last.as_ref()?;
        (of == caller && standpoint.version() == version).then_some(standpoint)
    }

    /// Whether a security is paid for, as far as is remembered.
    pub(crate) fn is_paid(&self, grade: &Arc<Grade>, symbol: &Symbol) -> bool {
        self.last.as_ref().is_some_and(|(_, last)| last.is(grade)) && self.paid.contains(symbol)
    }

    /// Remembers that a caller was admitted, and that a security is paid for.
    pub(crate) fn learn(&mut self, caller: &Caller, grade: &Arc<Grade>, symbol: &Symbol) {
        if !self.last.as_ref().is_some_and(|(of, last)| of == caller && last.is(grade)) {
            self.last = Some((*caller, Standpoint::Graded(Arc::clone(grade))));
            self.paid.clear();
        }
        if self.paid.len() >= SECURITIES_MAX {
            self.paid.remove(0);
        }
        self.paid.push(symbol.clone());
    }
}
