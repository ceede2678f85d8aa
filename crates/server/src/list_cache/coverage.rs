//! Cache of coverage letters: one letter per security and day, for the state of that day's candles.

use std::sync::Arc;
use std::time::Duration;

use history::{AsOf, DayState, Expected, History, HistoryError};
use market::{Date, Market, Symbol};
use store::Reader;

use super::{Bounds, ListCache};
use crate::core::Core;
use crate::directory::ListedSecurity;

/// Maximum number of securities that one request compares with the calendar.
pub(crate) const COUNTED_MAX: usize = 200;
/// Letters may change although the candles have not, because importing a file again may explain its
/// gaps.
const BOUNDS: Bounds = Bounds { computed_max: COUNTED_MAX, kept_for: Duration::from_secs(300) };

#[derive(Debug, Default)]
pub(crate) struct CoverageCache(ListCache<RangeState, Arc<str>>);

/// State that all letters of a range depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RangeState {
    days: (Date, Date),
    /// Today's date in each market, and whether regular hours are over.
    today: [(Date, bool); Market::ALL.len()],
    /// Current minute of a replay clock, which reveals more data as it advances; `None` on a live
    /// clock.
    minute: Option<i64>,
}

/// Days on which each market's calendar expects candles, within a range.
#[derive(Debug)]
pub(crate) struct ExpectedDays<'a>([(Market, Expected<'a>); Market::ALL.len()]);

impl<'a> ExpectedDays<'a> {
    pub(crate) fn of(history: &'a History, days: (Date, Date), as_of: AsOf) -> ExpectedDays<'a> {
        ExpectedDays(
            Market::ALL.map(|market| (market, Expected::of(history.venues().of(market), days, as_of))),
        )
    }

    /// Returns one letter per day of the range ([`DayState::letter`]).
    pub(crate) fn letters(&self, reader: &mut Reader, symbol: &Symbol) -> Result<String, HistoryError> {
        let of_market = self.0.iter().find(|(market, _)| *market == symbol.market());
        let Some((_, expected)) = of_market else { return Ok(String::new()) };
        Ok(expected.states(reader, symbol)?.into_iter().map(DayState::letter).collect())
    }
}

impl CoverageCache {
    /// Returns the letters of these securities, in the order given. Computes at most
    /// [`COUNTED_MAX`] securities that are not cached, and returns `None` for the remaining
    /// securities.
    pub(crate) fn of(
        &self,
        core: &Core,
        days: (Date, Date),
        wanted: &[&ListedSecurity],
        as_of: AsOf,
    ) -> Result<Vec<Option<Arc<str>>>, HistoryError> {
        let mut expected = None;
        let state = RangeState::of(&core.history, days, as_of);
        self.0.of(core, state, wanted, BOUNDS, |reader, symbol| {
            let expected = expected.get_or_insert_with(|| ExpectedDays::of(&core.history, days, as_of));
            Ok(expected.letters(reader, symbol)?.into())
        })
    }
}

impl RangeState {
    fn of(history: &History, days: (Date, Date), as_of: AsOf) -> RangeState {
        let today = Market::ALL.map(|market| {
            let venue = history.venues().of(market);
            let date = venue.zone().date(as_of.now());
            (date, as_of.is_over(venue, date))
        });
        let minute = match as_of {
            AsOf::Live(_) => None,
            AsOf::Replay(now) => Some(now.0.div_euclid(60)),
        };
        RangeState { days, today, minute }
    }
}
