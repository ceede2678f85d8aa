use std::fmt;
use std::str::FromStr;

/// Home region of an account, and the prefix of its tokens, by which clients distinguish regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    #[default]
    Ap,
    Us,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a region: write ap or us")]
pub struct ParseRegionError(String);

impl Region {
    pub const ALL: [Region; 2] = [Region::Ap, Region::Us];

    pub fn as_str(self) -> &'static str {
        match self {
            Region::Ap => "ap",
            Region::Us => "us",
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Region {
    type Err = ParseRegionError;

    fn from_str(text: &str) -> Result<Region, ParseRegionError> {
        let known = Region::ALL.into_iter().find(|region| region.as_str().eq_ignore_ascii_case(text.trim()));
        known.ok_or_else(|| ParseRegionError(text.chars().take(40).collect()))
    }
}

/// What a caller may do beyond its own account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    User,
    /// May view and change other accounts through the service.
    Operator,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Operator => "operator",
        }
    }

    pub(crate) fn of(text: &str) -> Option<Role> {
        [Role::User, Role::Operator].into_iter().find(|role| role.as_str() == text)
    }
}
