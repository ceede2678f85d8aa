//! Periods for which a security has candles.

use market::{Floors, Grain, Period, Symbol, Venue};
use store::{Lane, Reader, SeriesInfo};

use crate::as_of::AsOf;
use crate::error::HistoryError;
use crate::read::History;

impl History {
    /// Returns the periods for which a security has any candle, shortest first. Minutes provide
    /// every minute period; coarse files provide their own period and its multiples; days are
    /// imported separately. Candles of options are not served.
    pub fn periods(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        as_of: AsOf,
    ) -> Result<Vec<Period>, HistoryError> {
        if symbol.is_us_option() {
            return Ok(Vec::new());
        }
        let venue = self.venue(symbol);
        let mut known = reader.snapshot_of(symbol)?.series_of(symbol)?;
        known.retain(|info| as_of.shows(venue, info));
        let has = |period: &Period| known.iter().any(|info| makes(venue, *period, info, as_of));
        Ok(Period::all().filter(has).collect())
    }
}

/// Returns whether a series provides candles of a period.
pub fn makes(venue: &Venue, period: Period, info: &SeriesInfo, as_of: AsOf) -> bool {
    let grain = info.series.grain;
    if period.is_clock() {
        return grain == Grain::Minute || period.own_sources().any(|own| own == grain);
    }
    if grain == Grain::Day {
        return true;
    }
    // Days are folded from minutes while they form, and until their daily candles are imported.
    let edge = as_of.horizon(venue, period, Floors::NONE).edge;
    grain == Grain::Minute
        && info.series.lane == Lane::Regular
        && edge.is_some_and(|edge| info.first < edge.minutes.end && info.last >= edge.minutes.start)
}
