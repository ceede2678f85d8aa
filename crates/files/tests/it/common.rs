use std::fmt::Write;
use std::path::{Path, PathBuf};

use expect_test::Expect;
use files::{CandleReader, FileError, ReadOptions, Table};
use market::Venues;

pub(crate) fn options() -> ReadOptions {
    ReadOptions::default()
}

pub(crate) fn venues() -> Venues {
    Venues::built_in().unwrap()
}

/// Writes a file to a new folder, so that it can have exactly the given name.
pub(crate) fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

pub(crate) fn open(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Table, FileError> {
    let (_folder, path) = file(name, bytes);
    files::open(&path, &venues(), options)
}

pub(crate) fn candles(name: &str, bytes: &[u8], options: &ReadOptions) -> CandleReader {
    match open(name, bytes, options) {
        Ok(Table::Candles(reader)) => reader,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn listing(reader: &mut CandleReader) -> String {
    let mut text = format!("{} {:?}\n", reader.vendor(), reader.grain());
    while let Some(batch) = reader.next().unwrap() {
        for row in batch.rows {
            let symbol = &reader.symbols()[row.symbol as usize];
            let [open, high, low, close] =
                [row.open, row.high, row.low, row.close].map(|p| p.text(6).to_string());
            let (time, volume, turnover) = (row.time, row.volume, row.turnover.text());
            let session = row.session.map_or("-", |session| session.as_str());
            writeln!(
                text,
                "{} {symbol} {time} {open} {high} {low} {close} {volume} {turnover} {session}",
                row.line
            )
            .unwrap();
        }
        for r in batch.rejected {
            writeln!(text, "rejected {} {}: {}", r.line, r.symbol.unwrap_or_default(), r.reason).unwrap();
        }
    }
    for note in reader.notes() {
        writeln!(text, "note: {note}").unwrap();
    }
    text
}

pub(crate) fn check(name: &str, text: &str, options: &ReadOptions, expected: Expect) {
    check_bytes(name, text.as_bytes(), options, expected);
}

pub(crate) fn check_bytes(name: &str, bytes: &[u8], options: &ReadOptions, expected: Expect) {
    expected.assert_eq(&listing(&mut candles(name, bytes, options)));
}

/// Checks the error message, without the temporary folder in it.
pub(crate) fn refusal(name: &str, text: &str, options: &ReadOptions, expected: Expect) {
    expected.assert_eq(&refusal_of(name, text.as_bytes(), options));
}

pub(crate) fn refusal_of(name: &str, bytes: &[u8], options: &ReadOptions) -> String {
    let error = match open(name, bytes, options) {
        Err(error) => error,
        Ok(Table::Candles(mut reader)) => loop {
            match reader.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{name} was read to its end"),
                Err(error) => break error,
            }
        },
        Ok(other) => panic!("{other:?}"),
    };
    short(&error)
}

fn short(error: &FileError) -> String {
    let name = error.path.file_name().map(Path::new).unwrap_or(Path::new("")).display();
    format!("{name}: {}", error.problem)
}
