//! Parses times that users type: a date, a date with a time of day in the market's time zone, or an
//! instant with a UTC offset.

use history::Anchor;
use market::{Date, Zone, parse_date, parse_time_of_day_or_second};

use crate::failure::{Failure, usage};

/// Parses a date or a time in one of the forms `2026-11-13`, `20261113`, `2026-11-13 09:30`,
/// `2026-11-13T09:30` or `2026-11-13T01:30:00Z`. A time without an offset is in `zone`.
pub(crate) fn anchor(text: &str, zone: &Zone) -> Result<Anchor, Failure> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        let (date, seconds) = zone.local(market::Timestamp(instant.as_second()));
        return Ok(Anchor::Minute(date, i32::try_from(seconds / 60).unwrap_or(0)));
    }
    let wrong = || {
        usage(format!(
            "{text:?} is not a time: write 2026-11-13, \"2026-11-13 09:30\" (market time) or 2026-11-13T01:30:00Z"
        ))
    };
    match text.split_once(['T', ' ']) {
        None => date(text).map(Anchor::Day),
        Some((day, time)) => {
            let minute = parse_time_of_day_or_second(time.trim()).map_err(|_| wrong())?;
            Ok(Anchor::Minute(date(day).map_err(|_| wrong())?, minute))
        }
    }
}

/// Parses a date in the form `2026-11-13` or `20261113`.
pub(crate) fn date(text: &str) -> Result<Date, Failure> {
    let dashed = || {
        let (year, rest) = text.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        let fits = year.len() == 4 && month.len() == 2 && day.len() == 2;
        fits.then(|| format!("{year}{month}{day}"))
    };
    let compact = dashed().unwrap_or_else(|| text.to_owned());
    parse_date(&compact).map_err(|_| usage(format!("{text:?} is not a date: write 2026-11-13 or 20261113")))
}
