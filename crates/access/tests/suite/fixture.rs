use std::time::Duration;

use access::{Access, Actor, Caller, Created, Moment, NewAccount, Present, Rights, SignedRequest, Terms};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use market::{Symbol, Timestamp};
use sha1::{Digest, Sha1};
use sha2::Sha256;

/// A moment on 2026-08-14 in Hong Kong.
pub(crate) const NOW: Timestamp = Timestamp(1_786_680_000);
pub(crate) const START: Duration = Duration::from_secs(5);
pub(crate) const PRESENT: Present = Present { market: NOW, machine: NOW };
pub(crate) const MOMENT: Moment = Moment { now: NOW, uptime: START };

/// Decodes the claims of a token with a prefix, as clients do. The third part of the token, its
/// signature, is random.
pub(crate) fn claims(token: &str, prefix: &str) -> String {
    let parts: Vec<&str> = token.strip_prefix(prefix).unwrap().split('.').collect();
    assert_eq!((parts.len(), parts[2].len()), (3, 43), "{token}");
    assert_eq!(URL_SAFE_NO_PAD.decode(parts[0]).unwrap(), br#"{"alg":"HS256","typ":"JWT"}"#);
    URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    String::from_utf8(URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap()
}

/// A temporary store directory with its accounts opened.
pub(crate) struct Fresh {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) access: Access,
}

pub(crate) fn fresh() -> Fresh {
    let dir = tempfile::tempdir().unwrap();
    let access = Access::open(dir.path(), NOW).unwrap();
    Fresh { dir, access }
}

impl Fresh {
    /// Opens the same store again, as another process would.
    pub(crate) fn other(&self) -> Access {
        Access::open(self.dir.path(), NOW).unwrap()
    }

    pub(crate) fn create(&self, name: &str, terms: Terms) -> Created {
        create(&self.access, name, terms)
    }

    /// Creates an account and returns its authenticated caller.
    pub(crate) fn caller(&self, name: &str, terms: Terms) -> Caller {
        bearer(&self.access, self.create(name, terms).access_token.expose()).unwrap()
    }
}

/// Creates an account with these rights and returns its authenticated caller.
pub(crate) fn caller_with(access: &Access, name: &str, rights: Rights, terms: Terms) -> Caller {
    let new = NewAccount { rights, ..NewAccount::named(name, terms) };
    let created = access.create(&new, &Actor::Operator, NOW).unwrap();
    bearer(access, created.access_token.expose()).unwrap()
}

pub(crate) fn create(access: &Access, name: &str, terms: Terms) -> Created {
    access.create(&NewAccount::named(name, terms), &Actor::Operator, NOW).unwrap()
}

pub(crate) fn symbol(text: &str) -> Symbol {
    text.parse().unwrap()
}

/// Authenticates a `GET /v1/socket/token` request with these headers.
pub(crate) fn identify(
    access: &Access,
    headers: &[(&str, &str)],
    now: Timestamp,
) -> Result<Caller, access::Denial> {
    let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let (method, path) = ("GET", "/v1/socket/token");
    access.identify(&SignedRequest { method, path, raw_query: "", header: &header, body: b"" }, now)
}

pub(crate) fn bearer(access: &Access, token: &str) -> Result<Caller, access::Denial> {
    identify(access, &[("authorization", &format!("Bearer {token}"))], NOW)
}

/// Signs a `GET /v1/socket/token` request as a client would, independently of the code under test.
pub(crate) fn sign(token: &str, key: &str, secret: &str, timestamp: &str) -> String {
    let list = "authorization;x-api-key;x-timestamp";
    let lines = format!("authorization:{token}\nx-api-key:{key}\nx-timestamp:{timestamp}\n");
    let canonical = Sha1::digest(format!("GET|/v1/socket/token||{lines}|{list}|"));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("HMAC-SHA256|{}", hex(&canonical)).as_bytes());
    format!("HMAC-SHA256 SignedHeaders={list}, Signature={}", hex(&mac.finalize().into_bytes()))
}
