//! XLSX workbooks: what is read, and what a damaged or hostile one is refused with.

use std::io::{Cursor, Write};

use files::{CandleReader, Table};
use zip::write::SimpleFileOptions;

use crate::common::{candles, file, listing, open, options};

/// A cell of a test workbook.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Text(&'static str),
    Number(&'static str),
    /// A number of days, with a date format.
    Date(f64),
}

const WORKBOOK: &str =
    r#"<?xml version="1.0" encoding="UTF-8"?><workbook xmlns:r="r"><sheets>SHEETS</sheets></workbook>"#;
const STYLES: &str = r#"<styleSheet><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/></numFmts>
<cellStyleXfs><xf numFmtId="0"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>"#;

/// Writes a workbook with shared strings and dates, as spreadsheet programs do.
pub(crate) fn workbook(sheets: &[(&str, &[Vec<Cell>])]) -> Vec<u8> {
    let mut strings: Vec<&str> = Vec::new();
    let mut parts = Vec::new();
    for (number, (_, rows)) in sheets.iter().enumerate() {
        let mut xml = String::new();
        for (at, row) in rows.iter().enumerate() {
            xml += &format!("<row r=\"{}\">", at + 1);
            for (column, cell) in row.iter().enumerate() {
                let name = format!("{}{}", char::from(b'A' + column as u8), at + 1);
                xml += &match cell {
                    Cell::Text(text) => {
                        strings.push(text);
                        format!("<c r=\"{name}\" t=\"s\"><v>{}</v></c>", strings.len() - 1)
                    }
                    Cell::Number(number) => format!("<c r=\"{name}\"><v>{number}</v></c>"),
                    Cell::Date(days) => format!("<c r=\"{name}\" s=\"1\"><v>{days}</v></c>"),
                };
            }
            xml += "</row>";
        }
        parts.push((format!("xl/worksheets/sheet{}.xml", number + 1), sheet(&xml)));
    }
    let shared: String = strings.iter().map(|text| format!("<si><t>{text}</t></si>")).collect();
    let list = |of: fn(usize, &str) -> String| -> String {
        sheets.iter().enumerate().map(|(n, (name, _))| of(n + 1, name)).collect()
    };
    let names = list(|n, name| format!("<sheet name=\"{name}\" sheetId=\"{n}\" r:id=\"rId{n}\"/>"));
    let targets = list(|n, _| format!("<Relationship Id=\"rId{n}\" Target=\"worksheets/sheet{n}.xml\"/>"));
    parts.push(("xl/workbook.xml".to_owned(), WORKBOOK.replace("SHEETS", &names)));
    parts
        .push(("xl/_rels/workbook.xml.rels".to_owned(), format!("<Relationships>{targets}</Relationships>")));
    parts.push(("xl/styles.xml".to_owned(), STYLES.to_owned()));
    parts.push(("xl/sharedStrings.xml".to_owned(), format!("<sst>{shared}</sst>")));
    archive(&parts)
}

fn sheet(rows: &str) -> String {
    format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")
}

fn archive(parts: &[(String, String)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        archive.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A workbook with one sheet of these rows, and other parts.
fn with_rows(rows: &str, others: &[(&str, &str)]) -> Vec<u8> {
    let sheets = r#"<sheet name="S" sheetId="1" r:id="rId1"/>"#;
    let rels =
        r#"<Relationships><Relationship Id="rId1" Target="/xl/worksheets/sheet1.xml"/></Relationships>"#;
    let mut parts = vec![
        ("xl/workbook.xml".to_owned(), WORKBOOK.replace("SHEETS", sheets)),
        ("xl/_rels/workbook.xml.rels".to_owned(), rels.to_owned()),
        ("xl/worksheets/sheet1.xml".to_owned(), sheet(rows)),
    ];
    parts.extend(others.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    archive(&parts)
}

fn row(number: usize, cells: &[&str]) -> String {
    let cells: String =
        cells.iter().map(|text| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>")).collect();
    format!("<row r=\"{number}\">{cells}</row>")
}

const HEADER: [&str; 6] = ["date", "open", "high", "low", "close", "volume"];

fn said(bytes: &[u8]) -> String {
    match open("AAPL.xlsx", bytes, &options()) {
        Ok(Table::Candles(mut reader)) => rows_or_error(&mut reader),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.problem.to_string(),
    }
}

fn rows_or_error(reader: &mut CandleReader) -> String {
    loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => return listing(reader),
            Err(error) => return error.problem.to_string(),
        }
    }
}

#[test]
fn cells_of_every_kind_are_read_with_the_line_numbers_of_the_sheet() {
    let rows = row(3, &HEADER)
        + r#"<row r="5"><c r="A5" s="1"><v>46335.395833333336</v></c><c r="B5"><f>1+1</f><v>185.63999999999999</v></c>
            <c r="C5" t="str"><v>186.5</v></c><c r="D5" t="n"><v>1.5E2</v></c>
            <c r="E5" t="inlineStr"><is><r><t>18</t></r><r><t>6</t></r><rPh><t>x</t></rPh></is></c><c r="F5"><v>7</v></c></row>
          <row r="6"><c r="A6" s="1"><v>46335.399305555555</v></c><c r="B6"><v>1</v></c><c r="C6"><v>1</v></c>
            <c r="D6"><v>1</v></c><c r="E6" t="e"><v>#N/A</v></c></row>"#;
    let bytes = with_rows(&rows, &[("xl/styles.xml", STYLES)]);
    let text = listing(&mut candles("AAPL.US_1m.xlsx", &bytes, &options()));
    assert!(
        text.contains(
            "\n5 AAPL.US 2026-11-09T14:30:00Z 185.640000 186.500000 150.000000 186.000000 7 0.000 -\n"
        ),
        "{text}"
    );
    assert!(text.contains("\nrejected 6 : close is empty\n"), "{text}");
    assert!(text.contains("note: read as a workbook: sheet \"S\"\n"), "{text}");
}

#[test]
fn cells_without_names_keep_their_columns_after_an_empty_cell() {
    let mut header = HEADER.to_vec();
    header.push("turnover");
    let cells =
        ["2026-11-09", "1", "2", "1", "2"].map(|text| format!("<c t=\"str\"><v>{text}</v></c>")).concat();
    let rows = row(1, &header) + &format!("<row r=\"2\">{cells}<c/><c><v>700</v></c></row>");
    let text = listing(&mut candles("AAPL.US.xlsx", &with_rows(&rows, &[]), &options()));
    assert!(text.contains(" 2.000000 0 700.000 -\n") || text.contains("volume is empty"), "{text}");
}

#[test]
fn hidden_and_empty_sheets_are_passed_over() {
    let header = HEADER.map(Cell::Text).to_vec();
    let day = |n: f64| {
        let mut row = vec![Cell::Date(46_335.0 + n)];
        row.extend(["1", "2", "1", "2", "5"].map(Cell::Number));
        row
    };
    let rows = [header, day(0.0), day(1.0)];
    let text = listing(&mut candles("AAPL.xlsx", &workbook(&[("Empty", &[]), ("Full", &rows)]), &options()));
    assert!(text.contains("sheet \"Full\"; the other sheets of its 2 were not read"), "{text}");
    assert_eq!(said(&workbook(&[("Empty", &[])])), "a workbook without cells: its sheets are empty");
    assert_eq!(said(&workbook(&[])), "a workbook without sheets");
}

#[test]
fn damaged_and_hostile_workbooks_are_refused() {
    let whole = with_rows(&row(1, &HEADER), &[]);
    assert!(said(&whole[..whole.len() - 20]).contains("it has no end"));
    let broken = |rows: &str| said(&with_rows(rows, &[]));
    assert!(broken("<row r=\"1\"><c><v>").contains("ends early"), "{}", broken("<row r=\"1\"><c><v>"));
    let backwards = row(2, &HEADER) + &row(1, &HEADER);
    assert!(broken(&backwards).contains("rows are not in order"));
    assert!(broken(&(row(1, &HEADER) + &row(1_048_577, &["1"]))).contains("rows are not in order"));
    assert!(
        broken(&(row(1, &HEADER) + "<row><c r=\"ZZZ2\"><v>1</v></c></row>"))
            .contains("more than 1024 columns")
    );
    // One text, one tag and one name of a part, each far larger than any real one.
    let long = "x".repeat(1 << 20);
    assert!(broken(&format!("<row><c t=\"str\"><v>{long}</v></c></row>")).contains("more than 256 KiB"));
    assert!(broken(&format!("<row r=\"{long}\"></row>")).contains("more than 256 KiB"));
    assert!(broken(&format!("<!-- {long} -->")).contains("more than 256 KiB"));
    // A row of references to one long text, which together are far larger than the file.
    let text = format!("<sst><si>{}</si></sst>", format!("<t>{}</t>", "x".repeat(60_000)).repeat(1_000));
    let cells = "<c t=\"s\"><v>0</v></c>".repeat(1_000);
    let repeated = with_rows(&format!("<row>{cells}</row>"), &[("xl/sharedStrings.xml", &text)]);
    assert!(said(&repeated).contains("a row is longer than 64 KiB"), "{}", said(&repeated));
    // Announced counts reserve nothing.
    let strings = r#"<sst count="99999999999" uniqueCount="99999999999"><si><t>a</t></si></sst>"#;
    let counted = with_rows(&row(1, &HEADER), &[("xl/sharedStrings.xml", strings)]);
    assert_eq!(said(&counted), "there is a header but no row");
    let large = "x".repeat(9 << 20);
    assert!(
        said(&with_rows(&row(1, &HEADER), &[("xl/styles.xml", &large)])).contains("unpacks to 9437184 bytes")
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 200, ..Default::default() })]

    /// Cuts and repeats pieces of a sheet and of the other parts: reading ends, with rows or an error.
    #[test]
    fn no_workbook_panics(cuts in proptest::collection::vec((0usize..1_000, 0usize..60, 0usize..4), 1..6), of_styles: bool) {
        let rows = row(1, &HEADER) + r#"<row r="2"><c r="A2" s="1"><v>46335</v></c><c t="s"><v>0</v></c><c><f>A1</f><v>2</v></c></row>"#;
        let damaged = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            for (at, length, times) in &cuts {
                let at = at % bytes.len().max(1);
                let piece: Vec<u8> = bytes.drain(at..(at + length).min(bytes.len())).collect();
                (0..*times).for_each(|_| drop(bytes.splice(at..at, piece.iter().copied())));
            }
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let strings = "<sst><si><t>a&amp;b</t></si><si><r><t>c</t></r></si></sst>";
        let bytes = if of_styles {
            with_rows(&rows, &[("xl/styles.xml", &damaged(STYLES)), ("xl/sharedStrings.xml", &damaged(strings))])
        } else {
            with_rows(&damaged(&rows), &[("xl/styles.xml", STYLES), ("xl/sharedStrings.xml", strings)])
        };
        said(&bytes);
    }
}

#[test]
fn a_workbook_is_one_table() {
    let (_folder, path) = file("AAPL.xlsx", &with_rows(&row(1, &HEADER), &[]));
    assert_eq!(files::tables_in(&path).unwrap(), std::slice::from_ref(&path));
}
