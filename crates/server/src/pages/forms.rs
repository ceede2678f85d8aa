//! Fields of forms and query strings, and validation of redirects.

use super::path;
use crate::kit::fields::{self, Names};

/// Maximum size of a form in bytes.
const BYTES_MAX: usize = 32 << 10;
/// Maximum number of fields in a form. Our forms have only a few.
const FIELDS_MAX: usize = 20;
/// Maximum length of the return URL in bytes. This URL is the longest field of our forms.
const NEXT_MAX: usize = 8 << 10;

/// Parsed fields with unique names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(fields::Fields);

/// The form is too long, or has too many or duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Fields {
    pub(super) fn parse(text: &[u8]) -> Result<Fields, Malformed> {
        if text.len() > BYTES_MAX {
            return Err(Malformed);
        }
        let fields = fields::Fields::parse(text, Names::Any { most: FIELDS_MAX });
        fields.map(Fields).map_err(|_| Malformed)
    }

    /// Returns a field's value, or an empty string if the field is absent.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_default()
    }

    /// Moves a field's value out, so that no copy of a secret remains. Returns an empty string if
    /// the field is absent.
    pub(super) fn take(&mut self, name: &str) -> String {
        self.0.take(name)
    }
}

/// Returns `text` if it is a page of this service and thus a safe redirect after signing in or out,
/// otherwise `None`.
pub(super) fn safe_next(text: &str) -> Option<&str> {
    let path = text.split_once('?').map_or(text, |(path, _)| path);
    let ours = path::PAGES.iter().any(|page| path::is_at(page, path));
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'#'));
    (ours && plain && text.len() <= NEXT_MAX).then_some(text)
}

/// Converts a client's URL to a source for the content security policy, so that a form may redirect
/// to that URL. Returns `None` if the URL cannot be expressed as a source.
pub(super) fn policy_source(redirect: &str) -> Option<String> {
    let (scheme, rest) = redirect.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    let is_plain = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
    };
    if !is_plain(&scheme, "+-.") {
        return None;
    }
    let authority = rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?', '#']).next());
    match authority {
        // A policy cannot contain an IPv6 address.
        Some(authority) if scheme.starts_with("http") && is_plain(authority, ".-:") => {
            Some(format!("{scheme}://{authority}"))
        }
        _ => Some(format!("{scheme}:")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded_and_unique() {
        let fields = Fields::parse(b"a=1&b=%3C+%3E&c=").unwrap();
        assert_eq!(["a", "b", "c", "d"].map(|name| fields.get(name)), ["1", "< >", "", ""]);
        assert_eq!(Fields::parse(b"a=1&a=2"), Err(Malformed));
        assert_eq!(Fields::parse(b"a=1&%61=1"), Err(Malformed));
        assert_eq!(Fields::parse(&[b'a'; BYTES_MAX + 1]), Err(Malformed));
        let many: Vec<String> = (0..=FIELDS_MAX).map(|number| format!("f{number}=x")).collect();
        assert_eq!(Fields::parse(many.join("&").as_bytes()), Err(Malformed));
        assert!(Fields::parse(b"%ff=%00&&&=").is_ok());
    }

    #[test]
    fn redirects_lead_only_to_known_pages() {
        for good in [
            "/signin",
            "/oauth2/device/authorize/confirm",
            "/oauth2/device/authorize/confirm?user_code=BCDF-GHJK&client_id=7",
            "/oauth2/authorize?redirect_uri=http%3A%2F%2Flocalhost%3A60355%2Fcallback",
            "/oauth2/authorize?redirect_uri=http://localhost:60355/callback",
            "/",
            "/?symbol=700.HK&period=5m",
            "/coverage?symbol=700.HK",
        ] {
            assert_eq!(safe_next(good), Some(good));
        }
        let long = format!("/signin?{}", "x".repeat(NEXT_MAX));
        for bad in [
            "",
            "/\\",
            "//",
            "//example.org",
            "//example.org/signin",
            "/\\example.org",
            "\\\\example.org",
            "https://example.org/signin",
            "javascript:alert(1)",
            "/signin/../x",
            "/signin//example.org",
            "/signin?a=\\",
            "/signin?a=#b",
            "/signin?\r\nset-cookie:a=b",
            "/signin?a b",
            "/signin?é",
            " /signin",
            "/%73ignin",
            "/signin;a",
            "/health",
            &long,
        ] {
            assert_eq!(safe_next(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_policy_source_has_only_scheme_host_and_port() {
        for (redirect, source) in [
            ("http://localhost:60355/callback", Some("http://localhost:60355")),
            ("HTTPS://Example.org/a;b c?x#y", Some("https://Example.org")),
            ("http://127.0.0.1:1", Some("http://127.0.0.1:1")),
            ("http://[::1]:60355/callback", Some("http:")),
            ("com.example.app:/done", Some("com.example.app:")),
            ("com.example.app://done; script-src *", Some("com.example.app:")),
            ("https://user@example.org/", Some("https:")),
            ("http://a;b/", Some("http:")),
            ("no address", None),
            ("ja va:x", None),
            (":x", None),
        ] {
            assert_eq!(policy_source(redirect).as_deref(), source, "{redirect}");
        }
    }
}
