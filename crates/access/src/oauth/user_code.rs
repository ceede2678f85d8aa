//! User codes: eight consonants in two groups. Without vowels they spell no words, and no letter
//! looks like a digit. 20^8 codes are 34.5 bits, enough for a lifetime of ten minutes and a limited
//! number of guesses.

use crate::AccessError;
use crate::random::random;

const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LENGTH: usize = 8;
/// Maximum length of typed input, longer than any code with separators.
const TYPED_MAX: usize = 64;

/// A user code without separators, such as `BCDFGHJK`.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct UserCode([u8; LENGTH]);

impl UserCode {
    pub(super) fn new() -> Result<UserCode, AccessError> {
        let mut code = [0; LENGTH];
        for place in &mut code {
            *place = loop {
                let [byte] = random()?;
                // Rejects bytes from 240, the largest multiple of 20, to avoid modulo bias.
                if byte < 240
                    && let Some(letter) = LETTERS.get(usize::from(byte % 20))
                {
                    break *letter;
                }
            };
        }
        Ok(UserCode(code))
    }

    /// Parses typed input, ignoring case, hyphens and whitespace.
    pub(super) fn typed(text: &str) -> Option<UserCode> {
        if text.len() > TYPED_MAX {
            return None;
        }
        let letters = text.chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
        let letters = letters.map(|letter| u8::try_from(letter).ok().map(|byte| byte.to_ascii_uppercase()));
        let letters: Option<Vec<u8>> =
            letters.map(|byte| byte.filter(|byte| LETTERS.contains(byte))).collect();
        Some(UserCode(letters?.try_into().ok()?))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Formats the code in two groups, such as `BCDF-GHJK`.
    pub(super) fn shown(&self) -> String {
        let (first, second) = self.0.split_at(LENGTH / 2);
        [first, b"-", second].concat().into_iter().map(char::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_codes_may_vary_in_case_and_separators() {
        for _ in 0..100 {
            let code = UserCode::new().unwrap();
            let shown = code.shown();
            assert_eq!((shown.len(), shown.as_bytes()[4]), (9, b'-'));
            for typed in [
                shown.clone(),
                shown.to_lowercase(),
                shown.replace('-', ""),
                shown.replace('-', " "),
                format!("  {}\t-{}\n", &shown[..2], &shown[2..]),
            ] {
                assert!(UserCode::typed(&typed) == Some(code.clone()), "{typed:?}");
            }
        }
    }

    #[test]
    fn invalid_text_is_rejected() {
        let long = "-".repeat(100) + "BCDFGHJK";
        for typed in
            ["", "BCDF-GHJ", "BCDF-GHJKL", "ABCD-FGHJ", "BCDF_GHJK", "BCDF-GHJ0", "ＢCDF-GHJK", &long]
        {
            assert!(UserCode::typed(typed).is_none(), "{typed:?}");
        }
    }

    #[test]
    fn every_letter_occurs() {
        let codes: Vec<_> = (0..200).map(|_| UserCode::new().unwrap()).collect();
        assert!(LETTERS.iter().all(|letter| codes.iter().any(|code| code.as_bytes().contains(letter))));
    }
}
