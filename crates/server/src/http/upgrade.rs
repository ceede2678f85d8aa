//! Upgrades HTTP to WebSocket, on any path. The path may name a gateway, and the query may name the
//! client's protocol dialect.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_LANGUAGE, CONNECTION, HeaderMap, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE, USER_AGENT,
};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::strict::Strict;
use crate::accepted::Accepted;
use crate::kit::envelope::Problem;
use crate::kit::fields;
use crate::kit::{Answer, GO_AGENT};
use crate::link::{self, GatewayKind, Opening, Program, Transport};

/// Parameter names and values of the only supported protocol version, codec and platform. The
/// values are also the defaults.
const DIALECT: [(&str, &str); 3] = [("version", "1"), ("codec", "1"), ("platform", "9")];

pub(super) fn is_wanted(request: &Request<Incoming>) -> bool {
    has_token(request, UPGRADE, "websocket")
}

fn has_token(request: &Request<Incoming>, name: HeaderName, token: &str) -> bool {
    let values = request.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(token))
}

/// Answers an upgrade request and serves the connection. `S` is the stream under the HTTP
/// connection.
pub(super) fn answer<S>(mut request: Request<Incoming>, accepted: Accepted) -> Answer
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let header = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let Some(key) = header(SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24) else {
        return Problem::bad_request("sec-websocket-key must have 24 characters").answer();
    };
    if header(SEC_WEBSOCKET_VERSION) != Some("13") || !has_token(&request, CONNECTION, "upgrade") {
        return Problem::bad_request("only WebSocket version 13 is supported").answer();
    }
    let accept = wire::accept_key(key);
    let program = program(request.headers(), request.uri().query().unwrap_or_default());
    let gateway = GatewayKind::of_path(request.uri().path());
    let wrong_dialect = wrong_dialect(request.uri().query().unwrap_or_default());
    let upgrading = hyper::upgrade::on(&mut request);
    let Accepted { hub, shutdown, tasks, place, peer, region, unauthenticated, .. } = accepted;
    tasks.spawn(async move {
        // The client may have disconnected before the upgrade completed.
        let Ok(upgraded) = upgrading.await else { return };
        if let Ok(parts) = upgraded.downcast::<TokioIo<Strict<S>>>() {
            let opening = match wrong_dialect {
                Some(reason) => Opening::Refused(reason),
                None => Opening::Upgraded { gateway, early: parts.read_buf },
            };
            let (stream, transport) = (parts.io.into_inner().into_inner(), Transport::websocket());
            let from = link::Arrival { address: peer, region, program, unauthenticated };
            link::serve(stream, transport, from, opening, hub, shutdown).await;
        }
        drop(place);
    });
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

/// Detects the client program. SDKs built on the Rust core send `Accept-Language` but, unlike
/// browsers, neither `User-Agent` nor `Origin`. The Go SDK sends the `User-Agent` of `net/http` only,
/// and sorts the parameters of its dialect by name.
fn program(headers: &HeaderMap, query: &str) -> Program {
    let has = |name: HeaderName| headers.contains_key(name);
    if has(ORIGIN) {
        return Program::Other;
    }
    let names = query.split('&').map(|part| part.split_once('=').map_or(part, |(name, _)| name));
    match (headers.get(USER_AGENT), has(ACCEPT_LANGUAGE)) {
        (None, true) => Program::CoreSdk,
        (Some(agent), false)
            if agent.as_bytes().starts_with(GO_AGENT.as_bytes())
                && names.eq(["codec", "platform", "version"]) =>
        {
            Program::GoSdk
        }
        _ => Program::Other,
    }
}

/// Returns an error message if the query requests an unsupported dialect, or `None` otherwise. The
/// caller sends the message over the WebSocket, where the client expects it.
fn wrong_dialect(query: &str) -> Option<String> {
    let wrong = DIALECT.iter().find(|(name, only)| fields::values(query, name).any(|value| value != *only));
    wrong.map(|(name, only)| format!("{name} is not {only}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgrade_request_identifies_the_sdk() {
        let (rust, go) = ("version=1&codec=1&platform=9", "codec=1&platform=9&version=1");
        let (language, origin) = ((ACCEPT_LANGUAGE, "en"), (ORIGIN, "http://127.0.0.1"));
        let (net_http, mozilla) = ((USER_AGENT, "Go-http-client/1.1"), (USER_AGENT, "Mozilla/5.0"));
        for (headers, query, expected) in [
            (&[&language][..], rust, Program::CoreSdk),
            (&[&language, &net_http], rust, Program::Other),
            (&[&net_http], go, Program::GoSdk),
            (&[&net_http], rust, Program::Other),
            (&[&net_http, &origin], go, Program::Other),
            (&[&mozilla], go, Program::Other),
            (&[], go, Program::Other),
            (&[], "", Program::Other),
            (&[&language, &origin], go, Program::Other),
        ] {
            let headers =
                headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
            assert_eq!(program(&headers, query), expected, "{headers:?} {query}");
        }
    }
}
