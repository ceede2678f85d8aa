//! How the service does, for whoever keeps it running: `/healthz` and `/readyz` for everybody, `/metrics` and `/status` for
//! those on this machine, for operators, and for whoever reaches the listener that has nothing else.

use bytes::Bytes;
use hyper::header::HeaderValue;
use serde_json::json;

use super::envelope::{self, Problem};
use super::{Answer, Asked};
use crate::listen::Face;
use crate::services::Services;
use crate::{facts, metrics};

/// The text format of Prometheus.
const EXPOSITION: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

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

/// Everything is shown without a proof at the internal listener, and to programs on this machine.
fn permitted(asked: &Asked<'_>, services: &Services) -> Result<(), Problem> {
    if asked.face == Face::Internal || asked.is_local { Ok(()) } else { asked.me(services)?.as_operator() }
}
