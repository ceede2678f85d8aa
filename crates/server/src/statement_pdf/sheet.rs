//! Page layout: positioned text, lines, and tables that span pages.

use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::font::{self, EmbeddedFace, PdfError, packed};

/// Width of an A4 page in points.
const WIDTH: f32 = 595.0;
/// Height of an A4 page in points.
const HEIGHT: f32 = 842.0;
const MARGIN: f32 = 40.0;
const TOP: f32 = HEIGHT - MARGIN;
const BOTTOM: f32 = MARGIN + 20.0;
const LINE: f32 = 12.0;
/// Line spacing within a cell, in points.
const CELL_LINE: f32 = 9.5;
/// Maximum number of lines in a cell, so that a row never exceeds a page.
const CELL_LINES_MAX: usize = 40;
const SIZE: f32 = 8.0;
/// Minimum font size in points. A word that is too wide is first set smaller, and is broken only if
/// it is still too wide at this size.
const SIZE_MIN: f32 = 6.0;
/// Tolerance for line widths in points, so that rounding does not break text that was sized to fit.
const SLACK: f32 = 0.01;
const PADDING: f32 = 3.5;
const REGULAR: Name<'static> = Name(b"F1");
const BOLD: Name<'static> = Name(b"F2");
const CHINESE: Name<'static> = Name(b"F3");
/// First object id of the font's four further objects. Page objects follow, with two ids per page.
const FONT_PARTS: i32 = 7;
const PAGES: i32 = 11;
/// Replaces characters that no font has.
const UNKNOWN: char = '?';

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A table column. The `part` values of all columns divide the page width proportionally.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) heading: &'static str,
    pub(super) part: f32,
    pub(super) align: Align,
}

pub(super) struct Sheet<'a> {
    face: Option<EmbeddedFace<'a>>,
    /// Finished pages.
    full: Vec<Content>,
    page: Content,
    /// Vertical position of the next line, in points from the bottom of the page.
    y: f32,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(face: Option<EmbeddedFace<'a>>) -> Sheet<'a> {
        Sheet { face, full: Vec::new(), page: Content::new(), y: TOP }
    }

    /// Writes a line of text, wrapped if it is too long.
    pub(super) fn line(&mut self, text: &str, size: f32, weight: Weight) {
        let lines = wrapped(text, WIDTH - 2.0 * MARGIN, |part| self.measured(part, (size, weight)));
        for line in lines.iter().take(CELL_LINES_MAX) {
            self.make_room(size + 4.0);
            self.y -= size + 4.0;
            self.text((MARGIN, self.y), line, (size, weight));
        }
    }

    pub(super) fn gap(&mut self, height: f32) {
        self.y -= height;
    }

    /// Writes a section, which is a heading and a table. The section heading and the column
    /// headings are repeated on every page.
    pub(super) fn table(&mut self, heading: &str, columns: &[Column], rows: &[Vec<String>]) {
        // Leave room for a few rows below the heading.
        self.make_room(8.0 * LINE);
        self.gap(LINE);
        self.table_head(heading, columns);
        for row in rows {
            let texts = columns.iter().zip(row);
            let cells: Vec<Cell> = texts
                .map(|(column, text)| {
                    let room = room(columns, *column);
                    match column.align {
                        Align::Left => self.wrapped_cell(text, room, Weight::Regular),
                        Align::Right => self.shrunk_cell(text, room),
                    }
                })
                .collect();
            if self.y - height(&cells) < BOTTOM {
                self.new_page();
                self.table_head(heading, columns);
            }
            self.row(columns, &cells, Weight::Regular);
        }
        self.rule(0.5);
    }

    fn table_head(&mut self, heading: &str, columns: &[Column]) {
        self.line(heading, 10.0, Weight::Bold);
        self.gap(3.0);
        let cells: Vec<Cell> = columns
            .iter()
            .map(|column| self.wrapped_cell(column.heading, room(columns, *column), Weight::Bold))
            .collect();
        let height = height(&cells);
        let foot = self.y - height - 3.0;
        self.page.set_fill_gray(0.92).rect(MARGIN, foot, WIDTH - 2.0 * MARGIN, height).fill_nonzero();
        self.page.set_fill_gray(0.0);
        self.row(columns, &cells, Weight::Bold);
    }

    /// Wraps text that is too wide for a cell.
    fn wrapped_cell(&self, text: &str, room: f32, weight: Weight) -> Cell {
        let widest =
            words(text).map(|word| self.measured(word.trim_end(), (SIZE, weight))).fold(0.0, f32::max);
        let size = if widest > room { (SIZE * room / widest).max(SIZE_MIN) } else { SIZE };
        let mut lines = wrapped(text, room, |part| self.measured(part, (size, weight)));
        lines.truncate(CELL_LINES_MAX);
        Cell { lines, size }
    }

    /// Sets a number in a smaller size if it is too wide. A number is never broken or truncated,
    /// because it would be wrong without its last digits.
    fn shrunk_cell(&self, text: &str, room: f32) -> Cell {
        let needed = self.measured(text, (SIZE, Weight::Regular));
        let size = if needed > room { SIZE * room / needed } else { SIZE };
        Cell { lines: vec![text.to_owned()], size }
    }

    fn row(&mut self, columns: &[Column], cells: &[Cell], weight: Weight) {
        let mut x = MARGIN;
        for (column, cell) in columns.iter().zip(cells) {
            let width = width(columns, *column);
            let mut y = self.y - LINE;
            for line in &cell.lines {
                let needed = self.measured(line, (cell.size, weight));
                let indent = match column.align {
                    Align::Left => PADDING,
                    Align::Right => (width - PADDING - needed).max(PADDING),
                };
                self.text((x + indent, y), line, (cell.size, weight));
                y -= CELL_LINE;
            }
            x += width;
        }
        self.y -= height(cells);
    }

    fn rule(&mut self, gap: f32) {
        let y = self.y - 3.0 - gap;
        self.page.set_line_width(0.4).move_to(MARGIN, y).line_to(WIDTH - MARGIN, y).stroke();
        self.y -= 3.0;
    }

    fn make_room(&mut self, height: f32) {
        if self.y - height < BOTTOM {
            self.new_page();
        }
    }

    fn new_page(&mut self) {
        self.full.push(std::mem::replace(&mut self.page, Content::new()));
        self.y = TOP;
    }

    /// Returns the width of a text in points.
    fn measured(&self, text: &str, (size, weight): (f32, Weight)) -> f32 {
        let latin = |letter| match weight {
            Weight::Regular => f32::from(font::width(letter)),
            Weight::Bold => f32::from(font::bold_width(letter)),
        };
        let width = |letter: char| match &self.face {
            _ if font::is_latin(letter) => latin(letter),
            Some(face) => face.width(letter).unwrap_or_else(|| latin(UNKNOWN)),
            None => latin(UNKNOWN),
        };
        text.chars().map(width).sum::<f32>() * size / 1_000.0
    }

    fn text(&mut self, place: (f32, f32), text: &str, (size, weight): (f32, Weight)) {
        let runs = self.runs(text);
        draw(&mut self.page, place, &runs, (size, weight));
    }

    /// Splits a text into runs of one font each. Control characters do not occur in statements, and
    /// would be shown as unknown characters.
    fn runs(&mut self, text: &str) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for letter in text.chars() {
            let glyph = if font::is_latin(letter) {
                None
            } else {
                self.face.as_mut().and_then(|face| face.glyph(letter))
            };
            match (glyph, runs.last_mut()) {
                (Some((glyph, _)), Some(Run::Chinese(bytes))) => bytes.extend(glyph.to_be_bytes()),
                (Some((glyph, _)), _) => runs.push(Run::Chinese(glyph.to_be_bytes().to_vec())),
                (None, last) => {
                    let byte = u8::try_from(letter).ok().filter(|_| font::is_latin(letter)).unwrap_or(b'?');
                    match last {
                        Some(Run::Latin(bytes)) => bytes.push(byte),
                        _ => runs.push(Run::Latin(vec![byte])),
                    }
                }
            }
        }
        runs
    }

    /// Returns the PDF file, with the page number at the foot of each page.
    pub(super) fn finish(mut self, title: &str) -> Result<Vec<u8>, PdfError> {
        self.new_page();
        let pages = std::mem::take(&mut self.full);
        let count = pages.len();
        let ids = |first: i32| (first..).step_by(2).map(Ref::new);
        let [catalog, tree, info, regular, bold, chinese] = [1, 2, 3, 4, 5, 6].map(Ref::new);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(tree);
        pdf.document_info(info).title(TextStr(title)).producer(TextStr("Chandler"));
        pdf.pages(tree).kids(ids(PAGES).take(count)).count(i32::try_from(count).unwrap_or(i32::MAX));
        for (font, name) in [(regular, "Helvetica"), (bold, "Helvetica-Bold")] {
            let mut written = pdf.type1_font(font);
            written.base_font(Name(name.as_bytes())).encoding_predefined(Name(b"WinAnsiEncoding"));
        }
        for (number, (mut content, (page, stream))) in
            (1..).zip(pages.into_iter().zip(ids(PAGES).zip(ids(PAGES + 1))))
        {
            let foot = format!("{number} / {count}");
            let x = WIDTH - MARGIN - self.measured(&foot, (SIZE, Weight::Regular));
            let runs = self.runs(&foot);
            draw(&mut content, (x, MARGIN - SIZE), &runs, (SIZE, Weight::Regular));
            let drawn = packed(content.finish().as_slice());
            pdf.stream(stream, &drawn).filter(Filter::FlateDecode);
            let mut written = pdf.page(page);
            written.media_box(Rect::new(0.0, 0.0, WIDTH, HEIGHT)).parent(tree).contents(stream);
            let mut resources = written.resources();
            let mut fonts = resources.fonts();
            fonts.pair(REGULAR, regular).pair(BOLD, bold);
            if self.face.is_some() {
                fonts.pair(CHINESE, chinese);
            }
            fonts.finish();
            resources.finish();
        }
        if let Some(face) = &self.face {
            face.write(&mut pdf, chinese, FONT_PARTS)?;
        }
        Ok(pdf.finish())
    }
}

/// A typeset table cell.
struct Cell {
    lines: Vec<String>,
    size: f32,
}

/// Returns the height of a row in points, which is that of its tallest cell.
fn height(cells: &[Cell]) -> f32 {
    let of_cell = |cell: &Cell| LINE + cell.lines.iter().skip(1).map(|_| CELL_LINE).sum::<f32>();
    cells.iter().map(of_cell).fold(LINE, f32::max)
}

fn width(columns: &[Column], column: Column) -> f32 {
    let parts: f32 = columns.iter().map(|column| column.part).sum();
    (WIDTH - 2.0 * MARGIN) * column.part / parts.max(1.0)
}

/// Returns the width available to the text in a column, in points.
fn room(columns: &[Column], column: Column) -> f32 {
    width(columns, column) - 2.0 * PADDING
}

/// Splits a text at possible line breaks: after spaces and Chinese characters.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|letter: char| letter == ' ' || !font::is_latin(letter))
}

/// Wraps a text to a width, at word boundaries. A word is split only if it is wider than the line.
fn wrapped(text: &str, room: f32, measured: impl Fn(&str) -> f32) -> Vec<String> {
    if measured(text) <= room {
        return vec![text.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let fits = |line: &str, more: &str| measured(&format!("{line}{more}")) <= room + SLACK;
        if !line.is_empty() && !fits(&line, word.trim_end()) {
            lines.push(std::mem::take(&mut line));
        }
        if fits(&line, word.trim_end()) {
            line.push_str(word);
            continue;
        }
        for letter in word.chars() {
            if !line.is_empty() && !fits(&line, &letter.to_string()) {
                lines.push(std::mem::take(&mut line));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

fn draw(page: &mut Content, (x, y): (f32, f32), runs: &[Run], (size, weight): (f32, Weight)) {
    let latin = if weight == Weight::Bold { BOLD } else { REGULAR };
    page.begin_text().set_text_matrix([1.0, 0.0, 0.0, 1.0, x, y]);
    for run in runs {
        match run {
            Run::Latin(bytes) => page.set_font(latin, size).show(Str(bytes)),
            Run::Chinese(bytes) => page.set_font(CHINESE, size).show(Str(bytes)),
        };
    }
    page.end_text();
}

/// An encoded part of a text in one font.
enum Run {
    Latin(Vec<u8>),
    /// Glyph ids, two bytes each.
    Chinese(Vec<u8>),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wraps a text in which every character has width 1.
    fn lines(text: &str, room: f32) -> Vec<String> {
        wrapped(text, room, |part| part.chars().map(|_| 1.0_f32).sum())
    }

    #[test]
    fn wide_text_is_wrapped_without_loss() {
        assert_eq!(lines("Maintenance margin", 12.0), ["Maintenance", "margin"]);
        assert_eq!(lines("Maintenance margin", 18.0), ["Maintenance margin"]);
        assert_eq!(lines("PLATFORM 15.00, STAMP_DUTY 31.00", 16.0), ["PLATFORM 15.00,", "STAMP_DUTY 31.00"]);
        assert_eq!(lines("灯芯控股有限公司 A", 5.0), ["灯芯控股有", "限公司 A"]);
        assert_eq!(lines("to incomprehensibilities", 8.0), ["to", "incompre", "hensibil", "ities"]);
        assert_eq!(lines("日", 0.5), ["日"], "one character is there, whatever the room");
        assert_eq!(lines("", 5.0), [""]);
    }

    #[test]
    fn bold_text_is_measured_with_bold_widths() {
        let sheet = Sheet::new(None);
        let [regular, bold] = [Weight::Regular, Weight::Bold]
            .map(|weight| sheet.measured("Maintenance margin", (SIZE, weight)));
        assert!(bold > regular, "{bold} {regular}");
        // A row is as tall as its tallest cell.
        let cells =
            [sheet.wrapped_cell("a", 50.0, Weight::Regular), sheet.wrapped_cell("a b", 5.0, Weight::Bold)];
        assert_eq!(height(&cells), LINE + CELL_LINE);
        let date = sheet.wrapped_cell("2026-03-18", 37.0, Weight::Regular);
        assert!(
            date.lines == ["2026-03-18"] && date.size < SIZE,
            "a word is set smaller before it is broken"
        );
        let number = sheet.shrunk_cell("123,456,789.00", 20.0);
        assert!(number.lines == ["123,456,789.00"] && number.size < SIZE);
    }
}
