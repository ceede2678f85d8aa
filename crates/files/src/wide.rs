//! Tables with several symbols side by side, where each column belongs to one ticker.

use crate::header::{CandleColumns, TimeColumns, field_of, normal};
use crate::{Field, Problem};

/// A column of a wide table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WideColumn {
    pub ticker: String,
    pub field: Field,
    pub place: usize,
}

/// Words next to a field name that are not tickers.
const NO_TICKERS: [&str; 12] =
    ["bid", "ask", "mid", "adj", "adjusted", "unadjusted", "raw", "prev", "previous", "pre", "day", "last"];
/// Minimum number of columns named by a ticker and a field. Fewer may be a coincidence.
const COLUMNS_MIN: usize = 4;

/// Returns the columns of a header with two levels, of which either may have the tickers. Empty if
/// no column is named by a field.
pub(crate) fn of_levels(first: &[String], second: &[String]) -> Vec<WideColumn> {
    let is_of_tickers = |level: &[String]| level.first().is_some_and(|name| normal(name) == "ticker");
    let count = |level: &[String]| level.iter().filter(|name| field_of(name).is_some()).count();
    let are_fields_first = match (is_of_tickers(first), is_of_tickers(second)) {
        (true, false) => false,
        (false, true) => true,
        _ => count(first) >= count(second),
    };
    let (fields, tickers) = if are_fields_first { (first, second) } else { (second, first) };
    let columns = fields.iter().zip(tickers).enumerate().skip(1);
    columns
        .filter_map(|(place, (field, ticker))| {
            let ticker = ticker.trim().to_owned();
            Some(WideColumn { ticker, field: field_of(field)?, place })
        })
        .collect()
}

/// Returns the columns of a header like `AAPL_Open`, `Open AAPL`, `AAPL.Open` or `('Close',
/// 'AAPL')`, or `None` if there are fewer than [`COLUMNS_MIN`].
pub(crate) fn of_names(names: &[String]) -> Option<Vec<WideColumn>> {
    let columns: Vec<WideColumn> = names
        .iter()
        .enumerate()
        .filter_map(|(place, name)| {
            let (ticker, field) = of_name(name)?;
            Some(WideColumn { ticker, field, place })
        })
        .collect();
    (columns.len() >= COLUMNS_MIN).then_some(columns)
}

fn of_name(name: &str) -> Option<(String, Field)> {
    let name = name.trim();
    let pair = name
        .strip_prefix("('")
        .and_then(|rest| rest.strip_suffix("')"))
        .and_then(|rest| rest.split_once("', '"));
    match pair {
        Some((left, right)) => of_pair(left, right),
        None => ['_', ' ', ':', '/', '.'].into_iter().find_map(|between| {
            let (left, right) = name.rsplit_once(between)?;
            of_pair(left, right)
        }),
    }
}

/// Parses a ticker and a field name, in either order. Returns `None` unless one text is a field
/// name and the other may be a ticker.
fn of_pair(left: &str, right: &str) -> Option<(String, Field)> {
    // A single letter is not a field here: BRK.C is a ticker and not the close of BRK.
    let field = |text: &str| field_of(text).filter(|_| text.trim().chars().count() > 1);
    let (ticker, field) = match (field(right), field(left)) {
        (Some(field), _) => (left, field),
        (None, Some(field)) => (right, field),
        (None, None) => return None,
    };
    let is_ticker = !ticker.trim().is_empty() && !NO_TICKERS.contains(&normal(ticker).as_str());
    is_ticker.then(|| (ticker.trim().to_owned(), field))
}

/// Groups the columns by ticker, in order of appearance. `line` is the header's line, for error
/// messages.
pub(crate) fn by_ticker(
    columns: &[WideColumn],
    time: TimeColumns,
    line: u64,
) -> Result<Vec<(String, CandleColumns)>, Problem> {
    let mut tickers: Vec<&str> = Vec::new();
    for column in columns {
        if !tickers.contains(&column.ticker.as_str()) {
            tickers.push(&column.ticker);
        }
    }
    tickers
        .into_iter()
        .map(|ticker| Ok((ticker.to_owned(), of_ticker(columns, ticker, time, line)?)))
        .collect()
}

fn of_ticker(
    columns: &[WideColumn],
    ticker: &str,
    time: TimeColumns,
    line: u64,
) -> Result<CandleColumns, Problem> {
    let of = |field: Field| {
        columns
            .iter()
            .find(|column| column.ticker == ticker && column.field == field)
            .map(|column| column.place)
    };
    let prices = [Field::Open, Field::High, Field::Low, Field::Close];
    let missing: Vec<&str> =
        prices.into_iter().filter(|field| of(*field).is_none()).map(Field::as_str).collect();
    let (Some(open), Some(high), Some(low), Some(close)) =
        (of(Field::Open), of(Field::High), of(Field::Low), of(Field::Close))
    else {
        return Err(Problem::WideColumns { line, ticker: ticker.to_owned(), missing: missing.join(", ") });
    };
    Ok(CandleColumns {
        symbol: None,
        time,
        open,
        high,
        low,
        close,
        volume: of(Field::Volume),
        turnover: of(Field::Turnover),
        vwap: of(Field::Vwap),
        session: None,
        per: None,
        is_dated: false,
    })
}
