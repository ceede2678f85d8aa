//! Pages: text at a place, lines, and tables that go on over pages.

use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::error::PdfError;
use super::font::{EmbeddedFace, packed};
use super::widths;

/// A4, in points.
const WIDTH: f32 = 595.0;
const HEIGHT: f32 = 842.0;
const MARGIN: f32 = 40.0;
const TOP: f32 = HEIGHT - MARGIN;
const BOTTOM: f32 = MARGIN + 20.0;
const LINE: f32 = 12.0;
const SIZE: f32 = 8.0;
const PADDING: f32 = 3.0;
const REGULAR: Name<'static> = Name(b"F1");
const BOLD: Name<'static> = Name(b"F2");
const CHINESE: Name<'static> = Name(b"F3");
/// The font has four further objects after its own; then each page has two.
const FONT_PARTS: i32 = 7;
const PAGES: i32 = 11;
/// What stands for a character that no font has.
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

/// A column of a table. The parts of all columns share the width of the page.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) heading: &'static str,
    pub(super) part: f32,
    pub(super) align: Align,
}

pub(super) struct Sheet<'a> {
    face: Option<EmbeddedFace<'a>>,
    /// Pages that are full, and the one that is being written.
    full: Vec<Content>,
    page: Content,
    /// Where the next line goes.
    y: f32,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(face: Option<EmbeddedFace<'a>>) -> Sheet<'a> {
        Sheet { face, full: Vec::new(), page: Content::new(), y: TOP }
    }

    /// A line of its own.
    pub(super) fn line(&mut self, text: &str, size: f32, weight: Weight) {
        self.make_room(size + 4.0);
        self.y -= size + 4.0;
        self.text((MARGIN, self.y), text, (size, weight));
    }

    pub(super) fn gap(&mut self, height: f32) {
        self.y -= height;
    }

    /// The heading of a section, with room for some of it below.
    pub(super) fn heading(&mut self, text: &str) {
        self.make_room(5.0 * LINE);
        self.gap(LINE);
        self.line(text, 10.0, Weight::Bold);
        self.gap(3.0);
    }

    /// A table. Its headings are repeated on every page.
    pub(super) fn table(&mut self, columns: &[Column], rows: &[Vec<String>]) {
        self.table_head(columns);
        for row in rows {
            if self.y - LINE < BOTTOM {
                self.new_page();
                self.table_head(columns);
            }
            self.y -= LINE;
            self.row(columns, row.iter().map(String::as_str), Weight::Regular);
        }
        self.rule(0.5);
    }

    fn table_head(&mut self, columns: &[Column]) {
        self.make_room(3.0 * LINE);
        self.y -= LINE;
        let y = self.y;
        self.page.set_fill_gray(0.92).rect(MARGIN, y - 3.0, WIDTH - 2.0 * MARGIN, LINE).fill_nonzero();
        self.page.set_fill_gray(0.0);
        self.row(columns, columns.iter().map(|column| column.heading), Weight::Bold);
    }

    fn row<'t>(&mut self, columns: &[Column], cells: impl Iterator<Item = &'t str>, weight: Weight) {
        let parts: f32 = columns.iter().map(|column| column.part).sum();
        let mut x = MARGIN;
        for (column, cell) in columns.iter().zip(cells) {
            let width = (WIDTH - 2.0 * MARGIN) * column.part / parts.max(1.0);
            let (room, needed) = (width - 2.0 * PADDING, self.measured(cell, SIZE));
            // What is too wide is set smaller, never cut: a number without its last digits is a wrong one.
            let size = if needed > room { SIZE * room / needed } else { SIZE };
            let indent = match column.align {
                Align::Left => PADDING,
                Align::Right => (width - PADDING - needed.min(room)).max(PADDING),
            };
            self.text((x + indent, self.y), cell, (size, weight));
            x += width;
        }
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

    /// The width of a text in points.
    fn measured(&self, text: &str, size: f32) -> f32 {
        let latin = |letter| f32::from(widths::width(letter));
        let width = |letter: char| match &self.face {
            _ if widths::is_latin(letter) => latin(letter),
            Some(face) => face.width(letter).unwrap_or_else(|| latin(UNKNOWN)),
            None => latin(UNKNOWN),
        };
        text.chars().map(width).sum::<f32>() * size / 1_000.0
    }

    fn text(&mut self, place: (f32, f32), text: &str, (size, weight): (f32, Weight)) {
        let runs = self.runs(text);
        draw(&mut self.page, place, &runs, (size, weight));
    }

    /// A text in parts of one font each. Controls were never let in, and would be shown as unknown.
    fn runs(&mut self, text: &str) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for letter in text.chars() {
            let glyph = if widths::is_latin(letter) {
                None
            } else {
                self.face.as_mut().and_then(|face| face.glyph(letter))
            };
            match (glyph, runs.last_mut()) {
                (Some((glyph, _)), Some(Run::Chinese(bytes))) => bytes.extend(glyph.to_be_bytes()),
                (Some((glyph, _)), _) => runs.push(Run::Chinese(glyph.to_be_bytes().to_vec())),
                (None, last) => {
                    let byte = u8::try_from(letter).ok().filter(|_| widths::is_latin(letter)).unwrap_or(b'?');
                    match last {
                        Some(Run::Latin(bytes)) => bytes.push(byte),
                        _ => runs.push(Run::Latin(vec![byte])),
                    }
                }
            }
        }
        runs
    }

    /// The file, with the number of each page at its foot.
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
            let x = WIDTH - MARGIN - self.measured(&foot, SIZE);
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

/// A part of a text in one font, as the file has it.
enum Run {
    Latin(Vec<u8>),
    /// Numbers of glyphs, two bytes each.
    Chinese(Vec<u8>),
}
