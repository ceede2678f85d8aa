use crate::guests::Guests;
use crate::password::Gate;
use crate::refusal_log::RefusalLog;

/// Limits on password hashes, on guests, and on audit rows of refused sign-ins.
#[derive(Debug, Default)]
pub(crate) struct SignInGuards {
    pub(crate) gate: Gate,
    pub(crate) guests: Guests,
    pub(crate) refusals: RefusalLog,
}
