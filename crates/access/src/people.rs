use crate::guests::Guests;
use crate::password::Gate;
use crate::throttle::{Codes, News, SignIns};

/// What guessing is held up by, and with what passwords are checked.
#[derive(Debug, Default)]
pub(crate) struct People {
    pub(crate) gate: Gate,
    pub(crate) sign_ins: SignIns,
    pub(crate) codes: Codes,
    pub(crate) guests: Guests,
    pub(crate) news: News,
}
