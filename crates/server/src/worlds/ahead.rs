//! Cache of what was read ahead of a world's clock, for the next steps.

use std::collections::BTreeSet;

use market::{Symbol, Timestamp};

/// Cached reads for the instants after the clock.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// Revision of the account's journal, and the securities that the account held or had open
    /// orders in at that revision.
    pub(crate) held: Option<(u64, BTreeSet<Symbol>)>,
    pub(crate) minutes: Option<Minutes>,
    /// Revision of the journal and version of the store after the account was last advanced.
    pub(crate) advanced: Option<(u64, i64)>,
}

/// Instants at which stored minutes open or fill orders, in ascending order.
#[derive(Debug)]
pub(crate) struct Minutes {
    pub(crate) version: i64,
    pub(crate) symbols: BTreeSet<Symbol>,
    /// Exclusive start of the range in which `instants` is complete.
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
