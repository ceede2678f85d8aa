//! Command output: aligned tables for people, JSON for programs. All output is written to one
//! buffered stdout or to a file that is replaced atomically. Notes and errors are written to
//! stderr, and a failed write never panics.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use comfy_table::{CellAlignment, ColumnConstraint, presets};
use indicatif::HumanCount;
use serde::Serialize;

use crate::failure::{Failure, usage};
use crate::write_error::WriteError;
use crate::{log, terminal};

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    Json,
}

pub(crate) fn stdout() -> BufWriter<Out<Stdout>> {
    BufWriter::with_capacity(1 << 16, Out { inner: io::stdout(), to: None })
}

/// Writes a line to stderr. Write errors are ignored, because the result and its exit code are more
/// important. In a server the line is written through the log queue, so that it is in order with
/// the log.
pub(crate) fn note(text: impl Display) {
    let line = format!("{text}\n");
    if !log::push(line.as_bytes()) {
        io::stderr().write_all(line.as_bytes()).ok();
    }
}

/// Maximum time that a server waits for its ready message to be written before it starts to serve.
const READER_MAX: Duration = Duration::from_secs(1);

/// Writes a server's ready message to stdout. If stdout is not read within [`READER_MAX`], the
/// server starts without waiting.
pub(crate) fn announce(text: String) -> Result<(), Failure> {
    let (done, written) = mpsc::channel();
    let write = move || {
        let mut out = stdout();
        // `send` fails if the write took so long that the receiver was dropped.
        done.send(out.write_all(text.as_bytes()).and_then(|()| out.flush())).ok();
    };
    thread::Builder::new().name("stdout".to_owned()).spawn(write)?;
    match written.recv_timeout(READER_MAX) {
        Ok(result) => Ok(result?),
        Err(_) => {
            tracing::warn!("standard output is not read: serving without waiting for it");
            Ok(())
        }
    }
}

/// Standard output or a file. Write errors name the destination.
#[derive(Debug)]
pub(crate) struct Out<W> {
    inner: W,
    to: Option<PathBuf>,
}

impl<W> Out<W> {
    fn named(&self, source: io::Error) -> io::Error {
        let kind = source.kind();
        let error = match &self.to {
            None => WriteError::Stdout(source),
            Some(path) => WriteError::File { path: path.clone(), source },
        };
        io::Error::new(kind, error)
    }
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes).map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush().map_err(|error| self.named(error))
    }
}

/// Writes a file atomically. An existing file is replaced only when the new file is complete. Pipes
/// and devices are written directly, because they must not be replaced by a file. Symbolic links
/// are followed.
pub(crate) fn file<T>(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let cannot = |error: io::Error| usage(format!("cannot write {}: {error}", path.display()));
    let into = |file: File| -> Result<T, Failure> {
        let mut out = BufWriter::with_capacity(1 << 16, Out { inner: file, to: Some(path.clone()) });
        let value = write(&mut out)?;
        out.flush()?;
        Ok(value)
    };
    if path.exists() && !path.is_file() {
        return File::options().write(true).open(path).map_err(cannot).and_then(into);
    }
    let partial = path.with_added_extension("partial");
    let written = into(File::create(&partial).map_err(cannot)?);
    let written = written.and_then(|value| std::fs::rename(&partial, path).map_err(cannot).map(|()| value));
    if written.is_err() {
        // An error is ignored here, because the write error is more important than a partial file
        // that remains.
        std::fs::remove_file(&partial).ok();
    }
    written
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a value as an indented JSON document with a final newline.
pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    let mut out = stdout();
    // The error is converted to an I/O error, because serde's error does not identify a broken
    // pipe.
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Prints a result as one line of text or as a JSON document, depending on `format`.
pub(crate) fn say(format: Format, text: &str, document: serde_json::Value) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json(&document)?);
    }
    let mut out = stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Heading and alignment of a table column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    Left(&'static str),
    Right(&'static str),
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Column::Left(heading) | Column::Right(heading) => heading,
        }
    }
}

/// A plain table: no borders, one space between columns, and a one-line heading that `tail` can
/// remove.
#[derive(Debug)]
pub(crate) struct Table {
    cells: comfy_table::Table,
    headings: Vec<&'static str>,
    /// Headings of the columns that a narrow terminal does not show, the first to be left out
    /// first.
    optional: &'static [&'static str],
}

pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut cells = comfy_table::Table::new();
    cells.load_style(presets::NOTHING);
    let headings: Vec<&'static str> = columns.iter().map(|column| column.heading()).collect();
    cells.set_header(&headings);
    for row in rows {
        cells.add_row(row.iter().map(|cell| printable(cell)));
    }
    for (index, column) in columns.iter().enumerate() {
        if let Some(of) = cells.column_mut(index) {
            of.set_padding((0, 1));
            if matches!(column, Column::Right(_)) {
                of.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    Table { cells, headings, optional: &[] }
}

impl Table {
    /// Names the columns to leave out on a narrow terminal, the first of them first. All other
    /// columns are always shown.
    pub(crate) fn optional(self, headings: &'static [&'static str]) -> Table {
        Table { optional: headings, ..self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Hides optional columns until the table fits into a width. Returns the headings of the hidden
    /// columns, in the order of the table.
    fn fit(&mut self, width: usize) -> Vec<&'static str> {
        let mut widths: Vec<usize> =
            self.cells.column_max_content_widths().into_iter().map(usize::from).collect();
        let mut hidden = Vec::new();
        for heading in self.optional {
            let shown = widths.iter().filter(|width| **width > 0).count();
            if widths.iter().sum::<usize>() + GAP * shown.saturating_sub(1) <= width {
                break;
            }
            let Some(index) = self.headings.iter().position(|known| known == heading) else { continue };
            if let (Some(of), Some(width)) = (self.cells.column_mut(index), widths.get_mut(index)) {
                of.set_constraint(ColumnConstraint::Hidden);
                *width = 0;
                hidden.push(*heading);
            }
        }
        self.headings.iter().copied().filter(|heading| hidden.contains(heading)).collect()
    }

    /// Formats the whole table without trailing spaces, for a file or a pipe.
    pub(crate) fn whole(&self) -> String {
        self.cells.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    /// Formats the table for a terminal of this width. A last line names the columns that were left
    /// out.
    fn fitted(mut self, width: usize) -> String {
        let hidden = self.fit(width);
        let text = self.whole();
        match hidden.as_slice() {
            [] => text,
            hidden => format!("{text}\n(not shown in {width} columns: {})", hidden.join(", ")),
        }
    }
}

/// Number of spaces between two columns.
const GAP: usize = 1;

/// Formats a table for stdout. A terminal that is too narrow gets fewer columns; a pipe or a file
/// always gets all of them.
pub(crate) fn text(table: Table) -> String {
    match terminal::width_of_stdout() {
        Some(width) => table.fitted(width),
        None => table.whole(),
    }
}

/// Makes untrusted text safe for a terminal. Control characters, and characters that reverse or
/// break the line, become spaces.
pub(crate) fn printable(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// Formats 1234567 as `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Formats a number with a noun, in the plural unless the number is 1.
pub(crate) fn count(number: u64, one: &str) -> String {
    format!("{} {one}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Formats a number of bytes in a readable unit with one decimal.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1000.0 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_with_separators_and_sizes_with_units() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")];
        cases.iter().for_each(|(number, text)| assert_eq!(thousands(*number), *text));
        assert_eq!(
            (size(0), size(999), size(1500), size(2_000_000)),
            ("0 B".into(), "999 B".into(), "1.5 kB".into(), "2.0 MB".into())
        );
    }

    fn sample() -> Table {
        let columns =
            [Column::Left("symbol"), Column::Left("name"), Column::Right("last"), Column::Left("state")];
        let row = |texts: [&str; 4]| texts.map(str::to_owned).to_vec();
        let rows = [row(["700.HK", "騰訊控股", "306.20", "open"]), row(["9.HK", "Wick", "1.5", "closed"])];
        table(&columns, rows).optional(&["state", "name"])
    }

    #[test]
    fn a_narrow_terminal_shows_fewer_columns_and_names_the_others() {
        let whole =
            "symbol name       last state\n700.HK 騰訊控股 306.20 open\n9.HK   Wick        1.5 closed";
        assert_eq!(sample().whole(), whole);
        assert_eq!(sample().fitted(29), whole);
        assert_eq!(
            sample().fitted(28),
            "symbol name       last\n700.HK 騰訊控股 306.20\n9.HK   Wick        1.5\n(not shown in 28 columns: state)"
        );
        // Columns that are not optional are kept, even if the terminal is too narrow for them.
        assert_eq!(
            sample().fitted(5),
            "symbol   last\n700.HK 306.20\n9.HK      1.5\n(not shown in 5 columns: name, state)"
        );
        assert_eq!(table(&[Column::Left("symbol")], [vec!["700.HK".to_owned()]]).fitted(1), "symbol\n700.HK");
    }

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(printable("a\u{1b}[31mb\tc"), "a [31mb c");
        assert_eq!(printable("a\u{202e}b\u{2066}c\u{2028}d"), "a b c d");
    }
}
