//! API credentials: renewal of access tokens, the fingerprint of the key that encrypts app secrets,
//! and removal of expired rows of every kind.
//!
//! A replaced token remains valid for a short time, so that a client whose response was lost can
//! retry. All nodes must use the same encryption key. The database stores only the key's
//! fingerprint.

use market::Timestamp;

use super::changes::count_change;
use super::links::LINK_KEPT_S;
use super::oauth::{CODE_KEPT_S, DEVICE_KEPT_S, TOKEN_KEPT_S};
use super::{AccountId, Accounts, AuditNote, audit, links, oauth, people, sql as accounts_sql};
use crate::engine::{Db, Fault, Row, Sql, StoreError, small};

/// Maximum number of replaced tokens per app key that are still valid. A client that renews more
/// often is assumed to be faulty.
const REPLACED_MAX: u32 = 5;
/// Number of rows of each kind removed per transaction. Keeps the wait of other writers to a few
/// milliseconds.
const PORTION: u32 = 500;

const NOTED_KEY: Sql =
    Sql::new("read the sealing key fingerprint", "select fingerprint from sealing_key where number = 1");
/// Does not overwrite an existing fingerprint.
const NOTE_KEY: Sql = Sql::new(
    "record the sealing key fingerprint",
    "insert into sealing_key (number, fingerprint) values (1, $1) on conflict (number) do nothing",
);

/// A credential of an account. Safe to print: the secret is encrypted and the token is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub app_key: String,
    pub account: AccountId,
    pub app_secret: Vec<u8>,
    pub token_hash: [u8; 32],
    pub token_expires_at: Timestamp,
    pub created_at: Timestamp,
}

impl Credential {
    fn read(row: &Row<'_>) -> Result<Credential, Fault> {
        let hash: Vec<u8> = row.get(3)?;
        Ok(Credential {
            app_key: row.get(0)?,
            account: AccountId(row.get(1)?),
            app_secret: row.get(2)?,
            token_hash: hash.try_into().map_err(|_| Fault::value("token hash", "another length"))?,
            token_expires_at: Timestamp(row.get(4)?),
            created_at: Timestamp(row.get(5)?),
        })
    }
}

/// A request to replace the token of an app key.
#[derive(Clone, Copy, Debug)]
pub struct Renewal<'a> {
    pub app_key: &'a str,
    pub token_hash: [u8; 32],
    pub token_expires_at: Timestamp,
    /// Expiry of the old token, unless the token already expires earlier.
    pub former_until: Timestamp,
}

/// Result of a token renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalOutcome {
    Done,
    /// The app key was renewed too often. Nothing was changed.
    TooOften,
    /// The app key does not exist.
    Unknown,
}

impl Accounts {
    pub fn credential_by_key(&self, app_key: &str) -> Result<Option<Credential>, StoreError> {
        self.read().first(accounts_sql::CREDENTIAL_BY_KEY, [app_key], Credential::read)
    }

    pub fn credential_by_token(&self, hash: &[u8; 32]) -> Result<Option<Credential>, StoreError> {
        self.read().first(accounts_sql::CREDENTIAL_BY_TOKEN, [hash.as_slice()], Credential::read)
    }

    pub fn credentials_of(&self, id: AccountId) -> Result<Vec<Credential>, StoreError> {
        self.read().all(accounts_sql::CREDENTIALS_OF, [id.0], Credential::read)
    }

    pub fn renew(&self, renewal: &Renewal<'_>, note: &AuditNote<'_>) -> Result<RenewalOutcome, StoreError> {
        let Renewal { app_key, token_hash, token_expires_at, former_until } = *renewal;
        self.change(|db| {
            let Some(former) = db.first(accounts_sql::CREDENTIAL_BY_KEY, [app_key], Credential::read)? else {
                return Ok(RenewalOutcome::Unknown);
            };
            db.run(sql::FORGET, [note.at.0])?;
            let stored = db.one(sql::COUNT, [app_key], |row| small(row, 0))?;
            if stored >= REPLACED_MAX {
                return Ok(RenewalOutcome::TooOften);
            }
            let until = former_until.min(former.token_expires_at);
            db.run(sql::KEEP, (former.token_hash.as_slice(), app_key, until.0))?;
            db.run(sql::RENEW, (token_hash.as_slice(), token_expires_at.0, app_key))?;
            audit::write(db, Some(former.account), "token.renewed", note)?;
            count_change(db, &[former.account])?;
            Ok(RenewalOutcome::Done)
        })
    }

    /// Returns the credential that had a token with this hash before its renewal, or `None` if
    /// there is no such credential or the old token is no longer valid at `now`.
    pub fn credential_by_replaced(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<Credential>, StoreError> {
        self.read().first(sql::CREDENTIAL, (hash.as_slice(), now.0), Credential::read)
    }

    /// Returns the recorded fingerprint of the encryption key, or `None` if no fingerprint is
    /// recorded. Always `None` on SQLite, where the key file is next to the database.
    pub fn sealing_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        noted_sealing_key(&self.read())
    }

    /// Records the fingerprint of the encryption key unless a fingerprint exists. Returns the
    /// recorded fingerprint, which may differ from the argument. On SQLite nothing is recorded and
    /// the argument is returned.
    pub fn note_sealing_key(&self, fingerprint: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.change(|db| note_sealing_key(db, fingerprint))
    }

    /// Returns an arbitrary credential, or `None` if there are no credentials. Used to test whether
    /// an encryption key decrypts app secrets.
    pub fn any_credential(&self) -> Result<Option<Credential>, StoreError> {
        self.read().first(accounts_sql::ANY_CREDENTIAL, [], Credential::read)
    }

    /// Removes one batch of expired rows, not necessarily the oldest: OAuth tokens and codes,
    /// pending devices, browser sessions, one-time links, and replaced API tokens. Inserts also
    /// remove some expired rows; this job covers tables that get no inserts. Inserts and this job
    /// use the same retention times, so clients cannot observe which of them removed a row. Returns
    /// the number of removed rows.
    pub fn remove_expired(&self, now: Timestamp) -> Result<u64, StoreError> {
        let before = |kept_s: i64| now.0.saturating_sub(kept_s);
        self.change(|db| {
            let mut removed = db.run(sql::FORGET, [now.0])?;
            for (statement, expired_before) in [
                (oauth::sql::FORGET_DEVICES, before(DEVICE_KEPT_S)),
                (oauth::sql::FORGET_CODES, before(CODE_KEPT_S)),
                (oauth::sql::FORGET_TOKENS, before(TOKEN_KEPT_S)),
                (people::sql::FORGET_EXPIRED, now.0),
                (links::sql::FORGET, before(LINK_KEPT_S)),
            ] {
                removed = removed.saturating_add(db.run(statement, (expired_before, PORTION))?);
            }
            Ok(u64::try_from(removed).unwrap_or(u64::MAX))
        })
    }
}

fn noted_sealing_key(db: &Db) -> Result<Option<Vec<u8>>, StoreError> {
    if db.sqlite().is_some() {
        return Ok(None);
    }
    db.first(NOTED_KEY, [], |row| row.get(0))
}

pub(crate) fn note_sealing_key(db: &Db, fingerprint: &[u8]) -> Result<Vec<u8>, StoreError> {
    if db.sqlite().is_some() {
        return Ok(fingerprint.to_owned());
    }
    db.run(NOTE_KEY, [fingerprint])?;
    Ok(noted_sealing_key(db)?.unwrap_or_default())
}

mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        FORGET: "delete replaced tokens", "delete from replaced_token where good_until <= $1";
        COUNT: "count replaced tokens", "select count(*) from sealed_replaced_token where app_key = $1";
        KEEP: "store a replaced token",
            "insert into replaced_token (hash, app_key, good_until) values ($1, $2, $3)";
        RENEW: "renew a token",
            "update credential set token_hash = $1, token_expires_at = $2 where app_key = $3";
        CREDENTIAL: "read the credential of a replaced token",
            "select c.app_key, c.account_id, c.app_secret, c.token_hash, c.token_expires_at, c.created_at \
             from sealed_replaced_token r join sealed_credential c on c.app_key = r.app_key where r.hash = $1 and r.good_until > $2";
    }
}
