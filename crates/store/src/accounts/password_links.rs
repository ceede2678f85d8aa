//! Links with which a person sets a password. A link has no row of its own: it stands for the row of the audit that was written when it was
//! given out, and is good while that is the newest row about the account's password. So a link is used up by setting the password with it, and
//! another link, or a password that is set by other means, ends it.

use market::Timestamp;

use super::audit::{self, AuditId, AuditNote};
use super::{AccountId, AccountRow, Accounts, check_texts, password_links_sql, people_sql, sql};
use crate::StoreError;
use crate::engine::{Db, Fault, Row};

/// The events of `NEWEST` in `password_links_sql.rs`, of which this one begins a link.
const ISSUED: &str = "password.link.issued";
const WITHDRAWN: &str = "password.link.withdrawn";

/// A link that is good: the row of the audit that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordLinkRow {
    pub id: AuditId,
    /// Compared like the number, so that the end of a link, which follows from it, is that of this very row.
    pub issued_at: Timestamp,
}

impl Accounts {
    /// A new link, which ends the one before. `None` for an account that is not there or was revoked.
    pub fn issue_password_link(
        &self,
        id: AccountId,
        note: &AuditNote<'_>,
    ) -> Result<Option<PasswordLinkRow>, StoreError> {
        self.change(|db| {
            if !stands(db, id)? {
                return Ok(None);
            }
            audit::write(db, Some(id), ISSUED, note)?;
            newest(db, id)
        })
    }

    /// The link of an account that is good, unless its time is over.
    pub fn password_link(&self, id: AccountId) -> Result<Option<PasswordLinkRow>, StoreError> {
        let db = self.read();
        if stands(&db, id)? { newest(&db, id) } else { Ok(None) }
    }

    /// Ends the link of an account. Whether there was one.
    pub fn withdraw_password_link(&self, id: AccountId, note: &AuditNote<'_>) -> Result<bool, StoreError> {
        self.change(|db| end_password_link(db, id, note))
    }

    /// Sets a password with a link, and ends every session that began with the one before. Whether the link was good: of two that come
    /// with the same link at once, one finds it used.
    pub fn set_password_by_link(
        &self,
        id: AccountId,
        link: PasswordLinkRow,
        password: &str,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        check_texts("a password", &[password])?;
        self.change(|db| {
            if !stands(db, id)? || newest(db, id)? != Some(link) {
                return Ok(false);
            }
            db.run(people_sql::SET_PASSWORD, (Some(password), id.0))?;
            db.run(people_sql::END_SESSIONS_OF, [id.0])?;
            audit::write(db, Some(id), "password.set", note)?;
            Ok(true)
        })
    }
}

/// For changes that are under way.
pub(crate) fn end_password_link(db: &Db, id: AccountId, note: &AuditNote<'_>) -> Result<bool, StoreError> {
    if newest(db, id)?.is_none() {
        return Ok(false);
    }
    audit::write(db, Some(id), WITHDRAWN, note)?;
    Ok(true)
}

/// Whether there is such an account, and it was not revoked.
fn stands(db: &Db, id: AccountId) -> Result<bool, StoreError> {
    let account = db.first(sql::ACCOUNT, [id.0], AccountRow::read)?;
    Ok(account.is_some_and(|account| account.revoked_at.is_none()))
}

/// The newest row about the password of an account, if it is that of a link.
fn newest(db: &Db, id: AccountId) -> Result<Option<PasswordLinkRow>, StoreError> {
    let read = |row: &Row<'_>| -> Result<(PasswordLinkRow, String), Fault> {
        let link = PasswordLinkRow { id: AuditId(row.get(0)?), issued_at: Timestamp(row.get(1)?) };
        Ok((link, row.get(2)?))
    };
    let found = db.first(password_links_sql::NEWEST, [id.0], read)?;
    Ok(found.filter(|(_, event)| event == ISSUED).map(|(link, _)| link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_written_about_a_password_is_looked_for() {
        for event in [ISSUED, WITHDRAWN, "password.set", "password.removed"] {
            assert!(password_links_sql::NEWEST.text.contains(&format!("'{event}'")), "{event}");
        }
    }
}
