use crate::code_guesses::CodeGuesses;
use crate::guests::Guests;
use crate::password::Gate;
use crate::refusal_log::RefusalLog;
use crate::throttle::SignIns;

/// What guessing is held up by, and with what passwords are checked.
#[derive(Debug, Default)]
pub(crate) struct People {
    pub(crate) gate: Gate,
    pub(crate) sign_ins: SignIns,
    pub(crate) codes: CodeGuesses,
    pub(crate) guests: Guests,
    pub(crate) refusals: RefusalLog,
}
