//! Per-connection admission cache. A request that repeats the previous one takes no lock and
//! touches no shared counter, because with many connections on several cores the contention would
//! dominate the cost of a response from memory. A new version of the accounts database invalidates
//! the cache.

use std::ops::Range;
use std::sync::Arc;

use market::{Symbol, Timestamp};

use crate::{Account, Caller, Month, Standing};

/// Maximum number of paid securities cached per connection. A small cache is enough, because
/// clients usually fetch all pages of a security before the next security.
const SECURITIES_MAX: usize = 16;

/// Admission cache of one connection, empty before its first request.
#[derive(Debug, Default)]
pub struct AdmissionCache {
    /// The last admitted caller and the cached state of its account.
    last: Option<(Caller, Standpoint)>,
    /// Securities that the account has already paid for, most recently cached last.
    paid: Vec<Symbol>,
}

/// An account and its level at a database version, valid for one calendar day in Hong Kong.
#[derive(Debug)]
pub(crate) struct Grade {
    pub(crate) version: i64,
    pub(crate) account: Arc<Account>,
    pub(crate) standing: Arc<Standing>,
    /// Start (inclusive) and end (exclusive) of the calendar day in Hong Kong.
    pub(crate) day: Range<Timestamp>,
    pub(crate) month: Month,
}

/// Cached state of an admitted account.
#[derive(Clone, Debug)]
pub(crate) enum Standpoint {
    /// The account exists and is not revoked at this database version.
    Current { version: i64, account: Arc<Account> },
    /// The account is valid at this database version and its level is also known.
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

    /// Returns the cached state of the caller's account, or `None` if it was cached for another
    /// caller or database version.
    pub(crate) fn standpoint(&self, caller: &Caller, version: i64) -> Option<&Standpoint> {
        let (of, standpoint) = self.last.as_ref()?;
        (of == caller && standpoint.version() == version).then_some(standpoint)
    }

    /// Returns whether the cached state has this grade and the security is cached as paid.
    pub(crate) fn is_paid(&self, grade: &Arc<Grade>, symbol: &Symbol) -> bool {
        self.last.as_ref().is_some_and(|(_, last)| last.is(grade)) && self.paid.contains(symbol)
    }

    /// Records that the caller was admitted and has paid for the security. The cache is cleared
    /// first if it belongs to another caller or grade, and a full cache evicts its oldest security.
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
