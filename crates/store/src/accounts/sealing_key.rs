//! Fingerprint of the key that encrypts app secrets. All nodes must use the same key; the key
//! itself is not stored.

use super::{Accounts, Credential, sql};
use crate::StoreError;
use crate::engine::{Db, Sql};

const NOTED: Sql = Sql::new(
    "read which key secrets are sealed with",
    "select fingerprint from sealing_key where number = 1",
);
/// Keeps an existing fingerprint.
const NOTE: Sql = Sql::new(
    "note which key secrets are sealed with",
    "insert into sealing_key (number, fingerprint) values (1, $1) on conflict (number) do nothing",
);

impl Accounts {
    /// Returns the recorded fingerprint, or `None` if there is none. Always `None` on SQLite, where
    /// the key file is next to the database.
    pub fn sealing_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        noted(&self.read())
    }

    /// Records a fingerprint unless one exists. Returns the recorded one.
    pub fn note_sealing_key(&self, fingerprint: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.change(|db| note(db, fingerprint))
    }

    /// Returns an arbitrary credential, for testing whether a key decrypts it.
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
