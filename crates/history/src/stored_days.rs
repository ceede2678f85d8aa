//! The trading days on which a series has candles.

use std::collections::BTreeSet;

use market::{Date, Grain, Timestamp, Venue};
use store::{Reader, Series};

use crate::plan::Rows;
use crate::query::HistoryError;
use crate::read::read_lanes;

/// Returns the trading days from `from` to `through` on which one of the series has a candle. All
/// series have the same grain.
pub fn stored_days(
    reader: &mut Reader,
    venue: &Venue,
    series: &[Series],
    (from, through): (Date, Date),
) -> Result<BTreeSet<Date>, HistoryError> {
    let is_daily = series.iter().all(|series| series.grain == Grain::Day);
    let begins = |date: Date| if is_daily { venue.zone().midnight(date) } else { venue.roll(date) };
    let end = through.tomorrow().map_or(Timestamp(i64::MAX), begins);
    let snapshot = reader.snapshot()?;
    let candles = read_lanes(&snapshot, series, begins(from)..end, Rows::Forward(usize::MAX))?;
    let day = |time: &i64| match is_daily {
        true => Some(venue.zone().date(Timestamp(*time))),
        false => venue.trading_day(Timestamp(*time)),
    };
    Ok(candles.time.iter().filter_map(day).collect())
}
