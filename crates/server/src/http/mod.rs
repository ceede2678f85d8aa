//! The HTTP transport: connections, and request handling from head to response. Each group of
//! endpoints is a folder with a table of rows, `ROUTES`, and one file per task. Groups do not
//! depend on each other; they share the [`kit`](crate::kit). `routes.rs` joins the tables and
//! matches paths to rows, and `document/` builds the OpenAPI document from the rows.

mod account;
mod admin;
mod alerts;
mod asset;
mod body;
mod content;
mod data;
mod dated;
mod document;
mod drawings;
#[cfg(test)]
mod example;
mod framing;
mod grid;
mod in_process;
mod ingest;
mod layouts;
#[cfg(test)]
mod live_tests;
mod not_offered;
mod oauth;
#[cfg(test)]
mod policy_tests;
mod quote;
mod routes;
mod statement;
mod strict;
#[cfg(test)]
pub(crate) mod tests;
mod trade;
mod udf;
mod upgrade;
mod uploads;
mod watch;
mod watchlist;
mod worlds;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{ACCEPT, ACCEPT_LANGUAGE, ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue, UPGRADE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use market::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout, timeout_at};

use crate::accepted::{Accepted, ConnectionCount};
use crate::core::Core;
use crate::kit::credentials::{self, Addressed, InWorld};
use crate::kit::doc::Doc;
use crate::kit::{
    Answer, Auth, Call, Claim, ListenerKind, Permitted, Problem, RequestFacts, RequestNotes, Row, Site,
    counter, envelope, open,
};
use crate::metrics::{Connection, Outcome};
use crate::pushes::StreamHandle;
use crate::refusal::Refusal;
use crate::request_log::ClientProgram;
use crate::request_log::{self, HttpRequestLine, RequestEnd};
use crate::workers::Who;
use crate::worlds::{WAIT_MAX, Waiter};
use crate::{local, pages, proxies};
use body::WholeRequest;
pub use data::{StoreInventory, import_document};
pub use document::openapi;
use framing::Sent;
pub use in_process::{InProcess, InProcessAnswer, InProcessRefusal, InProcessRequest};
pub use ingest::{ingest_candle, ingest_trade};
use routes::{Destination, RouteMatch, Target};
use strict::{ConnectionState, Strict};
pub use trade::charge_name;

/// Keep-alive timeout between requests. An incomplete request head has a shorter timeout
/// (`strict.rs`).
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// Keep-alive timeout on the monitoring listener, which has few clients on a nearby network.
const WATCHERS_HEAD_WITHIN: Duration = Duration::from_secs(5);
const HEAD_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 100;
/// Maximum time that a request waits for room in its account's unsent-response buffer before it is
/// refused.
const ROOM_WITHIN: Duration = Duration::from_secs(10);

/// Moves a stopped market clock forward, as its endpoint does. The error is the reason.
pub(crate) fn move_clock(core: &Core, to: Timestamp) -> Result<(), String> {
    admin::move_clock(core, to).map_err(|problem| problem.into_parts().text)
}

/// Serves one HTTP connection, which may be upgraded to a long connection.
pub(crate) async fn serve<S>(stream: S, accepted: Accepted)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (kind, head_within) = match accepted.listener_kind {
        ListenerKind::Public => (Connection::Http, HEAD_WITHIN),
        ListenerKind::Internal => (Connection::Internal, WATCHERS_HEAD_WITHIN),
    };
    let _counted = ConnectionCount::new(&accepted.site.core, kind);
    let mut shutdown = accepted.shutdown.clone();
    let state = ConnectionState::default();
    let stream = Strict::new(stream, HEAD_MAX, state.clone());
    let service = service_fn(|request| {
        let (accepted, state) = (accepted.clone(), state.clone());
        async move { Ok::<_, Infallible>(answer::<S>(request, accepted, state).await) }
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

/// Answers a request, records it in the metrics, and delays the response if the caller has many
/// refusals. The response and its log lines share a trace id.
async fn answer<S>(request: Request<Incoming>, accepted: Accepted, state: ConnectionState) -> Response<Sent>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let _answering = state.answering();
    let trace = envelope::trace_id();
    // A trusted proxy carries connections of many accounts and enforces a connection limit itself.
    let is_proxy = proxies::is_trusted(&accepted.trusted, accepted.peer.ip());
    let (site, peer, unauthenticated) =
        (accepted.site.clone(), accepted.peer, accepted.unauthenticated.clone());
    let shutdown = accepted.shutdown.clone();
    let has_upgrade = request.headers().contains_key(UPGRADE);
    let is_upgrade = accepted.listener_kind == ListenerKind::Public && upgrade::is_wanted(&request);
    let way =
        if is_upgrade { RouteMatch::UPGRADE } else { routes::way(request.method(), request.uri().path()) };
    let method = routes::known_method(request.method());
    let path = way.is_unknown_path().then(|| credentials::written(request.uri().path()));
    let is_head = request.method() == Method::HEAD;
    let program = ClientProgram::of(request.headers());
    let (mut answer, since, noted) = answer_way::<S>(request, &way, &trace, accepted).await;
    let RequestFacts { account, candles, client } = noted;
    if let Some(account) = account {
        let place = || site.http_slots.try_take(account);
        if is_proxy {
            state.prove_without_place();
            unauthenticated.leave();
        } else if state.prove(place) {
            unauthenticated.leave();
        } else {
            // The account has too many open connections, so the connection is closed after this
            // response.
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
    // The bytes after an upgrade request were not checked as HTTP, so a refused upgrade closes the
    // connection.
    if has_upgrade && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = answer.status().as_u16();
    let outcome = answer.extensions().get().copied().unwrap_or_else(|| Outcome::of_status(status));
    let bytes = answer.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    // A response to HEAD has no body.
    let (bytes, candles) = if is_head { (0, 0) } else { (bytes.unwrap_or_default(), candles) };
    site.core.metrics.candles(candles);
    let ended = RequestEnd { bytes, candles, account, ..RequestEnd::at(since, outcome) };
    let about = HttpRequestLine {
        task: way.task,
        method,
        route: way.route,
        path: path.as_deref(),
        status,
        program: &program,
        trace: &trace,
    };
    request_log::of_http(&site.core.metrics, &about, &ended);
    let who = account.map_or_else(|| Who::address(client.unwrap_or(peer.ip())), Who::Account);
    if is_refused(outcome) {
        back_off(&site, who).await;
    }
    if let Some(events) = answer.extensions().get().and_then(StreamHandle::take) {
        return answer.map(|_| Sent::events(events.until(shutdown)));
    }
    let held = (bytes > 0).then(|| site.core.unsent.of(who).hold(bytes));
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Response::from_parts(head, Sent::new(body, held))
}

/// Returns whether an outcome counts as a refusal for the backoff.
fn is_refused(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Ok | Outcome::Internal | Outcome::TimedOut | Outcome::Away)
}

/// Delays the response to a caller with many refusals. The connection is not read until the
/// response has been sent.
async fn back_off(site: &Site, who: Who) {
    let pause = site.core.backoff.refused(who, site.core.uptime());
    if !pause.is_zero() {
        site.core.metrics.paused();
        tokio::time::sleep(pause).await;
    }
}

/// Returns the response, and the time at which the request was complete. Request metrics exclude
/// the time that the client needed to send the request.
async fn answer_way<S>(
    request: Request<Incoming>,
    way: &RouteMatch,
    trace: &str,
    mut accepted: Accepted,
) -> (Answer, Instant, RequestFacts)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let is_asked = way.row().is_some_and(|row| row.asks_whether_local());
    let is_local = is_asked && local::is_local(&accepted, request.version(), request.headers());
    accepted.peer = proxies::client(&accepted.trusted, accepted.peer, request.headers());
    let client = accepted.peer.ip();
    let person =
        person(&request, way, accepted.listener_kind).map(|language| (language, accepted.site.clone()));
    let (mut since, mut noted) = (Instant::now(), RequestFacts::default());
    let mut answer = if matches!(way.found, Destination::Upgrade) {
        upgrade::answer::<S>(request, accepted)
    } else if let Some(Row { auth: Auth::AtOnce(_, answer), .. }) = way.row() {
        answer()
    } else {
        let read = body::read(request, way, &accepted).await;
        since = Instant::now();
        match read {
            Ok(whole) => {
                let answer;
                (answer, noted) = respond(whole, way.found.clone(), trace, is_local, accepted).await;
                answer
            }
            Err(problem) => problem.answer(),
        }
    };
    // Browsers receive errors as HTML pages.
    if let Some((language, site)) = person
        && answer.headers().get(CONTENT_TYPE) == Some(&envelope::JSON)
    {
        answer = pages::instead(&answer, language.to_str().unwrap_or_default(), &site);
    }
    envelope::mark(&mut answer, trace);
    noted.client = Some(client);
    (answer, since, noted)
}

/// Returns the `Accept-Language` header if a browser requests a page or an unknown path. Returns
/// `None` for programs.
fn person(request: &Request<Incoming>, way: &RouteMatch, listener_kind: ListenerKind) -> Option<HeaderValue> {
    let none = HeaderValue::from_static("");
    let language = || request.headers().get(ACCEPT_LANGUAGE).cloned().unwrap_or(none);
    let path = request.uri().path();
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let is_lost =
        way.has_no_endpoint_for_method() && !routes::is_of_programs(path) && accept.contains("text/html");
    (pages::is_page(path) || (is_lost && listener_kind == ListenerKind::Public)).then(language)
}

async fn respond(
    whole: WholeRequest,
    found: Destination,
    trace: &str,
    is_local: bool,
    accepted: Accepted,
) -> (Answer, RequestFacts) {
    let site = accepted.site.clone();
    let (share, parts) = (whole.share, &whole.parts);
    let span = tracing::info_span!("http", trace, method = %parts.method, path = %credentials::shown(parts.uri.path()));
    let claim = credentials::claim(parts, &site);
    if timeout(ROOM_WITHIN, site.core.unsent.of(share.who).room()).await.is_err() {
        return (Problem::from(Refusal::Busy).answer(), RequestFacts::default());
    }
    let (whole, found, until) = (Arc::new(whole), Arc::new(found), Instant::now() + WAIT_MAX);
    // Held until the response has been sent, so that a running clock does not move earlier.
    let mut waiter: Option<Waiter> = None;
    loop {
        // Admission and handlers may block on disk I/O, so they must not run on the threads that
        // serve connections.
        let (whole, found, accepted, span) = (whole.clone(), found.clone(), accepted.clone(), span.clone());
        let work = move || span.in_scope(|| answer_whole(&whole, &found, claim, is_local, &accepted));
        let Ok(reply) = site.core.workers.submit(share, work) else {
            return (Problem::from(Refusal::Busy).answer(), RequestFacts::default());
        };
        let Ok((answer, noted, next)) = reply.await else {
            tracing::error!(trace, "a request ended unexpectedly");
            return (Problem::internal().answer(), RequestFacts::default());
        };
        drop(waiter.take());
        // A request that arrives while the clock of its world moves is processed again after the
        // movement.
        let Some(mut next) = next else { return (answer, noted) };
        if timeout_at(until, &mut next).await.is_err() {
            return (answer, noted);
        }
        waiter = Some(next);
    }
}

/// Handles a request on a worker thread. If the request must wait for the clock of its world, also
/// returns the waiter.
fn answer_whole(
    whole: &WholeRequest,
    found: &Destination,
    claim: Option<Claim>,
    is_local: bool,
    accepted: &Accepted,
) -> (Answer, RequestFacts, Option<Waiter>) {
    let (site, note) = (&accepted.site, RequestNotes::default());
    let WholeRequest { parts, body, share, arriving, .. } = whole;
    // The account's buffer had room before the request was queued, but other responses may have
    // filled the buffer since then.
    if site.core.unsent.of(share.who).is_full() {
        return (Problem::from(Refusal::Busy).answer(), note.noted(), None);
    }
    let call = Call {
        terms: found.credential_terms(),
        method: &parts.method,
        path: parts.uri.path(),
        path_values: found.path_values(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        body,
        arriving: arriving.as_ref(),
        peer: accepted.peer,
        reached: accepted.reached,
        region: accepted.region,
        address_token: None,
        world: None,
        listener_kind: accepted.listener_kind,
        is_local,
        note: &note,
    };
    let answer = answer_found(&call, found, site).unwrap_or_else(Problem::answer);
    if let (Some(claim), Some(account)) = (claim, note.noted().account) {
        credentials::learn(claim, account, site);
    }
    (answer, note.noted(), note.take_waiter())
}

/// Answers a request that has been read completely.
fn answer_found(call: &Call<'_>, found: &Destination, site: &Site) -> Result<Answer, Problem> {
    if call.listener_kind == ListenerKind::Internal && !found.row().is_some_and(Row::is_internal) {
        return Err(Problem::not_found());
    }
    match found {
        Destination::Target(target, _) => {
            if !found.row().is_some_and(Row::takes_token_in_address) {
                return serve_target(call, *target, site);
            }
            let mut answer = serve_addressed(call, *target, site).unwrap_or_else(Problem::answer);
            open::open(&mut answer);
            Ok(answer)
        }
        Destination::Options(allow) => {
            let mut answer = Response::new(Full::default());
            *answer.status_mut() = StatusCode::NO_CONTENT;
            answer.headers_mut().insert(ALLOW, allow.clone());
            if routes::is_open_to_other_sites(call.path) {
                open::preflight(&mut answer);
            }
            Ok(answer)
        }
        Destination::OtherMethod(allow) => Err(Problem::wrong_method(allow.clone())),
        Destination::Moved(path) => Err(Problem::moved(path)),
        Destination::Upgrade | Destination::File | Destination::Nothing => {
            pages::file(call).or_else(|| pages::without_slash(call, site)).ok_or_else(Problem::not_found)
        }
    }
}

/// Like [`serve_target`], for endpoints that accept a token in the URL.
fn serve_addressed(call: &Call<'_>, target: Target, site: &Site) -> Result<Answer, Problem> {
    let Addressed { token, query } = Addressed::of(call)?;
    serve_target(&Call { query: &query, address_token: token.as_ref(), ..*call }, target, site)
}

fn serve_target(call: &Call<'_>, target: Target, site: &Site) -> Result<Answer, Problem> {
    let InWorld { world, query } = InWorld::of(call)?;
    let call = &Call { query: &query, world: world.as_deref(), ..*call };
    match target {
        Target::Row(row) => serve_row(call, row, site),
        Target::NotOffered(feature) => {
            Err(not_offered::refusal(feature, &call.admit(feature.scope(), site)?))
        }
    }
}

fn serve_row(call: &Call<'_>, row: &Row, site: &Site) -> Result<Answer, Problem> {
    match row.auth {
        Auth::AtOnce(_, answer) => Ok(answer()),
        Auth::Open(_, answer) => answer(call, site),
        Auth::Watched(answer) => answer(call, site, call.watcher(site)?),
        Auth::Permitted(permitted) => serve_permitted(call, permitted, row, site),
    }
}

/// Rewrites a `counter_id` in the query to a symbol, on endpoints that take a symbol. Signatures
/// cover the original query, so this must run after authentication.
fn counter_query(call: &Call<'_>, row: &Row) -> Result<Option<String>, Problem> {
    if !row.doc.is_some_and(Doc::has_symbol) {
        return Ok(None);
    }
    counter::query(call.query).map_err(|error| Refusal::BadQuery(error.to_string()).into())
}

fn serve_permitted(
    call: &Call<'_>,
    Permitted { scope, or, answer, refuse, .. }: Permitted,
    row: &Row,
    site: &Site,
) -> Result<Answer, Problem> {
    let pace = row.pace;
    let admitted = call.admit_either(scope, or, site).and_then(|admitted| {
        pace.pass(&admitted, site)?;
        Ok(admitted)
    });
    match admitted {
        Ok(admitted) => {
            let query = match counter_query(call, row) {
                Ok(query) => query,
                Err(problem) => return Ok(refuse(problem)),
            };
            let call = &Call { query: query.as_deref().unwrap_or(call.query), ..*call };
            let (caller, dated) = (admitted.caller, admitted.dated());
            let answered = match dated {
                None => answer(call, site, admitted),
                Some(dated) => Ok(dated::answer(dated, row, call, |call| answer(call, site, admitted))),
            };
            pace.add_headers(answered, &caller, site)
        }
        Err(problem) => Ok(refuse(problem)),
    }
}
