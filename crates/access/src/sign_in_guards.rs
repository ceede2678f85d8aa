use crate::guests::Guests;
use crate::password::Gate;
use crate::refusal_log::RefusalLog;

/// Limits on password hashing, guests, and audit rows of refused sign-ins.
#[derive(Debug, Default)]
pub(crate) struct SignInGuards {
    pub(crate) gate: Gate,
    pub(crate) guests: Guests,
    pub(crate) refusals: RefusalLog,
}
