//! Scheduled changes of quotes under the machine clock: ends of trading days, and changes of
//! status.

use history::status_begins;
use market::{Date, Market, Timestamp, Venue, Venues};

/// Maximum number of days to search. If the machine was suspended for longer, changes are missed.
const DAYS_MAX: usize = 8;

/// An instant at which quotes of a market may change without a new candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scheduled {
    pub(crate) at: Timestamp,
    pub(crate) change: Change,
    pub(crate) market: Market,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// The status of securities changes.
    Status,
    /// The daily candles of this day become visible.
    EndOfDay(Date),
}

/// Returns the scheduled changes after `after` and up to `until`, in ascending order.
pub(crate) fn scheduled(venues: &Venues, after: Timestamp, until: Timestamp) -> Vec<Scheduled> {
    let mut all: Vec<Scheduled> =
        Market::ALL.into_iter().flat_map(|market| of_market(venues.of(market), market, until)).collect();
    all.retain(|one| after < one.at && one.at <= until);
    all.sort_unstable();
    all
}

fn of_market(venue: &Venue, market: Market, until: Timestamp) -> impl Iterator<Item = Scheduled> {
    let last = venue.zone().date(until);
    let days = std::iter::successors(Some(last), |day| day.yesterday().ok()).take(DAYS_MAX);
    days.flat_map(move |day| {
        let status = Scheduled { at: status_begins(venue, day), change: Change::Status, market };
        let end = venue.day(day).map(|_| venue.day_end(day));
        let end = end.map(|at| Scheduled { at, change: Change::EndOfDay(day), market });
        [Some(status), end].into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_status_change_and_every_trading_day_an_end() {
        let venues = Venues::built_in().unwrap();
        let zone = venues.of(Market::Hk).zone();
        let at = |day: &str, minute: i64| zone.instant(day.parse().unwrap(), minute * 60);
        // From Friday 16:09 to Monday 09:30 in Hong Kong.
        let found = scheduled(&venues, at("2026-03-20", 969), at("2026-03-23", 570));
        let of = |market: Market| {
            let found = found.iter().filter(|one| one.market == market);
            found.map(|one| (one.at, one.change)).collect::<Vec<_>>()
        };
        let expected = [
            (at("2026-03-20", 970), Change::EndOfDay("2026-03-20".parse().unwrap())),
            (at("2026-03-21", 570), Change::Status),
            (at("2026-03-22", 570), Change::Status),
            (at("2026-03-23", 570), Change::Status),
        ];
        assert_eq!(of(Market::Hk), expected);
        assert_eq!(of(Market::Cn), expected[1..], "its Friday ended at 15:10");
        // New York opens at 13:30 UTC and closes at 20:00.
        let friday = at("2026-03-20", 21 * 60 + 30);
        let close = Timestamp(friday.0 + 390 * 60);
        let expected = [(friday, Change::Status), (close, Change::EndOfDay("2026-03-20".parse().unwrap()))];
        assert_eq!(of(Market::Us)[..2], expected);
        assert!(found.is_sorted());
        assert_eq!(scheduled(&venues, friday, friday), []);
    }
}
