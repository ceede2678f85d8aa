//! The levels of accounts: their inputs, and the standings that were determined.

use market::{Calendar, Market, Venue};

use crate::standing::Standings;
use crate::{AccessError, LevelsFrom};

#[derive(Debug)]
pub(crate) struct Levels {
    /// Which numbers decide.
    pub(crate) from: LevelsFrom,
    pub(crate) standings: Standings,
}

impl Levels {
    /// With the built-in calendar of Hong Kong.
    pub(crate) fn built_in() -> Result<Levels, AccessError> {
        let calendar =
            Calendar::parse(Venue::built_in_calendar(Market::Hk)).map_err(AccessError::Calendar)?;
        Ok(Levels { from: LevelsFrom::default(), standings: Standings::new(calendar) })
    }
}
