use std::fmt;
use std::str::FromStr;

use crate::codec::serde_as_text;

/// A currency by its three letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a currency: write three letters, like HKD")]
pub struct ParseCurrencyError(String);

impl Currency {
    /// The currency of account figures, credit lines and exchange rates.
    pub const HKD: Currency = Currency(*b"HKD");
    pub const USD: Currency = Currency(*b"USD");
    pub const CNH: Currency = Currency(*b"CNH");

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("")
    }
}

impl FromStr for Currency {
    type Err = ParseCurrencyError;

    fn from_str(text: &str) -> Result<Currency, ParseCurrencyError> {
        match text.as_bytes() {
            &[a, b, c] if [a, b, c].iter().all(u8::is_ascii_uppercase) => Ok(Currency([a, b, c])),
            _ => Err(ParseCurrencyError(text.chars().take(20).collect())),
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

serde_as_text!(Currency);
