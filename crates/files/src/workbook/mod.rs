//! XLSX workbooks. The first visible sheet with cells is read as a table of text with tabs between
//! cells, so that headers, times and numbers are parsed as in other text tables.
//!
//! A sheet is read as a stream. Of the rest of a workbook only the names of its sheets, its date
//! formats and its shared strings are held in memory, each under a limit; counts that a workbook
//! announces are ignored. `parts.rs` reads these parts, `sheet.rs` a sheet, and `serial.rs` converts
//! dates.

mod error;
mod parts;
mod serial;
mod sheet;
mod xml;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read};

use crate::archive::{self, ArchiveError, Entry};
pub use error::WorkbookError;
use error::broken;
use parts::{Sheet, Strings, named_sheets, sheets, strings, styles};
use sheet::SheetRows;
use xml::Xml;

/// Maximum unpacked size of a sheet, in bytes. A full sheet of minutes has about 400 MB.
const SHEET_MAX: u64 = 768 << 20;
/// Maximum unpacked size of the shared strings, in bytes.
const STRINGS_MAX: u64 = 64 << 20;
/// Maximum unpacked size of any other part, in bytes.
const PART_MAX: u64 = 8 << 20;

/// A sheet as text, and what the user should know about its selection.
pub(crate) struct SheetText {
    pub text: Box<dyn Read + Send>,
    pub note: String,
}

const WORKBOOK: &str = "xl/workbook.xml";

/// Returns the entries of an archive if it is an XLSX workbook, and `None` if it is another archive.
pub(crate) fn entries_of(file: &File) -> Result<Option<Vec<Entry>>, ArchiveError> {
    let entries = archive::entries(file)?;
    Ok(find(&entries, WORKBOOK).is_some().then_some(entries))
}

/// Opens the first visible sheet that has cells. `counted` wraps the reader of its packed bytes.
pub(crate) fn open<R: Read + Send + 'static>(
    file: &File,
    entries: &[Entry],
    counted: impl Fn(io::Take<File>) -> R,
) -> Result<SheetText, WorkbookError> {
    // The parts share the position in the file, so each is read before the next one is opened.
    let part = |name: &str, limit: u64| -> Result<Option<Xml>, WorkbookError> {
        let Some(entry) = find(entries, name) else { return Ok(None) };
        if entry.size > limit {
            return Err(WorkbookError::Large { name: name.to_owned(), size: entry.size, limit });
        }
        let file = file.try_clone().map_err(broken)?;
        let reader = entry.open(file, &counted).map_err(broken)?;
        Ok(Some(Xml::new(BufReader::new(reader))))
    };
    let Some(mut workbook) = part(WORKBOOK, PART_MAX)? else { return Err(WorkbookError::NoSheets) };
    let (named, epoch) = named_sheets(&mut workbook)?;
    let sheets = sheets(named, part("xl/_rels/workbook.xml.rels", PART_MAX)?)?;
    let dated = part("xl/styles.xml", PART_MAX)?.map(|mut xml| styles(&mut xml)).transpose()?;
    let dated = dated.unwrap_or_default();
    let mut strings = match part("xl/sharedStrings.xml", STRINGS_MAX)? {
        Some(mut xml) => strings(&mut xml)?,
        None => Strings::default(),
    };
    let visible: Vec<&Sheet> = sheets.iter().filter(|sheet| sheet.is_visible).collect();
    let mut read = BTreeSet::new();
    for sheet in &visible {
        // A hostile workbook may name one large part a thousand times.
        if !read.insert(sheet.path.to_ascii_lowercase()) {
            continue;
        }
        let Some(xml) = part(&sheet.path, SHEET_MAX)? else { continue };
        let mut rows = SheetRows::new(xml, strings, dated.clone(), epoch);
        if rows.has_cells()? {
            return Ok(SheetText { text: Box::new(rows), note: note(&sheet.name, sheets.len()) });
        }
        strings = rows.into_strings();
    }
    Err(if visible.is_empty() { WorkbookError::NoSheets } else { WorkbookError::NoCells })
}

fn note(name: &str, sheets: usize) -> String {
    let name: String = name.chars().take(40).collect();
    match sheets {
        1 => format!("read as a workbook: sheet {name:?}"),
        sheets => {
            format!("read as a workbook: sheet {name:?}; the other sheets of its {sheets} were not read")
        }
    }
}

/// Finds a part. Names differ in case between programs.
fn find<'a>(entries: &'a [Entry], name: &str) -> Option<&'a Entry> {
    entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}
