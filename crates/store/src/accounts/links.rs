//! Links for setting a password, and one-time sign-in links for the local user.
//!
//! A password link has no table. It refers to the audit row that was written when the link was
//! issued, and is valid while that row is the newest audit row about the account's password.
//! Setting the password by any means, or issuing another link, invalidates the link. A sign-in link
//! works once, and only on the server process that issued it.

use market::Timestamp;

use super::audit::{self, AuditId, AuditNote};
use super::people::{begin_without_password, sql as people_sql};
use super::{AccountId, AccountRow, Accounts, check_texts, sql as accounts_sql};
use crate::engine::{Db, Fault, Row, StoreError};

/// Audit event for issuing a password link. `sql::NEWEST` must list this event and `WITHDRAWN`.
const ISSUED: &str = "password.link.issued";
const WITHDRAWN: &str = "password.link.withdrawn";

/// A valid link, identified by its audit row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordLinkRow {
    pub id: AuditId,
    /// Compared in addition to the id, because the link's expiry is computed from this time.
    pub issued_at: Timestamp,
}

impl Accounts {
    /// Issues a link and invalidates the previous one. Returns `None` if the account does not exist,
    /// is revoked, or belongs to a world.
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

    /// Returns the account's current link, or `None` if it has none or is revoked. Does not check
    /// the link's expiry.
    pub fn password_link(&self, id: AccountId) -> Result<Option<PasswordLinkRow>, StoreError> {
        let db = self.read();
        if is_active(&db, id)? { newest(&db, id) } else { Ok(None) }
    }

    /// Invalidates the account's link. Returns whether the account had a link.
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

/// Invalidates the account's link inside the caller's transaction. Returns whether the account had
/// a link.
pub(crate) fn end_password_link(db: &Db, id: AccountId, note: &AuditNote<'_>) -> Result<bool, StoreError> {
    if newest(db, id)?.is_none() {
        return Ok(false);
    }
    audit::write(db, Some(id), WITHDRAWN, note)?;
    Ok(true)
}

/// Returns whether the account exists, is not revoked and may have a password.
fn is_active(db: &Db, id: AccountId) -> Result<bool, StoreError> {
    let account = db.first(accounts_sql::ACCOUNT, [id.0], AccountRow::read)?;
    Ok(account.is_some_and(|account| account.revoked_at.is_none() && account.owner.is_none()))
}

/// Returns the newest audit row about an account's password, or `None` unless that row issued a
/// link.
fn newest(db: &Db, id: AccountId) -> Result<Option<PasswordLinkRow>, StoreError> {
    let read = |row: &Row<'_>| -> Result<(PasswordLinkRow, String), Fault> {
        let link = PasswordLinkRow { id: AuditId(row.get(0)?), issued_at: Timestamp(row.get(1)?) };
        Ok((link, row.get(2)?))
    };
    let found = db.first(sql::NEWEST, [id.0], read)?;
    Ok(found.filter(|(_, event)| event == ISSUED).map(|(link, _)| link))
}

/// Time for which expired links are retained, in seconds, so that the user sees why a link fails.
pub(crate) const LINK_KEPT_S: i64 = 86_400;
/// Maximum number of expired links removed when a link is issued.
const FORGOTTEN_AT_ONCE: u32 = 100;

#[derive(Clone, Copy, Debug)]
pub struct NewLink<'a> {
    pub hash: [u8; 32],
    pub account: AccountId,
    /// Id of the server process that accepts the link.
    pub server: &'a str,
    /// Page to open after the sign-in.
    pub next: &'a str,
    pub expires_at: Timestamp,
}

/// Result of opening a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkOutcome {
    SignedIn {
        account: AccountId,
        next: String,
    },
    /// The link does not exist, or its account is revoked.
    Unknown,
    Used {
        account: AccountId,
        next: String,
    },
    Expired {
        account: AccountId,
    },
    /// The link was issued by another server process, which may have ended.
    OfAnotherServer {
        account: AccountId,
    },
}

struct LinkRow {
    account: AccountId,
    server: String,
    next: String,
    expires_at: Timestamp,
    is_used: bool,
}

impl LinkRow {
    fn read(row: &Row<'_>) -> Result<LinkRow, Fault> {
        Ok(LinkRow {
            account: AccountId(row.get(0)?),
            server: row.get(1)?,
            next: row.get(2)?,
            expires_at: Timestamp(row.get(3)?),
            is_used: row.get::<Option<i64>>(4)?.is_some(),
        })
    }

    /// Returns the row if the link is valid, or an error with the reason why the link is invalid.
    fn refusal(self, server: &str, now: Timestamp) -> Result<LinkRow, LinkOutcome> {
        let LinkRow { account, .. } = self;
        match self {
            LinkRow { is_used: true, next, .. } => Err(LinkOutcome::Used { account, next }),
            row if row.server != server => Err(LinkOutcome::OfAnotherServer { account }),
            row if row.expires_at <= now => Err(LinkOutcome::Expired { account }),
            row => Ok(row),
        }
    }
}

impl Accounts {
    /// Stores a link. Must be called before the link is given to the user.
    pub fn add_link(&self, link: &NewLink<'_>, note: &AuditNote<'_>) -> Result<(), StoreError> {
        let NewLink { hash, account, server, next, expires_at } = *link;
        check_texts("a one-time link", &[server, next])?;
        self.change(|db| {
            db.run(sql::FORGET, (note.at.0.saturating_sub(LINK_KEPT_S), FORGOTTEN_AT_ONCE))?;
            db.run(sql::ADD, (hash.as_slice(), account.0, server, next, note.at.0, expires_at.0))?;
            audit::write(db, Some(account), "link.issued", note)
        })
    }

    /// Consumes a link and begins a session, if the link is valid on this server at `note.at`. If a
    /// link is used twice concurrently, the second use fails.
    pub fn redeem_link(
        &self,
        hash: &[u8; 32],
        server: &str,
        session: (&[u8; 32], Timestamp),
        note: &AuditNote<'_>,
    ) -> Result<LinkOutcome, StoreError> {
        // This check does not take the write lock, so that guessing cannot block writers.
        if self.read().first(sql::LINK, [hash.as_slice()], LinkRow::read)?.is_none() {
            return Ok(LinkOutcome::Unknown);
        }
        self.change(|db| {
            let Some(row) = db.first(sql::LINK, [hash.as_slice()], LinkRow::read)? else {
                return Ok(LinkOutcome::Unknown);
            };
            let LinkRow { account, next, .. } = match row.refusal(server, note.at) {
                Ok(row) => row,
                Err(refused) => return Ok(refused),
            };
            if !begin_without_password(db, account, session, note)? {
                return Ok(LinkOutcome::Unknown);
            }
            db.run(sql::USE, (note.at.0, hash.as_slice()))?;
            Ok(LinkOutcome::SignedIn { account, next })
        })
    }
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        NEWEST: "find a password link",
            "select id, at, event from sealed_audit where account_id = $1 and event in ('password.link.issued', \
                'password.link.withdrawn', 'password.set', 'password.removed') order by id desc limit 1";
        ADD: "issue a one-time link",
            "insert into sign_in_link (hash, account_id, server, next, created_at, expires_at) \
             values ($1, $2, $3, $4, $5, $6)";
        LINK: "read a one-time link",
            "select account_id, server, next, expires_at, used_at from sealed_sign_in_link where hash = $1";
        USE: "use a one-time link", "update sign_in_link set used_at = $1 where hash = $2 and used_at is null";
        FORGET: "delete one-time links",
            "delete from sign_in_link where hash in \
             (select hash from sign_in_link where expires_at <= $1 order by expires_at limit $2)";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn finding_a_password_link_uses_the_account_index() {
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &[NEWEST]);
        }

        #[test]
        fn finding_a_sign_in_link_uses_its_index() {
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &[LINK]);
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
