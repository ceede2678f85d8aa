//! Validates the first and the last instant of a new world. Candles must be stored between them.

use market::{Grain, Timestamp, Venues};
use store::{Reader, SeriesInfo, StoreError};
use world::Span;

use super::request::wrong;
use crate::core::Core;
use crate::kit::Problem;
use crate::world_changes::acts_at;

/// Validates and returns the first and the last instant of a world. `end` defaults to the instant
/// at which the last stored candle can fill orders. Without candles between both instants, the
/// world is refused, because an empty world is probably a mistake in a date.
pub(super) fn checked_span(core: &Core, start: Timestamp, end: Option<Timestamp>) -> Result<Span, Problem> {
    let series = core.with_reader(|reader: &mut Reader| reader.view().all_series());
    let series = series.map_err(|error: StoreError| Problem::from_store(&error, "cannot list the series"))?;
    let source = series.iter().filter(|one| matches!(one.series.grain, Grain::Minute | Grain::Day));
    let venues = core.history.venues();
    let data = source.map(|one| (one.first, last_acts_at(one, venues))).collect::<Vec<_>>();
    let Some(last) = data.iter().map(|(_, last)| *last).max() else {
        return Err(wrong("no candles are stored: import some first"));
    };
    if end.is_none() && start > last {
        return Err(wrong(&format!("the stored candles end at {last}, before the start {start}")));
    }
    let span = Span::new(start, end.unwrap_or(last)).map_err(|error| wrong(&error.to_string()))?;
    if !data.iter().any(|(first, last)| *first <= span.end() && *last >= span.start()) {
        return Err(wrong(&format!("no candles are stored from {start} to {}", span.end())));
    }
    Ok(span)
}

/// Returns the instant at which the last candle of a series is complete and can fill orders. This
/// instant is later than the candle's timestamp, at which the candle is not visible yet.
fn last_acts_at(series: &SeriesInfo, venues: &Venues) -> Timestamp {
    let venue = venues.of(series.series.symbol.market());
    match series.series.grain {
        Grain::Day => venue.day_end(venue.zone().date(series.last)),
        _ => acts_at(venue, series.last),
    }
}
