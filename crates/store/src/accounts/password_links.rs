//! Links for setting a password. A link has no row of its own: it refers to the audit row that was
//! written when it was issued, and is valid while that is the newest row about the account's
//! password. Setting the password by any means, or issuing another link, invalidates it.

use market::Timestamp;

use super::audit::{self, AuditId, AuditNote};
use super::{AccountId, AccountRow, Accounts, check_texts, people::sql as people_sql, sql as accounts_sql};
use crate::StoreError;
use crate::engine::{Db, Fault, Row};

/// Audit events for issuing and withdrawing a link; `sql::NEWEST` must list both.
const ISSUED: &str = "password.link.issued";
const WITHDRAWN: &str = "password.link.withdrawn";

/// A valid link, identified by its audit row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordLinkRow {
    pub id: AuditId,
    /// Compared in addition to the id, because the link's expiry is computed from it.
    pub issued_at: Timestamp,
}

impl Accounts {
    /// Issues a link and invalidates the previous one. Returns `None` if the account does not exist
    /// or is revoked.
    pub fn issue_password_link(
        &self,
        id: AccountId,
        note: &AuditNote<'_>,
    ) -> Result<Option<PasswordLinkRow>, StoreError> {
        self.change(|db| {
            if !is_active(db, id)? {
                return Ok(None);
            }
            audit::write(db, Some(id), ISSUED, note)?;
            newest(db, id)
        })
    }

    /// Returns the account's current link. Does not check its expiry.
    pub fn password_link(&self, id: AccountId) -> Result<Option<PasswordLinkRow>, StoreError> {
        let db = self.read();
        if is_active(&db, id)? { newest(&db, id) } else { Ok(None) }
    }

    /// Invalidates the account's link. Returns whether there was one.
    pub fn withdraw_password_link(&self, id: AccountId, note: &AuditNote<'_>) -> Result<bool, StoreError> {
        self.change(|db| end_password_link(db, id, note))
    }

    /// Sets a password using a link, and ends the account's browser sessions. Returns whether the
    /// link was valid. If a link is used twice concurrently, the second use fails.
    pub fn set_password_by_link(
        &self,
        id: AccountId,
        link: PasswordLinkRow,
        password: &str,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        check_texts("a password", &[password])?;
        self.change(|db| {
            if !is_active(db, id)? || newest(db, id)? != Some(link) {
                return Ok(false);
            }
            db.run(people_sql::SET_PASSWORD, (Some(password), id.0))?;
            db.run(people_sql::END_SESSIONS_OF, [id.0])?;
            audit::write(db, Some(id), "password.set", note)?;
            Ok(true)
        })
    }
}

/// Invalidates the account's link inside the caller's transaction. Returns whether there was one.
pub(crate) fn end_password_link(db: &Db, id: AccountId, note: &AuditNote<'_>) -> Result<bool, StoreError> {
    if newest(db, id)?.is_none() {
        return Ok(false);
    }
    audit::write(db, Some(id), WITHDRAWN, note)?;
    Ok(true)
}

/// Returns whether the account exists and is not revoked.
fn is_active(db: &Db, id: AccountId) -> Result<bool, StoreError> {
    let account = db.first(accounts_sql::ACCOUNT, [id.0], AccountRow::read)?;
    Ok(account.is_some_and(|account| account.revoked_at.is_none()))
}

/// Returns the newest audit row about an account's password, if it issued a link.
fn newest(db: &Db, id: AccountId) -> Result<Option<PasswordLinkRow>, StoreError> {
    let read = |row: &Row<'_>| -> Result<(PasswordLinkRow, String), Fault> {
        let link = PasswordLinkRow { id: AuditId(row.get(0)?), issued_at: Timestamp(row.get(1)?) };
        Ok((link, row.get(2)?))
    };
    let found = db.first(sql::NEWEST, [id.0], read)?;
    Ok(found.filter(|(_, event)| event == ISSUED).map(|(link, _)| link))
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        NEWEST: "look for a link to set a password",
            "select id, at, event from sealed_audit where account_id = $1 and event in ('password.link.issued', \
                'password.link.withdrawn', 'password.set', 'password.removed') order by id desc limit 1";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn finding_a_link_uses_the_account_index() {
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &[NEWEST]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_statement_lists_all_password_events() {
        for event in [ISSUED, WITHDRAWN, "password.set", "password.removed"] {
            assert!(sql::NEWEST.text.contains(&format!("'{event}'")), "{event}");
        }
    }
}
