//! Splits a line of text into cells.

use crate::REJECTED_TEXT_MAX;

/// The cells of one line. Can be reused for the next line without new allocations.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    bounds: Vec<(usize, usize)>,
    /// The line with its quotes removed. Valid only if `quoted` is set.
    unquoted: Vec<u8>,
    quoted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenQuote;

impl Cells {
    /// Splits a line. A quoted cell must end on the same line: tables of numbers have no multi-line
    /// cells, and an unclosed quote then costs one row instead of the remaining file.
    pub(crate) fn split(&mut self, line: &[u8], delimiter: u8) -> Result<(), OpenQuote> {
        self.bounds.clear();
        let mut start = 0;
        let mut quote = false;
        for (at, byte) in line.iter().enumerate() {
            if *byte == delimiter {
                self.bounds.push((start, at));
                start = at + 1;
            }
            quote |= *byte == b'"';
        }
        self.bounds.push((start, line.len()));
        self.quoted = quote;
        if quote { self.split_quoted(line, delimiter) } else { Ok(()) }
    }

    fn split_quoted(&mut self, line: &[u8], delimiter: u8) -> Result<(), OpenQuote> {
        self.bounds.clear();
        self.unquoted.clear();
        let mut start = 0;
        let mut inside = false;
        let mut bytes = line.iter().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' if inside && bytes.peek() == Some(&&b'"') => {
                    bytes.next();
                    self.unquoted.push(b'"');
                }
                b'"' if inside => inside = false,
                b'"' if self.unquoted.len() == start => inside = true,
                _ if *byte == delimiter && !inside => {
                    self.bounds.push((start, self.unquoted.len()));
                    start = self.unquoted.len();
                }
                _ => self.unquoted.push(*byte),
            }
        }
        self.bounds.push((start, self.unquoted.len()));
        if inside { Err(OpenQuote) } else { Ok(()) }
    }

    pub(crate) fn len(&self) -> usize {
        self.bounds.len()
    }

    /// Returns a cell without surrounding spaces, or an empty slice if the line has no such column.
    pub(crate) fn get<'a>(&'a self, line: &'a [u8], column: usize) -> &'a [u8] {
        let from = if self.quoted { &self.unquoted } else { line };
        let cell =
            self.bounds.get(column).and_then(|(start, end)| from.get(*start..*end)).unwrap_or_default();
        match cell {
            [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => cell.trim_ascii(),
            _ => cell,
        }
    }
}

/// Returns a row's text for reports, truncated and with invalid UTF-8 replaced.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    // A character has at most four bytes, so this prefix is long enough.
    let head = bytes.get(..bytes.len().min(REJECTED_TEXT_MAX * 4)).unwrap_or_default();
    String::from_utf8_lossy(head).chars().take(REJECTED_TEXT_MAX).collect()
}
