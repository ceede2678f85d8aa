//! Determines the client behind a proxy. `X-Forwarded-For` and `Forwarded` are trusted only from
//! configured proxies, and only the hops that these proxies added. All hops before the first
//! untrusted hop may be forged by the client.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use hyper::header::{FORWARDED, HeaderMap, HeaderName};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Maximum number of hops parsed. No deployment has that many proxies in a row.
const HOPS_MAX: usize = 16;
/// Maximum length of a hop in bytes, which is longer than an IPv6 address with brackets and a port.
const HOP_MAX: usize = 64;

/// A proxy, or a network of proxies: `10.0.0.7`, `10.1.0.0/16`, `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a proxy to trust: {reason}")]
pub struct ParseTrustedProxyError {
    text: String,
    reason: &'static str,
}

impl FromStr for TrustedProxy {
    type Err = ParseTrustedProxyError;

    fn from_str(text: &str) -> Result<TrustedProxy, ParseTrustedProxyError> {
        let wrong = |reason| ParseTrustedProxyError { text: text.chars().take(80).collect(), reason };
        let spelling = "write an address like 10.0.0.7, or a network like 10.0.0.0/8 or fd00::/8";
        let (address, prefix) = match text.trim().split_once('/') {
            None => (text.trim(), None),
            Some((address, prefix)) => (address, Some(prefix)),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong(spelling))?;
        if address != address.to_canonical() {
            return Err(wrong("write the IPv4 address that it maps"));
        }
        let prefix = match prefix {
            None => IpNet::from(address).max_prefix_len(),
            Some(digits) if (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) => {
                // Values of 256 and above exceed any prefix length.
                digits.parse().unwrap_or(u8::MAX)
            }
            Some(_) => return Err(wrong(spelling)),
        };
        let network =
            IpNet::new(address, prefix).map_err(|_| wrong("its prefix is longer than the address"))?;
        if prefix == 0 {
            return Err(wrong("it contains every address, so any client could forge its address"));
        }
        if network.trunc() != network {
            return Err(wrong("it has bits beyond its prefix: name the network's first address"));
        }
        Ok(TrustedProxy(network))
    }
}

impl fmt::Display for TrustedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TrustedProxy(network) = self;
        if network.prefix_len() == network.max_prefix_len() { network.addr().fmt(f) } else { network.fmt(f) }
    }
}

/// Returns whether an address belongs to a trusted proxy.
pub(crate) fn is_trusted(trusted: &[TrustedProxy], address: IpAddr) -> bool {
    trusted.iter().any(|TrustedProxy(network)| network.contains(&address.to_canonical()))
}

/// Returns the client of a request from `peer`: the last hop that is not a trusted proxy. Returns
/// `peer` if a header cannot be parsed, or if the two headers disagree.
pub(crate) fn client(trusted: &[TrustedProxy], peer: SocketAddr, headers: &HeaderMap) -> SocketAddr {
    let is_trusted = |address: IpAddr| is_trusted(trusted, address);
    if !is_trusted(peer.ip()) {
        return peer;
    }
    let hops = |name: HeaderName, read: fn(&str) -> Option<SocketAddr>| {
        let mut lines = headers.get_all(name).iter().rev().peekable();
        // A missing header is ignored. An invalid header makes the whole claim invalid.
        lines.peek()?;
        let hops = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        Some(last_stranger(hops.map(read), is_trusted))
    };
    // A proxy writes one of the two headers, and may forward the client's other header unchanged.
    let found = match (hops(X_FORWARDED_FOR, hop), hops(FORWARDED, forwarded_hop)) {
        (Some(one), Some(other)) => one.filter(|one| other.is_some_and(|other| one.ip() == other.ip())),
        (one, other) => one.or(other).flatten(),
    };
    found.unwrap_or(peer)
}

/// Returns the nearest untrusted hop, or the farthest hop if all are trusted. Returns `None` if
/// there are no hops, too many hops, or a hop cannot be parsed.
fn last_stranger(
    hops: impl Iterator<Item = Option<SocketAddr>>,
    is_trusted: impl Fn(IpAddr) -> bool,
) -> Option<SocketAddr> {
    let mut farthest = None;
    for (number, hop) in hops.enumerate() {
        let hop = hop.filter(|_| number < HOPS_MAX)?;
        if !is_trusted(hop.ip()) {
            return Some(hop);
        }
        farthest = Some(hop);
    }
    farthest
}

/// Parses an address with an optional port, which defaults to 0. Only an IPv6 address may have
/// brackets, and it must have them if there is a port.
fn hop(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    if text.len() > HOP_MAX {
        return None;
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let alone = match bare {
        Some(inside) => inside.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    };
    let found = alone.map(|address| SocketAddr::new(address, 0)).or_else(|| text.parse().ok())?;
    Some(SocketAddr::new(found.ip().to_canonical(), found.port()))
}

/// Parses the `for` parameter of one `Forwarded` element (RFC 7239).
fn forwarded_hop(element: &str) -> Option<SocketAddr> {
    let mut values = element.split(';').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then_some(value.trim())
    });
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    hop(bare.unwrap_or(value))
}

/// Formats an address for display, without the port if the proxy did not report one.
pub(crate) fn shown(address: SocketAddr) -> String {
    if address.port() == 0 { address.ip().to_string() } else { address.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(text: &str) -> Vec<TrustedProxy> {
        text.split(' ').filter(|text| !text.is_empty()).map(|text| text.parse().unwrap()).collect()
    }

    /// Checks the client of a request from the peer 10.0.0.1. Each element of `lines` is a header.
    #[track_caller]
    fn check(trusted: &str, lines: &[(&str, &str)], expected: &str) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, hyper::header::HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let peer = "10.0.0.1:50000".parse().unwrap();
        assert_eq!(shown(client(&proxies(trusted), peer, &headers)), expected, "{lines:?}");
    }

    const PEER: &str = "10.0.0.1:50000";

    #[test]
    fn headers_from_untrusted_peers_are_ignored() {
        let says = [("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=192.0.2.1")];
        for trusted in ["", "10.0.0.2", "10.1.0.0/16", "::/1 fd00::/8"] {
            check(trusted, &says, PEER);
        }
        for trusted in ["10.0.0.1", "10.0.0.0/8", "10.0.0.0/31", "192.168.0.1 10.0.0.1"] {
            check(trusted, &says, "192.0.2.1");
            check(trusted, &[], PEER);
        }
    }

    #[test]
    fn the_last_untrusted_hop_is_the_client() {
        let one = |value: &str, expected: &str| check("10.0.0.0/8", &[("x-forwarded-for", value)], expected);
        one("192.0.2.1", "192.0.2.1");
        one("203.0.113.9, 192.0.2.1", "192.0.2.1");
        one("203.0.113.9,192.0.2.1 , 10.9.9.9,10.0.0.2", "192.0.2.1");
        one("nonsense, 192.0.2.1, 10.9.9.9", "192.0.2.1");
        one("192.0.2.1:4711", "192.0.2.1:4711");
        one("2001:db8::1", "2001:db8::1");
        one("[2001:db8::1]", "2001:db8::1");
        one("[2001:db8::1]:4711", "[2001:db8::1]:4711");
        one("::ffff:192.0.2.1", "192.0.2.1");
        one("::ffff:10.2.2.2", "10.2.2.2");
        one("10.3.3.3, 10.2.2.2", "10.3.3.3");
        let lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "192.0.2.1, 10.1.1.1")];
        check("10.0.0.0/8", &lines, "192.0.2.1");
    }

    #[test]
    fn an_invalid_header_leaves_the_proxy_as_client() {
        let long = format!("192.0.2.1{}", " ".repeat(5_000)) + &"9".repeat(100);
        let many = ["10.1.1.1"; HOPS_MAX + 1].join(",");
        for value in [
            "",
            "unknown",
            "_hidden",
            "localhost",
            "192.0.2.1, ",
            "192.0.2.1, unknown",
            "192.0.2.1, 10.1.1.1, x",
            "192.0.2.1.5",
            "192.0.2.1:99999",
            "[192.0.2.1]",
            "[2001:db8::1",
            "fe80::1%eth0",
            "192.0.2.1 203.0.113.9",
            "192.0.2.1\u{e9}",
            &long,
            &many,
        ] {
            check("10.0.0.0/8", &[("x-forwarded-for", value)], PEER);
        }
        let most = format!("192.0.2.1,{}", ["10.1.1.1"; HOPS_MAX - 1].join(","));
        check("10.0.0.0/8", &[("x-forwarded-for", &most)], "192.0.2.1");
    }

    #[test]
    fn the_standard_header_is_parsed_too() {
        let one = |value: &str, expected: &str| check("10.0.0.0/8", &[("forwarded", value)], expected);
        one("for=192.0.2.1", "192.0.2.1");
        one("proto=https; For=\"[2001:db8::1]:4711\" ;by=203.0.113.1", "[2001:db8::1]:4711");
        one("for=\"x, for=203.0.113.9;proto=http, for=192.0.2.1, for=10.1.1.1", "192.0.2.1");
        for nothing in ["", "by=192.0.2.1", "for=unknown", "for=_x", "for", "for=192.0.2.1;for=192.0.2.2"] {
            one(nothing, PEER);
        }
    }

    #[test]
    fn two_headers_that_disagree_are_both_ignored() {
        let both = |one: &str, other: &str, expected: &str| {
            check("10.0.0.0/8", &[("x-forwarded-for", one), ("forwarded", other)], expected);
        };
        both("192.0.2.1", "for=192.0.2.1", "192.0.2.1");
        both("192.0.2.1", "for=203.0.113.9", PEER);
        both("192.0.2.1", "for=unknown", PEER);
        both("unknown", "for=192.0.2.1", PEER);
    }

    #[test]
    fn networks_round_trip_through_text() {
        for text in ["10.0.0.7", "10.0.0.0/8", "192.0.2.128/25", "fd00::/8", "2001:db8::1", "::/1"] {
            assert_eq!(text.parse::<TrustedProxy>().unwrap().to_string(), text);
        }
        assert_eq!(" 10.0.0.7/32 ".parse::<TrustedProxy>().unwrap().to_string(), "10.0.0.7");
        for (text, says) in [
            ("", "write an address"),
            ("proxy.example.com", "write an address"),
            ("10.0.0.7:80", "write an address"),
            ("10.0.0.0/", "write an address"),
            ("10.0.0.0/+8", "write an address"),
            ("10.0.0.0/8/8", "write an address"),
            ("10.0.0.0/33", "longer than the address"),
            ("fd00::/129", "longer than the address"),
            ("10.0.0.1/8", "bits beyond its prefix"),
            ("0.0.0.0/0", "every address"),
            ("::/0", "every address"),
            ("::ffff:10.0.0.1", "write the IPv4 address"),
        ] {
            let error = text.parse::<TrustedProxy>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!("9".repeat(500).parse::<TrustedProxy>().unwrap_err().to_string().len() < 300);
    }
}
