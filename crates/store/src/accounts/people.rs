//! Users of the web pages: password hashes and browser sessions.

use std::fmt;

use market::Timestamp;

use super::audit::{self, AuditNote};
use super::{AccountId, Accounts, check_texts};
use crate::engine::{Db, StoreError};

/// Maximum number of browser sessions per account. A session beyond the limit ends the oldest.
const SESSIONS_MAX: u32 = 20;
/// Maximum number of expired sessions removed when a session begins.
const FORGOTTEN_AT_ONCE: u32 = 100;

/// The account data that a sign-in is checked against.
#[derive(Clone, PartialEq, Eq)]
pub struct Person {
    pub account: AccountId,
    pub revoked: bool,
    /// Password hash; `None` if the account cannot sign in to the web pages.
    pub password: Option<String>,
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Person { account, revoked, password } = self;
        let has_password = password.is_some();
        write!(f, "Person {{ account: {account:?}, revoked: {revoked}, has_password: {has_password} }}")
    }
}

/// A signed-in browser session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserRow {
    pub account: AccountId,
    pub name: String,
    pub expires_at: Timestamp,
}

impl Accounts {
    pub fn person(&self, name: &str) -> Result<Option<Person>, StoreError> {
        self.read().first(sql::PERSON, [name], |row| {
            let revoked = row.get::<Option<i64>>(1)?.is_some();
            Ok(Person { account: AccountId(row.get(0)?), revoked, password: row.get(2)? })
        })
    }

    pub fn has_password(&self, id: AccountId) -> Result<bool, StoreError> {
        let found = self.read().first(sql::HAS_PASSWORD, [id.0], |row| row.get(0))?;
        Ok(found.unwrap_or_default())
    }

    /// Sets or removes a password, and ends the account's browser sessions. Returns whether
    /// anything changed.
    pub fn set_password(
        &self,
        id: AccountId,
        password: Option<&str>,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        check_texts("a password", &[password.unwrap_or_default()])?;
        self.change(|db| {
            if db.run(sql::SET_PASSWORD, (password, id.0))? == 0 {
                return Ok(false);
            }
            db.run(sql::END_SESSIONS_OF, [id.0])?;
            let event = if password.is_some() { "password.set" } else { "password.removed" };
            audit::write(db, Some(id), event, note)?;
            Ok(true)
        })
    }

    /// Begins a session until `expires_at` if `password`, the verified hash, is still the account's
    /// password hash. Returns whether the session began.
    pub fn begin_browser(
        &self,
        (id, password): (AccountId, &str),
        hash: &[u8; 32],
        expires_at: Timestamp,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        self.change(|db| {
            db.run(sql::FORGET_EXPIRED, (note.at.0, FORGOTTEN_AT_ONCE))?;
            let row = (hash.as_slice(), note.at.0, expires_at.0, id.0, password);
            if db.run(sql::ADD_SESSION, row)? == 0 {
                return Ok(false);
            }
            db.run(sql::END_OLDEST, (id.0, SESSIONS_MAX))?;
            audit::write(db, Some(id), "login.accepted", note)?;
            Ok(true)
        })
    }

    /// Begins a session without a password, for a public account. Returns `false` if the account
    /// does not exist or is revoked.
    pub fn begin_guest(
        &self,
        id: AccountId,
        hash: &[u8; 32],
        expires_at: Timestamp,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        self.change(|db| begin_without_password(db, id, (hash, expires_at), note))
    }

    pub fn browser(&self, hash: &[u8; 32], now: Timestamp) -> Result<Option<BrowserRow>, StoreError> {
        self.read().first(sql::SESSION, (hash.as_slice(), now.0), |row| {
            let (account, expires_at) = (AccountId(row.get(0)?), Timestamp(row.get(2)?));
            Ok(BrowserRow { account, name: row.get(1)?, expires_at })
        })
    }

    /// Ends a session. Returns whether it existed.
    pub fn end_browser(&self, hash: &[u8; 32], note: &AuditNote<'_>) -> Result<bool, StoreError> {
        self.change(|db| {
            let ended = db.first(sql::END_SESSION, [hash.as_slice()], |row| Ok(AccountId(row.get(0)?)))?;
            if let Some(id) = ended {
                audit::write(db, Some(id), "logout", note)?;
            }
            Ok(ended.is_some())
        })
    }
}

/// Begins a session without a password. Returns `false` if the account does not exist or is
/// revoked.
pub(super) fn begin_without_password(
    db: &Db,
    id: AccountId,
    (hash, expires_at): (&[u8; 32], Timestamp),
    note: &AuditNote<'_>,
) -> Result<bool, StoreError> {
    db.run(sql::FORGET_EXPIRED, (note.at.0, FORGOTTEN_AT_ONCE))?;
    if db.run(sql::ADD_GUEST, (hash.as_slice(), note.at.0, expires_at.0, id.0))? == 0 {
        return Ok(false);
    }
    db.run(sql::END_OLDEST, (id.0, SESSIONS_MAX))?;
    audit::write(db, Some(id), "login.accepted", note)?;
    Ok(true)
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        PERSON: "read a password", "select id, revoked_at, password from sealed_account where name = $1";
        HAS_PASSWORD: "find a password", "select password is not null from sealed_account where id = $1";
        SET_PASSWORD: "change a password",
            "update account set password = $1 where id = $2 and (password is not null or cast($1 as text) is not null) \
             and not exists (select 1 from sealed_world world where world.account_id = account.id)";
        // The condition fails if the password was changed or the account revoked while the password
        // was verified.
        ADD_SESSION: "begin a browser session",
            "insert into browser_session (hash, account_id, created_at, expires_at) \
             select $1, id, $2, $3 from sealed_account where id = $4 and password = $5 and revoked_at is null";
        // Used for guests of a public demo, and for one-time links.
        ADD_GUEST: "sign a guest in",
            "insert into browser_session (hash, account_id, created_at, expires_at) \
             select $1, id, $2, $3 from sealed_account account where id = $4 and revoked_at is null \
             and not exists (select 1 from sealed_world world where world.account_id = account.id)";
        SESSION: "read a browser session",
            "select account.id, account.name, browser_session.expires_at from sealed_browser_session browser_session \
             join sealed_account account on account.id = browser_session.account_id \
             where browser_session.hash = $1 and browser_session.expires_at > $2 and account.revoked_at is null";
        END_SESSION: "end a browser session", "delete from browser_session where hash = $1 returning account_id";
        END_SESSIONS_OF: "delete the browser sessions of an account", "delete from browser_session where account_id = $1";
        END_OLDEST: "delete the oldest browser sessions of an account",
            "delete from browser_session where hash in (select hash from browser_session \
             where account_id = $1 order by created_at desc, hash limit 1000 offset $2)";
        FORGET_EXPIRED: "delete expired browser sessions",
            "delete from browser_session where hash in \
             (select hash from browser_session where expires_at <= $1 order by expires_at limit $2)";
    }
}
