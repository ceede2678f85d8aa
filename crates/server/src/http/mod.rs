//! The HTTP door: one-time passwords, candles for people without an SDK, the mirrors of the pull commands, and the way to
//! a WebSocket. `routes.rs` lists what there is, `openapi.json` describes it to clients, and a test holds the two together.

mod admin;
mod allowance;
mod body;
mod candles;
mod claims;
mod connections;
mod coverage;
mod envelope;
mod format;
mod framing;
mod imports;
mod me;
mod mirror;
mod named;
mod not_offered;
mod oauth;
mod open;
mod packed;
mod parameters;
mod pieces;
mod proof;
mod quota;
mod routes;
mod securities;
mod sent;
mod sign_ins;
mod strict;
#[cfg(test)]
mod tests;
mod token;
mod udf;
mod upgrade;
mod watch;

use std::cell::Cell;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_LANGUAGE, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, UPGRADE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout};

use crate::listen::{Counted, Entrance, Face};
use crate::metrics::{Connection, Outcome};
use crate::refusal::Refusal;
use crate::request_log::{self, Ended, OverHttp};
use crate::services::Services;
use crate::workers::{self, Who};
use crate::{local, pages, proxies};
pub(crate) use body::Bodies;
use body::Whole;
pub(crate) use claims::Claims;
use envelope::Problem;
pub use imports::import_document;
pub(crate) use packed::accepts_gzip;
pub(crate) use pieces::Pieces;
use proof::Addressed;
pub(crate) use proof::{Me, as_operator};
pub use quota::quota_document;
use routes::{Endpoint, Found, Way};
pub(crate) use securities::{SEARCHES_EACH, SEARCHES_MAX};
use sent::Sent;
use strict::{Standing, Strict};
use watch::Watch;

/// A connection kept alive may be silent for so long. A head has less time once it has begun (`strict.rs`).
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// The same for those who watch: they are on a near network, and have few places.
const WATCHERS_HEAD_WITHIN: Duration = Duration::from_secs(5);
const HEAD_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 100;
/// Connections of one account that stay open between requests; further ones end with their answer.
pub(crate) const CONNECTIONS_EACH: usize = 256;
const OPENAPI: &str = include_str!("openapi.json");

/// How long a request waits for answers of its account to be taken, before it is refused.
const ROOM_WITHIN: Duration = Duration::from_secs(10);

pub(crate) type Answer = Response<Full<Bytes>>;

/// Serves one HTTP connection, which may turn into a long one.
pub(crate) async fn serve<S>(stream: S, entrance: Entrance)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (kind, head_within) = match entrance.face {
        Face::Public => (Connection::Http, HEAD_WITHIN),
        Face::Internal => (Connection::Internal, WATCHERS_HEAD_WITHIN),
    };
    let _counted = Counted::new(&entrance.services, kind);
    let mut shutdown = entrance.shutdown.clone();
    let standing = Standing::default();
    let stream = Strict::new(stream, HEAD_MAX, standing.clone());
    let service = service_fn(|request| {
        let (entrance, standing) = (entrance.clone(), standing.clone());
        async move { Ok::<_, Infallible>(answer::<S>(request, entrance, standing).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_within)
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

/// Every answer bears a trace id, and so does whatever is logged while it is made. Here it is counted, too, and held back from
/// whoever is refused again and again.
async fn answer<S>(request: Request<Incoming>, entrance: Entrance, standing: Standing) -> Response<Sent>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let _answering = standing.answering();
    let trace = envelope::trace_id();
    // A proxy that is trusted has the connections of many accounts, and bounds them itself.
    let is_proxy = proxies::is_trusted(&entrance.trusted, entrance.peer.ip());
    let (services, peer, step) = (entrance.services.clone(), entrance.peer, entrance.step.clone());
    let has_upgrade = request.headers().contains_key(UPGRADE);
    let is_upgrade = entrance.face == Face::Public && upgrade::is_wanted(&request);
    let way = if is_upgrade { Way::UPGRADE } else { routes::way(request.method(), request.uri().path()) };
    let method = routes::known_method(request.method());
    let path = (way == Way::NOWHERE).then(|| proof::written(request.uri().path()));
    let is_head = request.method() == Method::HEAD;
    let (mut answer, since, noted) = answer_way::<S>(request, way, &trace, entrance).await;
    let Noted { account, candles, client } = noted;
    if let Some(account) = account {
        let place = || services.http_places.try_take(account);
        if is_proxy || standing.prove(place) {
            step.leave();
        } else {
            // It is answered, and has its next answer over another connection.
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
    // Whatever comes behind a wish for another protocol has not been looked at as HTTP.
    if has_upgrade && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = answer.status().as_u16();
    let outcome = answer.extensions().get().copied().unwrap_or_else(|| Outcome::of_status(status));
    let bytes = answer.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    // What is said about a body is not the body.
    let (bytes, candles) = if is_head { (0, 0) } else { (bytes.unwrap_or_default(), candles) };
    services.metrics.candles(candles);
    let ended = Ended { bytes, candles, account, ..Ended::at(since, outcome) };
    let about =
        OverHttp { task: way.task, method, route: way.route, path: path.as_deref(), status, trace: &trace };
    request_log::of_http(&services.metrics, &about, &ended);
    let who = account.map_or_else(|| Who::address(client.unwrap_or(peer.ip())), Who::Account);
    if is_refused(outcome) {
        back_off(&services, who).await;
    }
    let held = (bytes > 0).then(|| services.unsent.of(who).hold(bytes));
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Response::from_parts(head, Sent::new(body, held))
}

/// Whether an outcome is held against whoever asked.
fn is_refused(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Ok | Outcome::Internal | Outcome::TimedOut)
}

/// The connection is not read before it has its answer.
async fn back_off(services: &Services, who: Who) {
    let pause = services.backoff.refused(who, services.uptime());
    if !pause.is_zero() {
        services.metrics.paused();
        tokio::time::sleep(pause).await;
    }
}

/// The answer, and when the whole request was there: how fast a client writes is not ours to answer for.
async fn answer_way<S>(
    request: Request<Incoming>,
    way: Way,
    trace: &str,
    mut entrance: Entrance,
) -> (Answer, Instant, Noted)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let is_local =
        way.asks_whether_local() && local::is_local(&entrance, request.version(), request.headers());
    entrance.peer = proxies::client(&entrance.trusted, entrance.peer, request.headers());
    let client = entrance.peer.ip();
    let person = person(&request, way, entrance.face).map(|language| (language, entrance.services.clone()));
    let (mut since, mut noted) = (Instant::now(), Noted::default());
    let mut answer = if way == Way::UPGRADE {
        upgrade::answer::<S>(request, entrance)
    } else if way.endpoint == Some(Endpoint::Watch(Watch::Health)) {
        // Whether the process answers must not depend on whether it has a thread to spare.
        watch::health()
    } else {
        let read = body::read(request, way, &entrance).await;
        since = Instant::now();
        match read {
            Ok(whole) => {
                let answer;
                (answer, noted) = respond(whole, trace, is_local, entrance).await;
                answer
            }
            Err(problem) => problem.answer(),
        }
    };
    // Whatever went wrong before there was a page, a person is told by one.
    if let Some((language, services)) = person
        && answer.headers().get(CONTENT_TYPE) == Some(&envelope::JSON)
    {
        answer = pages::instead(&answer, language.to_str().unwrap_or_default(), &services);
    }
    envelope::mark(&mut answer, trace);
    noted.client = Some(client);
    (answer, since, noted)
}

/// What there is to say about a request once it is answered.
#[derive(Clone, Copy, Debug, Default)]
struct Noted {
    account: Option<access::AccountId>,
    candles: usize,
    /// Whoever a proxy has asked for.
    client: Option<IpAddr>,
}

/// Where it is written down meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Note {
    account: Cell<Option<access::AccountId>>,
    candles: Cell<usize>,
}

impl Note {
    /// The account that asks.
    fn account(&self, id: access::AccountId) {
        self.account.set(Some(id));
    }

    /// How many candles are sent.
    pub(crate) fn candles(&self, count: usize) {
        self.candles.set(count);
    }

    fn noted(&self) -> Noted {
        Noted { account: self.account.get(), candles: self.candles.get(), client: None }
    }
}

/// The languages of whoever asks for a page, or for something that is not there and would show a page; nothing for programs.
fn person(request: &Request<Incoming>, way: Way, face: Face) -> Option<HeaderValue> {
    let none = HeaderValue::from_static("");
    let language = || request.headers().get(ACCEPT_LANGUAGE).cloned().unwrap_or(none);
    let path = request.uri().path();
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let is_lost = way.leads_nowhere() && !routes::is_of_programs(path) && accept.contains("text/html");
    (pages::is_page(path) || (is_lost && face == Face::Public)).then(language)
}

async fn respond(whole: Whole, trace: &str, is_local: bool, entrance: Entrance) -> (Answer, Noted) {
    let services = entrance.services.clone();
    let Whole { parts, body, share, held } = whole;
    let span =
        tracing::info_span!("http", trace, method = %parts.method, path = %proof::shown(parts.uri.path()));
    let claim = services.claims.of(&parts, &services);
    if timeout(ROOM_WITHIN, services.unsent.of(share.who).room()).await.is_err() {
        return (Problem::from(Refusal::Busy).answer(), Noted::default());
    }
    // Admission and answers may wait for the disk, which is no business of the threads that serve connections.
    let workers = services.workers.clone();
    let told = workers.submit(share, move || {
        let note = Note::default();
        // There was room before it waited for its turn; others may have taken it meanwhile.
        if services.unsent.of(share.who).is_full() {
            return (Problem::from(Refusal::Busy).answer(), note.noted());
        }
        let asked = Asked {
            method: &parts.method,
            path: parts.uri.path(),
            parameter: "",
            query: parts.uri.query().unwrap_or_default(),
            headers: &parts.headers,
            body: &body,
            peer: entrance.peer,
            reached: entrance.reached,
            region: entrance.region,
            is_business: false,
            is_change: false,
            takes_session: false,
            address_token: None,
            face: entrance.face,
            is_local,
            note: &note,
        };
        let answer = span.in_scope(|| asked.answer(&services).unwrap_or_else(Problem::answer));
        if let (Some(claim), Some(account)) = (claim, note.noted().account) {
            services.claims.learn(claim, account, &services);
        }
        drop(held);
        (answer, note.noted())
    });
    match told {
        Ok(told) => told.await.unwrap_or_else(|_| {
            tracing::error!(trace, "a request ended unexpectedly");
            (Problem::internal().answer(), Noted::default())
        }),
        Err(workers::Full) => (Problem::from(Refusal::Busy).answer(), Noted::default()),
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
    /// The address of ours that was asked.
    pub(crate) reached: SocketAddr,
    /// The region whose accounts the listener is for; none if it is for all.
    pub(crate) region: Option<access::Region>,
    /// Whether it is about the account itself, which only listeners of its own region answer.
    is_business: bool,
    /// Whether it changes something.
    is_change: bool,
    /// Whether the session of a browser proves who asks.
    takes_session: bool,
    /// A token that came in the address, where it may.
    address_token: Option<&'a access::Secret>,
    face: Face,
    /// Whether it comes from this very machine, where somebody wants to know.
    pub(crate) is_local: bool,
    /// What is told about the request once it is answered.
    pub(crate) note: &'a Note,
}

impl Asked<'_> {
    fn answer(&self, services: &Services) -> Result<Answer, Problem> {
        match routes::find(self.method.as_str(), self.path) {
            found
                if self.face == Face::Internal
                    && !matches!(found, Found::Endpoint(Endpoint::Watch(_), _)) =>
            {
                Err(Problem::not_found())
            }
            Found::Endpoint(endpoint, parameter) if endpoint.takes_token_in_address() => {
                let mut answer =
                    self.serve_addressed(endpoint, &parameter, services).unwrap_or_else(Problem::answer);
                open::open(&mut answer);
                Ok(answer)
            }
            Found::Endpoint(endpoint, parameter) => self.serve_at(endpoint, &parameter, services),
            Found::Options(allow) => {
                let mut answer = Response::new(Full::default());
                *answer.status_mut() = StatusCode::NO_CONTENT;
                answer.headers_mut().insert(ALLOW, allow);
                if matches!(routes::find("GET", self.path), Found::Endpoint(found, _) if found.takes_token_in_address())
                {
                    open::preflight(&mut answer);
                }
                Ok(answer)
            }
            Found::OtherMethod(allow) => Err(Problem::wrong_method(allow)),
            Found::Nothing => pages::file(self)
                .or_else(|| pages::without_slash(self, services))
                .ok_or_else(Problem::not_found),
        }
    }

    /// The same for an endpoint whose callers may have nothing but an address.
    fn serve_addressed(
        &self,
        endpoint: Endpoint,
        parameter: &str,
        services: &Services,
    ) -> Result<Answer, Problem> {
        let Addressed { token, query } = Addressed::of(self, parameter)?;
        Asked { query: &query, address_token: token.as_ref(), ..*self }
            .serve_at(endpoint, parameter, services)
    }

    fn serve_at(&self, endpoint: Endpoint, parameter: &str, services: &Services) -> Result<Answer, Problem> {
        let (is_business, takes_session) = (endpoint.is_business(), endpoint.takes_session());
        let is_change = endpoint.is_change(self.method);
        Asked { parameter, is_business, is_change, takes_session, ..*self }.serve(endpoint, services)
    }

    fn serve(&self, endpoint: Endpoint, services: &Services) -> Result<Answer, Problem> {
        match endpoint {
            Endpoint::Health => Ok(envelope::plain("success")),
            Endpoint::Watch(what) => watch::answer(self, what, services),
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
            Endpoint::Udf(feed) => Ok(udf::answer(self, feed, services)),
            Endpoint::Mirror(command) => mirror::answer(self, command, services),
            Endpoint::Connections => connections::list(self, services),
            Endpoint::CloseConnection => connections::close(self, services),
            Endpoint::RefreshToken => token::refresh(self, services),
            Endpoint::SignIns => sign_ins::list(self, services),
            Endpoint::EndSignIn => sign_ins::end(self, services),
            Endpoint::Me => me::show(self, services),
            Endpoint::Securities => securities::search(self, services),
            Endpoint::Security => securities::show(self, services),
            Endpoint::Actions => securities::actions(self, services),
            Endpoint::Coverage => coverage::rows(self, services),
            Endpoint::CoverageDays => coverage::days(self, services),
            Endpoint::Imports => imports::list(self, services),
            Endpoint::Quarantine => imports::quarantine(self, services),
            Endpoint::OAuth(door) => Ok(oauth::answer(self, door, services)),
            Endpoint::Page(page) => Ok(pages::answer(self, page, services)),
            Endpoint::NotOffered(idea) => not_offered::answer(self, idea, services),
        }
    }

    fn one_time_password(&self, services: &Services) -> Result<Answer, Problem> {
        let caller = self.caller(services)?;
        let seats = services.seats(&caller.who)?;
        let otp = services.access.issue_otp(&caller.who, services.uptime()).map_err(Problem::from_access)?;
        Ok(envelope::success(json!({"otp": otp.expose(), "limit": seats.limit, "online": seats.online})))
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
