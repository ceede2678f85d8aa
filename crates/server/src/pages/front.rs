//! The chart and the desk: two documents for everybody, whoever they are. Their scripts ask for the rest with the session of
//! the browser. In a demonstration whoever comes on the same machine is signed in on the way.

use std::net::IpAddr;
use std::time::Duration;

use hyper::header::{HOST, HeaderMap, HeaderName, SET_COOKIE};

use super::*;

/// What proxies write; whoever comes through one is not on this machine, whatever the address says.
const PROXIED: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];
/// Sessions of guests that begin within [`GUESTS_EACH`]; more than a person at a browser begins.
pub(crate) const GUESTS_MAX: u32 = 60;
pub(crate) const GUESTS_EACH: Duration = Duration::from_secs(60);

pub(super) fn answer(visit: &Visit<'_>, document: &str) -> Result<Answer, Trouble> {
    let cookies = guest(visit)?;
    let document = assets::document(visit.asked.headers, document, visit.words.lang, visit.frame.base);
    let mut answer = document.ok_or(Trouble::Failed)?;
    for cookie in cookies {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// The cookies of a session that begins with this look.
fn guest(visit: &Visit<'_>) -> Result<Vec<HeaderValue>, Trouble> {
    let (asked, services) = (visit.asked, visit.services);
    let Some(account) = services.guest.filter(|_| visit.session.is_none() && is_guest(asked)) else {
        return Ok(Vec::new());
    };
    if services.guests.pass(account, services.uptime()).is_err() {
        return Ok(Vec::new());
    }
    let signed_in = services.access.sign_in_guest(account, asked.peer.ip(), services.machine_now())?;
    let cookie = signed_in.and_then(|signed_in| Kind::Session.set(&signed_in.session, visit.secure));
    Ok(cookie.into_iter().collect())
}

/// Whether a person on this very machine opens a page. A name that somebody else has pointed at this machine is told by the
/// host that the browser asks for; a picture or a frame on somebody else's page is no person who opens one.
fn is_guest(asked: &Asked<'_>) -> bool {
    let opens = asked.header("sec-fetch-dest").is_none_or(|dest| dest == "document");
    asked.method == Method::GET
        && asked.peer.ip().to_canonical().is_loopback()
        && !PROXIED.iter().any(|name| asked.headers.contains_key(HeaderName::from_static(name)))
        && is_loopback_host(asked.headers)
        && opens
}

fn is_loopback_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        return is_port(port)
            && address.parse::<std::net::Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    let is_here = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_here && is_port(port)
}

/// Nothing, or a colon and a number.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_can_be_nowhere_else_are_of_this_machine() {
        let is = |host: &str| {
            is_loopback_host(&HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]))
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
            "0.0.0.0:8080",
            "[::1",
            "[::]",
            "[2001:db8::1]:80",
            "localhost:8080@example.org",
            "localhost:x",
            "localhost.",
            "user@localhost",
        ] {
            assert!(!is(host), "{host}");
        }
        assert!(!is_loopback_host(&HeaderMap::new()));
        let twice = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        let mut twice = twice;
        twice.append(HOST, HeaderValue::from_static("localhost"));
        assert!(!is_loopback_host(&twice));
    }
}
