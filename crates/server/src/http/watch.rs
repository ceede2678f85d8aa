//! How the service does, for whoever keeps it running: `/healthz` and `/readyz` for everybody, `/metrics` and `/status` for
//! those on this machine, for operators, and for whoever reaches the listener that has nothing else.

use std::net::IpAddr;

use bytes::Bytes;
use hyper::header::{FORWARDED, HOST, HeaderMap, HeaderValue, VIA};
use serde_json::json;

use super::envelope::{self, Problem};
use super::{Answer, Asked};
use crate::listen::{Entrance, Face};
use crate::services::Services;
use crate::{facts, metrics};

/// The text format of Prometheus.
const EXPOSITION: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
/// What proxies add to the requests of others.
const FORWARDING: [&str; 5] =
    ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "cf-connecting-ip"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    Health,
    Ready,
    Metrics,
    Status,
}

pub(super) fn answer(asked: &Asked<'_>, what: Watch, services: &Services) -> Result<Answer, Problem> {
    match what {
        Watch::Health => Ok(health()),
        Watch::Ready => Ok(ready(services)),
        Watch::Metrics => {
            permitted(asked, services)?;
            Ok(envelope::respond(200, EXPOSITION, Bytes::from(metrics::exposition(services))))
        }
        Watch::Status => {
            permitted(asked, services)?;
            let document = facts::document(services).map_err(|error| {
                tracing::error!(%error, "cannot look at the store");
                Problem::internal()
            })?;
            Ok(envelope::json(200, document.to_string().into()))
        }
    }
}

/// The process answers; that is all it says.
pub(super) fn health() -> Answer {
    envelope::plain("ok\n")
}

fn ready(services: &Services) -> Answer {
    let obstacles = services.obstacles();
    let status = if obstacles.is_empty() { 200 } else { 503 };
    let body = json!({"ready": obstacles.is_empty(), "reasons": obstacles});
    envelope::json(status, body.to_string().into())
}

fn permitted(asked: &Asked<'_>, services: &Services) -> Result<(), Problem> {
    if asked.may_watch { Ok(()) } else { asked.me(services)?.as_operator() }
}

/// Whether a request may see everything without a proof: at the internal listener, or from a program on this machine. A
/// proxy on this machine is such a program as well, so whatever it may have passed on does not count: a request with a
/// header that proxies write, or for a host that is not this machine. The latter also keeps web pages out that make a name
/// of theirs lead here.
pub(super) fn may_watch(entrance: &Entrance, headers: &HeaderMap) -> bool {
    if entrance.face == Face::Internal {
        return true;
    }
    let is_forwarded = headers.contains_key(FORWARDED)
        || headers.contains_key(VIA)
        || FORWARDING.iter().any(|name| headers.contains_key(*name));
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    entrance.peer.ip().to_canonical().is_loopback()
        && !entrance.services.has_unknown_proxy
        && !is_forwarded
        && is_this_machine(host)
}

/// Whether a host, with or without a port, is a name of this machine to itself.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_few_names_for_itself() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1",
            "127.0.0.1:8080",
            "127.1.2.3:1",
            "[::1]",
            "[::1]:8080",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "candles.example.com",
            "localhost.example.com:8080",
            "10.0.0.7:8080",
            "[::2]:80",
            "::1",
            "127.0.0.1.example.com",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
