//! Cache of the instants after the clock of a world, for its next steps.

use std::collections::BTreeSet;

use market::{Symbol, Timestamp};

/// Cached instants after the clock.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Securities that the account holds or has open orders in, as of a revision of its journal.
    pub(super) held: Option<(u64, BTreeSet<Symbol>)>,
    pub(super) minutes: Option<Minutes>,
    /// Revision of the journal and version of the store with which the account was last advanced.
    pub(super) advanced: Option<(u64, i64)>,
}

/// Instants at which stored minutes open or act.
#[derive(Debug)]
pub(super) struct Minutes {
    pub(super) version: i64,
    pub(super) symbols: BTreeSet<Symbol>,
    /// `instants` are complete after `from` and before `until`, and ascending.
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) instants: Vec<Timestamp>,
}

impl Minutes {
    pub(super) fn knows(
        &self,
        version: i64,
        symbols: &BTreeSet<Symbol>,
        (from, until): (Timestamp, Timestamp),
    ) -> bool {
        self.version == version && self.symbols == *symbols && self.from <= from && until <= self.until
    }

    pub(super) fn first(&self, (from, until): (Timestamp, Timestamp)) -> Option<Timestamp> {
        let next = self.instants.partition_point(|at| *at <= from);
        self.instants.get(next).copied().filter(|at| *at < until)
    }
}
