//! Whether a server could listen where it is configured to, and whether one that was named is well.

use std::io;
use std::net::{SocketAddr, TcpListener};

use access::TIMESTAMP_TOLERANCE_S;
use market::Timestamp;

use super::Check;
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::remote::http::{Answer, Http, Method, Network, Request};
use crate::sdk::Url;

/// A clock that is off by more than this will soon be off by too much.
const DRIFT_S: i64 = 30;

/// Who has a port that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Chandler,
    Other,
    /// It speaks TLS, under a name that only its clients know.
    Unknown,
}

pub(super) fn all(config: &ServerConfig) -> Vec<Check> {
    let answers = |address: SocketAddr| {
        let url = Url::of(address);
        health(&url, &Network::to(&url)).is_ok_and(|answer| answer.is_success())
    };
    // What monitors ask never speaks TLS; where there is such a listener, the others are its server's.
    let internal = || config.internal.map(answers);
    let holder = |address: SocketAddr| match (config.tls_cert.is_empty(), internal()) {
        (_, Some(true)) => Holder::Chandler,
        (true, _) if answers(address) => Holder::Chandler,
        (true, _) => Holder::Other,
        (false, _) => Holder::Unknown,
    };
    let http = std::iter::once(config.listen).chain(config.regional.iter().map(|one| one.listen));
    let mut checks: Vec<Check> =
        http.map(|address| judge(address, try_bind(address), || holder(address))).collect();
    // Raw TCP cannot be asked. Where our HTTP answers, its neighbour is ours as well.
    checks.push(judge(config.tcp, try_bind(config.tcp), || holder(config.listen)));
    checks.extend(config.internal.map(|address| {
        judge(address, try_bind(address), || if answers(address) { Holder::Chandler } else { Holder::Other })
    }));
    checks
}

/// Takes the port for a moment.
fn try_bind(address: SocketAddr) -> Result<(), io::ErrorKind> {
    TcpListener::bind(address).map(drop).map_err(|error| error.kind())
}

fn judge(address: SocketAddr, bound: Result<(), io::ErrorKind>, holder: impl FnOnce() -> Holder) -> Check {
    const NAME: &str = "port";
    match bound {
        Ok(()) => Check::ok(NAME, format!("{address} is free")),
        Err(io::ErrorKind::AddrInUse) => match holder() {
            Holder::Chandler => Check::ok(NAME, format!("{address} is in use by a Chandler that answers")),
            Holder::Unknown => Check::warn(
                NAME,
                format!("{address} is in use, and with TLS nobody here can tell by whom"),
                "name the server as its clients do: `chandler doctor --server https://…`",
            ),
            Holder::Other => Check::fail(
                NAME,
                format!("{address} is in use by another program"),
                "stop that one, or choose another port (--listen, --tcp, docs/chandler.toml)",
            ),
        },
        Err(io::ErrorKind::PermissionDenied) => Check::fail(
            NAME,
            format!("this user may not listen on {address}"),
            "choose a port from 1024 on, or put a proxy in front",
        ),
        Err(io::ErrorKind::AddrNotAvailable) => Check::fail(
            NAME,
            format!("{address} is no address of this machine"),
            "name one that is, or 0.0.0.0",
        ),
        Err(kind) => {
            Check::fail(NAME, format!("cannot listen on {address}: {kind}"), "choose another address")
        }
    }
}

/// A server that was named: does it answer, and what time does it have?
pub(super) fn server(url: &Url, http: &dyn Http) -> Vec<Check> {
    const NAME: &str = "server";
    let shown = url.as_str();
    let answer = match health(url, http) {
        Ok(answer) => answer,
        Err(error) => {
            return vec![Check::fail(
                NAME,
                format!("{error:#}"),
                "is it running there, and is the address right?",
            )];
        }
    };
    let mut checks = vec![if answer.is_success() {
        Check::ok(NAME, format!("{shown} is well"))
    } else {
        let says = format!("{shown} answers with status {}", answer.status);
        Check::fail(NAME, says, "this is no Chandler, or one that is not well: see its log")
    }];
    let date = answer.headers.get("date").and_then(parse_date);
    checks.extend(date.map(|there| drift(Clock::Machine.now(), there, shown)));
    checks
}

/// What monitors ask, or on older servers what stood in for it.
fn health(url: &Url, http: &dyn Http) -> anyhow::Result<Answer> {
    let ask = |path: &str| http.send(&Request::new(Method::Get, format!("{}{path}", url.as_str())));
    let answer = ask("/healthz")?;
    if answer.status == 404 { ask("/health") } else { Ok(answer) }
}

/// `Sun, 15 Nov 2026 02:00:00 GMT`
fn parse_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|at| Timestamp(at.timestamp().as_second()))
}

fn drift(here: Timestamp, there: Timestamp, server: &str) -> Check {
    const NAME: &str = "server clock";
    let apart = here.0.saturating_sub(there.0);
    let says = format!("{server} says {there}, this machine {here}: {} s apart", apart.abs());
    let advice = "set the clock that is wrong: signed requests are refused when they are 300 s apart";
    match apart.abs() {
        apart if apart > i64::from(TIMESTAMP_TOLERANCE_S) => Check::fail(NAME, says, advice),
        apart if apart > DRIFT_S => Check::warn(NAME, says, advice),
        _ => Check::ok(NAME, says),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn a_port_is_free_or_ours_or_another_programs() {
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
    fn clocks_may_differ_a_little() {
        let verdict = |there| drift(Timestamp(1_000_000), Timestamp(there), "x").verdict;
        assert_eq!(verdict(1_000_030), Verdict::Ok);
        assert_eq!(verdict(999_969), Verdict::Warn);
        assert_eq!(verdict(1_000_301), Verdict::Fail);
        assert_eq!(parse_date("Sun, 15 Nov 2026 02:00:00 GMT"), Some(Timestamp(1_794_708_000)));
        assert_eq!(parse_date("yesterday"), None);
    }
}
