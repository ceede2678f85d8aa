//! The shared format of table files: comma-separated rows under a header, and comments after `#`.
//! Errors are reported with file name and line.

use market::{Date, Market};

use crate::decimal::parse_units;

/// An error in a table file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct TableError {
    pub file: String,
    pub line: usize,
    pub problem: String,
}

/// One row of a table file, with its position for error messages.
pub(super) struct Row<'a> {
    pub(super) file: &'a str,
    pub(super) line: usize,
    pub(super) fields: Vec<&'a str>,
}

/// Returns the rows below the header. Returns an error if the first row is not exactly `header`.
pub(super) fn rows<'a>(file: &'a str, text: &'a str, header: &str) -> Result<Vec<Row<'a>>, TableError> {
    let mut found = Vec::new();
    let mut has_header = false;
    let columns = header.split(',').count();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let content = line.split_once('#').map_or(line, |(before, _)| before).trim();
        if content.is_empty() {
            continue;
        }
        let row = Row { file, line: line_number, fields: content.split(',').map(str::trim).collect() };
        if !has_header {
            if content != header {
                return Err(row.wrong(format!("expected the header {header}")));
            }
            has_header = true;
            continue;
        }
        if row.fields.len() != columns {
            return Err(row.wrong(format!("expected {columns} fields: {header}")));
        }
        found.push(row);
    }
    if found.is_empty() {
        return Err(TableError { file: file.to_owned(), line: 0, problem: "no rows".to_owned() });
    }
    Ok(found)
}

impl Row<'_> {
    pub(super) fn wrong(&self, problem: impl Into<String>) -> TableError {
        TableError { file: self.file.to_owned(), line: self.line, problem: problem.into() }
    }

    pub(super) fn market(&self, text: &str) -> Result<Market, TableError> {
        Market::parse(text).ok_or_else(|| self.wrong(format!("{text:?} is not a market")))
    }

    /// Parses a date, or `-` for the minimum date.
    pub(super) fn from(&self, text: &str) -> Result<Date, TableError> {
        match text {
            "-" => Ok(Date::MIN),
            _ => text.parse().map_err(|_| self.wrong(format!("{text:?} is not a date"))),
        }
    }

    pub(super) fn word<T: std::str::FromStr>(&self, what: &str, text: &str) -> Result<T, TableError> {
        text.parse().map_err(|_| self.wrong(format!("{text:?} is not a {what}")))
    }

    /// Parses a non-negative decimal in units of `10^-scale`.
    pub(super) fn decimal(&self, what: &str, text: &str, scale: u32) -> Result<i128, TableError> {
        match parse_units(text, scale) {
            Ok((units, true)) if units >= 0 => Ok(units),
            _ => Err(self.wrong(format!("{what} {text:?} is not a decimal of at most {scale} decimals"))),
        }
    }
}
