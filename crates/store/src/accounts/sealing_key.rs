//! Which key app secrets are sealed with, where several nodes must have the same. Not the key, but its fingerprint.

use super::{Accounts, Credential, sql};
use crate::StoreError;
use crate::engine::{Db, Sql};

const NOTED: Sql = Sql::new(
    "read which key secrets are sealed with",
    "select fingerprint from sealing_key where number = 1",
);
/// The first stays.
const NOTE: Sql = Sql::new(
    "note which key secrets are sealed with",
    "insert into sealing_key (number, fingerprint) values (1, $1) on conflict (number) do nothing",
);

impl Accounts {
    /// The fingerprint of the key; none yet, or none where the key lies beside the database.
    pub fn sealing_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        noted(&self.read())
    }

    /// Notes a fingerprint where there is none. Answers the one that is noted now.
    pub fn note_sealing_key(&self, fingerprint: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.change(|db| note(db, fingerprint))
    }

    /// A credential of any account, to try a key with.
    pub fn any_credential(&self) -> Result<Option<Credential>, StoreError> {
        self.read().first(sql::ANY_CREDENTIAL, [], Credential::read)
    }
}

fn noted(db: &Db) -> Result<Option<Vec<u8>>, StoreError> {
    if db.sqlite().is_some() {
        return Ok(None);
    }
    db.first(NOTED, [], |row| row.get(0))
}

pub(crate) fn note(db: &Db, fingerprint: &[u8]) -> Result<Vec<u8>, StoreError> {
    if db.sqlite().is_some() {
        return Ok(fingerprint.to_owned());
    }
    db.run(NOTE, [fingerprint])?;
    Ok(noted(db)?.unwrap_or_default())
}
