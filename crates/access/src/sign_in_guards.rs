use crate::code_guesses::CodeGuesses;
use crate::guests::Guests;
use crate::password::Gate;
use crate::refusal_log::RefusalLog;
use crate::throttle::SignIns;

/// Limits on guessing passwords and codes, and on guests.
#[derive(Debug, Default)]
pub(crate) struct SignInGuards {
    pub(crate) gate: Gate,
    pub(crate) sign_ins: SignIns,
    pub(crate) codes: CodeGuesses,
    pub(crate) guests: Guests,
    pub(crate) refusals: RefusalLog,
}
