//! Setting for the inputs of levels: numbers that operators report, or the paper accounts.

use std::fmt;
use std::str::FromStr;

/// Where the inputs of levels come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LevelsFrom {
    /// Reports, for an account that has any; otherwise its paper account.
    #[default]
    Auto,
    Reported,
    Paper,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no source of levels: write auto, reported or paper")]
pub struct ParseLevelsFromError(String);

impl LevelsFrom {
    pub fn as_str(self) -> &'static str {
        match self {
            LevelsFrom::Auto => "auto",
            LevelsFrom::Reported => "reported",
            LevelsFrom::Paper => "paper",
        }
    }
}

impl fmt::Display for LevelsFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for LevelsFrom {
    type Err = ParseLevelsFromError;

    fn from_str(text: &str) -> Result<LevelsFrom, ParseLevelsFromError> {
        let all = [LevelsFrom::Auto, LevelsFrom::Reported, LevelsFrom::Paper];
        let found = all.into_iter().find(|known| known.as_str() == text);
        found.ok_or_else(|| ParseLevelsFromError(text.chars().take(40).collect()))
    }
}
