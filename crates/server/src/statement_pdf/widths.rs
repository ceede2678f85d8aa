//! Character widths of Helvetica, in thousandths of its size. PDF readers include the font, so it
//! is not embedded.

/// From the space to the tilde.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // to the slash
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584,
    556, // to the question mark
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // to the underscore
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // to o
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // to the tilde
];

/// The same for Helvetica-Bold.
const BOLD_WIDTHS: [u16; 95] = [
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, // to the slash
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584,
    611, // to the question mark
    975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778, // to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, // to the underscore
    333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, // to o
    611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584, // to the tilde
];

/// Whether Helvetica is used for a character.
pub(super) fn is_latin(letter: char) -> bool {
    (' '..='~').contains(&letter)
}

/// In thousandths of the font size.
pub(super) fn width(letter: char) -> u16 {
    of(&WIDTHS, letter)
}

/// The same in bold.
pub(super) fn bold_width(letter: char) -> u16 {
    of(&BOLD_WIDTHS, letter)
}

fn of(widths: &[u16; 95], letter: char) -> u16 {
    let index = u32::from(letter).checked_sub(32).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| widths.get(index)).copied().unwrap_or(556)
}
