//! Cache of the instants after the clock of a world, for its next steps.

use std::collections::BTreeSet;

use market::{Symbol, Timestamp};

/// Cached instants after the clock.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// Securities that the account holds or has open orders in, as of a revision of its journal.
    pub(crate) held: Option<(u64, BTreeSet<Symbol>)>,
    pub(crate) minutes: Option<Minutes>,
    /// Revision of the journal and version of the store with which the account was last advanced.
    pub(crate) advanced: Option<(u64, i64)>,
}

/// Instants at which stored minutes open or act.
#[derive(Debug)]
pub(crate) struct Minutes {
    pub(crate) version: i64,
    pub(crate) symbols: BTreeSet<Symbol>,
    /// `instants` are complete after `from` and before `until`, and ascending.
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) instants: Vec<Timestamp>,
}

impl Minutes {
    pub(crate) fn knows(
        &self,
        version: i64,
        symbols: &BTreeSet<Symbol>,
        (from, until): (Timestamp, Timestamp),
    ) -> bool {
        self.version == version && self.symbols == *symbols && self.from <= from && until <= self.until
    }

    pub(crate) fn first(&self, (from, until): (Timestamp, Timestamp)) -> Option<Timestamp> {
        let next = self.instants.partition_point(|at| *at <= from);
        self.instants.get(next).copied().filter(|at| *at < until)
    }
}
