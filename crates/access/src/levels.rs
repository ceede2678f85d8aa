//! Levels of accounts: the source of their inputs and a cache of the results.

use market::{Calendar, Market, Venue};

use crate::standing::Standings;
use crate::{AccessError, LevelsFrom};

#[derive(Debug)]
pub(crate) struct Levels {
    /// Whether levels are based on reported numbers or on paper accounts.
    pub(crate) from: LevelsFrom,
    pub(crate) standings: Standings,
}

impl Levels {
    /// Uses the built-in Hong Kong calendar.
    pub(crate) fn built_in() -> Result<Levels, AccessError> {
        let calendar =
            Calendar::parse(Venue::built_in_calendar(Market::Hk)).map_err(AccessError::Calendar)?;
        Ok(Levels { from: LevelsFrom::default(), standings: Standings::new(calendar) })
    }
}
