//! The host in generated links if `public_url` is not set. A request's `Host` header is controlled
//! by the client, and echoing it could send users to another site. It is used only if it belongs to
//! this service: a loopback name, the address that accepted the connection, or a name in the
//! certificate.

use std::net::{IpAddr, SocketAddr};

/// Maximum length of a host name with a port.
const HOST_MAX: usize = 255;

/// Returns the host for links: `requested` if it belongs to this service, otherwise the
/// connection's local address.
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

/// Returns the host name without brackets, and the port.
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
