use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use hyper::http::uri::Authority;

/// The configured URL at which users and clients reach the service, which may be that of a proxy
/// with another name and TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParsePublicUrlError {
    #[error("{0:?} is not a public URL: write https://host, with a port or a path if need be")]
    Form(String),
    #[error("{0:?} has a port that there is not: ports are 1 to 65535")]
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

    /// Returns host and port, and the path under which a proxy serves the service, or an empty
    /// path.
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
        // Clients that cannot parse the port use the default one, on which another service may
        // listen.
        if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(ParsePublicUrlError::Port(shown()));
        }
        Ok(PublicUrl(url.to_owned()))
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
}
