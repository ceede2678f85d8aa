//! Differences between the trading days of a source and our calendar.

use std::collections::{BTreeMap, BTreeSet};

use market::{Date, DayKind, Market, Timestamp};
use store::MirrorReport;

/// Returns a report for each day on which the calendars differ.
pub(crate) fn calendar_differences(
    market: Market,
    received: &source::Calendar,
    ours: &BTreeMap<Date, DayKind>,
    now: Timestamp,
) -> Vec<MirrorReport> {
    let theirs: BTreeMap<Date, bool> = received
        .full_days
        .iter()
        .map(|day| (*day, false))
        .chain(received.half_days.iter().map(|day| (*day, true)))
        .collect();
    let all: BTreeSet<Date> = theirs.keys().chain(ours.keys()).copied().collect();
    let word = |is_half: Option<bool>| match is_half {
        None => "closed",
        Some(false) => "a full day",
        Some(true) => "a half day",
    };
    let mut reports = Vec::new();
    for day in all {
        let our = ours.get(&day).map(|kind| *kind == DayKind::Half);
        let their = theirs.get(&day).copied();
        if our != their {
            let content =
                format!("{market} {day}: {} at the source, {} in our calendar", word(their), word(our));
            reports.push(MirrorReport { kind: "calendar".to_owned(), symbol: None, content, at: now });
        }
    }
    reports
}
