use std::time::Duration;

use crate::AccessError;

/// Why a client gets no token, with one variant per error code that clients can distinguish. The
/// messages may be sent to the client.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("{0}")]
    InvalidRequest(&'static str),
    #[error("{0}")]
    InvalidClient(&'static str),
    #[error("{0}")]
    InvalidGrant(&'static str),
    #[error("{0}")]
    UnauthorizedClient(&'static str),
    #[error("there are authorization codes, device codes and refresh tokens here, and no other grants")]
    UnsupportedGrantType,
    #[error("the one scope here is openapi")]
    InvalidScope,
    #[error("nobody has decided yet: ask again after the interval")]
    AuthorizationPending,
    #[error("asked again too early: wait five seconds longer from now on")]
    SlowDown,
    #[error("the request was denied")]
    AccessDenied,
    #[error("the device code has expired: begin again")]
    ExpiredToken,
    #[error("{0}")]
    InvalidRedirectUri(&'static str),
    #[error("{0}")]
    InvalidClientMetadata(&'static str),
    /// A rate limit or a size limit was exceeded.
    #[error("{text}")]
    Unavailable { text: &'static str, retry_after: Duration },
    #[error("the service failed: try again")]
    Failed(#[source] AccessError),
}

impl OAuthError {
    /// Returns the error code defined by the OAuth RFCs.
    pub fn code(&self) -> &'static str {
        match self {
            OAuthError::InvalidRequest(_) => "invalid_request",
            OAuthError::InvalidClient(_) => "invalid_client",
            OAuthError::InvalidGrant(_) => "invalid_grant",
            OAuthError::UnauthorizedClient(_) => "unauthorized_client",
            OAuthError::UnsupportedGrantType => "unsupported_grant_type",
            OAuthError::InvalidScope => "invalid_scope",
            OAuthError::AuthorizationPending => "authorization_pending",
            OAuthError::SlowDown => "slow_down",
            OAuthError::AccessDenied => "access_denied",
            OAuthError::ExpiredToken => "expired_token",
            OAuthError::InvalidRedirectUri(_) => "invalid_redirect_uri",
            OAuthError::InvalidClientMetadata(_) => "invalid_client_metadata",
            OAuthError::Unavailable { .. } => "temporarily_unavailable",
            OAuthError::Failed(_) => "server_error",
        }
    }
}

impl<E: Into<AccessError>> From<E> for OAuthError {
    fn from(error: E) -> OAuthError {
        OAuthError::Failed(error.into())
    }
}
