//! The shape of every answer over HTTP: code, message, data; and a trace id in the header.

use std::sync::atomic::{AtomicU64, Ordering};

use access::{AccessError, Denial};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use super::Answer;
use crate::refusal::Refusal;

const TRACE_ID: HeaderName = HeaderName::from_static("x-trace-id");
const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Codes that belong to HTTP alone.
mod code {
    pub(super) const TOKEN_EXPIRED: u64 = 401_003;
    pub(super) const TOKEN_INVALID: u64 = 401_004;
    pub(super) const SIGNATURE_INVALID: u64 = 403_201;
    pub(super) const KEY_UNKNOWN: u64 = 403_203;
    pub(super) const INTERNAL: u64 = 500_000;
}

/// A request that gets no answer.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: u16,
    code: u64,
    text: String,
    retry_after_s: Option<u64>,
}

impl Problem {
    fn new(status: u16, code: u64, text: impl Into<String>) -> Problem {
        Problem { status, code, text: text.into(), retry_after_s: None }
    }

    pub(super) fn not_found() -> Problem {
        Problem::new(404, 404, "not found")
    }

    pub(super) fn bad_request(text: &str) -> Problem {
        Problem::new(400, 400, text)
    }

    pub(super) fn too_large() -> Problem {
        Problem::new(413, 413, "the body is too large, or ended early")
    }

    pub(super) fn too_slow() -> Problem {
        Problem::new(408, 408, "the body did not arrive in time")
    }

    pub(super) fn internal() -> Problem {
        Problem::new(500, code::INTERNAL, "internal error")
    }

    pub(super) fn from_access(error: AccessError) -> Problem {
        tracing::error!(%error, "cannot check an account");
        Problem::internal()
    }

    pub(super) fn answer(self) -> Answer {
        let body = json!({"code": self.code, "message": self.text, "data": null});
        let mut answer = respond(self.status, JSON, body.to_string().into());
        if let Some(seconds) = self.retry_after_s {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }
}

impl From<Denial> for Problem {
    fn from(denial: Denial) -> Problem {
        let text = denial.to_string();
        match denial {
            Denial::TokenExpired(_) => Problem::new(401, code::TOKEN_EXPIRED, text),
            Denial::TokenInvalid(_) | Denial::ConnectionsTaken(_) => {
                Problem::new(401, code::TOKEN_INVALID, text)
            }
            Denial::SignatureInvalid(_) => Problem::new(403, code::SIGNATURE_INVALID, text),
            Denial::KeyUnknown => Problem::new(403, code::KEY_UNKNOWN, text),
            Denial::Failed(error) => Problem::from_access(error),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let (_, code) = refusal.on_wire();
        let retry_after_s = match &refusal {
            Refusal::TooFast { retry_after, .. } => {
                Some(u64::try_from(retry_after.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1))
            }
            _ => None,
        };
        Problem { retry_after_s, ..Problem::new(refusal.on_http(), code, refusal.text()) }
    }
}

pub(super) fn success(data: Value) -> Answer {
    let body = json!({"code": 0, "message": "success", "data": data});
    respond(200, JSON, body.to_string().into())
}

pub(super) fn plain(text: &'static str) -> Answer {
    respond(200, TEXT, Bytes::from_static(text.as_bytes()))
}

pub(super) fn respond(status: u16, content_type: HeaderValue, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer.headers_mut().insert(TRACE_ID, trace_id());
    answer
}

/// Unique within the process; the log has it beside what happened.
fn trace_id() -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    HeaderValue::from(NEXT.fetch_add(1, Ordering::Relaxed))
}
