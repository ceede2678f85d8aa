//! Checks whether a server could listen on its configured ports, and whether the `--server` address
//! is healthy.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use access::TIMESTAMP_TOLERANCE_S;
use market::Timestamp;
use serde_json::Value;

use super::check::Check;
use crate::clock::Clock;
use crate::config::{ServerConfig, clash};
use crate::output::printable;
use crate::remote::field;
use crate::remote::http::{Answer, Http, Method, Network, Request};
use crate::sdk::Url;

/// Maximum clock difference without a warning, in seconds.
const DRIFT_S: i64 = 30;
/// Timeout for probing a local port.
const PROBE_WITHIN: Duration = Duration::from_secs(2);
/// Maximum length of a server's reasons in the output, in characters.
const REASONS_CHARS_MAX: usize = 300;

/// The program that listens on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Chandler,
    Other,
    /// The listener uses TLS with a certificate that this command cannot verify.
    Unknown,
}

pub(super) fn all(config: &ServerConfig) -> Vec<Check> {
    all_asking(config, &|address| {
        let url = Url::of(reachable(address));
        health(&url, &Network::within(&url, PROBE_WITHIN)).is_ok_and(|(health, _)| health.is_chandler())
    })
}

/// Checks all configured ports. `probe` returns whether Chandler answers at an address. Each
/// address is probed at most once, because a timeout is slow.
fn all_asking(config: &ServerConfig, probe: &dyn Fn(SocketAddr) -> bool) -> Vec<Check> {
    let requested = RefCell::new(BTreeMap::new());
    let answers =
        |address: SocketAddr| *requested.borrow_mut().entry(address).or_insert_with(|| probe(address));
    // The internal listener never uses TLS. If Chandler answers there, the other ports are assumed
    // to belong to the same server.
    let holder = |address: SocketAddr| match config.internal.map(answers) {
        Some(true) => Holder::Chandler,
        _ if !config.tls_cert.is_empty() => Holder::Unknown,
        _ if answers(address) => Holder::Chandler,
        _ => Holder::Other,
    };
    // Raw TCP cannot be probed. If Chandler answers on the HTTP port, the TCP port is assumed to
    // belong to the same server.
    let mut checks = Vec::new();
    let mut before: Vec<(&str, SocketAddr)> = Vec::new();
    for (setting, address) in config.listeners() {
        let holder = || match setting {
            "tcp" => holder(config.listen),
            "internal" if answers(address) => Holder::Chandler,
            "internal" => Holder::Other,
            _ => holder(address),
        };
        checks.push(match clash(setting, address, &before) {
            Some(says) => {
                Check::fail("port", says, format!("give {setting} another port (docs/chandler.toml)"))
            }
            None => judge(address, try_bind(address), holder),
        });
        before.push((setting, address));
    }
    checks
}

/// Replaces an unspecified address such as 0.0.0.0 with the loopback address.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Checks whether the port is free by binding to it briefly.
fn try_bind(address: SocketAddr) -> Result<(), io::ErrorKind> {
    TcpListener::bind(address).map(drop).map_err(|error| error.kind())
}

fn judge(address: SocketAddr, bound: Result<(), io::ErrorKind>, holder: impl FnOnce() -> Holder) -> Check {
    const NAME: &str = "port";
    match bound {
        Ok(()) => Check::ok(NAME, format!("{address} is free")),
        Err(io::ErrorKind::AddrInUse) => match holder() {
            Holder::Chandler => {
                Check::ok(NAME, format!("{address} is in use by a Chandler server that responds"))
            }
            Holder::Unknown => Check::warn(
                NAME,
                format!("{address} is in use; with TLS, doctor cannot tell by which program"),
                "name the server as its clients do: `chandler doctor --server https://…`",
            ),
            Holder::Other => Check::fail(
                NAME,
                format!("{address} is in use by another program"),
                "stop it, or choose another port (--listen, --tcp, docs/chandler.toml)",
            ),
        },
        Err(io::ErrorKind::PermissionDenied) => Check::fail(
            NAME,
            format!("this user may not listen on {address}"),
            "choose a port of 1024 or higher, or use a proxy",
        ),
        Err(io::ErrorKind::AddrNotAvailable) => Check::fail(
            NAME,
            format!("{address} is not an address of this machine"),
            "use an address of this machine, or 0.0.0.0",
        ),
        Err(kind) => {
            Check::fail(NAME, format!("cannot listen on {address}: {kind}"), "choose another address")
        }
    }
}

/// Health of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Health {
    Well,
    /// The server is not ready. Contains the server's reasons.
    Unwell(String),
    /// The response is from another program. Contains the HTTP status.
    Other(u16),
}

impl Health {
    fn is_chandler(&self) -> bool {
        !matches!(self, Health::Other(_))
    }
}

/// Checks that a server is healthy and its clock is accurate.
pub(super) fn server(url: &Url, http: &dyn Http) -> Vec<Check> {
    const NAME: &str = "server";
    let shown = url.as_str();
    let (health, answer) = match health(url, http) {
        Ok(found) => found,
        Err(error) => {
            return vec![Check::fail(
                NAME,
                format!("{error:#}"),
                "is it running there, and is the address right?",
            )];
        }
    };
    let check = match health {
        Health::Well => Check::ok(NAME, format!("{shown} is healthy")),
        Health::Unwell(reasons) => {
            Check::fail(NAME, format!("{shown} is not ready: {reasons}"), "see its log")
        }
        Health::Other(status) => {
            let says = format!("{shown} responds with status {status}, but is not a Chandler server");
            // The clock of another program is not checked.
            return vec![Check::fail(NAME, says, "is the address right, with its port and path?")];
        }
    };
    let mut checks = vec![check];
    let date = answer.headers.get("date").and_then(parse_date);
    checks.extend(date.map(|there| drift(Clock::Machine.now(), there, shown)));
    checks
}

/// Requests the server's health. The body is checked as well as the status, because other programs
/// may also answer 200 or "ok".
fn health(url: &Url, http: &dyn Http) -> anyhow::Result<(Health, Answer)> {
    let ask = |path: &str| http.send(&Request::new(Method::Get, format!("{}{path}", url.as_str())));
    let answer = ask("/readyz")?;
    if answer.status == 404 {
        // Older servers do not have `/readyz`.
        let answer = ask("/health")?;
        let is_ours = answer.is_success() && answer.body == b"success";
        let health = if is_ours { Health::Well } else { Health::Other(answer.status) };
        return Ok((health, answer));
    }
    let body = answer.json().unwrap_or_default();
    let health = match (field(&body, "ready").as_bool(), field(&body, "reasons").as_array()) {
        (Some(true), Some(_)) if answer.is_success() => Health::Well,
        (Some(false), Some(reasons)) => Health::Unwell(describe(reasons)),
        _ => Health::Other(answer.status),
    };
    Ok((health, answer))
}

/// Joins the server's reasons into text that is safe for a terminal, truncated to
/// [`REASONS_CHARS_MAX`].
fn describe(reasons: &[Value]) -> String {
    let words: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
    printable(&words.join("; ")).chars().take(REASONS_CHARS_MAX).collect()
}

/// Parses an HTTP date such as `Sun, 15 Nov 2026 02:00:00 GMT`. `None` if the text is invalid.
fn parse_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|at| Timestamp(at.timestamp().as_second()))
}

fn drift(here: Timestamp, there: Timestamp, server: &str) -> Check {
    const NAME: &str = "server clock";
    let apart = here.0.saturating_sub(there.0);
    let says = format!("{server} has {there}, this machine {here}: {} s apart", apart.abs());
    let advice = "set the clock that is wrong: signed requests are refused when they are 300 s apart";
    match apart.abs() {
        apart if apart > i64::from(TIMESTAMP_TOLERANCE_S) => Check::fail(NAME, says, advice),
        apart if apart > DRIFT_S => Check::warn(NAME, says, advice),
        _ => Check::ok(NAME, says),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn a_port_in_use_by_another_program_is_a_failure() {
        let address = SocketAddr::from(([127, 0, 0, 1], 9));
        let verdict = |bound, holder| judge(address, bound, || holder).verdict;
        assert_eq!(verdict(Ok(()), Holder::Other), Verdict::Ok);
        let taken = Err(io::ErrorKind::AddrInUse);
        assert_eq!(verdict(taken, Holder::Chandler), Verdict::Ok);
        assert_eq!(verdict(taken, Holder::Unknown), Verdict::Warn);
        assert_eq!(verdict(taken, Holder::Other), Verdict::Fail);
        assert_eq!(verdict(Err(io::ErrorKind::PermissionDenied), Holder::Other), Verdict::Fail);
    }

    #[test]
    fn two_settings_for_one_port_are_a_failure() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let config = ServerConfig { listen: address, tcp: address, ..ServerConfig::default() };
        let checks = all_asking(&config, &|_| true);
        let verdicts: Vec<Verdict> = checks.iter().map(|check| check.verdict).collect();
        assert_eq!(verdicts, [Verdict::Ok, Verdict::Fail], "{checks:?}");
        assert!(checks[1].says.contains("one port cannot be both"), "{checks:?}");
    }

    #[test]
    fn an_unresponsive_port_is_probed_once() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let (listen, tcp) = (taken.local_addr().unwrap(), tcp.local_addr().map(|at| (at, tcp)).unwrap());
        let config = ServerConfig { listen, tcp: tcp.0, ..ServerConfig::default() };
        let requested = RefCell::new(Vec::new());
        let checks = all_asking(&config, &|address| {
            requested.borrow_mut().push(address);
            false
        });
        assert_eq!(requested.take(), [listen]);
        assert!(checks.iter().all(|check| check.verdict == Verdict::Fail), "{checks:?}");
    }

    struct Says(u16, &'static str);

    impl Http for Says {
        fn send(&self, _: &Request) -> anyhow::Result<Answer> {
            Ok(Answer { status: self.0, headers: Default::default(), body: self.1.as_bytes().to_vec() })
        }
    }

    #[test]
    fn a_200_response_from_another_program_is_not_healthy() {
        let url = Url::parse("http://127.0.0.1:1").unwrap();
        let health = |status, body| health(&url, &Says(status, body)).unwrap().0;
        assert_eq!(health(200, r#"{"ready": true, "reasons": []}"#), Health::Well);
        assert_eq!(
            health(503, r#"{"ready": false, "reasons": ["a", "b\u001b"]}"#),
            Health::Unwell(describe(&["a".into(), "b\u{1b}".into()]))
        );
        for (status, body) in
            [(200, "ok\n"), (200, "<html>"), (200, "true"), (404, ""), (500, r#"{"ready": true}"#)]
        {
            assert_eq!(health(status, body), Health::Other(status), "{body}");
        }
        assert_eq!(health(404, "success"), Health::Other(404));
        let checks = server(&url, &Says(200, "hello"));
        assert_eq!((checks.len(), checks[0].verdict), (1, Verdict::Fail));
    }

    #[test]
    fn small_clock_differences_are_accepted() {
        let verdict = |there| drift(Timestamp(1_000_000), Timestamp(there), "x").verdict;
        assert_eq!(verdict(1_000_030), Verdict::Ok);
        assert_eq!(verdict(999_969), Verdict::Warn);
        assert_eq!(verdict(1_000_301), Verdict::Fail);
        assert_eq!(parse_date("Sun, 15 Nov 2026 02:00:00 GMT"), Some(Timestamp(1_794_708_000)));
        assert_eq!(parse_date("yesterday"), None);
    }
}
