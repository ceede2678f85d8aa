//! The intraday candles of days, as the minutes that they cover.

use std::collections::BTreeMap;

use market::{Candles, Date, Grain, Timestamp, Venue};

use super::by_day;
use crate::error::HistoryError;
use crate::own::Taken;

/// The candles of one lane on one day.
#[derive(Clone, Debug)]
pub(super) struct LaneDay {
    /// The finest stored grain.
    pub(super) grain: Grain,
    /// The minutes that its candles cover, ascending.
    pub(super) minutes: Vec<i64>,
}

impl Default for LaneDay {
    fn default() -> LaneDay {
        LaneDay { grain: Grain::Minute, minutes: Vec::new() }
    }
}

/// The days of a lane, by the rule that queries follow: in each session only the finest candles
/// count. Only minutes that have begun.
pub(super) fn of_lane(
    venue: &Venue,
    begun: Timestamp,
    read: impl Fn(Grain) -> Result<Candles, HistoryError>,
) -> Result<BTreeMap<Date, LaneDay>, HistoryError> {
    let minutes = read(Grain::Minute)?;
    let mut taken = Taken::new(venue);
    taken.add(&minutes);
    let days = by_day(venue, &minutes).into_iter();
    let mut days: BTreeMap<Date, LaneDay> =
        days.map(|(date, minutes)| (date, LaneDay { grain: Grain::Minute, minutes })).collect();
    for grain in Grain::OWN {
        let candles = taken.free(&read(grain)?);
        taken.add(&candles);
        for (date, times) in by_day(venue, &candles) {
            let day = days.entry(date).or_insert_with(|| LaneDay { grain, minutes: Vec::new() });
            day.minutes.extend(times.iter().flat_map(|time| stood_for(venue, grain, *time)));
            day.minutes.retain(|minute| *minute < begun.0);
            day.minutes.sort_unstable();
        }
    }
    Ok(days)
}

/// The minutes that a candle of a coarse file covers.
fn stood_for(venue: &Venue, grain: Grain, time: i64) -> impl Iterator<Item = i64> + use<> {
    let at = Timestamp(time);
    let end = venue.slot(at).zip(grain.length()).map_or(time, |(slot, length)| slot.bucket(length, at).1.0);
    (time..end).step_by(60)
}
