//! Single-use credentials. A one-time password is issued by one node and is valid once on any node.
//! A request signature is valid once over all nodes, so used signatures are stored.

use std::time::Duration;

use super::{Shared, duration};
use crate::engine::StoreError;
use crate::ids::{AccountId, Hash};

/// A password to be issued. The store does not interpret `caller`.
#[derive(Clone, Copy, Debug)]
pub struct NewPassword<'a> {
    pub hash: &'a Hash,
    pub account: AccountId,
    pub caller: &'a [u8],
}

/// An issued password that was not used yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedPassword {
    pub account: AccountId,
    pub caller: Vec<u8>,
    pub age: Duration,
}

impl Shared {
    /// Stores a password. An account has at most `of_account_max` passwords; the oldest passwords
    /// beyond that are removed.
    pub fn issue_password(&self, new: &NewPassword<'_>, of_account_max: u32) -> Result<(), StoreError> {
        let db = self.quick();
        db.run(password_sql::TRIM, (new.account.0, of_account_max.saturating_sub(1)))?;
        db.run(password_sql::ADD, (new.hash, new.account.0, new.caller)).map(drop)
    }

    /// Returns an issued, unused password, even if it has expired, or `None` if there is no such
    /// password. [`Shared::sit`] consumes the password.
    pub fn issued_password(&self, hash: &Hash) -> Result<Option<IssuedPassword>, StoreError> {
        self.durable().first(password_sql::FIND, [hash], |row| {
            Ok(IssuedPassword {
                account: AccountId(row.get(0)?),
                caller: row.get(1)?,
                age: duration(row.get(2)?),
            })
        })
    }
}

/// Limits of stored signatures: the maximum number per key, and the retention in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureLimits {
    pub each_max: u32,
    pub kept_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureOutcome {
    New,
    /// The signature was used before. The value is the number of seconds since the first use.
    Used(i64),
    /// The key has too many stored signatures.
    NoRoom,
}

/// Average number of uses between two counts of a key's stored signatures. Counting is the most
/// expensive part of a use.
const COUNTED_EVERY: u8 = 64;

impl Shared {
    /// Records the use of a signature, unless it was used before. Durable on return.
    pub fn use_signature(
        &self,
        fingerprint: &[u8; 16],
        app_key: &[u8; 16],
        limits: SignatureLimits,
    ) -> Result<SignatureOutcome, StoreError> {
        let db = self.durable();
        // The choice is derived from the fingerprint, so that clients cannot control when
        // signatures are counted.
        let is_counted = fingerprint.first().is_some_and(|byte| byte % COUNTED_EVERY == 0);
        if is_counted {
            let most = i64::from(limits.each_max);
            let count: i64 = db.one(signature_sql::COUNT, (app_key, most), |row| row.get(0))?;
            if count >= most {
                return Ok(SignatureOutcome::NoRoom);
            }
        }
        if db.run(signature_sql::USE, (fingerprint, app_key, limits.kept_s))? > 0 {
            return Ok(SignatureOutcome::New);
        }
        let age: Option<i64> = db.first(signature_sql::AGE, [fingerprint], |row| row.get(0))?;
        // If the row has just expired and was removed, the first use was long ago.
        Ok(SignatureOutcome::Used(age.unwrap_or(i64::MAX)))
    }
}

pub(super) mod password_sql {
    use super::super::now_us;
    use crate::engine::Sql;

    pub(crate) const ADD: Sql = Sql::new(
        "store a one-time password",
        concat!(
            "insert into one_time_password (hash, account_id, caller, issued_us) values ($1, $2, $3, ",
            now_us!(),
            ")"
        ),
    );

    /// Removes an account's passwords except the `$2` newest.
    pub(crate) const TRIM: Sql = Sql::new(
        "delete one-time passwords",
        "delete from one_time_password where hash in (select hash from one_time_password where account_id = $1 \
         order by issued_us desc offset $2)",
    );

    pub(crate) const FIND: Sql = Sql::new(
        "find a one-time password",
        concat!(
            "select account_id, caller, ",
            now_us!(),
            " - issued_us from one_time_password where hash = $1"
        ),
    );

    pub(crate) const USE: Sql =
        Sql::new("use a one-time password", "delete from one_time_password where hash = $1");

    pub(crate) const SWEEP: Sql =
        Sql::new("delete one-time passwords", "delete from one_time_password where issued_us < $1");
}

pub(super) mod signature_sql {
    use super::super::now_us;
    use crate::engine::Sql;

    macro_rules! now_s {
        () => {
            concat!("(", now_us!(), " / 1000000)")
        };
    }

    /// Inserts a signature that is unused or whose row has expired. `$3` is the retention in
    /// seconds.
    pub(crate) const USE: Sql = Sql::new(
        "record a signature",
        concat!(
            "insert into signature (fingerprint, app_key, first_at, until_at) values ($1, $2, ",
            now_s!(),
            ", ",
            now_s!(),
            " + $3) on conflict (fingerprint) do update set app_key = excluded.app_key, first_at = excluded.first_at, ",
            "until_at = excluded.until_at where signature.until_at <= excluded.first_at"
        ),
    );

    /// Returns the number of seconds since the first use.
    pub(crate) const AGE: Sql = Sql::new(
        "find a signature",
        concat!("select ", now_s!(), " - first_at from signature where fingerprint = $1"),
    );

    pub(crate) const COUNT: Sql = Sql::new(
        "count signatures",
        concat!(
            "select count(*) from (select 1 from signature where app_key = $1 and until_at > ",
            now_s!(),
            " limit $2) as counted"
        ),
    );

    pub(crate) const SWEEP: Sql =
        Sql::new("delete old signatures", concat!("delete from signature where until_at <= ", now_s!()));
}
