//! Opens accounts: the database, and the key file that belongs to it.
//!
//! In a directory the key lies beside the database. On PostgreSQL every node has a copy of the key
//! file, and all of them must be the same: the database stores the fingerprint of the key that its
//! secrets are sealed with, and never the key.

use std::fs;
use std::path::{Path, PathBuf};

use market::Timestamp;
use store::{Accounts, Copied, Place};

use crate::keys::Keys;
use crate::{Access, AccessError};

impl Access {
    /// Opens the accounts of a store in a directory, and creates database and key file if they are
    /// missing. Accounts on PostgreSQL need the path of the key: see [`Access::open_with_key`].
    pub fn open(place: impl Into<Place>, now: Timestamp) -> Result<Access, AccessError> {
        Access::open_with_key(&place.into(), None, now)
    }

    /// The same with an explicit key file; `None` for the one beside the database.
    pub fn open_with_key(place: &Place, key: Option<&Path>, now: Timestamp) -> Result<Access, AccessError> {
        let key = key_file(place, key)?;
        let accounts = Accounts::open(place, now)?;
        let keys = match place.path() {
            Some(_) => beside(&accounts, &key)?,
            None => of_node(&accounts, place, &key)?,
        };
        Access::of(accounts, keys)
    }

    /// Opens accounts and key file read-only: nothing is created or migrated, and every change is
    /// refused.
    pub fn look_at(place: impl Into<Place>, key: Option<&Path>) -> Result<Access, AccessError> {
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

/// The path of a store's key file.
pub fn key_file(place: &Place, named: Option<&Path>) -> Result<PathBuf, AccessError> {
    match (named, place.path()) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, Some(directory)) => Ok(Keys::path(directory)),
        (None, None) => Err(AccessError::KeyUnnamed),
    }
}

/// Copies the key of moved accounts from `from` to `to`, unless `to` exists and is the same, and
/// stores its fingerprint in a database on PostgreSQL.
pub fn hand_over_key(copied: &Copied, place: &Place, from: &Path, to: &Path) -> Result<(), AccessError> {
    let keys = Keys::load(from)?.ok_or_else(|| AccessError::KeyMissing { path: from.to_owned() })?;
    check_key_target(from, to)?;
    Keys::copy(from, to)?;
    let noted = copied.note_sealing_key(keys.fingerprint())?;
    match noted == keys.fingerprint() {
        true => Ok(()),
        false => Err(AccessError::KeyDiffers { path: to.to_owned(), place: place.clone() }),
    }
}

/// Checks that a key file may become that of moved accounts: it does not exist yet, or it is the
/// same as `from`.
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
        // A new key could not open the existing secrets. Try again first: another process may have
        // created the key and an account just now.
        None => Keys::load(path)?.ok_or_else(|| AccessError::KeyMissing { path: path.to_owned() }),
    }
}

fn of_node(accounts: &Accounts, place: &Place, path: &Path) -> Result<Keys, AccessError> {
    let noted = accounts.sealing_key()?;
    let differs = || AccessError::KeyDiffers { path: path.to_owned(), place: place.clone() };
    match (Keys::load(path)?, noted) {
        (Some(keys), Some(noted)) if noted == keys.fingerprint() => Ok(keys),
        (Some(_), Some(_)) => Err(differs()),
        (None, Some(_)) => Err(missing(place, path)),
        (Some(keys), None) => {
            // Accounts that were brought here by other means than `chandler move`.
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
                // Nothing is sealed with it. The key of the node that was first belongs there.
                fs::remove_file(path).ok();
            }
            noted.map(|()| keys)
        }
        (None, None) => Err(missing(place, path)),
    }
}

/// If several nodes start concurrently, the first one stores its key's fingerprint, and the others
/// fail with an error.
fn note(accounts: &Accounts, keys: &Keys, place: &Place, path: &Path) -> Result<(), AccessError> {
    let noted = accounts.note_sealing_key(keys.fingerprint())?;
    match noted == keys.fingerprint() {
        true => Ok(()),
        false => Err(AccessError::KeyDiffers { path: path.to_owned(), place: place.clone() }),
    }
}

fn missing(place: &Place, path: &Path) -> AccessError {
    match place.path() {
        Some(_) => AccessError::KeyMissing { path: path.to_owned() },
        None => AccessError::KeyElsewhere { path: path.to_owned(), place: place.clone() },
    }
}
