//! Whether a market is open, computed from its calendar, as a status code of the SDKs. The opening
//! auction is reported as closed, because no candle covers it.

use market::{Market, Session, Timestamp, Venue};

/// Returns the status code of a market.
pub fn trade_status(venue: &Venue, now: Timestamp) -> i32 {
    let is_us = venue.market() == Market::Us;
    // Only Hong Kong has a closing auction. In other markets the closing phase only allows for late
    // timestamps.
    if venue.market() == Market::Hk && venue.closing(now).is_some() {
        return 107;
    }
    let slot = venue.slot(now).filter(|slot| !slot.is_tail(now));
    match slot.map(|slot| slot.segment.session) {
        Some(Session::Intraday) if is_us => 202,
        Some(Session::Intraday) => 105,
        Some(Session::Pre) => 201,
        Some(Session::Post) => 203,
        Some(Session::Overnight) => 207,
        None if is_us => 204,
        None if is_break(venue, now) => 106,
        None => 108,
    }
}

/// Returns when the current trading hours began, or `None` if the market does not trade.
pub(crate) fn trades_since(venue: &Venue, now: Timestamp) -> Option<Timestamp> {
    venue.slot(now).filter(|slot| !slot.is_tail(now)).map(|slot| slot.begins_at())
}

/// Returns whether `now` is in a break after which regular hours resume on the same day.
fn is_break(venue: &Venue, now: Timestamp) -> bool {
    let (date, seconds) = venue.zone().local(now);
    if venue.calendar().kind(date).is_none() {
        return false;
    }
    let hours = venue.hours(date);
    let has_begun = hours.iter().any(|segment| i64::from(segment.start) * 60 <= seconds);
    let goes_on = hours.iter().any(|segment| i64::from(segment.start) * 60 > seconds);
    has_begun && goes_on
}

/// Returns the next instant after `now` at which the status may change, at most a day later.
pub(crate) fn next_change(venue: &Venue, now: Timestamp) -> Timestamp {
    let today = venue.zone().date(now);
    // The evening before a trading day may belong to it.
    let days = [Some(today), today.tomorrow().ok()].into_iter().flatten().filter_map(|date| venue.day(date));
    let edges = days.flat_map(|day| {
        let minutes = day.segments.iter().flat_map(|one| [one.start, one.end, one.end + one.tail]);
        minutes.map(move |minute| day.at(minute))
    });
    let next = edges.filter(|edge| *edge > now).min();
    next.unwrap_or(Timestamp(now.0.saturating_add(LOOK_EVERY)))
}

/// Time until the calendar is checked again if no change is found.
const LOOK_EVERY: i64 = 86_400;

#[cfg(test)]
mod tests {
    use market::Venues;

    use super::*;

    #[test]
    fn the_status_follows_the_calendar() {
        let venues = Venues::built_in().unwrap();
        // Friday, 13 November 2026, and the following Saturday.
        for (market, clock, wanted) in [
            (Market::Hk, "2026-11-13 09:29", 108),
            (Market::Hk, "2026-11-13 09:30", 105),
            (Market::Hk, "2026-11-13 11:59", 105),
            (Market::Hk, "2026-11-13 12:00", 106),
            (Market::Hk, "2026-11-13 13:00", 105),
            (Market::Hk, "2026-11-13 16:05", 107),
            (Market::Hk, "2026-11-13 16:10", 108),
            (Market::Hk, "2026-11-14 10:00", 108),
            (Market::Cn, "2026-11-13 11:30", 106),
            (Market::Cn, "2026-11-13 14:59", 105),
            (Market::Cn, "2026-11-13 15:00", 108),
            (Market::Us, "2026-11-13 03:00", 207),
            (Market::Us, "2026-11-13 05:00", 201),
            (Market::Us, "2026-11-13 09:30", 202),
            (Market::Us, "2026-11-13 16:00", 203),
            (Market::Us, "2026-11-13 21:00", 204),
            (Market::Us, "2026-11-15 21:00", 207),
        ] {
            let venue = venues.of(market);
            let (date, time) = clock.split_once(' ').unwrap();
            let minutes = market::parse_time_of_day(time).unwrap();
            let now = venue.zone().instant(date.parse().unwrap(), i64::from(minutes) * 60);
            assert_eq!(trade_status(venue, now), wanted, "{} {clock}", market.as_str());
        }
    }

    #[test]
    fn changes_follow_holidays_and_half_days() {
        let venues = Venues::built_in().unwrap();
        let at = |market: Market, clock: &str| {
            let venue = venues.of(market);
            let (date, time) = clock.split_once(' ').unwrap();
            let minutes = market::parse_time_of_day(time).unwrap();
            venue.zone().instant(date.parse().unwrap(), i64::from(minutes) * 60)
        };
        // A half day on the eve of the lunar new year, and the holidays after it.
        for (market, clock, status, next) in [
            (Market::Hk, "2026-02-16 09:00", 108, "2026-02-16 09:30"),
            (Market::Hk, "2026-02-16 11:59", 105, "2026-02-16 12:00"),
            (Market::Hk, "2026-02-16 12:00", 107, "2026-02-16 12:10"),
            (Market::Hk, "2026-02-16 14:00", 108, "2026-02-17 14:00"),
            (Market::Hk, "2026-02-17 10:00", 108, "2026-02-18 10:00"),
            (Market::Us, "2025-11-28 12:59", 202, "2025-11-28 13:00"),
            (Market::Us, "2025-11-27 10:00", 204, "2025-11-27 20:00"),
        ] {
            let (venue, now) = (venues.of(market), at(market, clock));
            assert_eq!(trade_status(venue, now), status, "{} {clock}", market.as_str());
            assert_eq!(next_change(venue, now), at(market, next), "{} {clock}", market.as_str());
            let since = [105, 202].contains(&status).then(|| at(market, &format!("{} 09:30", &clock[..10])));
            assert_eq!(trades_since(venue, now), since, "{} {clock}", market.as_str());
        }
    }
}
