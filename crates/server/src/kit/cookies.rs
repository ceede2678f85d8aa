//! The three cookies that the pages use: the browser session, the CSRF secret of a visitor before
//! sign-in, and the marker of a known browser.

use access::{BROWSER_LIFE_S, Secret};
use hyper::header::HeaderValue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Session,
    /// CSRF secret for forms before sign-in.
    Visitor,
    /// Marks a browser that has signed in before.
    Device,
}

/// Lifetime of the device cookie in seconds (half a year).
const DEVICE_LIFE_S: i64 = 180 * 86_400;

impl Kind {
    /// Returns the cookie name. With the prefix `__Host-`, browsers accept the cookie only over
    /// HTTPS, from this exact host, for all paths.
    fn name(self, secure: bool) -> &'static str {
        match (self, secure) {
            (Kind::Session, false) => "chandler_session",
            (Kind::Session, true) => "__Host-chandler_session",
            (Kind::Visitor, false) => "chandler_visitor",
            (Kind::Visitor, true) => "__Host-chandler_visitor",
            (Kind::Device, false) => "chandler_device",
            (Kind::Device, true) => "__Host-chandler_device",
        }
    }

    fn life_s(self) -> Option<i64> {
        match self {
            Kind::Session => Some(BROWSER_LIFE_S),
            // No lifetime, so the browser deletes the cookie when it is closed.
            Kind::Visitor => None,
            Kind::Device => Some(DEVICE_LIFE_S),
        }
    }

    /// Returns the value of this cookie in a `Cookie` header, or `None` if the header does not
    /// contain it.
    pub(crate) fn read(self, cookies: &str, secure: bool) -> Option<&str> {
        let name = self.name(secure);
        let mut pairs = cookies.split(';').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(known, _)| known.trim() == name)
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn set(self, value: &Secret, secure: bool) -> Option<HeaderValue> {
        let life = self.life_s().map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
        self.header(value.expose(), &life, secure)
    }

    pub(crate) fn remove(self, secure: bool) -> Option<HeaderValue> {
        self.header("", "; Max-Age=0", secure)
    }

    fn header(self, value: &str, life: &str, secure: bool) -> Option<HeaderValue> {
        let (name, secure) = (self.name(secure), if secure { "; Secure" } else { "" });
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{life}");
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

/// Returns the session cookie from a `Cookie` header, unverified.
pub(crate) fn session(cookies: &str, is_https: bool) -> Option<&str> {
    Kind::Session.read(cookies, is_https)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_other_cookies() {
        let all = "a=b; chandler_session=one;chandler_visitor = two ; __Host-chandler_session=three; chandler_session=x";
        assert_eq!(Kind::Session.read(all, false), Some("one"));
        assert_eq!(Kind::Visitor.read(all, false), Some("two"));
        assert_eq!(Kind::Session.read(all, true), Some("three"));
        for none in ["", "chandler_session", "chandler_session=", "xchandler_session=1", ";;;=;"] {
            assert_eq!(Kind::Session.read(none, false), None, "{none}");
        }
    }

    #[test]
    fn cookies_are_http_only_and_same_site() {
        let text = |header: Option<HeaderValue>| header.unwrap().to_str().unwrap().to_owned();
        let value = Secret::new("abc".to_owned());
        assert_eq!(
            text(Kind::Session.set(&value, false)),
            "chandler_session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=43200"
        );
        assert_eq!(
            text(Kind::Visitor.set(&value, true)),
            "__Host-chandler_visitor=abc; Path=/; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(
            text(Kind::Session.remove(true)),
            "__Host-chandler_session=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0"
        );
        assert!(Kind::Device.set(&value, true).unwrap().is_sensitive());
        assert!(Kind::Device.set(&Secret::new("a\r\nb".to_owned()), true).is_none());
    }
}
