//! The host in generated links: the host of the configured public URL or, if none is configured,
//! the host of the request.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use hyper::http::uri::Authority;

/// The configured URL at which users and clients reach the service. It may be the URL of a proxy
/// with another name and TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParsePublicUrlError {
    #[error("{0:?} is not a public URL: write https://host, with a port or a path if need be")]
    Form(String),
    #[error("{0:?} has an invalid port: ports are 1 to 65535")]
    Port(String),
}

const LENGTH_MAX: usize = 512;

impl PublicUrl {
    /// Returns the URL without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Returns the host with its port, and the path under which a proxy serves the service. The
    /// path is empty if there is none.
    pub(crate) fn parts(&self) -> (&str, &str) {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        rest.split_at(rest.find('/').unwrap_or(rest.len()))
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for PublicUrl {
    type Err = ParsePublicUrlError;

    fn from_str(text: &str) -> Result<PublicUrl, ParsePublicUrlError> {
        let shown = || text.chars().take(80).collect();
        let wrong = || ParsePublicUrlError::Form(shown());
        let url = text.trim().trim_end_matches('/');
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).ok_or_else(wrong)?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let fits = |text: &str, also: &[u8]| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || also.contains(&byte))
        };
        if url.len() > LENGTH_MAX || !fits(host, b"-._:[]") || !fits(path, b"-._~/") {
            return Err(wrong());
        }
        let authority: Authority = host.parse().map_err(|_| wrong())?;
        let (name, port) = host.split_at_checked(authority.host().len()).ok_or_else(wrong)?;
        let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(six) => six.parse::<Ipv6Addr>().is_ok(),
            None => !name.is_empty(),
        };
        if !is_name || !(port.is_empty() || port.starts_with(':')) {
            return Err(wrong());
        }
        // Clients that cannot parse the port use the default port, on which another service may
        // listen.
        if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(ParsePublicUrlError::Port(shown()));
        }
        Ok(PublicUrl(url.to_owned()))
    }
}

/// Maximum length of a host name with a port.
const HOST_MAX: usize = 255;

/// Returns the host for links if `public_url` is not set: `requested` if it belongs to this
/// service, otherwise the connection's local address.
///
/// A request's `Host` header is controlled by the client, and echoing it could send users to
/// another site. The header is used only if it belongs to this service: a loopback name, the
/// address that accepted the connection, or a name in the certificate.
pub(crate) fn own_host(requested: Option<&str>, reached: SocketAddr, certified: &[String]) -> String {
    match requested.filter(|host| is_own(host, reached, certified)) {
        Some(host) => host.to_owned(),
        None => SocketAddr::new(reached.ip().to_canonical(), reached.port()).to_string(),
    }
}

fn is_own(host: &str, reached: SocketAddr, certified: &[String]) -> bool {
    let Some((name, port)) = split(host) else { return false };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    if let Ok(address) = name.parse::<IpAddr>() {
        let is_reached = address.to_canonical() == reached.ip().to_canonical();
        return address.to_canonical().is_loopback()
            || (is_reached && port.is_none_or(|port| port == reached.port()));
    }
    certified.iter().any(|ours| is_name_of(name, ours))
}

/// Returns the host name without brackets, and the port if present. Returns `None` if the text is
/// not a host.
fn split(host: &str) -> Option<(&str, Option<u16>)> {
    if host.is_empty() || host.len() > HOST_MAX {
        return None;
    }
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    match port.strip_prefix(':') {
        Some(digits) => Some((name, Some(digits.parse().ok()?))),
        None => port.is_empty().then_some((name, None)),
    }
}

/// Returns whether a certificate name, possibly a wildcard, covers a host name.
fn is_name_of(name: &str, certified: &str) -> bool {
    match certified.strip_prefix("*.") {
        Some(rest) => {
            let is_part = |part: &str| {
                !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            name.split_once('.').is_some_and(|(first, own)| is_part(first) && own.eq_ignore_ascii_case(rest))
        }
        None => name.eq_ignore_ascii_case(certified),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_has_a_scheme_and_a_host_and_no_trailing_slash() {
        for (text, url) in [
            ("https://candles.example.com", "https://candles.example.com"),
            (" https://candles.example.com:8443/api/ ", "https://candles.example.com:8443/api"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), url);
        }
        for text in [
            "",
            "candles.example.com",
            "ftp://x",
            "https://",
            "https:///x",
            "https://a@b",
            "https://a?b",
            "https://a#b",
        ] {
            assert!(text.parse::<PublicUrl>().is_err(), "{text}");
        }
        for text in [
            "https://[::1",
            "https://[::1]x",
            "https://[x]",
            "https://a]",
            "https://a:b:1",
            "https://:1",
            "https://::1",
        ] {
            assert!(matches!(text.parse::<PublicUrl>(), Err(ParsePublicUrlError::Form(_))), "{text}");
        }
        assert!("https://a".parse::<PublicUrl>().unwrap().is_https());
        assert!(!"http://a".parse::<PublicUrl>().unwrap().is_https());
    }

    #[test]
    fn an_invalid_port_is_refused() {
        for text in [
            "http://a:0",
            "http://a:65536",
            "http://127.0.0.1:99999",
            "http://a:",
            "http://a:x",
            "http://[::1]:",
        ] {
            assert!(matches!(text.parse::<PublicUrl>(), Err(ParsePublicUrlError::Port(_))), "{text}");
        }
        for text in ["http://a:1", "http://[::1]:65535", "http://127.0.0.1:08080"] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn foreign_hosts_are_not_echoed() {
        let names = ["candles.example.com".to_owned(), "*.example.org".to_owned()];
        let reached: SocketAddr = "10.0.0.7:8080".parse().unwrap();
        for own in [
            "localhost",
            "LOCALHOST:9000",
            "127.0.0.1:8080",
            "127.1.2.3",
            "[::1]:80",
            "10.0.0.7:8080",
            "10.0.0.7",
            "candles.example.com",
            "Candles.Example.COM:8443",
            "eu.example.org",
        ] {
            assert_eq!(own_host(Some(own), reached, &names), own);
        }
        for foreign in [
            "",
            "evil.example",
            "10.0.0.8:8080",
            "10.0.0.7:81",
            "localhost.evil.example",
            "localhost:99999",
            "localhost:80@evil.example",
            "127.0.0.1.evil.example",
            "[::2]:80",
            "[::1",
            "::1",
            "example.org",
            "a.b.example.org",
            "evil.example/.example.org",
            ".example.org",
            "candles.example.com.",
            "candles.example.com:x",
            "candles.example.com/x",
            &"x".repeat(256),
        ] {
            assert_eq!(own_host(Some(foreign), reached, &names), "10.0.0.7:8080", "{foreign:?}");
        }
        assert_eq!(own_host(None, "[::ffff:10.0.0.7]:80".parse().unwrap(), &[]), "10.0.0.7:80");
        assert_eq!(own_host(Some("candles.example.com"), reached, &[]), "10.0.0.7:8080");
    }
}
