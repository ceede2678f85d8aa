//! Cache of coverage letters: one letter per security and day, for the state of that day's candles.
//! Comparing a whole market with its calendar takes seconds, so each request computes only a part.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use history::{AsOf, DayState, Expected, History, HistoryError};
use market::{Date, Market, Symbol};
use store::Reader;

use crate::core::Core;
use crate::directory::ListedSecurity;

/// Maximum number of securities that one request compares with the calendar.
pub(crate) const COUNTED_MAX: usize = 200;
/// Maximum number of day ranges whose letters are cached.
const RANGES_MAX: usize = 4;
/// Maximum age of cached letters. Letters may change although the candles have not, because
/// importing a file again may explain its gaps.
const KEPT_FOR: Duration = Duration::from_secs(300);

/// Letters of the most recently requested day ranges, latest last.
#[derive(Debug, Default)]
pub(crate) struct CoverageCache(Mutex<Vec<(RangeState, BTreeMap<Symbol, CountedLetters>)>>);

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

#[derive(Debug)]
struct CountedLetters {
    /// Version of the security's candles.
    version: i64,
    since: Duration,
    letters: Arc<str>,
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
        let uptime = core.uptime();
        let state = RangeState::of(&core.history, days, as_of);
        let mut found: Vec<Option<Arc<str>>> = self.with(state, |cached| {
            let current = |one: &&ListedSecurity| {
                let counted = cached.get(&one.symbol)?;
                let is_old = uptime.saturating_sub(counted.since) >= KEPT_FOR;
                (counted.version == one.version && !is_old).then(|| Arc::clone(&counted.letters))
            };
            wanted.iter().map(current).collect()
        });
        if found.iter().all(Option::is_some) {
            return Ok(found);
        }
        // Computed without the lock, so that other requests can read cached letters.
        let mut counted = Vec::new();
        core.with_reader(|reader| {
            let expected = ExpectedDays::of(&core.history, days, as_of);
            let unknown = wanted.iter().zip(&mut found).filter(|(_, letters)| letters.is_none());
            for (one, place) in unknown.take(COUNTED_MAX) {
                let letters: Arc<str> = expected.letters(reader, &one.symbol)?.into();
                *place = Some(Arc::clone(&letters));
                let entry = CountedLetters { version: one.version, since: uptime, letters };
                counted.push((one.symbol.clone(), entry));
            }
            Ok::<_, HistoryError>(())
        })?;
        self.with(state, |cached| cached.extend(counted));
        Ok(found)
    }

    /// Calls `work` with the cached letters of a range and marks the range as most recently used.
    fn with<T>(&self, state: RangeState, work: impl FnOnce(&mut BTreeMap<Symbol, CountedLetters>) -> T) -> T {
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = ranges.iter().position(|(at, _)| *at == state);
        let mut range = place.map_or_else(|| (state, BTreeMap::new()), |place| ranges.remove(place));
        let done = work(&mut range.1);
        if ranges.len() >= RANGES_MAX {
            ranges.remove(0);
        }
        ranges.push(range);
        done
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
