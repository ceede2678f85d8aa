//! Candle periods in chart notation (`resolution`).

use market::{Period, Span};

use super::form::echo;
use crate::refusal::Refusal;

/// Formats a period: minute periods as a number, longer periods as a number and a letter.
pub(super) fn name(period: Period) -> String {
    match period {
        Period::Clock(minutes) => minutes.get().to_string(),
        Period::Calendar(Span::Day) => "1D".to_owned(),
        Period::Calendar(Span::Week) => "1W".to_owned(),
        Period::Calendar(Span::Month) => "1M".to_owned(),
        Period::Calendar(Span::Quarter) => "3M".to_owned(),
        Period::Calendar(Span::Year) => "12M".to_owned(),
    }
}

/// Parses a resolution, including the short forms that some charts send.
pub(super) fn parse(text: &str) -> Result<Period, Refusal> {
    let whole = match text {
        "D" => "1D",
        "W" => "1W",
        "M" => "1M",
        "Y" | "1Y" => "12M",
        other => other,
    };
    let unknown = || {
        let text =
            format!("resolution {:?} is not one of {}", echo(text), names().collect::<Vec<_>>().join(", "));
        Refusal::BadQuery(text)
    };
    Period::all().find(|period| name(*period) == whole).ok_or_else(unknown)
}

pub(super) fn names() -> impl Iterator<Item = String> {
    Period::all().map(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_period_round_trips_through_its_name() {
        let names: Vec<String> = names().collect();
        assert_eq!(names.join(" "), "1 2 3 5 10 15 20 30 45 60 120 180 240 1D 1W 1M 3M 12M");
        for period in Period::all() {
            assert_eq!(parse(&name(period)), Ok(period));
        }
    }

    #[test]
    fn short_names_are_accepted_and_unknown_names_refused() {
        assert_eq!(
            ["D", "W", "M", "Y", "1Y"].map(|text| parse(text).unwrap().to_string()),
            ["day", "week", "month", "year", "year"]
        );
        for other in ["", "7", "60m", "1d", "2D", "1S", "01"] {
            assert!(matches!(parse(other), Err(Refusal::BadQuery(_))), "{other}");
        }
    }
}
