//! Revoking an account through the service, where the last account of a role must stay: nobody else could undo or go on there.

use super::audit::{self, AuditNote};
use super::changes::count_change;
use super::{AccountId, AccountRow, Accounts, sql};
use crate::StoreError;

/// What became of revoking an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    Revoked,
    /// It had been revoked before, or there is no such account.
    Unchanged,
    /// It is the last one of the role; nothing was changed.
    LastOfRole,
}

impl Accounts {
    /// Revokes an account unless it is the last one of a role that is not revoked. Decided in the transaction that writes: of two
    /// accounts that revoke each other at once, one stays.
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
