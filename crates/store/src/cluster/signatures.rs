//! Signatures of changes: each is valid once, over all nodes.

use super::Shared;
use crate::StoreError;

/// How many signatures of one key are stored, and for how long, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureLimits {
    pub each_max: u32,
    pub kept_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureOutcome {
    New,
    /// It was used before, first this many seconds ago.
    Used(i64),
    /// The key has too many stored signatures.
    NoRoom,
}

/// The signatures of a key are counted at about one in this many uses: counting costs more than the
/// rest.
const COUNTED_EVERY: u8 = 64;

impl Shared {
    /// Uses up a signature, durably.
    pub fn use_signature(
        &self,
        fingerprint: &[u8; 16],
        app_key: &[u8; 16],
        limits: SignatureLimits,
    ) -> Result<SignatureOutcome, StoreError> {
        let db = self.durable();
        // Chosen by the fingerprint, so that a client cannot choose when.
        let is_counted = fingerprint.first().is_some_and(|byte| byte % COUNTED_EVERY == 0);
        if is_counted {
            let most = i64::from(limits.each_max);
            let count: i64 = db.one(sql::COUNT, (app_key, most), |row| row.get(0))?;
            if count >= most {
                return Ok(SignatureOutcome::NoRoom);
            }
        }
        if db.run(sql::USE, (fingerprint, app_key, limits.kept_s))? > 0 {
            return Ok(SignatureOutcome::New);
        }
        let age: Option<i64> = db.first(sql::AGE, [fingerprint], |row| row.get(0))?;
        // It may just have been removed; then its first use was long ago.
        Ok(SignatureOutcome::Used(age.unwrap_or(i64::MAX)))
    }
}

pub(super) mod sql {
    use super::super::now_us;
    use crate::engine::Sql;

    macro_rules! now_s {
        () => {
            concat!("(", now_us!(), " / 1000000)")
        };
    }

    /// Inserts a signature that is unused or whose entry has expired. `$3` is the retention.
    pub(crate) const USE: Sql = Sql::new(
        "note a signature",
        concat!(
            "insert into signature (fingerprint, app_key, first_at, until_at) values ($1, $2, ",
            now_s!(),
            ", ",
            now_s!(),
            " + $3) on conflict (fingerprint) do update set app_key = excluded.app_key, first_at = excluded.first_at, ",
            "until_at = excluded.until_at where signature.until_at <= excluded.first_at"
        ),
    );

    /// Seconds since its first use.
    pub(crate) const AGE: Sql = Sql::new(
        "look for a signature",
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
        Sql::new("forget old signatures", concat!("delete from signature where until_at <= ", now_s!()));
}
