//! Dates of workbooks, which are numbers of days.

use jiff::civil::{Date, date};

/// The day from which a workbook counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epoch {
    Of1900,
    Of1904,
}

const DAY: f64 = 86_400.0;
/// 9999-12-31.
const DAYS_MAX: f64 = 2_958_465.0;

/// Writes a number of days as a date, a time of day, or both. Returns `None` for numbers that are
/// not dates.
pub(super) fn written(serial: f64, epoch: Epoch) -> Option<String> {
    if !(0.0..=DAYS_MAX).contains(&serial) {
        return None;
    }
    // Times of day are inexact fractions, so they are rounded to seconds.
    let seconds = (serial * DAY).round() as i64;
    let (days, seconds) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if days == 0 {
        return Some(clock);
    }
    let date = day(days, epoch)?;
    Some(if seconds == 0 { date.to_string() } else { format!("{date} {clock}") })
}

fn day(days: i64, epoch: Epoch) -> Option<Date> {
    let (start, days) = match epoch {
        Epoch::Of1904 => (date(1904, 1, 1), days),
        // Excel counts 1900-02-29, which did not exist, as day 60.
        Epoch::Of1900 if days < 60 => (date(1899, 12, 31), days),
        Epoch::Of1900 => (date(1899, 12, 30), days),
    };
    start.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_days_are_dates_and_times() {
        let of_1900 = |serial| written(serial, Epoch::Of1900);
        assert_eq!(of_1900(45_293.0).as_deref(), Some("2024-01-02"));
        assert_eq!(of_1900(45_293.395_833_333_336).as_deref(), Some("2024-01-02 09:30:00"));
        assert_eq!(of_1900(45_293.999_999_999).as_deref(), Some("2024-01-03"));
        assert_eq!(of_1900(0.395_833_333_333_333).as_deref(), Some("09:30:00"));
        assert_eq!(of_1900(1.0).as_deref(), Some("1900-01-01"));
        assert_eq!(of_1900(61.0).as_deref(), Some("1900-03-01"));
        assert_eq!(written(43_831.0, Epoch::Of1904).as_deref(), Some("2024-01-02"));
        for wrong in [-1.0, 3e6, f64::NAN, f64::INFINITY] {
            assert_eq!(of_1900(wrong), None, "{wrong}");
        }
    }
}
