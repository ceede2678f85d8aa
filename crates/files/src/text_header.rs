//! The first lines of a text table.

use crate::cells::{Cells, OpenQuote, lossy};
use crate::header::normal;
use crate::source::Lines;
use crate::wide::{self, WideColumn};
use crate::{COLUMNS_MAX, Problem, ReadOptions, headless};

#[derive(Debug)]
pub(crate) struct TextHeader {
    pub names: Vec<String>,
    pub delimiter: u8,
    /// Its line, from one; of two levels the second.
    pub line: u64,
    /// The ticker of a table with two header levels, as yfinance writes it.
    pub symbol: Option<String>,
    /// If the two levels have several tickers: the columns of each.
    pub wide: Vec<WideColumn>,
    pub origin: NamesFrom,
}

/// Where the names of the columns come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamesFrom {
    File,
    /// `--columns`.
    Option,
    /// There is no header; guessed from the first rows.
    Guess,
}

/// Of two that are equally frequent in the first line, the later one wins: commas also occur inside
/// numbers.
const DELIMITERS: [u8; 4] = [b',', b'|', b'\t', b';'];
/// Blank and comment lines allowed above the header.
const PREAMBLE_MAX: usize = 100;

pub(crate) fn read(lines: &mut Lines, options: &ReadOptions) -> Result<TextHeader, Problem> {
    let mut skipped = 0;
    let (names, delimiter) = loop {
        let Some(line) = lines.next()? else { return Err(Problem::Empty) };
        let blank = line.trim_ascii().is_empty() || line.starts_with(b"#") || line.starts_with(b"sep=");
        if blank && skipped < PREAMBLE_MAX {
            skipped += 1;
            continue;
        }
        let count = |delimiter: u8| line.iter().filter(|b| **b == delimiter).count();
        let delimiter = DELIMITERS.into_iter().max_by_key(|d| count(*d)).unwrap_or(b',');
        break (split(line, delimiter)?, delimiter);
    };
    let line = lines.number();
    let plain = |names: Vec<String>, origin: NamesFrom| TextHeader {
        names,
        delimiter,
        line,
        symbol: None,
        wide: Vec::new(),
        origin,
    };
    if !options.columns.is_empty() {
        lines.unread();
        return Ok(plain(options.columns.clone(), NamesFrom::Option));
    }
    if has_second_level(&names, lines, delimiter) {
        return two_levels(lines, names, delimiter);
    }
    lines.unread();
    if let Some(guessed) = headless::guess(&names, lines, delimiter) {
        return Ok(plain(guessed?, NamesFrom::Guess));
    }
    lines.next()?;
    Ok(plain(names, NamesFrom::File))
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

/// `Price` over `Ticker`, `Ticker` over `Price`, or two lines with an empty first cell: the levels
/// of a pandas table.
fn has_second_level(names: &[String], lines: &Lines, delimiter: u8) -> bool {
    let first = names.first().map(|name| normal(name)).unwrap_or_default();
    if first == "price" {
        return true;
    }
    let second =
        lines.upcoming().next().and_then(|(_, line)| split(line, delimiter).ok()).unwrap_or_default();
    let below = second.first().map(|name| normal(name));
    match first.as_str() {
        "ticker" => below.as_deref() == Some("price"),
        "" => below.as_deref() == Some("") && second.iter().any(|name| !name.trim().is_empty()),
        _ => false,
    }
}

/// `Price,Close,…` over `Ticker,AAPL,…` over `Date,,…`; or tickers over prices.
fn two_levels(lines: &mut Lines, mut first: Vec<String>, delimiter: u8) -> Result<TextHeader, Problem> {
    let second = lines.next()?.map(|line| split(line, delimiter)).transpose()?.unwrap_or_default();
    let line = lines.number();
    let below = second.first().map(|name| normal(name));
    if normal(first.first().map_or("", String::as_str)) == "price" && below.as_deref() != Some("ticker") {
        return Err(Problem::NotATable("the second line of a Price table should name the ticker".to_owned()));
    }
    let columns = wide::of_levels(&first, &second);
    let third = lines.next()?.map(|line| split(line, delimiter)).transpose()?.unwrap_or_default();
    let is_index_name = third.iter().skip(1).all(|cell| cell.trim().is_empty());
    let index = if is_index_name { third.into_iter().next() } else { None };
    if !is_index_name {
        lines.unread();
    }
    let mut tickers: Vec<&str> = columns.iter().map(|column| column.ticker.as_str()).collect();
    tickers.dedup();
    let symbol = match tickers.as_slice() {
        [one] => Some((*one).to_owned()),
        _ => None,
    };
    // The names of one ticker's columns are those of the prices, whichever line has them.
    for column in &columns {
        if let Some(name) = first.get_mut(column.place) {
            column.field.as_str().clone_into(name);
        }
    }
    if let Some(name) = first.first_mut() {
        *name = index.unwrap_or_else(|| "Date".to_owned());
    }
    let wide = if symbol.is_some() { Vec::new() } else { columns };
    Ok(TextHeader { names: first, delimiter, line, symbol, wide, origin: NamesFrom::File })
}
