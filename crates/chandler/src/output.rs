//! What commands print: aligned tables for people, JSON for programs. Everything goes through one buffered stdout, and every write may fail without a panic.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    Json,
}

pub(crate) fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, io::stdout())
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// One JSON document and a line end.
pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    let mut out = stdout();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// A column's heading, and which way its cells lean.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    Left(&'static str),
    Right(&'static str),
}

/// A plain table: no frames, two spaces between columns, a heading that can be cut off with `tail`.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(|column| match column {
        Column::Left(name) | Column::Right(name) => *name,
    }));
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)));
    }
    for (index, column) in columns.iter().enumerate() {
        if let Some(of) = table.column_mut(index) {
            of.set_padding((0, 1));
            if matches!(column, Column::Right(_)) {
                of.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table
}

/// A table as text, without the spaces that fill up its last column.
pub(crate) fn text(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Text from files and names, made safe for a terminal: control characters become spaces.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// 1234567 as `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % 3 == head {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the unit a person would use.
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
    fn numbers_are_grouped_for_reading() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")];
        cases.iter().for_each(|(number, text)| assert_eq!(thousands(*number), *text));
        assert_eq!(
            (size(0), size(999), size(1500), size(2_000_000)),
            ("0 B".into(), "999 B".into(), "1.5 kB".into(), "2.0 MB".into())
        );
    }

    #[test]
    fn text_from_files_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\tc"), "a [31mb c");
    }
}
