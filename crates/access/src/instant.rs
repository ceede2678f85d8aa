use market::{Market, Timestamp, Zone, parse_date};

/// The text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a time: write 2026-11-13 or 20261113 (its first moment in Hong Kong), or 2026-11-13T01:30:00Z"
)]
pub struct ParseInstantError(String);

/// Parses a time in account commands and requests. A date (`2026-11-13` or `20261113`) is midnight
/// in Hong Kong, because days and months of accounts are Hong Kong's. An instant needs its offset
/// (RFC 3339); fractions of a second are truncated.
pub fn parse_instant(text: &str) -> Result<Timestamp, ParseInstantError> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(Timestamp(at.as_second()));
    }
    let dashed = || {
        let (year, rest) = text.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        let fits = year.len() == 4 && month.len() == 2 && day.len() == 2;
        fits.then(|| format!("{year}{month}{day}"))
    };
    let digits = dashed().unwrap_or_else(|| text.to_owned());
    let date = parse_date(&digits).map_err(|_| ParseInstantError(text.chars().take(40).collect()))?;
    Ok(Zone::of(Market::Hk).midnight(date))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_instants_are_parsed() {
        for (text, says) in [
            ("2027-12-31", "2027-12-30T16:00:00Z"),
            ("20271231", "2027-12-30T16:00:00Z"),
            ("2027-12-31T00:00:00Z", "2027-12-31T00:00:00Z"),
            ("2027-12-31T08:00:00.9+08:00", "2027-12-31T00:00:00Z"),
        ] {
            assert_eq!(parse_instant(text).unwrap().to_string(), says, "{text}");
        }
    }

    #[test]
    fn numbers_and_partial_times_are_rejected() {
        let long = "9".repeat(10_000);
        for text in
            ["", "soon", "1794708000", "2027-02-30", "2027-1-2", "20270230", "2027-12-31T00:00", &long]
        {
            let error = parse_instant(text).unwrap_err().to_string();
            assert!(error.contains("is not a time") && error.len() < 200, "{text:?}: {error}");
        }
    }
}
