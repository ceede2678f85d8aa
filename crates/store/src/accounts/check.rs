//! Consistency check of the accounts database.

use super::Accounts;
use crate::candles::Finding;
use crate::candles::check::{Findings, engine};
use crate::engine::{Depth, FINDINGS_MAX, StoreError};

impl Accounts {
    /// Checks the pages of `accounts.db`, foreign keys and row seals. Returns what is wrong.
    pub fn check(&self, depth: Depth) -> Result<Vec<Finding>, StoreError> {
        let mut findings = Findings::default();
        let db = self.read();
        // A single transaction, because other processes may write during the check.
        db.begin_read()?;
        let checked = findings.absorb(engine(&db, depth));
        findings.list.extend(db.check_seals().into_iter().map(Finding::from));
        db.commit().ok();
        checked?;
        findings.list.truncate(FINDINGS_MAX);
        Ok(findings.list)
    }

    /// Checks the row counts of the tables in `counted`, and the list of sealed tables.
    pub(crate) fn check_counts(&self, counted: &[&str]) -> Result<Vec<Finding>, StoreError> {
        let db = self.read();
        // A single transaction, because other processes may write during the check.
        db.begin_read()?;
        let findings = db.check_counts(counted).into_iter().map(Finding::from).collect();
        db.commit().ok();
        Ok(findings)
    }
}
