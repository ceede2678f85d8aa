//! Reads the header of a text table, or guesses the columns if there is no header.

use market::parse_scaled;

use crate::cells::{Cells, OpenQuote, lossy};
use crate::header::{names_prices, normal};
use crate::source::Lines;
use crate::time::{DayCount, RawTime, parse_time};
use crate::wide::{self, WideColumn};
use crate::written::{DecimalMark, plain};
use crate::{COLUMNS_MAX, Problem, ReadOptions};

#[derive(Debug)]
pub(crate) struct TextHeader {
    pub names: Vec<String>,
    pub delimiter: u8,
    /// Line of the header, starting at 1; the second line if there are two levels.
    pub line: u64,
    /// The ticker of a table with two header levels and one ticker, as written by yfinance.
    pub symbol: Option<String>,
    /// The columns of a table with two header levels and several tickers.
    pub wide: Vec<WideColumn>,
    pub origin: NamesFrom,
    /// The text above the header, if there is any.
    pub title: Option<String>,
}

/// The source of the column names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamesFrom {
    File,
    /// Set with `--columns`.
    Option,
    /// Guessed from the first rows, because the table has no header.
    Guess,
}

/// Supported delimiters, in ascending order of preference: if two delimiters are equally frequent
/// in the first line, the later one is used. The comma is first because it also occurs inside
/// numbers.
const DELIMITERS: [u8; 4] = [b',', b'|', b'\t', b';'];
/// Maximum number of blank and comment lines above the header.
const PREAMBLE_MAX: usize = 100;
/// Maximum number of other lines above the header, such as a title.
const TITLE_MAX: usize = 10;

pub(crate) fn read(lines: &mut Lines, options: &ReadOptions) -> Result<TextHeader, Problem> {
    let mut skipped = 0;
    let (names, delimiter) = loop {
        let Some(line) = lines.next()? else { return Err(Problem::Empty) };
        let blank = line.trim_ascii().is_empty() || line.starts_with(b"#") || line.starts_with(b"sep=");
        if blank && skipped < PREAMBLE_MAX {
            skipped += 1;
            continue;
        }
        let delimiter = delimiter_of(line);
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
        title: None,
    };
    if !options.columns.is_empty() {
        lines.unread();
        return Ok(plain(options.columns.clone(), NamesFrom::Option));
    }
    if has_second_level(&names, lines, delimiter) {
        return two_levels(lines, names, delimiter);
    }
    if let Some(header) = below_title(&names, lines)? {
        return Ok(header);
    }
    lines.unread();
    if let Some(guessed) = guess(&names, lines, delimiter) {
        return Ok(plain(guessed?, NamesFrom::Guess));
    }
    lines.next()?;
    Ok(plain(names, NamesFrom::File))
}

fn delimiter_of(line: &[u8]) -> u8 {
    let count = |delimiter: u8| line.iter().filter(|b| **b == delimiter).count();
    DELIMITERS.into_iter().max_by_key(|d| count(*d)).unwrap_or(b',')
}

/// Reads a header below a title, as in exports of TongDaXin and in workbooks. Returns `None` if the
/// first line is the header, or if there is none among the next lines.
fn below_title(first: &[String], lines: &mut Lines) -> Result<Option<TextHeader>, Problem> {
    if names_prices(first) {
        return Ok(None);
    }
    let found = lines
        .upcoming()
        .take(TITLE_MAX)
        .position(|(_, line)| split(line, delimiter_of(line)).is_ok_and(|names| names_prices(&names)));
    let Some(found) = found else { return Ok(None) };
    let words: Vec<&str> = first.iter().flat_map(|cell| cell.split_whitespace()).collect();
    let title = Some(words.join(" ")).filter(|title| !title.is_empty());
    for _ in 0..found {
        lines.next()?;
    }
    let Some(line) = lines.next()? else { return Ok(None) };
    let delimiter = delimiter_of(line);
    Ok(Some(TextHeader {
        names: split(line, delimiter)?,
        delimiter,
        line: lines.number(),
        symbol: None,
        wide: Vec::new(),
        origin: NamesFrom::File,
        title,
    }))
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

/// Returns whether a pandas table has a second header level: `Price` above `Ticker`, `Ticker` above
/// `Price`, or two lines with an empty first cell.
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

/// Reads a header like `Price,Close,…` above `Ticker,AAPL,…` above `Date,,…`, or with tickers above
/// prices.
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
    // With one ticker, columns are named by their fields, whichever header level contains the
    // fields.
    for column in &columns {
        if let Some(name) = first.get_mut(column.place) {
            column.field.as_str().clone_into(name);
        }
    }
    if let Some(name) = first.first_mut() {
        *name = index.unwrap_or_else(|| "Date".to_owned());
    }
    let wide = if symbol.is_some() { Vec::new() } else { columns };
    Ok(TextHeader { names: first, delimiter, line, symbol, wide, origin: NamesFrom::File, title: None })
}

/// Maximum number of rows that are checked before a guess is accepted.
const ROWS_MAX: usize = 200;

/// Guesses column names if the table begins with a data row, and returns `None` if it does not.
/// `lines` must be positioned before that row.
pub(crate) fn guess(first: &[String], lines: &Lines, delimiter: u8) -> Option<Result<Vec<String>, Problem>> {
    let time = first.iter().position(|cell| is_time(cell))?;
    let has_clock = first.get(time + 1).is_some_and(|cell| is_clock(cell));
    let prices = time + 1 + usize::from(has_clock);
    let numbers = first.iter().skip(prices).take_while(|cell| value(cell).is_some()).count();
    if numbers < 4 || time > 1 {
        return None;
    }
    let mut names: Vec<String> = (1..=first.len()).map(|place| format!("column {place}")).collect();
    let mut set = |place: usize, name: &str| {
        if let Some(slot) = names.get_mut(place) {
            name.clone_into(slot);
        }
    };
    if time == 1 {
        set(0, "symbol");
    }
    set(time, "date");
    if has_clock {
        set(time + 1, "time");
    }
    for (place, name) in (prices..).zip(["open", "high", "low", "close"]) {
        set(place, name);
    }
    if numbers > 4 {
        let number = |place: usize| first.get(place).and_then(|cell| value(cell));
        let is_whole = |place: usize| number(place).is_some_and(|value| value % 1_000_000 == 0);
        // If two numbers follow the close, the first may be an adjusted close.
        let adjusted = numbers > 5 && !is_whole(prices + 4) && is_whole(prices + 5);
        set(prices + 4 + usize::from(adjusted), "volume");
    }
    Some(check_order(lines, delimiter, prices).map(|()| names))
}

/// Checks that the prices are in the order open, high, low, close. Up to a tenth of the rows may be
/// inconsistent.
fn check_order(lines: &Lines, delimiter: u8, prices: usize) -> Result<(), Problem> {
    let mut cells = Cells::default();
    let (mut rows, mut wrong, mut first_wrong) = (0, 0, 0);
    for (number, line) in lines.upcoming().take(ROWS_MAX) {
        if cells.split(line, delimiter).is_err() {
            continue;
        }
        let price = |place: usize| value(&String::from_utf8_lossy(cells.get(line, prices + place)));
        let (Some(open), Some(high), Some(low), Some(close)) = (price(0), price(1), price(2), price(3))
        else {
            continue;
        };
        rows += 1;
        if open.max(close) > high || open.min(close) < low {
            wrong += 1;
            first_wrong = if first_wrong == 0 { number } else { first_wrong };
        }
    }
    if wrong * 10 > rows { Err(Problem::NoHeader(first_wrong)) } else { Ok(()) }
}

/// Returns whether a cell is a date or a time. Numbers must be as large as a date in digits or a
/// Unix time.
fn is_time(cell: &str) -> bool {
    match parse_time(cell.trim().as_bytes(), &mut DayCount::new()) {
        Ok(RawTime::Number(number)) => number >= 19_000_101,
        Ok(_) => true,
        Err(_) => false,
    }
}

fn is_clock(cell: &str) -> bool {
    let cell = cell.trim();
    cell.contains(':') && cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

/// Parses a number to millionths, with either decimal mark.
fn value(cell: &str) -> Option<i128> {
    [DecimalMark::Point, DecimalMark::Comma].into_iter().find_map(|mark| {
        let number = plain(cell.trim().as_bytes(), mark)?;
        parse_scaled(number.text.as_bytes(), 6).ok().map(|(value, _)| value)
    })
}
