//! Pre-signed download URLs. The holder of a URL may fetch one file until the URL expires, without
//! other credentials.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use store::AccountId;

use crate::{Access, AccessError};

/// Maximum length of an encoded signature. Longer signatures are rejected before decoding.
const SIGNATURE_MAX: usize = 64;

/// The contents of a download URL that its signature covers.
#[derive(Clone, Copy, Debug)]
pub struct Download<'a> {
    /// Account that owns the file.
    pub account: AccountId,
    /// Path of the file in the URL, with all parameters that determine the response.
    pub path: &'a str,
    /// Expiry, exclusive, by the machine's clock.
    pub expires: Timestamp,
}

/// Why a download URL was refused.
#[derive(Debug, thiserror::Error)]
pub enum DownloadRefused {
    #[error("this URL was not issued by this server, or it was modified")]
    Forged,
    #[error("this URL has expired: request a new one")]
    Expired,
    #[error(transparent)]
    Failed(#[from] AccessError),
}

impl Download<'_> {
    /// Returns the message to sign. The NUL byte separates the path, which contains none, from the
    /// numbers, so two different URLs never have the same message.
    fn message(&self, ends: &AddressEnds) -> Vec<u8> {
        let numbers = [self.account.0.to_be_bytes(), self.expires.0.to_be_bytes()];
        let (epoch, password) = (ends.epoch.to_be_bytes(), ends.password.as_bytes());
        [self.path.as_bytes(), &[0], numbers.as_flattened(), &epoch, password].concat()
    }
}

/// Account state that the signature covers. Changing the password or ending all sessions
/// invalidates every URL of the account.
struct AddressEnds {
    epoch: u32,
    /// Password hash; empty if the account has no password.
    password: String,
}

impl Access {
    /// Returns the signature of a download URL, or `None` if the account is revoked or does not
    /// exist.
    pub fn sign_download(&self, download: &Download<'_>) -> Result<Option<String>, AccessError> {
        let Some(ends) = self.address_ends(download.account)? else { return Ok(None) };
        Ok(Some(URL_SAFE_NO_PAD.encode(self.identity.keys.download_tag(&[&download.message(&ends)]))))
    }

    /// Verifies the signature and the expiry of a download URL. URLs are also invalidated when the
    /// account's password changes or all of its sessions are ended.
    pub fn check_download(
        &self,
        download: &Download<'_>,
        signature: &str,
        now: Timestamp,
    ) -> Result<(), DownloadRefused> {
        if signature.len() > SIGNATURE_MAX {
            return Err(DownloadRefused::Forged);
        }
        let tag = URL_SAFE_NO_PAD.decode(signature).map_err(|_| DownloadRefused::Forged)?;
        let ends = self.address_ends(download.account)?.ok_or(DownloadRefused::Forged)?;
        // The signature is verified first, so that a forged URL is never reported as expired.
        if !self.identity.keys.is_download_tag(&[&download.message(&ends)], &tag) {
            return Err(DownloadRefused::Forged);
        }
        if download.expires <= now { Err(DownloadRefused::Expired) } else { Ok(()) }
    }

    /// Returns the account state for a signature, or `None` if the account is revoked or does not
    /// exist.
    fn address_ends(&self, id: AccountId) -> Result<Option<AddressEnds>, AccessError> {
        let Some(account) = self.account(id)?.filter(|account| account.revoked_at.is_none()) else {
            return Ok(None);
        };
        let password = self.accounts.person(&account.name)?.and_then(|person| person.password);
        Ok(Some(AddressEnds { epoch: account.epoch, password: password.unwrap_or_default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, NewAccount, Secret, Terms};

    const NOW: Timestamp = Timestamp(1_794_708_000);

    #[test]
    fn a_modified_expired_or_revoked_url_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let access = Access::open(dir.path(), NOW).unwrap();
        let mut ids = Vec::new();
        for name in ["ann", "bob"] {
            let new = NewAccount::named(name, Terms::default());
            access.create(&new, &Actor::Service, NOW).unwrap();
            ids.push(access.account_named(name).unwrap().unwrap().id);
        }
        let expires = Timestamp(NOW.0 + 600);
        let download = Download { account: ids[0], path: "/files/1", expires };
        let signature = access.sign_download(&download).unwrap().unwrap();
        let check = |download: Download<'_>, signature: &str, now| {
            access.check_download(&download, signature, now).map_err(|refused| refused.to_string())
        };
        assert_eq!(check(download, &signature, NOW), Ok(()));
        assert_eq!(check(download, &signature, Timestamp(expires.0 - 1)), Ok(()));
        assert!(check(download, &signature, expires).unwrap_err().contains("has expired"));
        let forged = "this URL was not issued by this server, or it was modified";
        let others = [
            Download { path: "/files/2", ..download },
            Download { account: ids[1], ..download },
            Download { account: AccountId(99), ..download },
            Download { expires: Timestamp(expires.0 + 1), ..download },
        ];
        for other in others {
            assert_eq!(check(other, &signature, NOW).unwrap_err(), forged, "{other:?}");
        }
        let long = "A".repeat(100);
        for wrong in ["", "x", "%%", &signature[1..], &signature.to_lowercase(), &long] {
            assert_eq!(check(download, wrong, NOW).unwrap_err(), forged, "{wrong}");
        }
        // Changing or removing the password invalidates the account's URLs.
        let password = |word: &str| {
            access.set_password(ids[0], &Secret::new(word.to_owned()), &Actor::Service, NOW).unwrap()
        };
        password("correct horse");
        assert_eq!(check(download, &signature, NOW).unwrap_err(), forged);
        let signature = access.sign_download(&download).unwrap().unwrap();
        assert_eq!(check(download, &signature, NOW), Ok(()));
        password("battery staple");
        assert_eq!(check(download, &signature, NOW).unwrap_err(), forged);
        let signature = access.sign_download(&download).unwrap().unwrap();
        access.remove_password(ids[0], &Actor::Service, NOW).unwrap();
        assert_eq!(check(download, &signature, NOW).unwrap_err(), forged);
        let signature = access.sign_download(&download).unwrap().unwrap();
        access.revoke(ids[0], &Actor::Service, "", NOW).unwrap();
        assert_eq!(check(download, &signature, NOW).unwrap_err(), forged);
        assert_eq!(access.sign_download(&download).unwrap(), None);
    }
}
