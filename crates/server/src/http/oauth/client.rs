//! Client authentication: the client id, and the secret if the client has one, in the form or in
//! the `Authorization` header.

use std::borrow::Cow;

use access::{OAuthError, PresentedClient};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::answer::Refusable;
use super::form::Form;
use crate::kit::{Call, fields};

/// Maximum length of the Basic credentials in bytes; much longer than a valid id and secret.
const HEADER_MAX: usize = 2_048;

/// Client id and secret as sent. Does not implement `Debug`, because it holds a secret.
pub(super) struct ClientCredentials {
    id: String,
    secret: Option<String>,
}

impl ClientCredentials {
    pub(super) fn credentials(&self) -> PresentedClient<'_> {
        PresentedClient { id: &self.id, secret: self.secret.as_deref() }
    }

    pub(super) fn read(call: &Call<'_>, form: &Form) -> Refusable<ClientCredentials> {
        let (id, secret) = (form.get("client_id"), form.get("client_secret"));
        let Some(pair) = basic(call) else {
            let id = id.ok_or(OAuthError::InvalidRequest("client_id is missing"))?;
            return Ok(ClientCredentials { id: id.to_owned(), secret: secret.map(str::to_owned) });
        };
        let said =
            decode(pair).ok_or(OAuthError::InvalidClient("the authorization header is not readable"))?;
        if secret.is_some() {
            return Err(OAuthError::InvalidRequest("the secret of the client is there twice"));
        }
        if id.is_some_and(|id| id != said.id) {
            return Err(OAuthError::InvalidRequest("the form names another client than the header"));
        }
        Ok(said)
    }
}

/// Returns whether the client authenticates with the `Authorization` header. A refusal then needs a
/// `WWW-Authenticate` header.
pub(super) fn is_basic(call: &Call<'_>) -> bool {
    basic(call).is_some()
}

/// Returns the credentials after the `Basic` scheme, or `None` for another scheme.
fn basic<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    let (scheme, pair) = call.header("authorization")?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then_some(pair.trim())
}

/// Decodes Basic credentials. Id and secret are form-encoded and then joined (RFC 6749, 2.3.1).
fn decode(pair: &str) -> Option<ClientCredentials> {
    if pair.len() > HEADER_MAX {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(pair).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    let id = plain(id)?;
    Some(ClientCredentials { id, secret: plain(secret) }).filter(|said| !said.id.is_empty())
}

fn plain(text: &str) -> Option<String> {
    // Decode as a form field value. An unescaped ampersand would end the value, so it is escaped
    // first.
    let field = format!("v={}", text.replace('&', "%26"));
    fields::values(&field, "v").next().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pair: &str, said: Option<(&str, &str)>) {
        let read = decode(&STANDARD.encode(pair)).map(|said| (said.id, said.secret.unwrap_or_default()));
        assert_eq!(read.as_ref().map(|(id, secret)| (id.as_str(), secret.as_str())), said, "{pair}");
    }

    #[test]
    fn basic_credentials_are_form_decoded() {
        check("id:secret", Some(("id", "secret")));
        check("id:", Some(("id", "")));
        check("a%3Ab:c+d%26e&f=g:h", Some(("a:b", "c d&e&f=g:h")));
        check(":secret", None);
        check("id", None);
        check("", None);
        assert!(decode("no base64!").is_none());
        assert!(decode(&"A".repeat(HEADER_MAX + 4)).is_none());
    }
}
