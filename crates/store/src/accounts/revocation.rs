//! Revocation of an account through the service. The last account of a role cannot be revoked,
//! because no one could administer the service.

use super::audit::{self, AuditNote};
use super::changes::count_change;
use super::{AccountId, AccountRow, Accounts, sql};
use crate::StoreError;

/// Result of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    Revoked,
    /// The account does not exist or was already revoked.
    Unchanged,
    /// The account is the last one with the role; nothing was changed.
    LastOfRole,
}

impl Accounts {
    /// Revokes an account unless it is the last active one with `role`. Checked in the write
    /// transaction: if two accounts revoke each other concurrently, one remains.
    pub fn revoke_unless_last(
        &self,
        id: AccountId,
        role: &str,
        note: &AuditNote<'_>,
    ) -> Result<Revocation, StoreError> {
        self.change(|db| {
            let account = db.first(sql::ACCOUNT, [id.0], AccountRow::read)?;
            let Some(account) = account.filter(|account| account.revoked_at.is_none()) else {
                return Ok(Revocation::Unchanged);
            };
            let others = || db.one(sql::OTHER_OF_ROLE, (role, id.0), |row| row.get::<bool>(0));
            if account.role == role && !others()? {
                return Ok(Revocation::LastOfRole);
            }
            db.run(sql::REVOKE, (note.at.0, id.0))?;
            audit::write(db, Some(id), "account.revoked", note)?;
            count_change(db, &[id])?;
            Ok(Revocation::Revoked)
        })
    }
}
