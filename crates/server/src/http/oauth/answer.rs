//! The shape of answers: an object of OAuth, never to be kept on the way.

use access::OAuthError;
use hyper::header::{HeaderValue, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use crate::kit::{Answer, envelope};

/// What may be refused in the words of OAuth.
pub(super) type Refusable<T> = Result<T, OAuthError>;

pub(super) fn object(status: u16, object: &Value) -> Answer {
    let mut answer = envelope::json(status, object.to_string().into());
    answer.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    answer
}

pub(super) fn refused(error: OAuthError) -> Answer {
    let status = match &error {
        OAuthError::Failed(cause) => {
            tracing::error!(error = %cause, "cannot answer a client of OAuth");
            500
        }
        OAuthError::Unavailable { .. } => 429,
        // Public clients want 400 for all the others, also where the standard would allow 401.
        _ => 400,
    };
    let mut answer = named(status, error.code(), &error.to_string());
    if let OAuthError::Unavailable { retry_after, .. } = error {
        let seconds = envelope::seconds_up(retry_after).max(1);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// A client that authenticates with the header is told so in the header.
pub(super) fn refused_basic(error: OAuthError) -> Answer {
    if !matches!(error, OAuthError::InvalidClient(_)) {
        return refused(error);
    }
    challenged(named(401, error.code(), &error.to_string()), "Basic realm=\"chandler\"")
}

/// A registration token that opens nothing.
pub(super) fn not_its_token() -> Answer {
    let text = "the registration token is not that of the client";
    challenged(named(401, "invalid_token", text), "Bearer error=\"invalid_token\"")
}

/// A registration in another form.
pub(super) fn not_json() -> Answer {
    named(415, "invalid_client_metadata", "a registration is JSON: send content-type: application/json")
}

fn named(status: u16, code: &str, text: &str) -> Answer {
    object(status, &json!({"error": code, "error_description": text}))
}

fn challenged(mut answer: Answer, challenge: &'static str) -> Answer {
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    answer
}
