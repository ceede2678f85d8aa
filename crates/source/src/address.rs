//! The HTTP and WebSocket addresses of a server.

use std::fmt;

/// Addresses of a server: `http` or `https` for sign-in, `ws` or `wss` for quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    http: String,
    quote: SocketAddress,
}

/// A WebSocket address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketAddress {
    pub(crate) is_tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query of the URL.
    pub(crate) path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an address of {what}: write {example}")]
pub struct ParseAddressError {
    what: &'static str,
    text: String,
    example: &'static str,
}

impl Addresses {
    /// Parses both addresses. The default quote address is the HTTP address with the path `/v2`,
    /// which Chandler serves.
    pub fn parse(http: &str, quote: Option<&str>) -> Result<Addresses, ParseAddressError> {
        let http = http.trim_end_matches('/');
        let wrong = || ParseAddressError {
            what: "a server",
            text: printable(http),
            example: "https://quotes.example.org",
        };
        let of_http = SocketAddress::parse(http, ["http", "https"]).ok_or_else(wrong)?;
        let quote = match quote {
            Some(text) => SocketAddress::parse(text, ["ws", "wss"]).ok_or_else(|| ParseAddressError {
                what: "a quote connection",
                text: printable(text),
                example: "wss://quotes.example.org/v2",
            })?,
            None => SocketAddress { path: format!("{}/v2", of_http.path.trim_end_matches('/')), ..of_http },
        };
        Ok(Addresses { http: http.to_owned(), quote })
    }

    /// Returns the HTTP address without a trailing slash.
    pub fn http(&self) -> &str {
        &self.http
    }

    /// Returns the address of the quote connection.
    pub fn quote(&self) -> String {
        self.quote.to_string()
    }

    pub(crate) fn socket(&self) -> &SocketAddress {
        &self.quote
    }

    /// Returns whether the HTTP address is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        SocketAddress::parse(&self.http, ["http", "https"]).is_some_and(|address| {
            let host = address.host.as_str();
            host.eq_ignore_ascii_case("localhost")
                || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        })
    }
}

impl SocketAddress {
    fn parse(text: &str, [plain, tls]: [&str; 2]) -> Option<SocketAddress> {
        let (scheme, rest) = text.split_once("://")?;
        let is_tls = match scheme {
            _ if scheme == plain => false,
            _ if scheme == tls => true,
            _ => return None,
        };
        // Text before `@` would be a user name or a password.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains(['@', '#', '\\', '"', '\'']) {
            return None;
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let default = if is_tls { 443 } else { 80 };
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']')?;
                let port = if after.is_empty() { None } else { Some(after.strip_prefix(':')?) };
                (host, port)
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = port.map_or(Some(default), |port| port.parse().ok().filter(|port| *port > 0))?;
        if host.is_empty() {
            return None;
        }
        Some(SocketAddress { is_tls, host: host.to_owned(), port, path: path.to_owned() })
    }

    /// Returns host and port in the format of the `host` header.
    pub(crate) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for SocketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "wss" } else { "ws" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

fn printable(text: &str) -> String {
    // The text before `@` may be a password, so it is not part of the error.
    let text = text.rsplit('@').next().unwrap_or_default();
    text.chars().filter(|char| !char.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quote_address_defaults_to_the_http_address() {
        let quote = |http: &str| Addresses::parse(http, None).map(|both| both.quote());
        assert_eq!(quote("http://127.0.0.1:8080").unwrap(), "ws://127.0.0.1:8080/v2");
        assert_eq!(quote("https://a.example.org/x/").unwrap(), "wss://a.example.org:443/x/v2");
        assert_eq!(quote("http://[::1]:81").unwrap(), "ws://[::1]:81/v2");
        let both = Addresses::parse("http://a", Some("ws://b:2020/v3?x=1")).unwrap();
        assert_eq!((both.http(), both.quote().as_str()), ("http://a", "ws://b:2020/v3?x=1"));
        assert!(Addresses::parse("http://localhost:1", None).unwrap().is_loopback());
        assert!(!both.is_loopback());
    }

    #[test]
    fn errors_of_invalid_addresses_omit_the_password() {
        for text in ["", "a", "ftp://a", "http://", "http://a:0", "http://a:x", "http://a b", "http://[::1"] {
            assert!(Addresses::parse(text, None).is_err(), "{text:?}");
        }
        let error = Addresses::parse("http://ann:hush@a", None).unwrap_err().to_string();
        assert!(!error.contains("hush"), "{error}");
        let error = Addresses::parse("http://a", Some("tcp://a:2020")).unwrap_err().to_string();
        assert!(error.contains("wss://"), "{error}");
    }
}
