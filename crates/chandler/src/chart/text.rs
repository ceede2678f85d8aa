use super::Glyphs;

/// Returns the width of a character in terminal columns: 2 for East Asian characters, 0 for
/// combining characters, otherwise 1.
fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

pub(super) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Returns the ASCII replacement for a character, or `None` for a combining accent.
fn plain(c: char) -> Option<char> {
    match c {
        _ if c.is_ascii() => Some(c),
        '·' => Some('-'),
        _ if char_width(c) == 0 => None,
        _ => Some('?'),
    }
}

/// Removes control characters and truncates the text to `columns` with an ellipsis. Names come from
/// imported files and must not send escape sequences to the terminal.
pub(super) fn fit(text: &str, columns: usize, glyphs: Glyphs) -> String {
    let clean = text.chars().filter(|c| !c.is_control());
    let clean: String = match glyphs {
        Glyphs::Unicode => clean.collect(),
        Glyphs::Ascii => clean.filter_map(plain).collect(),
    };
    if width(&clean) <= columns {
        return clean;
    }
    let mark = if glyphs == Glyphs::Unicode { '…' } else { '~' };
    let mut used = 0;
    let room = columns.saturating_sub(1);
    let mut cut: String = clean
        .chars()
        .take_while(|c| {
            used += char_width(*c);
            used <= room
        })
        .collect();
    if columns > 0 {
        cut.push(mark);
    }
    cut
}

/// Joins the pieces into as few lines as possible, separated by two blanks.
pub(super) fn wrap(pieces: &[String], columns: usize, glyphs: Glyphs) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        let piece = fit(piece, columns, glyphs);
        match lines.last_mut() {
            Some(line) if width(line) + 2 + width(&piece) <= columns => line.extend(["  ", &piece]),
            _ => lines.push(piece),
        }
    }
    lines
}
