use std::fmt;
use std::str::FromStr;

pub const NAME_CHARS_MAX: usize = 40;
const _: () = assert!(NAME_CHARS_MAX == 40, "the message of `ParseNameError` says so");

/// The name of a world, unique among the worlds of its owner. It consists of lower-case letters,
/// digits and hyphens, so that it can be part of a path, an account name and a file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a name of a world: 1 to 40 of a-z, 0-9 and -")]
pub struct ParseNameError(String);

impl WorldName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WorldName {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<WorldName, ParseNameError> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        match (1..=NAME_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_letter) {
            true => Ok(WorldName(text.to_owned())),
            false => Err(ParseNameError(text.chars().take(NAME_CHARS_MAX + 1).collect())),
        }
    }
}

impl fmt::Display for WorldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
