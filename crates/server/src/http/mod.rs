//! The HTTP door: one-time passwords, candles for people without an SDK, the mirrors of the pull commands, and the way to
//! a WebSocket. `routes.rs` lists what there is, `openapi.json` describes it to clients, and a test holds the two together.

mod admin;
mod allowance;
mod candles;
mod connections;
mod envelope;
mod format;
mod mirror;
mod oauth;
mod parameters;
mod quota;
mod routes;
mod sign_ins;
mod token;
mod upgrade;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{ACCEPT_LANGUAGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE, EXPECT, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::listen::Entrance;
use crate::route::{Caller, Language};
use crate::services::Services;
use crate::{pages, proxies};
use envelope::Problem;
pub use quota::quota_document;
use routes::{Endpoint, Found};

/// A request's head must be there by then; a connection kept alive may be silent as long.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const BODY_WITHIN: Duration = Duration::from_secs(10);
const BODY_MAX: usize = 256 << 10;
/// What is read and dropped of a body that is too large: a client that is still writing when the connection closes may
/// never see why.
const DROPPED_MAX: usize = 4 << 20;
const HEAD_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 100;
/// Headers that prove who asks. Given twice, either could be meant.
const PROOFS: [&str; 4] = ["authorization", "x-api-key", "x-timestamp", "x-api-signature"];
const ELSEWHERE: access::Denial =
    access::Denial::TokenInvalid("the account is of another region than the address");
const OPENAPI: &str = include_str!("openapi.json");

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

/// Every answer bears a trace id, and so does whatever is logged while it is made.
async fn answer(request: Request<Incoming>, mut entrance: Entrance) -> Answer {
    entrance.peer = proxies::client(&entrance.trusted, entrance.peer, request.headers());
    let trace = envelope::trace_id();
    let person = person(&request).map(|language| (language, entrance.services.clone()));
    let mut answer = if upgrade::is_wanted(&request) {
        upgrade::answer(request, entrance)
    } else {
        match read(request).await {
            Ok((parts, body)) => respond(parts, body, &trace, entrance).await,
            Err(problem) => problem.answer(),
        }
    };
    // Whatever went wrong before there was a page, a person is told by one.
    if let Some((language, services)) = person
        && answer.headers().get(CONTENT_TYPE) == Some(&envelope::JSON)
    {
        answer = pages::instead(&answer, language.to_str().unwrap_or_default(), &services);
    }
    envelope::mark(&mut answer, &trace);
    answer
}

/// The languages of whoever asks for a page; nothing for programs.
fn person(request: &Request<Incoming>) -> Option<HeaderValue> {
    let none = HeaderValue::from_static("");
    let language = || request.headers().get(ACCEPT_LANGUAGE).cloned().unwrap_or(none);
    pages::is_page(request.uri().path()).then(language)
}

/// The whole request, if it is not too large and does not take too long.
async fn read(request: Request<Incoming>) -> Result<(hyper::http::request::Parts, Bytes), Problem> {
    let (parts, mut body) = request.into_parts();
    let declared = body.size_hint().lower();
    // Who asks before sending is answered before it sends.
    if declared > BODY_MAX as u64 && (declared > DROPPED_MAX as u64 || parts.headers.contains_key(EXPECT)) {
        return Err(Problem::too_large(BODY_MAX));
    }
    let gather = async {
        let (mut bytes, mut seen) = (BytesMut::new(), 0_usize);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Problem::bad_request("the body ended early"))?;
            let Some(data) = frame.data_ref() else { continue };
            seen = seen.saturating_add(data.len());
            if seen <= BODY_MAX {
                bytes.extend_from_slice(data);
            } else if seen > DROPPED_MAX {
                break;
            }
        }
        if seen <= BODY_MAX { Ok(bytes.freeze()) } else { Err(Problem::too_large(BODY_MAX)) }
    };
    let bytes = timeout(BODY_WITHIN, gather).await.unwrap_or_else(|_| Err(Problem::too_slow()))?;
    Ok((parts, bytes))
}

async fn respond(parts: hyper::http::request::Parts, body: Bytes, trace: &str, entrance: Entrance) -> Answer {
    let services = entrance.services.clone();
    let span = tracing::info_span!("http", trace, method = %parts.method, path = parts.uri.path());
    // Admission and answers may wait for the disk, which is no business of the threads that serve connections.
    let answer = tokio::task::spawn_blocking(move || {
        let asked = Asked {
            method: &parts.method,
            path: parts.uri.path(),
            parameter: "",
            query: parts.uri.query().unwrap_or_default(),
            headers: &parts.headers,
            body: &body,
            peer: entrance.peer,
            region: entrance.region,
            is_business: false,
        };
        span.in_scope(|| asked.answer(&services).unwrap_or_else(Problem::answer))
    });
    match answer.await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::error!(%error, trace, "a request ended unexpectedly");
            Problem::internal().answer()
        }
    }
}

/// An account that asks, itself or through a program that its owner has let in.
#[derive(Clone, Debug)]
pub(crate) struct Me {
    pub(crate) account: Arc<access::Account>,
    pub(crate) who: access::Caller,
}

impl Me {
    /// Whether this is for them to do, where it is for operators.
    pub(crate) fn as_operator(&self) -> Result<(), Problem> {
        as_operator(&self.account, &self.who)
    }
}

/// Every power over other accounts is asked for here. A program that was let in by an operator has none of them: what its
/// owner has agreed to is a list in which they are not.
pub(crate) fn as_operator(account: &access::Account, who: &access::Caller) -> Result<(), Problem> {
    match account.role {
        access::Role::Operator if who.is_oauth() => Err(Problem::forbidden_to_programs()),
        access::Role::Operator => Ok(()),
        access::Role::User => Err(Problem::forbidden()),
    }
}

/// Browsers ask for an icon beside every page. There is none, which they may remember for a day.
fn no_icon() -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    answer
}

/// A whole request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    /// What stands in the path where its route has braces, decoded.
    pub(crate) parameter: &'a str,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    /// Who asks: the other end of the connection, or whom a trusted proxy there asks for.
    pub(crate) peer: SocketAddr,
    /// The region whose accounts the listener is for; none if it is for all.
    pub(crate) region: Option<access::Region>,
    /// Whether it is about the account itself, which only listeners of its own region answer.
    is_business: bool,
}

impl Asked<'_> {
    fn answer(&self, services: &Services) -> Result<Answer, Problem> {
        match routes::find(self.method.as_str(), self.path) {
            Found::Endpoint(endpoint, parameter) => {
                let is_business = endpoint.is_business();
                Asked { parameter: &parameter, is_business, ..*self }.serve(endpoint, services)
            }
            Found::Options(allow) => {
                let mut answer = Response::new(Full::default());
                *answer.status_mut() = StatusCode::NO_CONTENT;
                answer.headers_mut().insert(ALLOW, allow);
                Ok(answer)
            }
            Found::OtherMethod(allow) => Err(Problem::wrong_method(allow)),
            Found::Nothing => Err(Problem::not_found()),
        }
    }

    fn serve(&self, endpoint: Endpoint, services: &Services) -> Result<Answer, Problem> {
        match endpoint {
            Endpoint::Health => Ok(envelope::plain("success")),
            Endpoint::OpenApi => Ok(envelope::json(200, Bytes::from_static(OPENAPI.as_bytes()))),
            Endpoint::Icon => Ok(no_icon()),
            Endpoint::SocketToken => self.one_time_password(services),
            // Clients announce commands here; there is nothing to remember.
            Endpoint::Announce => self.caller(services).map(|_| envelope::success(json!({}))),
            Endpoint::Packages => quota::packages(self, services),
            Endpoint::Quota => quota::show(self, services),
            Endpoint::QuotaPreview => quota::preview(self, services),
            Endpoint::Admin(desk) => admin::answer(self, desk, services),
            Endpoint::Candles => candles::answer(self, services),
            Endpoint::Mirror(command) => mirror::answer(self, command, services),
            Endpoint::Connections => connections::list(self, services),
            Endpoint::CloseConnection => connections::close(self, services),
            Endpoint::RefreshToken => token::refresh(self, services),
            Endpoint::SignIns => sign_ins::list(self, services),
            Endpoint::EndSignIn => sign_ins::end(self, services),
            Endpoint::OAuth(door) => Ok(oauth::answer(self, door, services)),
            Endpoint::Page(page) => Ok(pages::answer(self, page, services)),
        }
    }

    fn one_time_password(&self, services: &Services) -> Result<Answer, Problem> {
        let caller = self.caller(services)?;
        let seats = services.seats(&caller.who)?;
        let otp = services.access.issue_otp(&caller.who, services.uptime()).map_err(Problem::from_access)?;
        Ok(envelope::success(json!({"otp": otp.expose(), "limit": seats.limit, "online": seats.online})))
    }

    /// Who asks, proven by signature or bearer token.
    pub(crate) fn caller(&self, services: &Services) -> Result<Caller, Problem> {
        if let Some(name) = PROOFS.iter().find(|name| self.headers.get_all(**name).iter().count() > 1) {
            return Err(Problem::bad_request(&format!("the header {name} is there more than once")));
        }
        let header = |name: &str| self.header(name);
        let request = self.signed(&header);
        let denied = |denial: access::Denial| {
            self.note_denied(&request, &denial, services);
            Problem::from(denial)
        };
        let who = services.access.identify(&request, services.machine_now()).map_err(denied)?;
        let language = Language::parse(self.header("accept-language").unwrap_or_default());
        // The mirrors have no way to opt in: whoever has the right gets overnight hours, and the SDKs leave them out
        // themselves where the user does not want them. Leaving them out here would lose them for those who do.
        let caller = Caller { who, language, overnight: true, entrance: self.region };
        if self.is_business {
            services.at_home(&caller).inspect_err(|_| self.note_denied(&request, &ELSEWHERE, services))?;
        }
        Ok(caller)
    }

    /// A refused login is written down; that it could not be is no reason to refuse otherwise.
    fn note_denied<'a>(
        &self,
        request: &'a access::SignedRequest<'a>,
        denial: &access::Denial,
        services: &Services,
    ) {
        let offered = access::Offered::Request(request);
        if let Err(error) = services.access.note_denied(offered, denial, self.peer.ip(), services.moment()) {
            tracing::error!(%error, "cannot write down a refused login");
        }
    }

    /// What a signature is about.
    fn signed<'a>(&'a self, header: &'a dyn Fn(&str) -> Option<&'a str>) -> access::SignedRequest<'a> {
        access::SignedRequest {
            method: self.method.as_str(),
            path: self.path,
            raw_query: self.query,
            header,
            body: self.body,
        }
    }

    /// The account that asks, as it stands now.
    pub(crate) fn me(&self, services: &Services) -> Result<Me, Problem> {
        let Caller { who, .. } = self.caller(services)?;
        let account = services.access.account(who.account()).map_err(Problem::from_access)?;
        let account = account.ok_or_else(|| Problem::from(crate::refusal::Refusal::Revoked))?;
        Ok(Me { account, who })
    }

    /// The first value of a name in the query string.
    pub(crate) fn parameter_of(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }

    /// The body as the JSON it must be.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Problem> {
        let refused = |error: serde_json::Error| {
            crate::refusal::Refusal::Malformed(format!("the body cannot be decoded: {error}"))
        };
        Ok(serde_json::from_slice(self.body).map_err(refused)?)
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
