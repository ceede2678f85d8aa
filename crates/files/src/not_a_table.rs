//! Names file formats that are no tables of candles, by their first bytes, so that a refusal says
//! what the file is and what to do.

use std::path::Path;

/// Returns why a file of a known format is refused, or `None` for other files.
pub(crate) fn format_of(head: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 8] = [
        (b"ARROW1", "an Arrow file: Arrow is written, not read; convert it to Parquet"),
        (b"%PDF", "a PDF document: export the table as CSV or XLSX where the PDF comes from"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "an old Excel workbook (.xls), or one with a password: save it as XLSX or CSV",
        ),
        (b"SQLite format 3\0", "a SQLite database: write the table to a CSV file"),
        (b"\x89PNG", "an image, not a table"),
        (b"\xff\xd8\xff", "an image, not a table"),
        (b"\x89HDF", "an HDF5 file: convert it to Parquet"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it, or use ZIP"),
    ];
    known.into_iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| what)
}

/// Returns why a text of a known format is refused. `head` is its beginning.
pub(crate) fn text_format_of(head: &str) -> Option<&'static str> {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let begins =
        |start: &str| head.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start));
    if begins("<!doctype html") || begins("<html") {
        return Some("a web page (HTML): download the table as CSV instead");
    }
    if begins("<?xml") {
        return Some("an XML document: export the table as CSV or XLSX");
    }
    let second = head.get(1..).unwrap_or_default().trim_start();
    let is_object = head.starts_with('{') && (second.starts_with('"') || second.starts_with('}'));
    let is_array = head.starts_with('[') && second.starts_with(['{', '[', ']', '"']);
    (is_object || is_array).then_some(
        "a JSON document: write it as CSV, for example with pandas: \
         pandas.read_json(…).to_csv(…); lines of JSON can be read with --follow",
    )
}

/// Returns what a binary file may be, by its name.
pub(crate) fn binary(path: &Path) -> &'static str {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("day" | "lc1" | "lc5" | "5" | "1") => {
            "binary data of TongDaXin (.day, .lc5): export the candles as text there"
        }
        Some("hst") => "binary data of MetaTrader (.hst): export the candles as CSV there",
        Some("xls" | "xlsb" | "ods" | "numbers") => "a workbook of another format: save it as XLSX or CSV",
        _ => "binary data, and not CSV, XLSX, Parquet, gzip, zstd or ZIP: is this a table?",
    }
}
