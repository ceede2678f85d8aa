//! Form bodies. Duplicate names are refused, and an empty value is treated as absent (RFC 6749,
//! 3.2).

use access::OAuthError;
use hyper::header::{CONTENT_TYPE, HeaderMap};

use super::answer::Refusable;
use crate::kit::fields::{Fields, FieldsError, Names};

const FORM_MAX: usize = 16 << 10;
const FIELDS_MAX: usize = 32;

pub(super) struct Form(Fields);

impl Form {
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Refusable<Form> {
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(OAuthError::InvalidRequest("the body is a form: application/x-www-form-urlencoded"));
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
