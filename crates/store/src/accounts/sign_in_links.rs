//! One-time sign-in links for the local user. A link works once, and only on the server process
//! that issued it.

use market::Timestamp;

use super::audit::{self, AuditNote};
use super::people::begin_without_password;
use super::{AccountId, Accounts, check_texts};
use crate::StoreError;
use crate::engine::{Fault, Row};

/// Retention of expired links, so that the user sees why a link fails.
pub(crate) const LINK_KEPT_S: i64 = 86_400;
/// Maximum number of expired links removed when a new one is issued.
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
    /// Issued by another server process, which may have ended.
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

    /// Returns the row if the link is valid, or the reason why it is not.
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
    /// Stores a link. Call this before handing it out.
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
        // Checked first without the write lock, so that guessing cannot block writers.
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
        ADD: "give out a one-time link",
            "insert into sign_in_link (hash, account_id, server, next, created_at, expires_at) \
             values ($1, $2, $3, $4, $5, $6)";
        LINK: "read a one-time link",
            "select account_id, server, next, expires_at, used_at from sealed_sign_in_link where hash = $1";
        USE: "use a one-time link", "update sign_in_link set used_at = $1 where hash = $2 and used_at is null";
        FORGET: "forget one-time links",
            "delete from sign_in_link where hash in \
             (select hash from sign_in_link where expires_at <= $1 order by expires_at limit $2)";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn finding_a_link_uses_its_index() {
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &[LINK]);
        }
    }
}
