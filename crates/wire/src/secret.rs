//! `Debug` implementations that omit one-time passwords and session ids.

use std::fmt;

use crate::control::{AuthRequest, AuthResponse, ReconnectRequest, ReconnectResponse};

impl fmt::Debug for AuthRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthRequest").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl fmt::Debug for ReconnectRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconnectRequest").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl fmt::Debug for AuthResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AuthResponse");
        shown.field("expires", &self.expires).field("limit", &self.limit).field("online", &self.online);
        shown.finish_non_exhaustive()
    }
}

impl fmt::Debug for ReconnectResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ReconnectResponse");
        shown.field("expires", &self.expires).field("limit", &self.limit).field("online", &self.online);
        shown.finish_non_exhaustive()
    }
}
