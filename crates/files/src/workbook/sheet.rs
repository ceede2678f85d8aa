//! The cells of a sheet as lines of text, with tabs between cells.

use std::io::{self, Read};

use quick_xml::events::{BytesStart, Event};

use super::error::{WorkbookError, broken};
use super::parts::Strings;
use super::serial::{Epoch, written};
use super::xml::{Xml, append_reference, attribute};
use crate::{COLUMNS_MAX, LINE_MAX};

/// Maximum number of rows of a sheet, that of the format.
const ROWS_MAX: u64 = 1_048_576;
/// Maximum number of cells that are read.
const CELLS_MAX: u64 = 32_000_000;

/// How the value of a cell is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    Number,
    Date,
    Shared,
    Text,
    Boolean,
    Error,
}

/// Reads a sheet as text.
pub(super) struct SheetRows {
    xml: Xml,
    strings: Strings,
    /// For each cell format, whether it is one of dates.
    dated: Vec<bool>,
    epoch: Epoch,
    /// The text that is read next, and the position in it.
    line: String,
    at: usize,
    /// Number of lines so far, so that line numbers are those of the sheet.
    lines: u64,
    cells: u64,
    /// Number of columns so far. Rows are padded to it, because cells without a value are absent.
    width: usize,
    is_done: bool,
}

impl SheetRows {
    pub(super) fn new(xml: Xml, strings: Strings, dated: Vec<bool>, epoch: Epoch) -> SheetRows {
        let (line, at, lines, cells, width, is_done) = (String::new(), 0, 0, 0, 0, false);
        SheetRows { xml, strings, dated, epoch, line, at, lines, cells, width, is_done }
    }

    pub(super) fn into_strings(self) -> Strings {
        self.strings
    }

    /// Returns whether the sheet has a cell with a value, and reads up to the first one's row.
    pub(super) fn has_cells(&mut self) -> Result<bool, WorkbookError> {
        while !self.is_done && self.width == 0 {
            self.advance()?;
        }
        Ok(self.width > 0)
    }

    /// Appends the next row to the text.
    fn advance(&mut self) -> Result<(), WorkbookError> {
        if self.at == self.line.len() {
            self.line.clear();
            self.at = 0;
        }
        let mut row: Option<(u64, Vec<String>)> = None;
        // Cells without a name follow each other, including those without a value.
        let (mut next, mut bytes) = (0, 0);
        loop {
            // The tag is copied, because reading the value of a cell continues with the same reader.
            let cell = match self.xml.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "row" => {
                        let number = attribute(&tag, "r")?.and_then(|number| number.parse().ok());
                        row = Some((number.unwrap_or(self.lines + 1), Vec::new()));
                        continue;
                    }
                    "c" => tag.into_owned(),
                    _ => continue,
                },
                Event::End(tag) if tag.local_name().as_ref() == "row" => break,
                Event::End(tag) if tag.local_name().as_ref() == "sheetData" => {
                    self.is_done = true;
                    // The checksum of the part is verified at its end.
                    while self.xml.next()? != Event::Eof {}
                    return Ok(());
                }
                Event::Eof => return Err(broken("the sheet ends early")),
                _ => continue,
            };
            let text = self.value(&cell)?;
            let Some((_, cells)) = &mut row else { continue };
            self.cells += 1;
            if self.cells > CELLS_MAX {
                return Err(broken(format!("the sheet has more than {CELLS_MAX} cells")));
            }
            let place = attribute(&cell, "r")?.and_then(|name| column(&name)).unwrap_or(next);
            next = place.saturating_add(1);
            if text.is_empty() {
                continue;
            }
            // Many cells may refer to the same long shared string.
            bytes += text.len();
            if bytes > LINE_MAX {
                return Err(broken(format!("a row is longer than {} KiB", LINE_MAX >> 10)));
            }
            if place >= COLUMNS_MAX {
                return Err(broken(format!("the sheet has more than {COLUMNS_MAX} columns")));
            }
            if cells.len() <= place {
                cells.resize(place + 1, String::new());
            }
            if let Some(cell) = cells.get_mut(place) {
                *cell = text;
            }
        }
        let Some((number, mut cells)) = row.filter(|(_, cells)| !cells.is_empty()) else { return Ok(()) };
        if number > ROWS_MAX || number <= self.lines {
            return Err(broken("its rows are not in order"));
        }
        for _ in self.lines + 1..number {
            self.line.push('\n');
        }
        self.lines = number;
        self.width = self.width.max(cells.len());
        cells.resize(self.width, String::new());
        self.line.push_str(&cells.join("\t"));
        self.line.push('\n');
        Ok(())
    }

    /// Reads the value of a cell, up to the end of its tag.
    fn value(&mut self, cell: &BytesStart<'_>) -> Result<String, WorkbookError> {
        let kind = match attribute(cell, "t")?.as_deref() {
            None | Some("n") => {
                let style: Option<usize> = attribute(cell, "s")?.and_then(|style| style.parse().ok());
                let is_date = style.and_then(|style| self.dated.get(style).copied()).unwrap_or_default();
                if is_date { CellKind::Date } else { CellKind::Number }
            }
            Some("s") => CellKind::Shared,
            Some("b") => CellKind::Boolean,
            Some("e") => CellKind::Error,
            Some(_) => CellKind::Text,
        };
        let (mut text, mut is_value, mut is_phonetic) = (String::new(), false, false);
        loop {
            match self.xml.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    // A formula, in `f`, is not its value.
                    "v" | "t" => is_value = !is_phonetic,
                    "rPh" => is_phonetic = true,
                    _ => {}
                },
                Event::End(tag) => match tag.local_name().as_ref() {
                    "v" | "t" => is_value = false,
                    "rPh" => is_phonetic = false,
                    "c" => break,
                    _ => {}
                },
                Event::Text(part) if is_value => text.push_str(&part),
                Event::GeneralRef(reference) if is_value => append_reference(&reference, &mut text)?,
                Event::Eof => return Err(broken("the sheet ends early")),
                _ => {}
            }
            if text.len() > LINE_MAX {
                return Err(broken("a cell is longer than 64 KiB"));
            }
        }
        Ok(self.shown(kind, text))
    }

    /// Returns the value of a cell as the text of a table.
    fn shown(&self, kind: CellKind, text: String) -> String {
        let number = || text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match kind {
            // Numbers are doubles with up to 17 digits: 185.64 is stored as 185.63999999999999.
            CellKind::Number => number().map_or_else(|| plain(&text), |number| number.to_string()),
            CellKind::Date => {
                number().and_then(|serial| written(serial, self.epoch)).unwrap_or_else(|| plain(&text))
            }
            CellKind::Shared => {
                let index = text.trim().parse().ok();
                index.and_then(|index| self.strings.get(index)).map(plain).unwrap_or_default()
            }
            CellKind::Text => plain(&text),
            CellKind::Boolean => if text.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            CellKind::Error => String::new(),
        }
    }
}

/// Returns a text without the characters that separate cells and lines. Quotes would begin a quoted
/// cell.
fn plain(text: &str) -> String {
    text.trim().replace(['\t', '\n', '\r', '"'], " ")
}

/// Returns the index of a cell's column by its name, such as `B12`.
fn column(name: &str) -> Option<usize> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic);
    let number =
        letters.take(4).fold(0, |sum, letter| sum * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    number.checked_sub(1)
}

impl Read for SheetRows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.line.len() && !self.is_done {
            self.advance().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        }
        let rest = self.line.as_bytes().get(self.at..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_letters() {
        assert_eq!(["A1", "Z9", "AA10", "b2", "XFD1"].map(column), [0, 25, 26, 1, 16_383].map(Some));
        assert_eq!(column("12"), None);
    }
}
