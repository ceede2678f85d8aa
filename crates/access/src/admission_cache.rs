//! A cache of admissions for one connection. A request like the one before it takes no lock and
//! touches no counter that all connections share: with many connections on several processors,
//! those cost more than the rest of an answer from memory. A new version of the accounts' database
//! invalidates it.

use std::ops::Range;
use std::sync::Arc;

use market::{Symbol, Timestamp};

use crate::{Account, Caller, Month, Standing};

/// Paid securities that are cached. A client that fetches many mostly pages through one after the
/// other.
const SECURITIES_MAX: usize = 16;

/// Held by a connection between its requests, and empty before the first.
#[derive(Debug, Default)]
pub struct AdmissionCache {
    /// The last admitted caller, and the cached state of its account.
    last: Option<(Caller, Standpoint)>,
    /// Securities paid for, the most recently requested last.
    paid: Vec<Symbol>,
}

/// An account and its level, at a version of the database and for one day of the market.
#[derive(Debug)]
pub(crate) struct Grade {
    pub(crate) version: i64,
    pub(crate) account: Arc<Account>,
    pub(crate) standing: Arc<Standing>,
    /// The day in Hong Kong, and its month.
    pub(crate) day: Range<Timestamp>,
    pub(crate) month: Month,
}

/// The cached state of an admitted account.
#[derive(Clone, Debug)]
pub(crate) enum Standpoint {
    /// It exists and is not revoked, at a version of the database.
    Current { version: i64, account: Arc<Account> },
    /// Its level is known, too.
    Graded(Arc<Grade>),
}

impl Standpoint {
    pub(crate) fn account(&self) -> &Arc<Account> {
        match self {
            Standpoint::Current { account, .. } => account,
            Standpoint::Graded(grade) => &grade.account,
        }
    }

    fn version(&self) -> i64 {
        match self {
            Standpoint::Current { version, .. } => *version,
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

    /// The cached state of a caller's account at a version of the database.
    pub(crate) fn standpoint(&self, caller: &Caller, version: i64) -> Option<&Standpoint> {
        let (of, standpoint) = self.last.as_ref()?;
        (of == caller && standpoint.version() == version).then_some(standpoint)
    }

    /// Whether a security is cached as paid for.
    pub(crate) fn is_paid(&self, grade: &Arc<Grade>, symbol: &Symbol) -> bool {
        self.last.as_ref().is_some_and(|(_, last)| last.is(grade)) && self.paid.contains(symbol)
    }

    /// Caches that a caller was admitted, and that a security is paid for.
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
