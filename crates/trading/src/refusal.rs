use std::fmt;

use market::{Date, Timestamp};
use serde::{Deserialize, Serialize};

use crate::money::Currency;

/// Reason why a command was refused: the text for the client, and the failed check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub code: Code,
    /// Number of the failed check in the specification. `None` for refusals outside the checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<u8>,
    pub text: String,
    /// Specific cause, if the text covers several causes. Clients receive only the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The value that failed the check, and its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Box<Numbers>>,
}

/// Values compared by a failed check. For checks 5 to 9, `needed` is the limit and `available` is
/// the actual value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    pub rule: String,
    pub needed: String,
    pub available: String,
}

/// Error code of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub enum Code {
    /// 602001: a parameter is invalid.
    Parameter,
    /// 602080: a parameter of a grid's rule is missing or invalid.
    RuleParameter,
    /// 602301: the account may not sell the security short.
    ShortSale,
}

impl From<Code> for u32 {
    fn from(code: Code) -> u32 {
        match code {
            Code::Parameter => 602_001,
            Code::RuleParameter => 602_080,
            Code::ShortSale => 602_301,
        }
    }
}

impl TryFrom<u32> for Code {
    type Error = String;

    fn try_from(code: u32) -> Result<Code, String> {
        match code {
            602_001 => Ok(Code::Parameter),
            602_080 => Ok(Code::RuleParameter),
            602_301 => Ok(Code::ShortSale),
            _ => Err(format!("{code} is not a refusal code")),
        }
    }
}

impl Refusal {
    /// Creates a refusal outside the numbered checks.
    pub fn plain(text: impl Into<String>) -> Refusal {
        Refusal { code: Code::Parameter, check: None, text: text.into(), detail: None, numbers: None }
    }

    /// Creates a refusal for a missing exchange rate. The text names the command that enters the
    /// rate and the day for which it is needed, because today's rate would not apply to a past day.
    pub(crate) fn no_rate(currency: Currency, day: Date) -> Refusal {
        Refusal::plain(format!(
            "no rate for {currency}: report one with `chandler account rates {currency} RATE --day {day}`"
        ))
    }

    /// A change at a clock that is set back behind the account's horizon.
    pub(crate) fn behind(horizon: Timestamp, now: Timestamp) -> Refusal {
        Refusal::plain(format!(
            "account is at {horizon}, the market clock at {now}: `chandler account rewind` or `chandler account reset` \
             takes the account back, `chandler account fork` copies its state at an earlier instant"
        ))
    }

    pub fn check(number: u8, text: impl Into<String>) -> Refusal {
        Refusal { check: Some(number), ..Refusal::plain(text) }
    }

    #[must_use]
    pub(crate) fn because(mut self, detail: impl Into<String>) -> Refusal {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub(crate) fn with(
        mut self,
        rule: &str,
        needed: impl fmt::Display,
        available: impl fmt::Display,
    ) -> Refusal {
        let numbers =
            Numbers { rule: rule.to_owned(), needed: needed.to_string(), available: available.to_string() };
        self.numbers = Some(Box::new(numbers));
        self
    }

    #[must_use]
    pub(crate) fn coded(mut self, code: Code) -> Refusal {
        self.code = code;
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refusal {}
