//! Rate limit rule for history requests.

use std::fmt;
use std::str::FromStr;

const REQUESTS_MAX: u32 = 10_000;
const SECONDS_MAX: u32 = 3_600;

/// How often an account may request history. The text `60/30` means at most sixty requests in any
/// thirty seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateRule {
    Unlimited,
    Window { requests: u32, seconds: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a rate: write requests/seconds like 60/30 (at most 10000/3600), or unlimited")]
pub struct ParseRateRuleError(String);

impl RateRule {
    /// Default limit of history requests, as published in the interface specification.
    pub const SERVICE: RateRule = RateRule::Window { requests: 60, seconds: 30 };
}

impl FromStr for RateRule {
    type Err = ParseRateRuleError;

    fn from_str(text: &str) -> Result<RateRule, ParseRateRuleError> {
        if text.eq_ignore_ascii_case("unlimited") {
            return Ok(RateRule::Unlimited);
        }
        let number = |text: &str, max: u32| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten().filter(|number| (1..=max).contains(number))
        };
        text.split_once('/')
            .and_then(|(requests, seconds)| {
                let requests = number(requests, REQUESTS_MAX)?;
                Some(RateRule::Window { requests, seconds: number(seconds, SECONDS_MAX)? })
            })
            .ok_or_else(|| ParseRateRuleError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for RateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateRule::Unlimited => f.pad("unlimited"),
            RateRule::Window { requests, seconds } => f.pad(&format!("{requests}/{seconds}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_rules_round_trip_and_invalid_text_is_rejected() {
        for text in ["60/30", "1/1", "10000/3600", "unlimited"] {
            assert_eq!(text.parse::<RateRule>().unwrap().to_string(), text);
        }
        assert_eq!("UNLIMITED".parse(), Ok(RateRule::Unlimited));
        assert_eq!("60/30".parse(), Ok(RateRule::SERVICE));
        for text in
            ["", "60", "0/30", "60/0", "10001/1", "1/3601", "-1/30", "+1/30", "6 0/30", "60/30/1", "1.5/1"]
        {
            let error = text.parse::<RateRule>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is not a rate")), "{error}");
        }
    }
}
