//! Determines whether a security is trading, from its stored suspensions and delisting date.

use feed::{StatusChange, TradeStatus};
use market::{Date, Timestamp, Venue};
use store::{Security, Suspension};

/// Number of seconds after local midnight at which a status changes: the opening of regular hours
/// in every market.
const CHANGES_AT: i64 = 9 * 3600 + 30 * 60;

/// Returns when the status of a day begins.
pub fn status_begins(venue: &Venue, day: Date) -> Timestamp {
    venue.zone().instant(day, CHANGES_AT)
}

/// Returns the status of a security at an instant.
pub fn trade_status(security: &Security, venue: &Venue, now: Timestamp) -> TradeStatus {
    let (today, seconds) = venue.zone().local(now);
    let begun = if seconds >= CHANGES_AT { Some(today) } else { today.yesterday().ok() };
    begun.map_or(TradeStatus::Normal, |day| status_on(security, day))
}

/// Returns all changes of a security's status, ascending.
pub fn status_changes(security: &Security, venue: &Venue) -> Vec<StatusChange> {
    let of = |one: &Suspension| [Some(one.from), one.to.and_then(|to| to.tomorrow().ok())];
    let suspended = security.suspensions.iter().flat_map(of).flatten();
    let mut days: Vec<Date> = suspended.chain(security.delisted_on).collect();
    days.sort_unstable();
    let mut before = TradeStatus::Normal;
    let changes = days.into_iter().filter_map(|day| {
        let status = status_on(security, day);
        let is_new = std::mem::replace(&mut before, status) != status;
        is_new.then(|| StatusChange { at: status_begins(venue, day), status })
    });
    changes.collect()
}

fn status_on(security: &Security, day: Date) -> TradeStatus {
    if security.delisted_on.is_some_and(|delisted| delisted <= day) {
        TradeStatus::Delisted
    } else if security.is_suspended_on(day) {
        TradeStatus::Suspended
    } else {
        TradeStatus::Normal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use market::Market;

    #[test]
    fn changes_agree_with_the_status_at_every_instant() {
        let venue = Venue::built_in(Market::Hk).unwrap();
        let day = |text: &str| text.parse::<Date>().unwrap();
        let mut security = Security::new("700.HK".parse().unwrap());
        assert_eq!(status_changes(&security, &venue), []);
        security.suspensions = vec![
            Suspension { from: day("2026-03-18"), to: Some(day("2026-03-20")) },
            // Adjacent and overlapping suspensions are one.
            Suspension { from: day("2026-03-20"), to: Some(day("2026-03-22")) },
            Suspension { from: day("2026-03-23"), to: Some(day("2026-03-24")) },
            Suspension { from: day("2026-04-01"), to: None },
        ];
        security.delisted_on = Some(day("2026-04-10"));
        let changes = status_changes(&security, &venue);
        let found = changes.iter().map(|of| (venue.zone().date(of.at).to_string(), of.status));
        let expected = [
            ("2026-03-18", TradeStatus::Suspended),
            ("2026-03-25", TradeStatus::Normal),
            ("2026-04-01", TradeStatus::Suspended),
            ("2026-04-10", TradeStatus::Delisted),
        ];
        assert!(found.eq(expected.map(|(day, status)| (day.to_owned(), status))), "{changes:?}");
        let mut now = status_begins(&venue, day("2026-03-16"));
        while now < status_begins(&venue, day("2026-04-12")) {
            let last = changes.iter().rfind(|change| change.at <= now);
            let expected = last.map_or(TradeStatus::Normal, |change| change.status);
            assert_eq!(trade_status(&security, &venue, now), expected, "{now}");
            now = Timestamp(now.0 + 1_800);
        }
    }
}
