//! Login files on this machine: Chandler's list of servers and registrations, and the token files
//! that the public SDKs read.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use access::Secret;
use anyhow::{Context, anyhow};
use market::Timestamp;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, usage};
use crate::machine;
use crate::sdk::exposed;

const FILE_MAX: u64 = 1 << 20;
const CLIENT_ID_MAX: usize = 128;
/// Folder where the SDKs look for tokens, relative to the user's home folder.
const TOKENS: &str = ".longbridge/openapi/tokens";

/// Paths of a user's login files.
#[derive(Clone, Debug)]
pub(crate) struct UserFiles {
    logins: PathBuf,
    tokens: PathBuf,
}

/// Servers that the user has signed in to.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Logins {
    /// URL of the server that the user signed in to last.
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, Registration>,
}

/// This machine's registration as an OAuth client of a server.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) client_id: String,
    pub(crate) client_name: String,
    /// Token that authorizes the removal of the registration.
    #[serde(with = "exposed")]
    pub(crate) registration_access_token: Secret,
    pub(crate) registration_client_uri: String,
    /// Additional client IDs under which the token is stored, for programs with a built-in client
    /// ID.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) also: Vec<String>,
}

impl Registration {
    /// Returns all client IDs under which the token is stored.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.client_id).chain(&self.also).map(String::as_str)
    }
}

/// Token file in the format of the SDKs. Files written by the Go SDK do not contain a client ID.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TokenFile {
    #[serde(default)]
    pub(crate) client_id: String,
    #[serde(with = "exposed")]
    pub(crate) access_token: Secret,
    #[serde(default, with = "exposed_or_none", skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<Secret>,
    /// Expiry of the access token, in Unix seconds.
    pub(crate) expires_at: i64,
}

impl UserFiles {
    pub(crate) fn of_user() -> Result<UserFiles, Failure> {
        let no_home = || {
            usage(format!(
                "{} is not set, so there is no folder for logins: set it, or use a token in CHANDLER_TOKEN, which \
                needs no login",
                machine::HOME
            ))
        };
        let home = machine::home().ok_or_else(no_home)?;
        let config = machine::config().ok_or_else(no_home)?;
        Ok(UserFiles { logins: config.join("chandler").join("login.json"), tokens: home.join(TOKENS) })
    }

    #[cfg(test)]
    pub(crate) fn at(home: &Path) -> UserFiles {
        UserFiles { logins: home.join("config/chandler/login.json"), tokens: home.join(TOKENS) }
    }

    pub(crate) fn logins(&self) -> Result<Logins, Failure> {
        match read(&self.logins)? {
            None => Ok(Logins::default()),
            // The parser's message is not shown, because it may quote a secret from the file.
            Some(text) => serde_json::from_str(&text).map_err(|_| {
                anyhow!("{} is not a login file: remove it and sign in again", self.logins.display()).into()
            }),
        }
    }

    pub(crate) fn save_logins(&self, logins: &Logins) -> Result<(), Failure> {
        if logins.servers.is_empty() {
            return remove(&self.logins).map(|_| ());
        }
        replace(&self.logins, &serde_json::to_string_pretty(logins)?)
    }

    pub(crate) fn token_path(&self, client_id: &str) -> PathBuf {
        self.tokens.join(client_id)
    }

    pub(crate) fn token(&self, client_id: &str) -> Result<Option<TokenFile>, Failure> {
        let path = self.token_path(check_client_id(client_id)?);
        let Some(text) = read(&path)? else { return Ok(None) };
        let token = serde_json::from_str(&text)
            .map_err(|_| anyhow!("{} is not a token file: run `chandler login`", path.display()))?;
        Ok(Some(token))
    }

    /// Returns when a token was stored, which is the start of its lifetime. `None` if the
    /// modification time is unknown.
    pub(crate) fn filed_at(&self, client_id: &str) -> Result<Option<Timestamp>, Failure> {
        let path = self.token_path(check_client_id(client_id)?);
        let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
        let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Ok(since.and_then(|since| i64::try_from(since.as_secs()).ok()).map(Timestamp))
    }

    /// Stores a token under every client ID of a registration.
    pub(crate) fn save_token(&self, registration: &Registration, token: &TokenFile) -> Result<(), Failure> {
        for name in registration.names() {
            let filed = TokenFile { client_id: check_client_id(name)?.to_owned(), ..token.clone() };
            replace(&self.token_path(name), &serde_json::to_string_pretty(&filed)?)?;
        }
        Ok(())
    }

    /// Removes a registration's token files. Returns the paths of the files that existed.
    pub(crate) fn remove_tokens(&self, registration: &Registration) -> Result<Vec<PathBuf>, Failure> {
        let mut removed = Vec::new();
        for name in registration.names() {
            let path = self.token_path(check_client_id(name)?);
            if remove(&path)? {
                removed.push(path);
            }
        }
        Ok(removed)
    }
}

/// Validates a client ID. The ID is used as a file name, so it must not contain path separators.
pub(crate) fn check_client_id(text: &str) -> Result<&str, Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fine = (1..=CLIENT_ID_MAX).contains(&text.len()) && text.chars().all(fits) && !text.starts_with('.');
    if fine {
        return Ok(text);
    }
    let shown: String = text.chars().take(40).collect();
    Err(usage(format!("{shown:?} is not a client id: write up to 128 letters, digits, - _ and .")))
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    let cannot = || format!("cannot read {}", path.display());
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(cannot)?,
    };
    let mut text = String::new();
    file.take(FILE_MAX).read_to_string(&mut text).with_context(cannot)?;
    Ok(Some(text))
}

/// Removes a file. Returns whether the file existed.
fn remove(path: &Path) -> Result<bool, Failure> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", path.display()))?,
    }
}

/// Replaces a file atomically. The new file is readable only by its owner.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let written = || -> io::Result<()> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidFilename.into());
        };
        private_folder(folder)?;
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}", std::process::id()));
        let beside = folder.join(beside);
        // A process that was killed and had the same process ID may have left the temporary file.
        std::fs::remove_file(&beside).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    };
    Ok(written().with_context(|| format!("cannot write {}", path.display()))?)
}

/// Creates missing folders, accessible only by their owner. Existing folders are not changed.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

mod exposed_or_none {
    use access::Secret;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(secret: &Option<Secret>, to: S) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => to.serialize_some(secret.expose()),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        Ok(text.filter(|text| !text.is_empty()).map(Secret::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration(also: &[&str]) -> Registration {
        Registration {
            client_id: "5f0c-77".to_owned(),
            client_name: "a test".to_owned(),
            registration_access_token: Secret::new("rat_1".to_owned()),
            registration_client_uri: "http://127.0.0.1:1/oauth2/register/5f0c-77".to_owned(),
            also: also.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn token(access: &str) -> TokenFile {
        TokenFile {
            client_id: String::new(),
            access_token: Secret::new(access.to_owned()),
            refresh_token: Some(Secret::new("again".to_owned())),
            expires_at: 1_794_708_000,
        }
    }

    #[test]
    fn a_token_file_is_readable_only_by_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let (home, registration) = (UserFiles::at(dir.path()), registration(&["your-client-id"]));
        for access in ["ap_first", "ap_second"] {
            home.save_token(&registration, &token(access)).unwrap();
        }
        for name in ["5f0c-77", "your-client-id"] {
            let path = dir.path().join(".longbridge/openapi/tokens").join(name);
            let file: serde_json::Value =
                serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let expected = serde_json::json!({
                "client_id": name, "access_token": "ap_second", "refresh_token": "again", "expires_at": 1_794_708_000,
            });
            assert_eq!(file, expected);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
            }
        }
        // No temporary files remain.
        assert_eq!(std::fs::read_dir(dir.path().join(TOKENS)).unwrap().count(), 2);
        assert_eq!(home.remove_tokens(&registration).unwrap().len(), 2);
        assert!(home.remove_tokens(&registration).unwrap().is_empty());
        assert!(home.token("5f0c-77").unwrap().is_none());
    }

    #[test]
    fn token_files_of_other_programs_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let home = UserFiles::at(dir.path());
        home.save_token(&registration(&[]), &token("x")).unwrap();
        let path = home.token_path("5f0c-77");
        std::fs::write(&path, r#"{"access_token":"us_1","refresh_token":"","expires_at":7,"more":[]}"#)
            .unwrap();
        let token = home.token("5f0c-77").unwrap().unwrap();
        assert_eq!((token.access_token.expose(), token.expires_at), ("us_1", 7));
        assert!(token.refresh_token.is_none());
    }

    #[test]
    fn the_error_for_a_malformed_file_does_not_quote_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = UserFiles::at(dir.path());
        home.save_token(&registration(&[]), &token("x")).unwrap();
        std::fs::write(
            home.token_path("5f0c-77"),
            r#"{"access_token":"ap_hidden","expires_at":"ap_hidden"}"#,
        )
        .unwrap();
        let Err(error) = home.token("5f0c-77") else { panic!("it was read") };
        let text = error.to_string();
        assert!(text.contains("5f0c-77") && !text.contains("hidden"), "{text}");
        let mut logins = Logins::default();
        logins.servers.insert("http://127.0.0.1:1".to_owned(), registration(&[]));
        home.save_logins(&logins).unwrap();
        std::fs::write(&home.logins, r#"{"servers":{"rat_hidden":"rat_hidden"}}"#).unwrap();
        let Err(error) = home.logins() else { panic!("it was read") };
        assert!(!error.to_string().contains("hidden"), "{error}");
    }

    #[test]
    fn the_login_file_is_removed_with_its_last_server() {
        let dir = tempfile::tempdir().unwrap();
        let home = UserFiles::at(dir.path());
        let mut logins = home.logins().unwrap();
        assert!(logins.current.is_none() && logins.servers.is_empty());
        logins.current = Some("http://127.0.0.1:1".to_owned());
        logins.servers.insert("http://127.0.0.1:1".to_owned(), registration(&[]));
        home.save_logins(&logins).unwrap();
        let mut logins = home.logins().unwrap();
        let stored = &logins.servers["http://127.0.0.1:1"];
        assert_eq!(
            (stored.client_id.as_str(), stored.registration_access_token.expose()),
            ("5f0c-77", "rat_1")
        );
        logins.servers.clear();
        home.save_logins(&logins).unwrap();
        assert!(!home.logins.exists());
    }

    #[test]
    fn a_client_id_cannot_contain_a_path() {
        for text in ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a b", "é", &"a".repeat(129)] {
            assert!(check_client_id(text).is_err(), "{text:?}");
        }
        for text in ["a", "your-client-id", "5f0c1c5e-2b51-4f3c-9a43-0a6f5d2c7711", &"a".repeat(128)] {
            assert!(check_client_id(text).is_ok(), "{text:?}");
        }
    }
}
