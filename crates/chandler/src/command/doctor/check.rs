//! Result of one check of `chandler doctor`.

/// Advice for an error that may occur only because the command runs as a different user than the
/// service.
pub(super) const AS_SERVICE: &str = "run this as the user that the service runs as (`sudo -u chandler chandler \
    doctor`), or correct the owner and mode";

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Ok,
    Warn,
    Fail,
}

impl Verdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        }
    }
}

/// Completed check with its message and advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) says: String,
    /// Suggested action for the user.
    pub(super) advice: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, says: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Ok, says: says.into(), advice: None }
    }

    pub(super) fn warn(name: &'static str, says: impl Into<String>, advice: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Warn, says: says.into(), advice: Some(advice.into()) }
    }

    pub(super) fn fail(name: &'static str, says: impl Into<String>, advice: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Fail, says: says.into(), advice: Some(advice.into()) }
    }
}
