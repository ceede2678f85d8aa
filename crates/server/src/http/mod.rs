//! The HTTP door: one-time passwords, the mirrors of the pull commands, and the way to a WebSocket.

mod envelope;
mod quote;
mod upgrade;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::listen::Entrance;
use crate::route::{Caller, Language};
use crate::services::Services;
use envelope::Problem;

/// A request's head must be there by then; a connection kept alive may be silent as long.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const BODY_WITHIN: Duration = Duration::from_secs(10);
const BODY_MAX: usize = 256 << 10;
const HEAD_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 100;

pub(crate) type Answer = Response<Full<Bytes>>;

/// Serves one HTTP connection, which may turn into a long one.
pub(crate) async fn serve(stream: TcpStream, entrance: Entrance) {
    let mut shutdown = entrance.shutdown.clone();
    let service = service_fn(|request| {
        let entrance = entrance.clone();
        async move { Ok::<_, Infallible>(answer(request, entrance).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        _ = shutdown.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "an HTTP connection ended");
    }
}

async fn answer(request: Request<Incoming>, entrance: Entrance) -> Answer {
    if upgrade::is_wanted(&request) {
        return upgrade::answer(request, entrance);
    }
    let (parts, body) = request.into_parts();
    let body = match timeout(BODY_WITHIN, Limited::new(body, BODY_MAX).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return Problem::too_large().answer(),
        Err(_) => return Problem::too_slow().answer(),
    };
    let services = entrance.services.clone();
    // Admission and answers may wait for the disk, which is no business of the threads that serve connections.
    let answer = tokio::task::spawn_blocking(move || {
        let asked = Asked {
            method: &parts.method,
            path: parts.uri.path(),
            query: parts.uri.query().unwrap_or_default(),
            headers: &parts.headers,
            body: &body,
        };
        asked.answer(&services)
    });
    match answer.await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::error!(%error, "a request ended unexpectedly");
            Problem::internal().answer()
        }
    }
}

/// A whole request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

impl Asked<'_> {
    fn answer(&self, services: &Services) -> Answer {
        self.route(services).unwrap_or_else(Problem::answer)
    }

    fn route(&self, services: &Services) -> Result<Answer, Problem> {
        // A base address that ends in a slash gives two at the front; the signature is still that of the path as sent.
        let path =
            if self.path.starts_with("//") { self.path.get(1..).unwrap_or_default() } else { self.path };
        match (self.method.as_str(), path) {
            ("GET", "/health") => Ok(envelope::plain("success")),
            ("GET", "/v1/socket/token" | "/v2/socket/token") => self.one_time_password(services),
            ("GET", "/v1/quote/cmd") => self.caller(services).map(|_| envelope::success(json!({}))),
            ("POST", path) if path.starts_with("/quote/") => quote::mirror(self, path, services),
            _ => Err(Problem::not_found()),
        }
    }

    fn one_time_password(&self, services: &Services) -> Result<Answer, Problem> {
        let caller = self.caller(services)?;
        let seats = services.access.seats(&caller.who)?;
        let otp = services.access.issue_otp(&caller.who, services.uptime()).map_err(Problem::from_access)?;
        Ok(envelope::success(json!({"otp": otp.expose(), "limit": seats.limit, "online": seats.online})))
    }

    /// Who asks, proven by signature or bearer token.
    pub(crate) fn caller(&self, services: &Services) -> Result<Caller, Problem> {
        let header = |name: &str| self.header(name);
        let request = access::SignedRequest {
            method: self.method.as_str(),
            path: self.path,
            raw_query: self.query,
            header: &header,
            body: self.body,
        };
        let who = services.access.identify(&request, services.machine_now())?;
        let language = Language::parse(self.header("accept-language").unwrap_or_default());
        // Over HTTP there is no way to opt in, and a client that has not is spared the overnight hours.
        Ok(Caller { who, language, overnight: false })
    }

    /// A header's text; of one that stands there twice, none: what was signed would be anyone's guess.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    }
}
