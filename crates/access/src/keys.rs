//! The key file and the keys derived from it, which encrypt app secrets, hash user codes and
//! authenticate session ids, CSRF tokens, device cookies, download URLs and password links.
//!
//! The key file holds 32 random bytes. It is `secret.key` next to `accounts.db`, or a file on each
//! node if the accounts are on PostgreSQL. A copy of the database alone therefore reveals no
//! secret, and neither does a copy of the key file alone. Each use has its own key, derived with a
//! label, so that a value created for one use is invalid for any other.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use store::AccountId;
use zeroize::Zeroizing;

use crate::secret::{hex, random};
use crate::{AccessError, Secret};

const FILE: &str = "secret.key";
const KEY_BYTES: usize = 32;
const SEAL_LABEL: &[u8] = b"chandler app secret 1";
const SESSION_LABEL: &[u8] = b"chandler session 1";
const FORM_LABEL: &[u8] = b"chandler form 1";
const USER_CODE_LABEL: &[u8] = b"chandler user code 1";
const DOWNLOAD_LABEL: &[u8] = b"chandler download 1";
const PASSWORD_LINK_LABEL: &[u8] = b"chandler password link 1";
const FINGERPRINT_LABEL: &[u8] = b"chandler fingerprint 1";
/// First byte of an encrypted secret. It identifies the cipher, so that the cipher can be replaced
/// later.
const SEAL_VERSION: u8 = 1;
/// Length of a nonce in bytes, long enough that random nonces do not collide during the lifetime of
/// a key.
const NONCE_BYTES: usize = 24;
pub(crate) const TAG_BYTES: usize = 16;

type Key = Zeroizing<[u8; KEY_BYTES]>;

pub(crate) struct Keys {
    seal: Key,
    session: Key,
    form: Key,
    user_code: Key,
    download: Key,
    password_link: Key,
    fingerprint: [u8; 32],
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(..)")
    }
}

impl Keys {
    /// Loads the key file, or returns `None` if the file does not exist. Fails if the file has
    /// another length or is accessible by other users.
    pub(crate) fn load(path: &Path) -> Result<Option<Keys>, AccessError> {
        let fail = |source| AccessError::KeyFile { what: "read", path: path.to_owned(), source };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(fail(source)),
        };
        check_mode(&file, path)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_BYTES + 1));
        file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(fail)?;
        match <[u8; KEY_BYTES]>::try_from(bytes.as_slice()) {
            Ok(key) => Ok(Some(Keys::of(&Zeroizing::new(key)))),
            Err(_) => Err(AccessError::KeyLength { path: path.to_owned(), expected: KEY_BYTES }),
        }
    }

    /// Creates the key file and loads it. If another process has created the file first, that
    /// process's key is used.
    pub(crate) fn create(path: &Path) -> Result<Keys, AccessError> {
        Keys::create_or_load(path).map(|(keys, _)| keys)
    }

    /// Like [`Keys::create`], and returns whether this call created the file.
    pub(crate) fn create_or_load(path: &Path) -> Result<(Keys, bool), AccessError> {
        let key: Key = Zeroizing::new(random()?);
        let is_ours = put(&key, path)?;
        let keys = Keys::load(path)?.ok_or_else(|| AccessError::KeyMissing { path: path.to_owned() })?;
        Ok((keys, is_ours))
    }

    /// Copies a key file to `to`, unless `to` exists.
    pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), AccessError> {
        let read = |source| AccessError::KeyFile { what: "read", path: from.to_owned(), source };
        let bytes = Zeroizing::new(fs::read(from).map_err(read)?);
        let key = <[u8; KEY_BYTES]>::try_from(bytes.as_slice())
            .map_err(|_| AccessError::KeyLength { path: from.to_owned(), expected: KEY_BYTES })?;
        put(&Zeroizing::new(key), to).map(drop)
    }

    /// Returns the path of the key file in a store directory.
    pub(crate) fn path(dir: &Path) -> PathBuf {
        dir.join(FILE)
    }

    fn of(key: &Key) -> Keys {
        let derive =
            |label: &[u8]| -> Key { Zeroizing::new(mac(key, &[label]).finalize().into_bytes().into()) };
        Keys {
            seal: derive(SEAL_LABEL),
            session: derive(SESSION_LABEL),
            form: derive(FORM_LABEL),
            user_code: derive(USER_CODE_LABEL),
            download: derive(DOWNLOAD_LABEL),
            password_link: derive(PASSWORD_LINK_LABEL),
            // The fingerprint is a hash of a derived key, so that the database never stores a key.
            fingerprint: Sha256::digest(derive(FINGERPRINT_LABEL).as_slice()).into(),
        }
    }

    /// Returns a value that identifies the key without revealing it. Nodes that share a database
    /// compare fingerprints to check that they have the same key.
    pub(crate) fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }

    /// Encrypts an app secret. The account and the app key are authenticated, so the ciphertext
    /// cannot be decrypted in any other row.
    pub(crate) fn seal(
        &self,
        secret: &Secret,
        account: AccountId,
        app_key: &str,
    ) -> Result<Vec<u8>, AccessError> {
        let nonce: [u8; NONCE_BYTES] = random()?;
        let bound = bound_to(account, app_key);
        let payload = Payload { msg: secret.expose().as_bytes(), aad: &bound };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| AccessError::Sealed { account })?;
        Ok([&[SEAL_VERSION], nonce.as_slice(), &sealed].concat())
    }

    pub(crate) fn unseal(
        &self,
        sealed: &[u8],
        account: AccountId,
        app_key: &str,
    ) -> Result<Secret, AccessError> {
        let wrong = || AccessError::Sealed { account };
        let (version, rest) = sealed.split_first().ok_or_else(wrong)?;
        let (nonce, text) = rest.split_first_chunk::<NONCE_BYTES>().ok_or_else(wrong)?;
        if *version != SEAL_VERSION {
            return Err(wrong());
        }
        let payload = Payload { msg: text, aad: &bound_to(account, app_key) };
        let plain = self.cipher().decrypt(&XNonce::from(*nonce), payload).map_err(|_| wrong())?;
        String::from_utf8(plain).map(Secret::new).map_err(|_| wrong())
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.seal).into())
    }

    /// Returns the authentication tag of a session id.
    pub(crate) fn session_tag(&self, bytes: &[u8]) -> [u8; TAG_BYTES] {
        let whole: [u8; 32] = mac(&self.session, &[bytes]).finalize().into_bytes().into();
        whole.first_chunk().copied().unwrap_or_default()
    }

    /// Verifies the authentication tag of a session id in constant time.
    pub(crate) fn is_session_tag(&self, bytes: &[u8], tag: &[u8; TAG_BYTES]) -> bool {
        mac(&self.session, &[bytes]).verify_truncated_left(tag).is_ok()
    }

    /// Returns the keyed hash of a user code. User codes are short, so a plain hash could be
    /// brute-forced.
    pub(crate) fn hash_user_code(&self, code: &[u8]) -> [u8; 32] {
        mac(&self.user_code, &[code]).finalize().into_bytes().into()
    }

    /// Returns the authentication tag of a CSRF token or device cookie. The first part must be the
    /// purpose of the tag, so that the tag is invalid for any other purpose.
    pub(crate) fn form_tag(&self, parts: &[&[u8]]) -> [u8; TAG_BYTES] {
        let whole: [u8; 32] = mac(&self.form, parts).finalize().into_bytes().into();
        whole.first_chunk().copied().unwrap_or_default()
    }

    pub(crate) fn is_form_tag(&self, parts: &[&[u8]], tag: &[u8; TAG_BYTES]) -> bool {
        mac(&self.form, parts).verify_truncated_left(tag).is_ok()
    }

    /// Returns the signature of a download URL.
    pub(crate) fn download_tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.download, parts).finalize().into_bytes().into()
    }

    /// Verifies the signature of a download URL in constant time.
    pub(crate) fn is_download_tag(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        mac(&self.download, parts).verify_slice(tag).is_ok()
    }

    /// Returns the authentication tag of a password link.
    pub(crate) fn password_link_tag(&self, bytes: &[u8]) -> [u8; 32] {
        mac(&self.password_link, &[bytes]).finalize().into_bytes().into()
    }

    pub(crate) fn is_password_link_tag(&self, bytes: &[u8], tag: &[u8; 32]) -> bool {
        mac(&self.password_link, &[bytes]).verify_slice(tag).is_ok()
    }
}

fn mac(key: &Key, parts: &[&[u8]]) -> Hmac<Sha256> {
    hmac(key.as_slice(), parts)
}

/// Returns HMAC-SHA256 over the concatenated parts, before finalization.
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    #[expect(
        clippy::expect_used,
        reason = "HMAC takes keys of every length; the error is there for other codes"
    )]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

fn bound_to(account: AccountId, app_key: &str) -> Vec<u8> {
    [account.0.to_be_bytes().as_slice(), app_key.as_bytes()].concat()
}

/// Creates the key file and its directory. Returns `false` if the file already exists.
fn put(key: &Key, path: &Path) -> Result<bool, AccessError> {
    let fail = |source| AccessError::KeyFile { what: "create", path: path.to_owned(), source };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", hex(&random::<8>()?)));
    let draft = PathBuf::from(draft);
    let placed = place(key, &draft, path);
    // The draft is removed whether or not it was linked. Errors are ignored, because a leftover
    // draft is as protected as the key file.
    fs::remove_file(&draft).ok();
    placed.map_err(fail)
}

/// Writes and syncs a draft, then hard-links the draft to `path`, so that no process ever reads a
/// partial key. Returns `false` if `path` already exists.
fn place(key: &Key, draft: &Path, path: &Path) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(draft)?;
    file.write_all(key.as_slice())?;
    file.sync_all()?;
    let is_free = match fs::hard_link(draft, path) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    // The directory entry must be as durable as the accounts that depend on the key.
    #[cfg(unix)]
    if let Some(dir) = path.parent() {
        File::open(dir)?.sync_all()?;
    }
    Ok(is_free)
}

/// Refuses a key file that is accessible by users outside its group. Group access is allowed,
/// because container volumes are shared that way.
#[cfg(unix)]
fn check_mode(file: &File, path: &Path) -> Result<(), AccessError> {
    use std::os::unix::fs::PermissionsExt;
    let fail = |source| AccessError::KeyFile { what: "read", path: path.to_owned(), source };
    let mode = file.metadata().map_err(fail)?.permissions().mode();
    if mode & 0o007 != 0 { Err(AccessError::KeyExposed { path: path.to_owned() }) } else { Ok(()) }
}

#[cfg(not(unix))]
fn check_mode(_: &File, _: &Path) -> Result<(), AccessError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Secret {
        Secret::new("correct horse".to_owned())
    }

    #[test]
    fn an_encrypted_secret_is_bound_to_its_account_and_app_key() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keys::create(&Keys::path(dir.path())).unwrap();
        let sealed = keys.seal(&secret(), AccountId(7), "key").unwrap();
        assert_eq!(keys.unseal(&sealed, AccountId(7), "key").unwrap().expose(), "correct horse");
        assert!(matches!(keys.unseal(&sealed, AccountId(8), "key"), Err(AccessError::Sealed { .. })));
        assert!(matches!(keys.unseal(&sealed, AccountId(7), "kez"), Err(AccessError::Sealed { .. })));
        assert_ne!(sealed, keys.seal(&secret(), AccountId(7), "key").unwrap(), "each time another nonce");
        for at in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[at] ^= 1;
            keys.unseal(&bent, AccountId(7), "key").unwrap_err();
            keys.unseal(&sealed[..at], AccountId(7), "key").unwrap_err();
        }
    }

    #[test]
    fn the_key_file_is_created_once() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Keys::load(&Keys::path(dir.path())).unwrap().is_none());
        let first = Keys::create(&Keys::path(dir.path())).unwrap();
        let sealed = first.seal(&secret(), AccountId(1), "key").unwrap();
        let again = Keys::create(&Keys::path(dir.path())).unwrap();
        assert_eq!(again.unseal(&sealed, AccountId(1), "key").unwrap().expose(), "correct horse");
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, [FILE], "no draft is left");
    }

    #[test]
    fn concurrent_creators_of_the_key_file_get_the_same_key() {
        let dir = tempfile::tempdir().unwrap();
        let tags: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| Keys::create(&Keys::path(dir.path())).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().session_tag(b"x")).collect()
        });
        assert!(tags.iter().all(|tag| *tag == tags[0]));
    }

    #[test]
    fn a_secret_cannot_be_decrypted_with_another_key_file() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, two) =
            (Keys::create(&one.path().join("key")).unwrap(), Keys::create(&two.path().join("key")).unwrap());
        let sealed = one.seal(&secret(), AccountId(1), "key").unwrap();
        two.unseal(&sealed, AccountId(1), "key").unwrap_err();
        assert!(!two.is_session_tag(b"x", &one.session_tag(b"x")));
        assert!(one.is_session_tag(b"x", &one.session_tag(b"x")));
        assert_ne!(one.fingerprint(), two.fingerprint());
    }

    #[test]
    fn a_key_file_with_a_wrong_length_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        Keys::create(&Keys::path(dir.path())).unwrap();
        for length in [0, 31, 33, 10_000] {
            let file = OpenOptions::new().write(true).open(dir.path().join(FILE)).unwrap();
            file.set_len(length).unwrap();
            let error = Keys::load(&Keys::path(dir.path())).unwrap_err();
            assert!(matches!(error, AccessError::KeyLength { .. }), "{length}: {error:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_key_file_readable_by_others_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        Keys::create(&Keys::path(dir.path())).unwrap();
        let path = dir.path().join(FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(matches!(Keys::load(&Keys::path(dir.path())), Err(AccessError::KeyExposed { .. })));
    }
}
