//! The first lines of a text table.

use crate::cells::{Cells, OpenQuote, lossy};
use crate::header::normal;
use crate::source::Lines;
use crate::{COLUMNS_MAX, Problem};

#[derive(Debug)]
pub(crate) struct TextHeader {
    pub names: Vec<String>,
    pub delimiter: u8,
    /// The ticker of a table with two header levels, as yfinance writes it.
    pub symbol: Option<String>,
}

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Blank and comment lines allowed above the header.
const PREAMBLE_MAX: usize = 100;

pub(crate) fn read(lines: &mut Lines) -> Result<TextHeader, Problem> {
    let mut skipped = 0;
    let (names, delimiter) = loop {
        let Some(line) = lines.next()? else { return Err(Problem::Empty) };
        let blank = line.trim_ascii().is_empty() || line.starts_with(b"#") || line.starts_with(b"sep=");
        if blank && skipped < PREAMBLE_MAX {
            skipped += 1;
            continue;
        }
        let count = |delimiter: u8| line.iter().filter(|b| **b == delimiter).count();
        let delimiter = DELIMITERS.into_iter().rev().max_by_key(|d| count(*d)).unwrap_or(b',');
        break (split(line, delimiter)?, delimiter);
    };
    if names.first().is_some_and(|name| normal(name) == "price") {
        return two_levels(lines, names, delimiter);
    }
    Ok(TextHeader { names, delimiter, symbol: None })
}

fn split(line: &[u8], delimiter: u8) -> Result<Vec<String>, Problem> {
    let mut cells = Cells::default();
    if let Err(OpenQuote) = cells.split(line, delimiter) {
        return Err(Problem::NotATable("a quote in the header is not closed".to_owned()));
    }
    if cells.len() > COLUMNS_MAX {
        return Err(Problem::Columns(cells.len()));
    }
    Ok((0..cells.len()).map(|column| lossy(cells.get(line, column))).collect())
}

/// `Price,Close,…` over `Ticker,AAPL,…` over `Date,,…`.
fn two_levels(lines: &mut Lines, mut names: Vec<String>, delimiter: u8) -> Result<TextHeader, Problem> {
    let second = lines.next()?.map(|line| split(line, delimiter)).transpose()?.unwrap_or_default();
    let mut tickers: Vec<&String> = match second.split_first() {
        Some((first, tickers)) if normal(first) == "ticker" => tickers.iter().collect(),
        _ => {
            return Err(Problem::NotATable(
                "the second line of a Price table should name the ticker".to_owned(),
            ));
        }
    };
    tickers.dedup();
    let symbol = match tickers.as_slice() {
        [one] => (*one).clone(),
        _ => {
            let what = "several tickers side by side: save one file a ticker, or one row a ticker and time";
            return Err(Problem::NotATable(what.to_owned()));
        }
    };
    let third = lines.next()?.map(|line| split(line, delimiter)).transpose()?.unwrap_or_default();
    if let (Some(name), Some(index)) = (names.first_mut(), third.into_iter().next()) {
        *name = index;
    }
    Ok(TextHeader { names, delimiter, symbol: Some(symbol) })
}
