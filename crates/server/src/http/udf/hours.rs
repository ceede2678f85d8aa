//! Trading hours in chart notation, such as `0930-1200,1300-1601`, on weekdays.

use history::Sessions;
use market::{Date, DayKind, Segment, Session, Venue};

const MINUTES_A_DAY: i32 = 1440;

/// Formats the trading hours of a full day.
pub(super) fn week(venue: &Venue, sessions: Sessions, today: Date) -> String {
    of_segments(venue.full_hours(today), sessions)
}

/// Lists the weekdays without trading, starting at `from`, such as `20261225,20270101`.
pub(super) fn holidays(venue: &Venue, from: Date) -> String {
    let closed = weekdays(venue, from).filter(|date| venue.calendar().kind(*date).is_none());
    closed.map(compact).collect::<Vec<_>>().join(",")
}

/// Lists the days with shortened hours, starting at `from`, such as `0930-1300:20261127;…`.
pub(super) fn corrections(venue: &Venue, sessions: Sessions, from: Date) -> String {
    let half = weekdays(venue, from).filter(|date| venue.calendar().kind(*date) == Some(DayKind::Half));
    let report = half.map(|date| format!("{}:{}", of_segments(venue.hours(date), sessions), compact(date)));
    report.collect::<Vec<_>>().join(";")
}

fn weekdays(venue: &Venue, from: Date) -> impl Iterator<Item = Date> {
    let last = venue.calendar().valid_through();
    let dates = std::iter::successors(Some(from), |date| date.tomorrow().ok());
    dates.take_while(move |date| *date <= last).filter(|date| date.weekday().to_monday_zero_offset() < 5)
}

fn of_segments(segments: &[Segment], sessions: Sessions) -> String {
    let wanted = |session: Session| match session {
        Session::Intraday => true,
        Session::Pre | Session::Post => sessions != Sessions::Intraday,
        Session::Overnight => sessions == Sessions::All,
    };
    let mut spans: Vec<(i32, i32)> = Vec::new();
    for segment in segments.iter().filter(|segment| wanted(segment.session)) {
        // A closing auction candle has the segment's end as its timestamp, which a chart would
        // treat as outside the session.
        let end = segment.last_minute() + 1;
        match spans.last_mut() {
            Some((_, before)) if *before == segment.start => *before = end,
            _ => spans.push((segment.start, end)),
        }
    }
    // Hours that begin on the previous evening have a start after their end, which charts accept.
    let clock = |minutes: i32| {
        let minutes = minutes.rem_euclid(MINUTES_A_DAY);
        format!("{:02}{:02}", minutes / 60, minutes % 60)
    };
    let report: Vec<String> =
        spans.iter().map(|(start, end)| format!("{}-{}", clock(*start), clock(*end))).collect();
    report.join(",")
}

fn compact(date: Date) -> String {
    date.strftime("%Y%m%d").to_string()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use market::Market;

    use super::*;

    #[track_caller]
    fn check(market: Market, sessions: Sessions, wanted: &str) {
        let venue = Venue::built_in(market).unwrap();
        assert_eq!(week(&venue, sessions, date(2026, 11, 15)), wanted);
    }

    #[test]
    fn hours_include_breaks_auctions_and_overnight_sessions() {
        check(Market::Hk, Sessions::Intraday, "0930-1200,1300-1601");
        check(Market::Cn, Sessions::Intraday, "0930-1130,1300-1501");
        check(Market::Us, Sessions::Intraday, "0930-1600");
        check(Market::Us, Sessions::Extended, "0400-2000");
        check(Market::Us, Sessions::All, "2000-2000");
    }

    #[test]
    fn full_day_hours_are_used_on_a_half_day_too() {
        let venue = Venue::built_in(Market::Us).unwrap();
        assert_eq!(week(&venue, Sessions::Intraday, date(2026, 11, 27)), "0930-1600");
    }

    #[test]
    fn holidays_and_half_days_are_listed_without_weekends() {
        let venue = Venue::built_in(Market::Us).unwrap();
        let from = date(2023, 12, 4);
        let holidays = holidays(&venue, from);
        let holidays: Vec<&str> = holidays.split(',').collect();
        assert!(holidays.contains(&"20261126") && holidays.contains(&"20261225"), "{holidays:?}");
        assert!(!holidays.contains(&"20261115") && !holidays.contains(&"20261127"), "{holidays:?}");
        let corrections = |sessions: Sessions| corrections(&venue, sessions, from);
        assert!(corrections(Sessions::Intraday).contains("0930-1300:20261127"));
        assert!(corrections(Sessions::Extended).contains("0400-1700:20261127"));
        assert!(corrections(Sessions::All).contains("2000-1700:20261127"));
    }
}
