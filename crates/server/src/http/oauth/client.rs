//! OAuth client requests: form bodies and client authentication. A client sends its id, and its
//! secret if it has one, in the form or in the `Authorization` header.

use std::borrow::Cow;

use access::{OAuthError, PresentedClient};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{CONTENT_TYPE, HeaderMap};

use super::answer::Refusable;
use crate::kit::Call;
use crate::kit::fields::{self, Fields, FieldsError, Names};

/// Maximum length of the Basic credentials in bytes, which is much longer than a valid id and
/// secret.
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
        let said = decode(pair).ok_or(OAuthError::InvalidClient("the authorization header is malformed"))?;
        if secret.is_some() {
            return Err(OAuthError::InvalidRequest("the client secret is given twice"));
        }
        if id.is_some_and(|id| id != said.id) {
            return Err(OAuthError::InvalidRequest("the form and the header name different clients"));
        }
        Ok(said)
    }
}

/// Returns whether the client authenticates with the `Authorization` header. If so, a refusal needs
/// a `WWW-Authenticate` header.
pub(super) fn is_basic(call: &Call<'_>) -> bool {
    basic(call).is_some()
}

/// Returns the credentials after the `Basic` scheme, or `None` for another scheme.
fn basic<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    let (scheme, pair) = call.header("authorization")?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then_some(pair.trim())
}

/// Decodes Basic credentials. The id and the secret are form-encoded and then joined (RFC 6749,
/// 2.3.1).
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

const FORM_MAX: usize = 16 << 10;
const FIELDS_MAX: usize = 32;

/// A form body. Duplicate names are refused, and an empty value is treated as absent (RFC 6749,
/// 3.2).
pub(super) struct Form(Fields);

impl Form {
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Refusable<Form> {
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(OAuthError::InvalidRequest(
                "the body must be a form: application/x-www-form-urlencoded",
            ));
        }
        Form::parse(body)
    }

    fn parse(body: &[u8]) -> Refusable<Form> {
        if body.len() > FORM_MAX {
            return Err(OAuthError::InvalidRequest("the form is larger than 16384 bytes"));
        }
        let refused = |error| match error {
            FieldsError::TooMany(_) => "the form has more than 32 fields",
            FieldsError::Twice(_) | FieldsError::Unknown { .. } => "a field is in the form more than once",
        };
        let fields = Fields::parse(body, Names::Any { most: FIELDS_MAX });
        fields.map(Form).map_err(|error| OAuthError::InvalidRequest(refused(error)))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)
    }

    pub(super) fn need(&self, name: &str, missing: &'static str) -> Refusable<&str> {
        self.get(name).ok_or(OAuthError::InvalidRequest(missing))
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

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

    #[test]
    fn a_form_is_parsed_as_browsers_encode_it() {
        let form = Form::parse(b"client_id=a%20b+c&device_code=&x&grant_type=urn%3Aietf")
            .unwrap_or_else(|_| panic!());
        assert_eq!(form.get("client_id"), Some("a b c"));
        assert_eq!(form.get("grant_type"), Some("urn:ietf"));
        assert_eq!((form.get("device_code"), form.get("x"), form.get("y")), (None, None, None));
    }

    #[test]
    fn a_form_with_duplicate_fields_or_too_much_data_is_refused() {
        let many: String = (0..33).map(|number| format!("f{number}=1&")).collect();
        let large = "a=".to_owned() + &"x".repeat(FORM_MAX);
        for body in ["a=1&a=1", "a=1&b=2&a=", "a&%61=2", &many, &large] {
            assert!(matches!(Form::parse(body.as_bytes()), Err(OAuthError::InvalidRequest(_))));
        }
        assert!(Form::parse(b"").is_ok() && Form::parse(b"\xff\xfe=%ff&&&=").is_ok());
    }

    #[test]
    fn other_content_types_are_refused() {
        let read = |kind: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            Form::read(&headers, b"a=1").is_ok()
        };
        assert!(read("application/x-www-form-urlencoded"));
        assert!(read("Application/X-WWW-Form-Urlencoded ; charset=UTF-8"));
        assert!(!read("application/json") && !read("") && !read("multipart/form-data; boundary=x"));
        assert!(Form::read(&HeaderMap::new(), b"a=1").is_err());
    }
}
