//! The JSON envelope of HTTP responses (code, message, data), refusals, and the trace id header.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use access::{AccessError, Denial, NotOperator};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use paper::{PaperError, Reason};
use schemars::JsonSchema;
use serde::Serialize;
use store::StoreError;

use super::call::Answer;
use super::codes as code;
use crate::metrics::Outcome;
use crate::refusal::{Refusal, WrongRegion};

/// Appended to the refusal of features that live accounts have. Programs test their login with such
/// requests, and must not conclude that the login failed.
const NO_TRADING: &str = "paper accounts do not support this; your login is valid";
const TRACE_ID: HeaderName = HeaderName::from_static("x-trace-id");
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Log message for a failed operation on a paper account.
const PAPER_FAILED: &str = "cannot query a paper account";
/// Log message for a failed operation on an account.
const ACCESS_FAILED: &str = "cannot check an account";

const OUTCOME_UNKNOWN: &str = "the database did not confirm the change, so it may or may not have been \
 made: retry an order with the same client_request_id, which is idempotent, and check the state before \
 retrying anything else";

/// Envelope of a successful response.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Success<T> {
    /// Always 0.
    #[schemars(extend("const" = 0))]
    code: i32,
    /// Always `success`.
    message: &'static str,
    data: T,
}

/// Body of a refusal.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemBody {
    /// Error code; the description of this document lists all codes.
    code: u64,
    /// Error message.
    message: String,
    data: (),
}

/// Response data without fields.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Empty {}

/// A refused request: HTTP status, code and message.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: u16,
    code: u64,
    text: String,
    /// Full reason, for callers in this process. Never sent to a client.
    detail: Option<String>,
    header: Option<Box<(HeaderName, HeaderValue)>>,
    /// Outcome in the metrics. `None` derives the outcome from the status.
    outcome: Option<Outcome>,
}

/// The parts of a [`Problem`].
#[derive(Debug)]
pub(crate) struct ProblemParts {
    pub(crate) status: u16,
    pub(crate) code: u64,
    pub(crate) text: String,
    pub(crate) detail: Option<String>,
    pub(crate) header: Option<(HeaderName, HeaderValue)>,
    /// Outcome that the metrics count.
    pub(crate) outcome: Outcome,
}

impl Problem {
    fn new(status: u16, code: u64, text: impl Into<String>) -> Problem {
        Problem { status, code, text: text.into(), detail: None, header: None, outcome: None }
    }

    fn with(self, name: HeaderName, value: HeaderValue) -> Problem {
        Problem { header: Some(Box::new((name, value))), ..self }
    }

    /// Adds the full reason, for callers in this process.
    pub(crate) fn detailed(self, detail: String) -> Problem {
        Problem { detail: Some(detail), ..self }
    }

    /// Appends a reason to the message.
    pub(crate) fn because(self, why: &str) -> Problem {
        Problem { text: format!("{}: {why}", self.text), ..self }
    }

    /// Refuses a feature that SDKs can request but a paper account does not have.
    pub(crate) fn not_offered(what: &'static str) -> Problem {
        Problem::from(Refusal::NotOffered(what)).because(NO_TRADING)
    }

    pub(crate) fn not_found() -> Problem {
        Problem::new(404, 404, "not found")
    }

    pub(crate) fn wrong_method(allow: HeaderValue) -> Problem {
        Problem::new(405, 405, "method not allowed: see the allow header").with(ALLOW, allow)
    }

    /// Refuses a request that conflicts with the current state.
    pub(crate) fn conflict(text: impl Into<String>) -> Problem {
        Problem::new(409, 409, text)
    }

    /// Refuses a request to a path that has moved.
    pub(crate) fn moved(to: &'static str) -> Problem {
        Problem::new(410, 410, format!("this path has moved: use {to}"))
    }

    pub(crate) fn bad_request(text: &str) -> Problem {
        Problem::new(400, 400, text)
    }

    /// Refuses an action that an OAuth client may not perform for the account.
    pub(crate) fn forbidden_to_programs() -> Problem {
        access::Refusal::NotOperator(NotOperator::Program).into()
    }

    /// Refuses a browser session in a request triggered by another site.
    pub(crate) fn of_another_site() -> Problem {
        let text = "cross-site request with a browser session: open the page itself, or send a token";
        Problem::new(403, code::NOT_AUTHORISED, text)
    }

    /// Refuses a change by a browser session without a valid CSRF token.
    pub(crate) fn without_csrf_token() -> Problem {
        let text = "the CSRF token is missing or belongs to another session: send x-csrf with the value \
         from GET /v1/me";
        Problem::new(403, code::NOT_AUTHORISED, text)
    }

    pub(crate) fn too_often(text: &str, retry_after_s: i64) -> Problem {
        Problem::new(429, code::TOO_OFTEN, text).with(RETRY_AFTER, HeaderValue::from(retry_after_s))
    }

    pub(crate) fn too_many_searches(wait: Duration) -> Problem {
        let seconds = i64::try_from(seconds_up(wait)).unwrap_or(i64::MAX);
        Problem::too_often("too many searches per second: wait", seconds)
    }

    pub(crate) fn too_many_list_calls(wait: Duration) -> Problem {
        let seconds = i64::try_from(seconds_up(wait)).unwrap_or(i64::MAX).max(1);
        Problem::too_often(
            "api request is limited: at most 10 calls about watchlists and lists of securities in a second",
            seconds,
        )
    }

    pub(crate) fn too_many_trade_calls(wait: Duration) -> Problem {
        let seconds = i64::try_from(seconds_up(wait)).unwrap_or(i64::MAX).max(1);
        Problem::too_often(
            "api request is limited: at most 30 calls about orders and assets in 30 seconds",
            seconds,
        )
    }

    pub(crate) fn too_many_journal_reads(wait: Duration) -> Problem {
        let seconds = i64::try_from(seconds_up(wait)).unwrap_or(i64::MAX).max(1);
        Problem::too_often(
            "api request is limited: at most 60 requests for explanations in 30 seconds",
            seconds,
        )
    }

    pub(crate) fn too_many_community_calls(wait: Duration) -> Problem {
        let seconds = i64::try_from(seconds_up(wait)).unwrap_or(i64::MAX).max(1);
        Problem::too_often("api request is limited: at most 100 calls about topics in 10 seconds", seconds)
    }

    /// Refuses a request for an object that does not exist or is not visible to the caller.
    pub(crate) fn nothing_there(text: &str) -> Problem {
        Problem::new(404, 404, text)
    }

    /// Refuses an account that may not post topics or replies.
    pub(crate) fn may_not_post(text: &str) -> Problem {
        Problem::new(403, code::NOT_AUTHORISED, text)
    }

    /// Refuses a range that begins after the end of the `length` bytes.
    pub(crate) fn unsatisfiable(length: usize) -> Problem {
        Problem::new(416, 416, format!("the range starts after the end: the length is {length} bytes"))
    }

    /// Refuses an invalid trading request, with the code that clients expect.
    pub(crate) fn trade_parameter(text: impl Into<String>) -> Problem {
        Problem::new(400, code::TRADE_PARAMETER, text)
    }

    /// Refuses an invalid request for the security list, with the code that clients expect.
    pub(crate) fn list_parameter(text: impl Into<String>) -> Problem {
        Problem::new(400, code::LIST_PARAMETER, text)
    }

    /// Reports that the security list cannot be read.
    pub(crate) fn list_failed() -> Problem {
        Problem::new(500, code::LIST_FAILED, "internal error")
    }

    /// Refuses a grid rule with a missing or out-of-range integer.
    pub(crate) fn grid_rule(text: impl Into<String>) -> Problem {
        Problem::new(400, code::GRID_RULE, text)
    }

    /// Refuses a request that violates the paper account's trading rules.
    pub(crate) fn trade_refused(refusal: &trading::Refusal) -> Problem {
        let problem = Problem::new(400, u32::from(refusal.code).into(), refusal.text.clone());
        problem.detailed(Reason::of(refusal).words)
    }

    /// Refuses a change to an account that the operator made read-only.
    pub(crate) fn read_only() -> Problem {
        let text = "this account is read-only: it may view orders and assets, but not change them";
        Problem::new(403, code::NOT_AUTHORISED, text)
    }

    /// Refuses a change to the paper account of a world that has ended.
    pub(crate) fn world_ended() -> Problem {
        Problem::trade_parameter("world ended")
    }

    /// Refuses a request about worlds that is made with the API key of a world.
    pub(crate) fn of_world() -> Problem {
        let text = "this API key belongs to a world, which may only request /v1/world: use the owner's";
        Problem::new(403, code::NOT_AUTHORISED, text)
    }

    /// Refuses a caller in a world on an endpoint that is not about market data.
    pub(crate) fn outside_worlds() -> Problem {
        Problem::new(403, code::NOT_AUTHORISED, "this cannot be requested in a world")
    }

    /// Refuses a world that does not exist or belongs to another account.
    pub(crate) fn no_such_world() -> Problem {
        Problem::new(404, code::NO_WORLD, "there is no such world")
    }

    /// Refuses a world that exceeds the limit on their number.
    pub(crate) fn too_many_worlds(text: impl Into<String>) -> Problem {
        Problem::new(429, code::TOO_OFTEN, text)
    }

    /// Refuses an invalid or expired download URL.
    pub(crate) fn download_refused(text: impl Into<String>) -> Problem {
        Problem::new(403, code::NOT_AUTHORISED, text)
    }

    /// Refuses a feature that this server is not configured for.
    pub(crate) fn not_set_up(text: impl Into<String>) -> Problem {
        Problem::new(501, wire::code::SERVER, text)
    }

    /// Refuses a request because the paper account needs longer to catch up than one request may
    /// wait.
    pub(crate) fn catching_up(text: impl Into<String>) -> Problem {
        Problem::new(503, wire::code::SERVER, text).with(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    pub(crate) fn from_paper(error: PaperError) -> Problem {
        if let PaperError::Refused(refusal) = error {
            return Problem::trade_refused(&refusal);
        }
        let detail = in_full(&error);
        let problem = match error {
            PaperError::Contended { .. } => Refusal::Busy.into(),
            error @ PaperError::CatchingUp { .. } => Problem::catching_up(error.to_string()),
            error @ (PaperError::NoJournal
            | PaperError::NotBefore { .. }
            | PaperError::NameTaken(_)
            | PaperError::NotEmpty) => Problem::trade_parameter(error.to_string()),
            // The writer thread ended before the result was known, so the change may have been
            // made.
            error @ PaperError::Lost => Problem::outcome_unknown(&error, PAPER_FAILED),
            error => match error.store() {
                Some(error) => Problem::from_store(error, PAPER_FAILED),
                None => {
                    tracing::error!(%error, "{PAPER_FAILED}");
                    Problem::internal()
                }
            },
        };
        problem.detailed(detail)
    }

    /// Converts a store error of a read or change to a refusal. `what` is the log message.
    pub(crate) fn from_store(error: &StoreError, what: &'static str) -> Problem {
        match error {
            StoreError::Unknown { .. } => Problem::outcome_unknown(error, what),
            error if error.is_unreachable() || error.is_full() => Refusal::of_store(error, what).into(),
            error => {
                tracing::error!(%error, "{what}");
                Problem::internal()
            }
        }
    }

    /// Reports that a change may or may not have been made, so that the client checks.
    fn outcome_unknown(error: &dyn fmt::Display, what: &'static str) -> Problem {
        tracing::error!(%error, "{what}");
        Problem::new(503, code::OUTCOME_UNKNOWN, OUTCOME_UNKNOWN)
    }

    pub(crate) fn not_acceptable(text: &str) -> Problem {
        Problem::new(406, 406, text)
    }

    /// Refuses a body above `max` bytes. The unread part makes the connection unusable, so the
    /// connection is closed.
    pub(crate) fn too_large(max: usize) -> Problem {
        Problem::new(413, 413, format!("the body is larger than {max} bytes"))
            .with(CONNECTION, HeaderValue::from_static("close"))
    }

    /// Refuses a file that is too large and closes the connection.
    pub(crate) fn file_too_large(text: impl Into<String>) -> Problem {
        Problem::new(413, 413, text).with(CONNECTION, HeaderValue::from_static("close"))
    }

    /// Refuses a file because the disk is full.
    pub(crate) fn disk_full(text: impl Into<String>) -> Problem {
        Problem::new(507, 507, text)
    }

    /// Refuses a signed file upload. The signature would cover the body, but files are not read
    /// before the sender is authenticated.
    pub(crate) fn signed_file() -> Problem {
        let text = "uploads cannot be signed, because a signature would cover the file: send the token as \
         Authorization: Bearer";
        Problem::new(403, code::SIGNATURE_INVALID, text)
    }

    /// Refuses a request because the memory limit for request bodies is reached, either for the
    /// account or for all unauthenticated requests.
    pub(crate) fn too_many_bodies() -> Problem {
        Problem::new(429, code::TOO_OFTEN, "too many concurrent requests: try again")
            .with(CONNECTION, HeaderValue::from_static("close"))
    }

    pub(crate) fn too_slow() -> Problem {
        Problem::new(408, 408, "the body did not arrive in time")
            .with(CONNECTION, HeaderValue::from_static("close"))
    }

    pub(crate) fn internal() -> Problem {
        Problem::new(500, code::INTERNAL, "internal error")
    }

    pub(crate) fn from_access(error: AccessError) -> Problem {
        if let Some(wait) = error.retry_after() {
            let text = "too many changes of this kind by this account within an hour: wait";
            let seconds = i64::try_from(seconds_up(wait)).unwrap_or(i64::MAX);
            return Problem::too_often(text, seconds);
        }
        let detail = in_full(&error);
        let problem = match error {
            AccessError::Store(error) => Problem::from_store(&error, ACCESS_FAILED),
            error => Problem::unchecked(error),
        };
        problem.detailed(detail)
    }

    /// Reports that authentication failed with an internal error, so the request was not executed.
    fn unchecked(error: AccessError) -> Problem {
        if error.is_unreachable() || error.is_full() {
            return Refusal::of_access(&error).into();
        }
        tracing::error!(%error, "{ACCESS_FAILED}");
        Problem::internal()
    }

    /// Splits the refusal into its parts, for responses in another format.
    pub(crate) fn into_parts(self) -> ProblemParts {
        let Problem { status, code, text, detail, header, outcome } = self;
        ProblemParts {
            status,
            code,
            text,
            detail,
            header: header.map(|header| *header),
            outcome: outcome.unwrap_or_else(|| Outcome::of_status(status)),
        }
    }

    pub(crate) fn answer(self) -> Answer {
        let body = ProblemBody { code: self.code, message: self.text, data: () };
        let mut answer = document(self.status, &body);
        if let Some((name, value)) = self.header.map(|header| *header) {
            answer.headers_mut().insert(name, value);
        }
        if let Some(outcome) = self.outcome {
            answer.extensions_mut().insert(outcome);
        }
        if self.status == 401 {
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }
}

/// Formats an error and its causes on one line, skipping causes whose text is already included.
pub(crate) fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| cause.source()).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
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
            Denial::ScopeMissing => Problem::new(403, code::SCOPE_MISSING, text),
            Denial::KeyUnknown => Problem::new(403, code::KEY_UNKNOWN, text),
            Denial::Failed(error) => Problem::unchecked(error),
        }
    }
}

impl From<access::Refusal> for Problem {
    fn from(refusal: access::Refusal) -> Problem {
        match refusal {
            access::Refusal::ScopeMissing { .. } => {
                Problem::new(403, code::SCOPE_MISSING, refusal.to_string())
            }
            access::Refusal::NotOperator(_) => Problem::new(403, code::NOT_AUTHORISED, refusal.to_string()),
            refusal => Problem::from(Refusal::from(refusal)),
        }
    }
}

impl From<WrongRegion> for Problem {
    fn from(foreign: WrongRegion) -> Problem {
        match foreign {
            WrongRegion::Elsewhere { .. } => Problem::new(401, code::TOKEN_INVALID, foreign.to_string()),
            WrongRegion::Unknown(error) => Problem::unchecked(error),
        }
    }
}

/// `Retry-After` in seconds while the database is unreachable.
const AWAY_RETRY_S: u32 = 5;

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let (_, code) = refusal.on_wire();
        let problem = Problem::new(refusal.on_http(), code, refusal.text());
        let problem = Problem { outcome: Some(refusal.outcome()), ..problem };
        match &refusal {
            Refusal::TooFast { retry_after, .. } | Refusal::TooManyCalls { retry_after, .. } => {
                problem.with(RETRY_AFTER, HeaderValue::from(seconds_up(*retry_after).max(1)))
            }
            Refusal::Busy | Refusal::ClockMoves => problem.with(RETRY_AFTER, HeaderValue::from(1)),
            Refusal::Away(_) => problem.with(RETRY_AFTER, HeaderValue::from(AWAY_RETRY_S)),
            _ => problem,
        }
    }
}

pub(crate) fn success(data: impl Serialize) -> Answer {
    document(200, &Success { code: 0, message: "success", data })
}

/// Encodes the body of a successful response that is built once and sent often. Returns `None` if
/// `data` cannot be serialized.
pub(crate) fn success_body(data: impl Serialize) -> Option<Bytes> {
    let value = serde_json::to_value(Success { code: 0, message: "success", data }).ok()?;
    Some(value.to_string().into())
}

/// Returns a JSON document without the envelope. Serializing through a tree sorts the field names,
/// so the output does not depend on the field order in the struct.
pub(crate) fn document(status: u16, document: &impl Serialize) -> Answer {
    match serde_json::to_value(document) {
        Ok(value) => json(status, value.to_string().into()),
        Err(error) => {
            // Serializing fails only for maps with non-string keys, which documents do not have.
            tracing::error!(%error, "cannot serialize a response");
            json(500, Bytes::from_static(br#"{"code":500000,"data":null,"message":"internal error"}"#))
        }
    }
}

pub(crate) fn json(status: u16, body: Bytes) -> Answer {
    respond(status, JSON, body)
}

pub(crate) fn plain(text: &'static str) -> Answer {
    respond(200, TEXT, Bytes::from_static(text.as_bytes()))
}

pub(crate) fn text(text: String) -> Answer {
    respond(200, TEXT, text.into())
}

pub(crate) fn respond(status: u16, content_type: HeaderValue, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    // Responses contain passwords and account data, so proxies and browsers must not cache them.
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Returns a new trace id for a response and its log lines. The id is a random number per process
/// followed by a counter, so that ids do not repeat after a restart.
pub(crate) fn trace_id() -> String {
    // `RandomState::new` has random keys, so its hasher yields a random number.
    static RUN: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{:016x}{:08x}", *RUN, NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn mark(answer: &mut Answer, trace: &str) {
    if let Ok(trace) = HeaderValue::from_str(trace) {
        answer.headers_mut().insert(TRACE_ID, trace);
    }
    // Prevents browsers from sniffing another content type and running the response as a script.
    answer.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Rounds up to whole seconds, so that a client that waits this long does not retry too early.
pub(crate) fn seconds_up(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0))
}

#[cfg(test)]
mod tests {
    use store::StoreError;
    use wire::Status;

    use super::*;

    #[test]
    fn a_wait_is_rounded_up_to_whole_seconds() {
        let waits = [0, 1, 999_999_999, 1_000_000_000, 1_000_000_001].map(Duration::from_nanos);
        assert_eq!(waits.map(seconds_up), [0, 1, 1, 1, 2]);
        assert_eq!(seconds_up(Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_lost_commit_response_has_an_unknown_outcome() {
        let lost = || StoreError::Unknown {
            what: "write to a journal",
            place: store::StoreUrl::from(std::path::Path::new("/accounts")),
            source: "the connection was closed".into(),
        };
        let problems = [
            Problem::from_paper(PaperError::Commit(lost().into())),
            Problem::from_paper(PaperError::Store(lost())),
            Problem::from_paper(PaperError::Lost),
            Problem::from_access(AccessError::Store(lost())),
            Problem::from_store(&lost(), "write a topic"),
        ];
        for Problem { status, code, text, .. } in problems {
            assert_eq!((status, code), (503, 503_001));
            assert!(text.contains("may or may not have been made"), "{text}");
            assert!(text.contains("same client_request_id"), "{text}");
        }
        // If recording a signature fails, the outcome is certain, because the request was not
        // executed.
        let unchecked = Problem::from(Denial::Failed(AccessError::Store(lost())));
        assert_eq!((unchecked.status, unchecked.code), (500, 500_000));
    }

    #[test]
    fn an_account_catching_up_gets_503_with_retry_after() {
        let (at, to) = (market::Timestamp(1_773_799_200), market::Timestamp(1_773_820_800));
        let answer = Problem::from_paper(PaperError::CatchingUp { at, to }).answer();
        assert_eq!((answer.status().as_u16(), &answer.headers()[RETRY_AFTER]), (503, &HeaderValue::from(1)));
        let text = PaperError::CatchingUp { at, to }.to_string();
        assert_eq!(
            text,
            "the account is catching up with the market: it is at 2026-03-18T02:00:00Z, advancing to \
             2026-03-18T08:00:00Z; try again"
        );
    }

    #[test]
    fn denials_map_to_the_documented_status_and_code() {
        for (denial, numbers) in [
            (Denial::TokenExpired("x"), (401, 401_003)),
            (Denial::TokenInvalid("x"), (401, 401_004)),
            (Denial::ScopeMissing, (403, 403_008)),
            (Denial::SignatureInvalid("x"), (403, 403_201)),
            (Denial::KeyUnknown, (403, 403_203)),
        ] {
            let problem = Problem::from(denial);
            assert_eq!((problem.status, problem.code), numbers, "{problem:?}");
        }
    }

    #[test]
    fn database_errors_have_the_same_code_in_every_service() {
        let place = || store::StoreUrl::from(std::path::Path::new("accounts.db"));
        let full = || StoreError::Full { what: "commit", place: place(), source: "no space left".into() };
        let away = || StoreError::Away { what: "commit", place: place(), source: "no answer".into() };
        let other =
            || StoreError::Disk { what: "commit", place: place(), source: "input/output error".into() };
        let cases: [(&dyn Fn() -> StoreError, _, &str, _); 3] = [
            (&full, (507, 301_602), "the disk of the database is full", (Status::ServerError, 301_602)),
            (&away, (503, 301_602), "the database is unreachable", (Status::ServerError, 301_602)),
            (&other, (500, 500_000), "internal error", (Status::ServerError, 301_602)),
        ];
        for (error, on_http, text, on_wire) in cases {
            for problem in [
                Problem::from_paper(PaperError::Store(error())),
                Problem::from_paper(PaperError::Commit(std::sync::Arc::new(error()))),
                Problem::from_access(AccessError::from(error())),
            ] {
                assert_eq!((problem.status, problem.code), on_http, "{problem:?}");
                assert!(problem.text.starts_with(text), "{problem:?}");
            }
            assert_eq!(Refusal::of_store(&error(), "test").on_wire(), on_wire);
        }
    }
}
