//! The parts of a workbook beside its sheets: names, date formats and shared strings.

use std::collections::BTreeMap;

use quick_xml::events::Event;

use super::error::{WorkbookError, broken};
use super::serial::Epoch;
use super::xml::{Xml, append_reference, attribute};

/// Maximum number of sheets, of their targets and of cell formats.
const SHEETS_MAX: usize = 1_000;
const FORMATS_MAX: usize = 65_536;

/// A sheet, and the part that has its cells.
pub(super) struct Sheet {
    pub name: String,
    pub path: String,
    pub is_visible: bool,
}

/// A sheet by the id of the part that has its cells.
pub(super) struct NamedSheet {
    name: String,
    id: Option<String>,
    is_visible: bool,
}

/// Reads the names of the sheets, and the epoch of dates.
pub(super) fn named_sheets(workbook: &mut Xml) -> Result<(Vec<NamedSheet>, Epoch), WorkbookError> {
    let mut epoch = Epoch::Of1900;
    let mut named = Vec::new();
    loop {
        match workbook.next()? {
            Event::Start(tag) if tag.local_name().as_ref() == "workbookPr" => {
                let is_1904 = attribute(&tag, "date1904")?;
                if is_1904.is_some_and(|value| matches!(value.as_str(), "1" | "true")) {
                    epoch = Epoch::Of1904;
                }
            }
            Event::Start(tag) if tag.local_name().as_ref() == "sheet" && named.len() < SHEETS_MAX => {
                let name = attribute(&tag, "name")?.unwrap_or_default();
                let is_visible = attribute(&tag, "state")?.is_none_or(|state| state == "visible");
                named.push(NamedSheet { name, id: attribute(&tag, "r:id")?, is_visible });
            }
            Event::Eof => return Ok((named, epoch)),
            _ => {}
        }
    }
}

/// Finds the parts of the sheets. `targets` is the part that lists them.
pub(super) fn sheets(named: Vec<NamedSheet>, targets: Option<Xml>) -> Result<Vec<Sheet>, WorkbookError> {
    let targets = targets.map(|mut xml| targets_of(&mut xml)).transpose()?.unwrap_or_default();
    let path = |id: &Option<String>| {
        let target =
            targets.iter().find(|(known, _)| Some(known) == id.as_ref()).map(|(_, target)| target)?;
        // Targets are relative to `xl`, or absolute.
        Some(match target.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => format!("xl/{target}"),
        })
    };
    let sheets = named.into_iter().filter_map(|NamedSheet { name, id, is_visible }| {
        let path = path(&id)?;
        Some(Sheet { name, path, is_visible })
    });
    Ok(sheets.collect())
}

fn targets_of(xml: &mut Xml) -> Result<Vec<(String, String)>, WorkbookError> {
    let mut targets = Vec::new();
    loop {
        match xml.next()? {
            Event::Start(tag)
                if tag.local_name().as_ref() == "Relationship" && targets.len() < SHEETS_MAX =>
            {
                if let (Some(id), Some(target)) = (attribute(&tag, "Id")?, attribute(&tag, "Target")?) {
                    targets.push((id, target));
                }
            }
            Event::Eof => return Ok(targets),
            _ => {}
        }
    }
}

/// Returns for each cell format whether it shows a number as a date or a time.
pub(super) fn styles(xml: &mut Xml) -> Result<Vec<bool>, WorkbookError> {
    let (mut custom, mut dated, mut is_of_cells) = (BTreeMap::new(), Vec::new(), false);
    loop {
        match xml.next()? {
            Event::Start(tag) => match tag.local_name().as_ref() {
                "numFmt" if custom.len() < FORMATS_MAX => {
                    let id: Option<u32> = attribute(&tag, "numFmtId")?.and_then(|id| id.parse().ok());
                    let code = attribute(&tag, "formatCode")?.unwrap_or_default();
                    custom.extend(id.map(|id| (id, is_date_format(&code))));
                }
                "cellXfs" => is_of_cells = true,
                "xf" if is_of_cells && dated.len() < FORMATS_MAX => {
                    let id = attribute(&tag, "numFmtId")?.and_then(|id| id.parse().ok()).unwrap_or(0);
                    let known = custom.get(&id).copied();
                    dated.push(known.unwrap_or_else(|| is_date_number(id)));
                }
                _ => {}
            },
            Event::End(tag) if tag.local_name().as_ref() == "cellXfs" => is_of_cells = false,
            Event::Eof => return Ok(dated),
            _ => {}
        }
    }
}

/// Returns whether a number format of the standard is one of dates or times (ECMA-376, 18.8.30).
fn is_date_number(id: u32) -> bool {
    matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58)
}

/// Returns whether a format code has letters of dates outside of quotes and brackets.
fn is_date_format(code: &str) -> bool {
    let (mut is_quoted, mut is_bracketed, mut is_escaped) = (false, false, false);
    for letter in code.chars() {
        match letter {
            _ if std::mem::take(&mut is_escaped) => {}
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '[' => is_bracketed = true,
            ']' => is_bracketed = false,
            _ if is_bracketed => {}
            '\\' | '_' | '*' => is_escaped = true,
            // Only the first of the alternatives, that of positive numbers, matters.
            ';' => return false,
            'd' | 'D' | 'm' | 'M' | 'y' | 'Y' | 'h' | 'H' | 's' | 'S' => return true,
            _ => {}
        }
    }
    false
}

/// The shared strings of a workbook, in one buffer.
#[derive(Debug, Default)]
pub(super) struct Strings {
    text: String,
    /// End of each string in `text`.
    ends: Vec<u32>,
}

impl Strings {
    pub(super) fn get(&self, index: usize) -> Option<&str> {
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start as usize..*self.ends.get(index)? as usize)
    }
}

/// Reads the shared strings. Runs of a formatted string are joined, and its phonetic text is left
/// out.
pub(super) fn strings(xml: &mut Xml) -> Result<Strings, WorkbookError> {
    let mut strings = Strings::default();
    let (mut is_text, mut is_phonetic) = (false, false);
    loop {
        match xml.next()? {
            Event::Start(tag) => match tag.local_name().as_ref() {
                "t" => is_text = !is_phonetic,
                "rPh" => is_phonetic = true,
                _ => {}
            },
            Event::End(tag) => match tag.local_name().as_ref() {
                "t" => is_text = false,
                "rPh" => is_phonetic = false,
                "si" => strings.ends.push(u32::try_from(strings.text.len()).map_err(broken)?),
                _ => {}
            },
            Event::Text(text) if is_text => strings.text.push_str(&text),
            Event::GeneralRef(reference) if is_text => append_reference(&reference, &mut strings.text)?,
            Event::Eof => return Ok(strings),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_dates_are_told_from_formats_of_numbers() {
        let dates = [
            "yyyy-mm-dd",
            "d/m/yy",
            "h:mm:ss",
            "[$-409]mmm d, yyyy;@",
            "yyyy\"年\"m\"月\"d\"日\"",
            "DD.MM.YYYY",
        ];
        let numbers = [
            "General",
            "0.00",
            "#,##0.00 [$€-407]",
            "0.00E+00",
            "\"days\" 0",
            "[Red]0.0",
            "@",
            "0\\d",
            "0;\"d\"",
        ];
        assert!(dates.iter().all(|code| is_date_format(code)), "{dates:?}");
        for code in numbers {
            assert!(!is_date_format(code), "{code}");
        }
        assert!(is_date_number(14) && is_date_number(22) && !is_date_number(2));
    }
}
