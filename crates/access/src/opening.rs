//! Opens the accounts database and its key file.
//!
//! In a store directory, the key file is next to the database. On PostgreSQL every node has a copy
//! of the key file, and all copies must be equal. The database stores the fingerprint of the key
//! that encrypts its secrets, and never the key itself.

use std::fs;
use std::path::{Path, PathBuf};

use market::Timestamp;
use store::{Accounts, Copied, StoreUrl};

use crate::keys::Keys;
use crate::{Access, AccessError};

impl Access {
    /// Opens the accounts of a store directory, and creates the database and the key file if they
    /// do not exist. Accounts on PostgreSQL need an explicit key file: see
    /// [`Access::open_with_key`].
    pub fn open(place: impl Into<StoreUrl>, now: Timestamp) -> Result<Access, AccessError> {
        Access::open_with_key(&place.into(), None, now)
    }

    /// Like [`Access::open`], but with an explicit key file. `None` selects the key file next to
    /// the database, and is an error on PostgreSQL.
    pub fn open_with_key(
        place: &StoreUrl,
        key: Option<&Path>,
        now: Timestamp,
    ) -> Result<Access, AccessError> {
        let key = key_file(place, key)?;
        let accounts = Accounts::open(place, now)?;
        let keys = match place.path() {
            Some(_) => beside(&accounts, &key)?,
            None => of_node(&accounts, place, &key)?,
        };
        Access::of(accounts, keys)
    }

    /// Opens the accounts and the key file read-only. Nothing is created or migrated, and every
    /// write is refused.
    pub fn look_at(place: impl Into<StoreUrl>, key: Option<&Path>) -> Result<Access, AccessError> {
        let place = place.into();
        let key = key_file(&place, key)?;
        let accounts = Accounts::look(&place)?;
        let keys = Keys::load(&key)?.ok_or_else(|| missing(&place, &key))?;
        if place.path().is_none() && accounts.sealing_key()?.is_some_and(|noted| noted != keys.fingerprint())
        {
            return Err(AccessError::KeyDiffers { path: key, place });
        }
        Access::of(accounts, keys)
    }
}

/// Returns the path of a store's key file: `named` if given, otherwise the key file in the store
/// directory. Fails on PostgreSQL without `named`.
pub fn key_file(place: &StoreUrl, named: Option<&Path>) -> Result<PathBuf, AccessError> {
    match (named, place.path()) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, Some(directory)) => Ok(Keys::path(directory)),
        (None, None) => Err(AccessError::KeyUnnamed),
    }
}

/// Copies the key file of moved accounts from `from` to `to`, and stores the key's fingerprint in
/// the target database. An existing file `to` must hold the same key.
pub fn hand_over_key(copied: &Copied, place: &StoreUrl, from: &Path, to: &Path) -> Result<(), AccessError> {
    let keys = Keys::load(from)?.ok_or_else(|| AccessError::KeyMissing { path: from.to_owned() })?;
    check_key_target(from, to)?;
    Keys::copy(from, to)?;
    let noted = copied.note_sealing_key(keys.fingerprint())?;
    match noted == keys.fingerprint() {
        true => Ok(()),
        false => Err(AccessError::KeyDiffers { path: to.to_owned(), place: place.clone() }),
    }
}

/// Checks that `to` can become the key file of moved accounts: `to` must not exist or must hold the
/// same key as `from`.
pub fn check_key_target(from: &Path, to: &Path) -> Result<(), AccessError> {
    let keys = Keys::load(from)?.ok_or_else(|| AccessError::KeyMissing { path: from.to_owned() })?;
    match Keys::load(to)? {
        Some(there) if there.fingerprint() != keys.fingerprint() => {
            Err(AccessError::KeyTaken { path: to.to_owned(), from: from.to_owned() })
        }
        _ => Ok(()),
    }
}

fn beside(accounts: &Accounts, path: &Path) -> Result<Keys, AccessError> {
    match Keys::load(path)? {
        Some(keys) => Ok(keys),
        None if accounts.is_empty()? => Keys::create(path),
        // A new key could not decrypt the existing secrets. The file is loaded again first, because
        // another process may have created the key and an account in the meantime.
        None => Keys::load(path)?.ok_or_else(|| AccessError::KeyMissing { path: path.to_owned() }),
    }
}

fn of_node(accounts: &Accounts, place: &StoreUrl, path: &Path) -> Result<Keys, AccessError> {
    let noted = accounts.sealing_key()?;
    let differs = || AccessError::KeyDiffers { path: path.to_owned(), place: place.clone() };
    match (Keys::load(path)?, noted) {
        (Some(keys), Some(noted)) if noted == keys.fingerprint() => Ok(keys),
        (Some(_), Some(_)) => Err(differs()),
        (None, Some(_)) => Err(missing(place, path)),
        (Some(keys), None) => {
            // These accounts were not copied by `chandler move`, so no fingerprint was stored. The
            // key is checked against an existing secret instead.
            if let Some(credential) = accounts.any_credential()? {
                let opened = keys.unseal(&credential.app_secret, credential.account, &credential.app_key);
                opened.map_err(|_| differs())?;
            }
            note(accounts, &keys, place, path)?;
            Ok(keys)
        }
        (None, None) if accounts.is_empty()? => {
            let (keys, is_ours) = Keys::create_or_load(path)?;
            let noted = note(accounts, &keys, place, path);
            if noted.is_err() && is_ours {
                // Another node stored its fingerprint first. This key has encrypted nothing, so its
                // file is removed to make room for that node's key file.
                fs::remove_file(path).ok();
            }
            noted.map(|()| keys)
        }
        (None, None) => Err(missing(place, path)),
    }
}

/// Stores the key's fingerprint. If several nodes start concurrently with different keys, the first
/// node succeeds and the others get an error.
fn note(accounts: &Accounts, keys: &Keys, place: &StoreUrl, path: &Path) -> Result<(), AccessError> {
    let noted = accounts.note_sealing_key(keys.fingerprint())?;
    match noted == keys.fingerprint() {
        true => Ok(()),
        false => Err(AccessError::KeyDiffers { path: path.to_owned(), place: place.clone() }),
    }
}

fn missing(place: &StoreUrl, path: &Path) -> AccessError {
    match place.path() {
        Some(_) => AccessError::KeyMissing { path: path.to_owned() },
        None => AccessError::KeyElsewhere { path: path.to_owned(), place: place.clone() },
    }
}
