//! Letters that cannot be seen, or that change how the text around them reads.

/// Control characters, marks of direction, zero-width letters, tags. A name with one of them may look like another name, or like none.
pub(crate) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(letter, '\u{e0000}'..='\u{e0fff}')
}
