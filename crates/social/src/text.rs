//! Validation of the length and characters of a text.

/// A validation error. Its message is shown to the author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("{0} is required")]
    Missing(&'static str),
    #[error("{what} has more than {most} characters")]
    TooLong { what: &'static str, most: usize },
    #[error("{what} has the control character U+{:04X}", u32::from(*letter))]
    Control { what: &'static str, letter: char },
    #[error("{what} has the invisible character U+{:04X}, which could disguise it", u32::from(*letter))]
    Invisible { what: &'static str, letter: char },
    #[error("{what} has a space: write one word")]
    Space { what: &'static str },
    #[error("there are more than {most} {what}")]
    TooMany { what: &'static str, most: usize },
    #[error(transparent)]
    Symbol(#[from] market::ParseSymbolError),
    #[error("topic_type is article or post")]
    Kind,
    #[error("images are not supported: link to them in the text")]
    Images,
}

/// Validates a text of several lines with at most `most` characters. Invisible characters and
/// direction marks are allowed, because the text is displayed as a separate block and cannot affect
/// other text.
pub(crate) fn lines(what: &'static str, text: &str, most: usize) -> Result<(), TextError> {
    check_length(what, text, most)?;
    let is_wrong = |letter: &char| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t');
    match text.chars().find(is_wrong) {
        Some(letter) => Err(TextError::Control { what, letter }),
        None if !has_something_to_see(text) => Err(TextError::Missing(what)),
        None => Ok(()),
    }
}

/// Validates a single line with at most `most` characters. A line is displayed next to other text,
/// so characters that are invisible or change the text direction are rejected.
pub(crate) fn line(what: &'static str, text: &str, most: usize) -> Result<(), TextError> {
    check_length(what, text, most)?;
    for letter in text.chars() {
        if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') {
            return Err(TextError::Control { what, letter });
        }
        // The zero-width joiner and non-joiner are needed in Persian and several Indic scripts, and
        // to combine emoji.
        if is_invisible(letter) && !matches!(letter, '\u{200C}' | '\u{200D}') {
            return Err(TextError::Invisible { what, letter });
        }
    }
    if has_something_to_see(text) { Ok(()) } else { Err(TextError::Missing(what)) }
}

/// Validates a single word, such as a hashtag. Spaces and all invisible characters are rejected,
/// because two different hashtags could otherwise look identical.
pub(crate) fn word(what: &'static str, text: &str, most: usize) -> Result<(), TextError> {
    line(what, text, most)?;
    match text.chars().find(|letter| letter.is_whitespace() || is_invisible(*letter)) {
        Some(letter) if letter.is_whitespace() => Err(TextError::Space { what }),
        Some(letter) => Err(TextError::Invisible { what, letter }),
        None => Ok(()),
    }
}

fn check_length(what: &'static str, text: &str, most: usize) -> Result<(), TextError> {
    // A character takes at least one byte, so a text of at most `most` bytes need not be counted.
    let is_too_long = text.len() > most && text.chars().count() > most;
    if is_too_long { Err(TextError::TooLong { what, most }) } else { Ok(()) }
}

fn has_something_to_see(text: &str) -> bool {
    text.chars().any(|letter| !letter.is_whitespace() && !letter.is_control() && !is_invisible(letter))
}

/// Returns whether a character is invisible: a zero-width character, a direction mark or override,
/// a filler, a variation selector, or a deprecated format character.
fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{00AD}'
            | '\u{034F}'
            | '\u{061C}'
            | '\u{115F}'
            | '\u{1160}'
            | '\u{17B4}'
            | '\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0E}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: fn(&'static str, &str, usize) -> Result<(), TextError>, text: &str, expected: &str) {
        let found = rule("title", text, 5).map_or_else(|error| error.to_string(), |()| "good".to_owned());
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn long_lines_and_invisible_characters_are_refused() {
        for (text, expected) in [
            ("five5", "good"),
            ("sixsix", "title has more than 5 characters"),
            // The limit counts characters, not bytes.
            ("🙂🙂🙂🙂🙂", "good"),
            ("騰訊控股股", "good"),
            ("🙂🙂🙂🙂🙂🙂", "title has more than 5 characters"),
            ("", "title is required"),
            (" \u{3000} ", "title is required"),
            ("a\nb", "title has the control character U+000A"),
            ("a\tb", "title has the control character U+0009"),
            ("a\0b", "title has the control character U+0000"),
            ("a\u{7f}", "title has the control character U+007F"),
            ("a\u{85}", "title has the control character U+0085"),
            ("a\u{2028}", "title has the control character U+2028"),
            ("a\u{202e}b", "title has the invisible character U+202E, which could disguise it"),
            ("a\u{2066}b", "title has the invisible character U+2066, which could disguise it"),
            ("a\u{200b}b", "title has the invisible character U+200B, which could disguise it"),
            ("\u{feff}ab", "title has the invisible character U+FEFF, which could disguise it"),
            // A zero-width joiner in an emoji, and a non-joiner in a Persian word.
            ("👩\u{200d}👧", "good"),
            ("می\u{200c}خ", "good"),
            ("\u{200d}", "title is required"),
            ("<b>x", "good"),
        ] {
            check(line, text, expected);
        }
    }

    #[test]
    fn control_characters_in_multi_line_text_are_refused() {
        for (text, expected) in [
            ("a\nb\tc", "good"),
            ("a\r\nb", "good"),
            ("\u{202e}abc", "good"),
            ("a\u{200b}b", "good"),
            ("\u{200b}\n\u{202e}", "title is required"),
            ("\n\n", "title is required"),
            ("a\u{1b}[0m", "title has the control character U+001B"),
            ("a\0", "title has the control character U+0000"),
            ("123456", "title has more than 5 characters"),
        ] {
            check(lines, text, expected);
        }
    }

    #[test]
    fn words_with_spaces_or_invisible_characters_are_refused() {
        for (text, expected) in [
            ("lots", "good"),
            ("手数", "good"),
            ("a b", "title has a space: write one word"),
            ("a\u{3000}b", "title has a space: write one word"),
            ("a\u{200d}b", "title has the invisible character U+200D, which could disguise it"),
        ] {
            check(word, text, expected);
        }
    }
}
