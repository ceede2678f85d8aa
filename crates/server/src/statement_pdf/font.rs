//! Fonts with Chinese glyphs: finds a font file, and embeds the used glyphs in a PDF. This file
//! also defines the errors of a PDF, which all concern fonts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Filter, Finish, Name, Pdf, Rect, Ref, Str};
use subsetter::GlyphRemapper;
use ttf_parser::{Face, RawFace, Tag, name_id};

use crate::caller::Language;

/// Debian's paths of fonts with Chinese glyphs, best first.
const PLACES: [&str; 6] = [
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/opentype/noto/NotoSansCJKsc-Regular.otf",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
    "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
    "/usr/share/fonts/truetype/arphic/uming.ttc",
];
/// Maximum size of a font file in bytes. The largest collections have twenty megabytes.
const FILE_BYTES_MAX: u64 = 128 << 20;
/// Maximum number of faces inspected in a collection.
const FACES_MAX: u32 = 32;
const INFO: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// Name of the embedded font. The prefix before the plus sign marks a font subset.
const NAME: Name<'static> = Name(b"CHANDL+Statement");

/// A font file loaded into memory.
pub(super) struct FontFile {
    path: PathBuf,
    data: Vec<u8>,
}

impl FontFile {
    /// Loads the operator's font file or, if none is named, the first of the usual files that
    /// exists.
    pub(super) fn find(named: Option<&Path>) -> Result<FontFile, PdfError> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => PLACES.iter().map(PathBuf::from).find(|path| path.is_file()).ok_or(PdfError::NoFont)?,
        };
        let mut data = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut data));
        match read {
            Ok(_) => Ok(FontFile { path, data }),
            Err(source) => Err(PdfError::Read { path, source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the face with the glyph forms of a language, or the first face of the collection if
    /// there is none.
    pub(super) fn face(&self, language: Language) -> Result<EmbeddedFace<'_>, PdfError> {
        let unfit = || PdfError::Unfit { path: self.path.clone() };
        let count = ttf_parser::fonts_in_collection(&self.data).unwrap_or(1).clamp(1, FACES_MAX);
        let forms: &[&str] = match language {
            Language::ZhHk => &[" HK", " TC"],
            Language::En | Language::ZhCn => &[" SC"],
        };
        let is_of_language = |index: &u32| {
            let family = Face::parse(&self.data, *index).ok().and_then(|face| family(&face));
            family.is_some_and(|family| forms.iter().any(|form| family.ends_with(form)))
        };
        let index = (0..count).find(is_of_language).unwrap_or(0);
        let face = Face::parse(&self.data, index).map_err(|_| unfit())?;
        if face.units_per_em() == 0 || face.glyph_index('日').is_none() {
            return Err(unfit());
        }
        Ok(EmbeddedFace { file: self, face, index, glyphs: GlyphRemapper::new(), used: BTreeMap::new() })
    }
}

fn family(face: &Face<'_>) -> Option<String> {
    let is_family = |name: &ttf_parser::name::Name<'_>| name.name_id == name_id::FAMILY && name.is_unicode();
    face.names().into_iter().find(is_family).and_then(|name| name.to_string())
}

/// A font face and its used glyphs.
pub(super) struct EmbeddedFace<'a> {
    file: &'a FontFile,
    face: Face<'a>,
    index: u32,
    glyphs: GlyphRemapper,
    /// Character and width in thousandths of the font size, by glyph number in the subset.
    used: BTreeMap<u16, (char, f32)>,
}

impl EmbeddedFace<'_> {
    /// Adds a character to the subset. Returns its glyph number and its width in thousandths of the
    /// font size, or `None` if the font lacks the character.
    pub(super) fn glyph(&mut self, letter: char) -> Option<(u16, f32)> {
        let id = self.face.glyph_index(letter)?;
        let width = self.scaled(self.face.glyph_hor_advance(id).unwrap_or_default().into());
        let new = self.glyphs.remap(id.0);
        self.used.insert(new, (letter, width));
        Some((new, width))
    }

    /// Returns a character's width in thousandths of the font size, without adding the character to
    /// the subset. Returns `None` if the font lacks the character.
    pub(super) fn width(&self, letter: char) -> Option<f32> {
        let id = self.face.glyph_index(letter)?;
        Some(self.scaled(self.face.glyph_hor_advance(id).unwrap_or_default().into()))
    }

    fn scaled(&self, units: f32) -> f32 {
        units * 1_000.0 / f32::from(self.face.units_per_em().max(1))
    }

    /// Writes the font into a PDF under `id`. Uses four further ids starting at `first`.
    pub(super) fn write(&self, pdf: &mut Pdf, id: Ref, first: i32) -> Result<(), PdfError> {
        let unfit = || PdfError::Unfit { path: self.file.path.clone() };
        let part = subsetter::subset(&self.file.data, self.index, &self.glyphs).map_err(|_| unfit())?;
        let raw = RawFace::parse(&part, 0).map_err(|_| unfit())?;
        // Only the CFF table is embedded, without the other tables of the file.
        let outlines = raw.table(Tag::from_bytes(b"CFF "));
        let [cid, descriptor, file, map] = [0, 1, 2, 3].map(|offset| Ref::new(first + offset));
        pdf.type0_font(id)
            .base_font(NAME)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(cid)
            .to_unicode(map);
        let mut font = pdf.cid_font(cid);
        font.subtype(if outlines.is_some() { CidFontType::Type0 } else { CidFontType::Type2 });
        font.base_font(NAME).system_info(INFO).font_descriptor(descriptor).default_width(1_000.0);
        if outlines.is_none() {
            font.cid_to_gid_map_predefined(Name(b"Identity"));
        }
        let mut widths = font.widths();
        for (glyph, (_, width)) in &self.used {
            widths.consecutive(*glyph, [*width]);
        }
        widths.finish();
        font.finish();
        self.describe(pdf, descriptor, (file, outlines.is_some()));
        let packed_file = packed(outlines.unwrap_or(&part));
        let mut stream = pdf.stream(file, &packed_file);
        stream.filter(Filter::FlateDecode);
        if outlines.is_some() {
            stream.pair(Name(b"Subtype"), Name(b"CIDFontType0C"));
        }
        stream.finish();
        let mut characters = UnicodeCmap::new(Name(b"Statement"), INFO);
        for (glyph, (letter, _)) in &self.used {
            characters.pair(*glyph, *letter);
        }
        let packed_map = packed(characters.finish().as_slice());
        pdf.cmap(map, &packed_map).filter(Filter::FlateDecode);
        Ok(())
    }

    fn describe(&self, pdf: &mut Pdf, descriptor: Ref, (file, is_outlines): (Ref, bool)) {
        let bounds = self.face.global_bounding_box();
        let [left, bottom, right, top] =
            [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|units| self.scaled(units.into()));
        let ascent = self.scaled(self.face.ascender().into());
        let cap_height = self.face.capital_height().map_or(ascent, |height| self.scaled(height.into()));
        let mut written = pdf.font_descriptor(descriptor);
        written
            .name(NAME)
            .flags(FontFlags::SYMBOLIC)
            .bbox(Rect::new(left, bottom, right, top))
            .italic_angle(0.0)
            .ascent(ascent)
            .descent(self.scaled(self.face.descender().into()))
            .cap_height(cap_height)
            .stem_v(80.0);
        if is_outlines {
            written.font_file3(file);
        } else {
            written.font_file2(file);
        }
    }
}

/// Compresses bytes with zlib, as PDF's FlateDecode filter expects.
pub(super) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Widths of Helvetica from space to tilde, in thousandths of the font size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // through '/'
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // through '?'
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // through 'O'
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // through '_'
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // through 'o'
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // through '~'
];

/// Widths of Helvetica-Bold from space to tilde, in thousandths of the font size.
const BOLD_WIDTHS: [u16; 95] = [
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, // through '/'
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, // through '?'
    975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778, // through 'O'
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, // through '_'
    333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, // through 'o'
    611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584, // through '~'
];

/// Returns whether a character can be set in Helvetica, which covers printable ASCII.
pub(super) fn is_latin(letter: char) -> bool {
    (' '..='~').contains(&letter)
}

/// Returns a character's width in Helvetica, in thousandths of the font size.
pub(super) fn width(letter: char) -> u16 {
    of(&WIDTHS, letter)
}

/// Returns a character's width in Helvetica-Bold, in thousandths of the font size.
pub(super) fn bold_width(letter: char) -> u16 {
    of(&BOLD_WIDTHS, letter)
}

fn of(widths: &[u16; 95], letter: char) -> u16 {
    let index = u32::from(letter).checked_sub(32).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| widths.get(index)).copied().unwrap_or(556)
}

/// Why a PDF cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    #[error(
        "this statement has Chinese text, and no font for it was found: install fonts-noto-cjk or fonts-wqy-microhei, or name a font \
         file in statement_font"
    )]
    NoFont,
    #[error("cannot read the font {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not a font that can be embedded", path.display())]
    Unfit { path: PathBuf },
}
