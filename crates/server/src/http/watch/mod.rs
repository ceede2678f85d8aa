//! Monitoring endpoints. `/healthz` and `/readyz` are public. `/metrics` and `/status` are
//! available to programs on this machine, to operators, and to everyone on the internal listener.

pub(super) mod gather;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Response, StatusCode};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::json;

use crate::core::{DISK, OBSTACLES};
use crate::facts;
use crate::kit::doc::refusals::{FAILED, FORBIDDEN, UNAUTHENTICATED};
use crate::kit::doc::{AnswerDoc, Credentials, Doc, Media, Tag};
use crate::kit::{Answer, Audience, Call, Problem, Row, Site, Watcher, envelope};
use crate::metrics::Task;

/// Content type of the Prometheus text format.
const EXPOSITION: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

pub(super) const ROUTES: &[Row] = &[
    Row::open_get("/health", Audience::Anyone, Task::Watch, |_, _| Ok(envelope::plain("success")))
        .doc(&HEALTH),
    Row::at_once("/healthz", Audience::Monitor, Task::Watch, health).doc(&HEALTHZ),
    Row::open_get("/readyz", Audience::Monitor, Task::Watch, ready).doc(&READYZ),
    Row::watched("/metrics", Task::Watch, exposition).doc(&METRICS),
    Row::watched("/status", Task::Watch, status).doc(&STATUS),
    Row::open_get("/favicon.ico", Audience::Anyone, Task::Other, |_, _| Ok(no_icon())).doc(&ICON),
];

const HEALTH: Doc = Doc::new(Tag::Service, "health", "Liveness check")
    .answers(&[AnswerDoc::ok("success", &[Media::text("text/plain")])]);

const HEALTHZ: Doc = Doc::new(Tag::Service, "healthz", "Liveness check of the process; responds with ok")
    .credentials(Credentials::None)
    .answers(&[AnswerDoc::ok("The process is alive", &[Media::text("text/plain")])]);

const READYZ: Doc = Doc::new(
    Tag::Service,
    "readyz",
    "Readiness check: store and accounts are readable, and the server is not shutting down",
)
.credentials(Credentials::None)
.answers(&[
    AnswerDoc::ok("Ready", &[Media::json::<Readiness>()]),
    AnswerDoc::status("503", "Not ready, with the reasons", &[Media::json::<Readiness>()]),
]);

const METRICS: Doc = Doc::new(
    Tag::Service,
    "metrics",
    "Metrics in the Prometheus text format, for local programs and operators",
)
.answers(&[AnswerDoc::ok("The metrics", &[Media::text("text/plain")])])
.refuses(&[UNAUTHENTICATED, FORBIDDEN]);

const STATUS: Doc =
    Doc::new(Tag::Service, "status", "Server status and warnings, for local programs and operators")
        .answers(&[AnswerDoc::ok("The status", &[Media::json::<facts::Status>()])])
        .refuses(&[UNAUTHENTICATED, FORBIDDEN, FAILED]);

const ICON: Doc = Doc::new(Tag::Service, "icon", "Empty response to browsers' requests for an icon")
    .answers(&[AnswerDoc::status("204", "No icon; cacheable for a day", &[])]);

#[derive(Debug, Serialize, JsonSchema)]
struct Readiness {
    ready: bool,
    /// Whether only cached data is served, without new charges or changes, because the database is
    /// unreachable or the disk is full (reason `disk`). Absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
    #[schemars(transform = obstacles)]
    reasons: Vec<&'static str>,
}

fn obstacles(schema: &mut Schema) {
    schema.insert("items".to_owned(), json!({"type": "string", "enum": OBSTACLES}));
}

/// Answers the browser's automatic icon request with an empty response, which may be cached for a
/// day, because there is no icon.
fn no_icon() -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    answer
}

fn exposition(_: &Call<'_>, site: &Site, _: Watcher) -> Result<Answer, Problem> {
    Ok(envelope::respond(200, EXPOSITION, Bytes::from(gather::exposition(site))))
}

fn status(_: &Call<'_>, site: &Site, _: Watcher) -> Result<Answer, Problem> {
    let document = facts::document(site).map_err(|error| {
        tracing::error!(%error, "cannot read the store");
        Problem::internal()
    })?;
    Ok(envelope::document(200, &document))
}

/// Liveness check, which only shows that the process responds.
fn health() -> Answer {
    envelope::plain("ok\n")
}

fn ready(_: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    let mut reasons = site.core.obstacles();
    let ready = reasons.is_empty();
    let is_full = site.core.is_disk_full();
    if is_full {
        reasons.push(DISK);
    }
    let degraded = site.core.is_degraded() || is_full;
    Ok(envelope::document(if ready { 200 } else { 503 }, &Readiness { ready, degraded, reasons }))
}
