//! Finds roll-ups that are not stored yet. Ingest changes the newest hour of a series many times a
//! minute, so it stores the roll-ups of that hour later, in one write. Stored roll-ups always equal
//! the fold of their minutes, and only the newest ones may be missing. A query that includes
//! missing ones folds the one-minute candles, as it does for the running candle.

use market::{Grain, Period, Timestamp, Venue};
use store::{Series, SeriesInfo};

use crate::plan::Plan;

/// Returns the half-open range of the roll-up that contains a minute.
pub(crate) fn range_of(venue: &Venue, grain: Grain, minute: Timestamp) -> (Timestamp, Timestamp) {
    match (grain.period(), venue.slot(minute)) {
        (Period::Clock(length), Some(slot)) => slot.bucket(length, minute),
        _ => (minute, Timestamp(minute.0.saturating_add(60))),
    }
}

/// Returns a stamp before which no roll-up of a series is missing. Returns `None` if none is
/// missing. `all` contains the series of the security.
pub(crate) fn missing_from(venue: &Venue, all: &[SeriesInfo], rolled: &Series) -> Option<Timestamp> {
    let of_grain =
        |grain: Grain| all.iter().find(|info| info.series.grain == grain && info.series.lane == rolled.lane);
    let minutes = of_grain(Grain::Minute)?;
    let Some(stored) = of_grain(rolled.grain) else { return Some(minutes.first) };
    (range_of(venue, rolled.grain, stored.last).1 <= minutes.last).then_some(stored.last)
}

/// Like [`missing_from`], for the series of a plan. Returns `None` if the plan needs no missing
/// roll-up.
pub(crate) fn missing_in(venue: &Venue, all: &[SeriesInfo], plan: &Plan) -> Option<Timestamp> {
    let rolled = plan.series.iter().filter(|series| Grain::ROLLED_UP.contains(&series.grain));
    let missing = rolled.filter_map(|series| missing_from(venue, all, series)).min();
    missing.filter(|missing| *missing < plan.sources.end)
}
