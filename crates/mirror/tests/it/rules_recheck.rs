use market::{Market, Period, Timestamp, Venue};
use mirror::DateRange;
use mirror::recheck::Recheck;

fn range(from: &str, through: &str) -> Option<DateRange> {
    Some(DateRange { from: from.parse().unwrap(), through: through.parse().unwrap() })
}

/// 2026-03-18 17:00 in Hong Kong, 05:00 in New York.
const NOW: Timestamp = Timestamp(1_773_824_400);

#[test]
fn the_last_ten_days_and_minutes_of_two_days_are_requested_again() {
    let hk = Venue::built_in(Market::Hk).unwrap();
    assert_eq!(Recheck::Again.range(&hk, Period::DAY, NOW), range("2026-03-05", "2026-03-18"));
    assert_eq!(Recheck::Again.range(&hk, Period::MINUTE, NOW), range("2026-03-17", "2026-03-18"));
    // A Sunday evening in New York, which belongs to Monday.
    let sunday = Timestamp(1_774_141_200);
    assert_eq!(Recheck::Again.range(&hk, Period::MINUTE, sunday), range("2026-03-19", "2026-03-20"));
    let us = Venue::built_in(Market::Us).unwrap();
    let evening = Timestamp(1_774_224_000);
    assert_eq!(us.zone().rfc3339(evening), "2026-03-22T20:00:00-04:00");
    assert_eq!(Recheck::Again.range(&us, Period::MINUTE, evening), range("2026-03-20", "2026-03-23"));
}

#[test]
fn holidays_do_not_count_as_trading_days() {
    let hk = Venue::built_in(Market::Hk).unwrap();
    // 2026-02-20, the first trading day after three days of the Lunar New Year.
    let after = Timestamp(1_771_578_000);
    assert_eq!(hk.zone().date(after).to_string(), "2026-02-20");
    assert_eq!(Recheck::Again.range(&hk, Period::MINUTE, after), range("2026-02-16", "2026-02-20"));
}

#[test]
fn all_days_since_a_date_are_requested_again() {
    let hk = Venue::built_in(Market::Hk).unwrap();
    let since = |date: &str| Recheck::Since(date.parse().unwrap());
    for period in [Period::DAY, Period::MINUTE] {
        assert_eq!(since("2024-01-06").range(&hk, period, NOW), range("2024-01-06", "2026-03-18"));
        assert_eq!(since("2026-03-19").range(&hk, period, NOW), None);
    }
}
