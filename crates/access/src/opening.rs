//! How accounts come to be open: the database, and the key file that belongs to it.
//!
//! In a directory the key lies beside the database. On PostgreSQL every node has a file of its own, and all of them must be the same: the
//! database has the fingerprint of the key that its secrets are sealed with, and never the key.

use std::fs;
use std::path::{Path, PathBuf};

use market::Timestamp;
use store::{Accounts, Copied, Place};

use crate::keys::Keys;
use crate::{Access, AccessError};

impl Access {
    /// Opens the accounts of a store in a directory, and creates database and key file where there are none. Accounts on PostgreSQL need
    /// to be told where the key is: see [`Access::open_with_key`].
    pub fn open(place: impl Into<Place>, now: Timestamp) -> Result<Access, AccessError> {
        Access::open_with_key(&place.into(), None, now)
    }

    /// The same with the key in a file of its own; `None` for the one beside the database.
    pub fn open_with_key(place: &Place, key: Option<&Path>, now: Timestamp) -> Result<Access, AccessError> {
        let key = key_file(place, key)?;
        let accounts = Accounts::open(place, now)?;
        let keys = match place.path() {
            Some(_) => beside(&accounts, &key)?,
            None => of_node(&accounts, place, &key)?,
        };
        Access::of(accounts, keys)
    }

    /// Opens accounts and key file to look at them: nothing is created or brought forward, and every change is refused.
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

/// Where the key of a store is.
pub fn key_file(place: &Place, named: Option<&Path>) -> Result<PathBuf, AccessError> {
    match (named, place.path()) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, Some(directory)) => Ok(Keys::path(directory)),
        (None, None) => Err(AccessError::KeyUnnamed),
    }
}

/// Puts the key of accounts that were moved where it belongs: `from` is copied to `to`, unless that is there and the same, and a database on
/// PostgreSQL notes which one it is.
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

/// Whether a key file may become that of accounts that are brought there: it is not there yet, or it is the same as `from`.
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
        // A new key would open none of the secrets there are. But first look again: another process may have made
        // the key and an account a moment ago.
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
                // Nothing is sealed with it. The key of the node that was quicker belongs there.
                fs::remove_file(path).ok();
            }
            noted.map(|()| keys)
        }
        (None, None) => Err(missing(place, path)),
    }
}

/// Of several nodes that begin at once, the first has its key noted, and the others are told.
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
