//! Detection of invisible and bidirectional control characters.

/// Returns whether a character is a control character, direction mark, zero-width character, blank
/// letter or tag. A name that contains one may look empty or like another name.
pub(crate) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(
            letter,
            '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        )
        || matches!(letter, '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(letter, '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a character is a variation selector. These only change how the preceding
/// character is drawn, such as an emoji in colour, and are invisible alone.
pub(crate) fn is_selector(letter: char) -> bool {
    matches!(letter, '\u{fe00}'..='\u{fe0f}')
}
