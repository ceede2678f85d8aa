//! Detects whether a request comes from this machine, and from which user of the machine. Local
//! requests need no credentials for metrics and for the demo pages.
//!
//! A proxy on this machine forwards requests from remote clients, which must not be treated as
//! local. A request is therefore not local if a proxy may have forwarded it: if the request has a
//! header that proxies add, if it is HTTP/1.0, which proxies use by default, or if its host is not
//! this machine. The last check also excludes web pages whose host name was pointed at this machine
//! (DNS rebinding). A proxy that uses HTTP/1.1, adds no header and names this machine as the host
//! is indistinguishable from a local program; [`Site::nobody_is_local`] covers the settings that
//! imply such a proxy.
//!
//! [`Site::nobody_is_local`]: crate::kit::Site::nobody_is_local

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use access::{AccessError, Account, AccountId, Actor, Secret};
use hyper::Version;
use hyper::header::{HOST, HeaderMap};

use crate::accepted::Accepted;
use crate::kit::{Site, paths};

/// Headers that proxies, load balancers and content delivery networks add.
const FORWARDING: [&str; 19] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-remote-ip",
    "x-remote-addr",
    "x-original-host",
    "x-original-url",
    "x-envoy-external-address",
    "x-azure-clientip",
    "x-amzn-trace-id",
    "true-client-ip",
    "client-ip",
    "cdn-loop",
    "fastly-client-ip",
    "fly-client-ip",
    "proxy-client-ip",
    "wl-proxy-client-ip",
];
/// Prefixes of further headers that proxies add.
const FORWARDING_FAMILIES: [&str; 3] = ["x-forwarded", "x-original-forwarded", "cf-"];

pub(crate) fn is_local(accepted: &Accepted, version: Version, headers: &HeaderMap) -> bool {
    accepted.peer.ip().to_canonical().is_loopback()
        && !accepted.site.nobody_is_local
        && is_direct(version, headers)
        && is_for_this_machine(headers)
}

/// Returns whether nothing indicates that a proxy forwarded the request.
fn is_direct(version: Version, headers: &HeaderMap) -> bool {
    let writes = |name: &str| {
        FORWARDING.contains(&name) || FORWARDING_FAMILIES.iter().any(|family| name.starts_with(family))
    };
    version >= Version::HTTP_11 && !headers.keys().any(|name| writes(name.as_str()))
}

/// Returns whether a request has exactly one `Host` header, which is a loopback name or address.
fn is_for_this_machine(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        return is_port(port) && address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    let is_here = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_here && is_port(port)
}

/// Returns whether the text is empty, or a colon and a port.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.parse::<u16>().is_ok())
}

/// Issues one-time links, which sign in the user of this machine to the server's pages.
#[derive(Clone, Debug)]
pub struct SignInLinks {
    site: Arc<Site>,
    address: SocketAddr,
}

impl SignInLinks {
    pub(crate) fn new(site: Arc<Site>, address: SocketAddr) -> SignInLinks {
        SignInLinks { site, address }
    }

    /// Returns whether one-time links are available, which requires that the server serves only
    /// this machine, without a proxy
    /// ([`Settings::is_for_this_machine`](crate::Settings::is_for_this_machine)).
    pub fn are_offered(&self) -> bool {
        self.site.has_sign_in_links
    }

    /// Returns the account of this machine's user. Creates the account if it does not exist.
    pub fn local_account(&self) -> Result<Account, AccessError> {
        self.site.core.access.local_account(&Actor::Operator, self.site.core.machine_now())
    }

    /// Issues a new link for an account, or returns `None` if links are not available. `next` is
    /// the page that the link opens, such as `/?symbol=700.HK`.
    pub fn issue(&self, account: AccountId, next: &str) -> Result<Option<Secret>, AccessError> {
        if !self.are_offered() {
            return Ok(None);
        }
        let (access, now) = (&self.site.core.access, self.site.core.machine_now());
        let token = access.issue_sign_in_link(account, next, &Actor::Operator, now)?;
        let link = format!("http://{}{}?token={}", self.address, paths::SIGN_IN_ONCE, token.expose());
        Ok(Some(Secret::new(link)))
    }
}

/// Returns whether the other end of a loopback connection is known to belong to another user than
/// this process. Linux lists every socket with its owner. Other systems have no such list that is
/// readable without privileges, so users cannot be distinguished there. Root may act as any user,
/// and a server run by root cannot know for whom it was started, so neither is treated as another
/// user.
#[cfg(target_os = "linux")]
pub(crate) fn is_of_another_user(peer: SocketAddr, reached: SocketAddr) -> bool {
    use std::fs::File;
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;

    /// Maximum number of bytes read from the table, enough for a hundred thousand connections.
    const TABLE_MAX: u64 = 32 << 20;
    let Ok(own) = std::fs::metadata("/proc/self").map(|process| process.uid()) else { return false };
    let path = if peer.ip().to_canonical().is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let mut table = String::new();
    let is_read = File::open(path).and_then(|file| file.take(TABLE_MAX).read_to_string(&mut table)).is_ok();
    let owner = if is_read { owner_of(&table, peer, reached) } else { None };
    owner.is_some_and(|owner| own != 0 && owner != 0 && owner != own)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_of_another_user(_: SocketAddr, _: SocketAddr) -> bool {
    false
}

/// Returns the user id that owns the open connection between two addresses in the kernel's socket
/// table, or `None` if the table does not list it.
#[cfg(any(target_os = "linux", test))]
fn owner_of(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u32> {
    const OPEN: &str = "01";
    let (from, to) = (written(from), written(to));
    let mut rows = table.lines().skip(1).map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let (local, remote, state) = (columns.next(), columns.next(), columns.next());
        (local, remote, state, columns.nth(3))
    });
    let is_it = |column: Option<&str>, wanted: &str| column.is_some_and(|text| text == wanted);
    rows.find(|(local, remote, state, _)| is_it(*local, &from) && is_it(*remote, &to) && is_it(*state, OPEN))
        .and_then(|(_, _, _, owner)| owner?.parse().ok())
}

/// Formats an address as in the kernel's table: hexadecimal words in machine byte order, a colon,
/// and the port.
#[cfg(any(target_os = "linux", test))]
fn written(address: SocketAddr) -> String {
    use std::fmt::Write;

    let octets: Vec<u8> = match address.ip().to_canonical() {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    };
    let mut text = octets.as_chunks::<4>().0.iter().fold(String::new(), |mut text, word| {
        let word = if cfg!(target_endian = "little") {
            u32::from_le_bytes(*word)
        } else {
            u32::from_be_bytes(*word)
        };
        // Writing to a `String` never fails.
        write!(text, "{word:08X}").ok();
        text
    });
    write!(text, ":{:04X}", address.port()).ok();
    text
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn only_loopback_hosts_are_local() {
        let is = |host: &str| {
            is_for_this_machine(&HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]))
        };
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:8080", "127.8.9.1:1", "[::1]", "[::1]:80"]
        {
            assert!(is(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "127.1",
            "2130706433",
            "192.168.0.1",
            "10.0.0.7:8080",
            "0.0.0.0:8080",
            "::1",
            "[::1",
            "[::]",
            "[::2]:80",
            "[2001:db8::1]:80",
            "localhost:8080@example.org",
            "localhost:x",
            "localhost.",
            "user@localhost",
        ] {
            assert!(!is(host), "{host}");
        }
        assert!(!is_for_this_machine(&HeaderMap::new()));
        let mut twice = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        twice.append(HOST, HeaderValue::from_static("localhost"));
        assert!(!is_for_this_machine(&twice));
    }

    #[test]
    fn a_request_that_may_be_forwarded_is_not_direct() {
        let with = |name: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static("x"))])
        };
        for name in FORWARDING.into_iter().chain([
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-proto",
            "x-forwarded-port",
            "x-forwarded-server",
            "x-forwarded-prefix",
            "x-forwarded",
            "x-original-forwarded-for",
            "cf-connecting-ip",
            "cf-ray",
        ]) {
            assert!(!is_direct(Version::HTTP_11, &with(name)), "{name}");
        }
        for name in ["accept", "user-agent", "sec-fetch-dest", "cookie", "authorization"] {
            assert!(is_direct(Version::HTTP_11, &with(name)), "{name}");
        }
        assert!(!is_direct(Version::HTTP_10, &HeaderMap::new()));
        assert!(!is_direct(Version::HTTP_09, &HeaderMap::new()));
    }

    #[cfg(target_endian = "little")]
    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1
   3: 0100007F:C351 0100007F:1F90 06 00000000:00000000 00:00000000 00000000  1002        0 4 1 0 20 4 30 10 -1
";

    #[cfg(target_endian = "little")]
    #[test]
    fn the_peer_owner_is_found_in_the_socket_table() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let owner = |from: &str, to: &str| owner_of(TABLE, at(from), at(to));
        assert_eq!(owner("127.0.0.1:50000", "127.0.0.1:8080"), Some(1001));
        assert_eq!(owner("[::ffff:127.0.0.1]:50000", "[::ffff:127.0.0.1]:8080"), Some(1001));
        assert_eq!(owner("127.0.0.1:8080", "127.0.0.1:50000"), Some(1000), "our own end");
        assert_eq!(owner("127.0.0.1:50001", "127.0.0.1:8080"), None, "a connection that has ended");
        assert_eq!(owner("127.0.0.2:50000", "127.0.0.1:8080"), None);
        assert_eq!(owner_of("", at("127.0.0.1:1"), at("127.0.0.1:2")), None);
        assert_eq!(owner_of("x\n\u{0}\n: : :", at("127.0.0.1:1"), at("127.0.0.1:2")), None);
        assert_eq!(written(at("[::1]:80")), "00000000000000000000000001000000:0050");
    }
}
