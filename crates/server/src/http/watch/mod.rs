//! How the service does, for whoever keeps it running: `/healthz` and `/readyz` for everybody, `/metrics` and `/status` for
//! those on this machine, for operators, and for whoever reaches the listener that has nothing else.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

use crate::kit::{Answer, Audience, Call, Problem, Row, Site, Watcher, envelope};
use crate::metrics::Task;
use crate::{facts, metrics};

/// The text format of Prometheus.
const EXPOSITION: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

pub(super) const ROUTES: &[Row] = &[
    Row::open_get("/health", Audience::Anyone, Task::Watch, |_, _| Ok(envelope::plain("success"))),
    Row::at_once("/healthz", Audience::Monitor, Task::Watch, health),
    Row::open_get("/readyz", Audience::Monitor, Task::Watch, ready),
    Row::watched("/metrics", Task::Watch, exposition),
    Row::watched("/status", Task::Watch, status),
    Row::open_get("/openapi.json", Audience::Anyone, Task::Other, openapi),
    Row::open_get("/favicon.ico", Audience::Anyone, Task::Other, |_, _| Ok(no_icon())),
];

pub(super) const OPENAPI: &str = include_str!("../openapi.json");

fn openapi(_: &Call<'_>, _: &Site) -> Result<Answer, Problem> {
    Ok(envelope::json(200, Bytes::from_static(OPENAPI.as_bytes())))
}

/// Browsers ask for an icon beside every page. There is none, which they may remember for a day.
fn no_icon() -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    answer
}

fn exposition(_: &Call<'_>, site: &Site, _: Watcher) -> Result<Answer, Problem> {
    Ok(envelope::respond(200, EXPOSITION, Bytes::from(metrics::exposition(site))))
}

fn status(_: &Call<'_>, site: &Site, _: Watcher) -> Result<Answer, Problem> {
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
