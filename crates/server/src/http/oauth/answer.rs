//! OAuth responses: JSON objects that must not be cached.

use access::OAuthError;
use hyper::header::{HeaderValue, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::doc::RefusalDoc;
use crate::kit::doc::refusals::{AUTHENTICATE, RETRY_AFTER as RETRY_AFTER_DOC};
use crate::kit::{Answer, envelope};

pub(super) const REFUSED: RefusalDoc = RefusalDoc::of::<OAuthProblem>(
    "400",
    "OAuthRefused",
    "OAuth error; authorization_pending while the user has not decided",
);
pub(super) const UNAUTHENTICATED: RefusalDoc = RefusalDoc::of::<OAuthProblem>(
    "401",
    "OAuthUnauthenticated",
    "The client or its registration token is unknown",
)
.headers(&[AUTHENTICATE]);
pub(super) const NOT_JSON: RefusalDoc = RefusalDoc::of::<OAuthProblem>(
    "415",
    "OAuthNotJson",
    "The registration was not sent as application/json",
);
pub(super) const TOO_FAST: RefusalDoc = RefusalDoc::of::<OAuthProblem>(
    "429",
    "OAuthTooFast",
    "Too many requests: retry after the time in retry-after",
)
.headers(&[RETRY_AFTER_DOC]);
pub(super) const FAILED: RefusalDoc = RefusalDoc::of::<OAuthProblem>("500", "OAuthFailed", "Internal error");

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OAuthError")]
pub(super) struct OAuthProblem {
    /// Error code as defined by the OAuth RFCs.
    error: String,
    error_description: String,
}

/// A result with an OAuth error.
pub(super) type Refusable<T> = Result<T, OAuthError>;

pub(super) fn object(status: u16, object: &impl Serialize) -> Answer {
    let mut answer = envelope::document(status, object);
    answer.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    answer
}

pub(super) fn refused(error: OAuthError) -> Answer {
    let status = match &error {
        OAuthError::Failed(cause) => {
            tracing::error!(error = %cause, "cannot answer an OAuth client");
            500
        }
        OAuthError::Unavailable { .. } => 429,
        // Public clients expect 400 for all other errors, even where the RFC allows 401.
        _ => 400,
    };
    let mut answer = named(status, error.code(), &error.to_string());
    if let OAuthError::Unavailable { retry_after, .. } = error {
        let seconds = envelope::seconds_up(retry_after).max(1);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// Returns the refusal for a client that authenticated with the `Authorization` header. If the
/// client is invalid, the response has a `WWW-Authenticate` header.
pub(super) fn refused_basic(error: OAuthError) -> Answer {
    if !matches!(error, OAuthError::InvalidClient(_)) {
        return refused(error);
    }
    challenged(named(401, error.code(), &error.to_string()), "Basic realm=\"chandler\"")
}

/// Returns the refusal for an invalid registration access token.
pub(super) fn not_its_token() -> Answer {
    let text = "the registration token does not belong to the client";
    challenged(named(401, "invalid_token", text), "Bearer error=\"invalid_token\"")
}

/// Returns the refusal for a registration that is not JSON.
pub(super) fn not_json() -> Answer {
    named(415, "invalid_client_metadata", "the registration must be JSON with content-type: application/json")
}

fn named(status: u16, code: &str, text: &str) -> Answer {
    object(status, &OAuthProblem { error: code.to_owned(), error_description: text.to_owned() })
}

fn challenged(mut answer: Answer, challenge: &'static str) -> Answer {
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    answer
}
