//! Credentials and request signatures.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::SourceError;

/// A secret string. It is omitted from debug output, and its memory is zeroed on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    pub fn new(text: impl Into<String>) -> SecretText {
        SecretText(Zeroizing::new(text.into()))
    }

    /// Returns the text. It must not be logged.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

/// Credentials of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// An API key: requests are signed with the secret.
    Key { app_key: String, app_secret: SecretText, access_token: SecretText },
    /// An OAuth access token.
    Bearer { client_id: String, access_token: SecretText },
}

const SIGNED_HEADERS: &str = "authorization;x-api-key;x-timestamp";

impl Credentials {
    /// Returns the headers of a request `GET path`, signed at `now_ms`, in Unix milliseconds. SDKs
    /// send either seconds or milliseconds. A server refuses a repeated timestamp as a replay, so
    /// milliseconds are sent.
    pub(crate) fn headers(
        &self,
        path: &str,
        now_ms: i64,
    ) -> Result<Vec<(&'static str, SecretText)>, SourceError> {
        let plain = |text: &str| SecretText::new(text);
        let mut headers = match self {
            Credentials::Key { app_key, app_secret, access_token } => {
                let time = now_ms.to_string();
                let signature = signature(app_key, app_secret, access_token, &time, ("GET", path));
                vec![
                    ("x-api-key", plain(app_key)),
                    ("authorization", access_token.clone()),
                    ("x-timestamp", plain(&time)),
                    ("x-api-signature", SecretText::new(signature)),
                ]
            }
            Credentials::Bearer { client_id, access_token } => vec![
                ("x-api-key", plain(client_id)),
                ("authorization", SecretText::new(format!("Bearer {}", access_token.expose()))),
                ("x-timestamp", plain(&now_ms.to_string())),
            ],
        };
        headers.push(("x-dc-region", plain(self.region())));
        let is_valid = |value: &SecretText| value.expose().bytes().all(|byte| (b' '..=b'~').contains(&byte));
        match headers.iter().all(|(_, value)| is_valid(value)) {
            true => Ok(headers),
            false => Err(SourceError::Credentials {
                code: 0,
                message: "the app key or a token contains characters that cannot be sent".to_owned(),
            }),
        }
    }

    /// Returns the region of the account, which the prefix of any credential names.
    fn region(&self) -> &'static str {
        let texts = match self {
            Credentials::Key { app_key, app_secret, access_token } => {
                [app_key, app_secret.expose(), access_token.expose()]
            }
            Credentials::Bearer { client_id, access_token } => [client_id, access_token.expose(), ""],
        };
        if texts.iter().any(|text| text.starts_with("us_")) { "us" } else { "ap" }
    }
}

fn signature(
    app_key: &str,
    app_secret: &SecretText,
    access_token: &SecretText,
    time: &str,
    (method, path): (&str, &str),
) -> String {
    let token = access_token.expose();
    let canonical = Zeroizing::new(format!(
        "{method}|{path}||authorization:{token}\nx-api-key:{app_key}\nx-timestamp:{time}\n|{SIGNED_HEADERS}|"
    ));
    let text = format!("HMAC-SHA256|{}", hex(&Sha1::digest(canonical.as_bytes())));
    // HMAC accepts keys of any length.
    let digest = Hmac::<Sha256>::new_from_slice(app_secret.expose().as_bytes())
        .map(|mac| mac.chain_update(text.as_bytes()).finalize().into_bytes())
        .unwrap_or_default();
    format!("HMAC-SHA256 SignedHeaders={SIGNED_HEADERS}, Signature={}", hex(&digest))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example S1 of the protocol description.
    #[test]
    fn signatures_equal_those_of_the_sdks() {
        let secret = SecretText::new("secret_demo_0001");
        let token = SecretText::new("tok_demo_0001");
        let request = ("GET", "/v1/socket/token");
        let signature = signature("key_demo_0001", &secret, &token, "1700000000", request);
        assert_eq!(
            signature,
            "HMAC-SHA256 SignedHeaders=authorization;x-api-key;x-timestamp, \
             Signature=c42668a9e5b8f8655209e5a11d7c9b7910366acdec94755395a1a204add90c54"
        );
    }

    #[test]
    fn debug_output_omits_secrets() {
        let key = Credentials::Key {
            app_key: "key".to_owned(),
            app_secret: SecretText::new("hush"),
            access_token: SecretText::new("hush"),
        };
        assert!(!format!("{key:?} {:?}", key.headers("/", 1)).contains("hush"));
    }

    #[test]
    fn the_prefix_of_any_credential_selects_the_region() {
        let region = |credentials: Credentials| {
            let headers = credentials.headers("/", 1).unwrap();
            headers.iter().find(|(name, _)| *name == "x-dc-region").unwrap().1.expose().to_owned()
        };
        let bearer = |token: &str| Credentials::Bearer {
            client_id: "client".to_owned(),
            access_token: SecretText::new(token),
        };
        let key = |secret: &str| Credentials::Key {
            app_key: "key".to_owned(),
            app_secret: SecretText::new(secret),
            access_token: SecretText::new("ap_token"),
        };
        assert_eq!([region(bearer("us_token")), region(bearer("ap_token"))], ["us", "ap"]);
        assert_eq!([region(key("us_secret")), region(key("secret"))], ["us", "ap"]);
    }

    #[test]
    fn tokens_with_invalid_characters_are_refused() {
        let bearer =
            Credentials::Bearer { client_id: "c".to_owned(), access_token: SecretText::new("a\r\nb") };
        assert!(bearer.headers("/", 1).is_err());
    }

    #[test]
    fn bearer_tokens_are_sent_with_the_region_ap() {
        let bearer = |token: &str| {
            let access_token = SecretText::new(token);
            let all =
                Credentials::Bearer { client_id: "c".to_owned(), access_token }.headers("/", 1).unwrap();
            all.iter().find(|(name, _)| *name == "x-dc-region").unwrap().1.expose().to_owned()
        };
        // A region prefix counts only at the start of a header, and the header of a bearer token
        // begins with the word `Bearer`.
        assert_eq!((bearer("ap_x").as_str(), bearer("x").as_str()), ("ap", "ap"));
    }
}
