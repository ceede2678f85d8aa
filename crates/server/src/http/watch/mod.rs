//! How the service does, for whoever keeps it running: `/healthz` and `/readyz` for everybody, `/metrics` and `/status` for
//! those on this machine, for operators, and for whoever reaches the listener that has nothing else.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

use crate::kit::{Answer, Asks, Call, Face, Problem, Row, Site, envelope};
use crate::metrics::Task;
use crate::{facts, metrics};

/// The text format of Prometheus.
const EXPOSITION: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

pub(super) const ROUTES: &[Row] = &[
    Row::get("/health", Asks::Anyone, Task::Watch, |_, _| Ok(envelope::plain("success"))),
    Row::at_once("/healthz", Asks::Watcher, Task::Watch, health),
    Row::get("/readyz", Asks::Watcher, Task::Watch, ready),
    Row::get("/metrics", Asks::Watcher, Task::Watch, exposition),
    Row::get("/status", Asks::Watcher, Task::Watch, status),
    Row::get("/favicon.ico", Asks::Anyone, Task::Other, |_, _| Ok(no_icon())),
];

/// Browsers ask for an icon beside every page. There is none, which they may remember for a day.
fn no_icon() -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    answer
}

fn exposition(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    permitted(call, site)?;
    Ok(envelope::respond(200, EXPOSITION, Bytes::from(metrics::exposition(site))))
}

fn status(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    permitted(call, site)?;
    let document = facts::document(site).map_err(|error| {
        tracing::error!(%error, "cannot look at the store");
        Problem::internal()
    })?;
    Ok(envelope::json(200, document.to_string().into()))
}

/// The process answers; that is all it says.
fn health() -> Answer {
    envelope::plain("ok\n")
}

fn ready(_: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    let obstacles = site.core.obstacles();
    let status = if obstacles.is_empty() { 200 } else { 503 };
    let body = json!({"ready": obstacles.is_empty(), "reasons": obstacles});
    Ok(envelope::json(status, body.to_string().into()))
}

/// Everything is shown without a proof at the internal listener, and to programs on this machine.
fn permitted(call: &Call<'_>, site: &Site) -> Result<(), Problem> {
    if call.face == Face::Internal || call.is_local { Ok(()) } else { call.me(site)?.as_operator() }
}
