//! Parses followed lines: rows of a table with a header, or JSON lines with the fields of ingested
//! rows.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use files::Table;
use history::import::Options;
use history::ingest::{CandleInput, Parsed, RefusedRow, TradeInput};
use market::{Candle, Grain, Session, Venues};
use serde_json::Value;

use crate::failure::{Failure, usage};

/// The rows of a batch, in the order of their lines.
pub(super) enum Rows {
    Candles(Vec<Parsed<CandleInput>>),
    Trades(Vec<Parsed<TradeInput>>),
}

/// Parses lines of one file.
pub(super) struct Parser<'a> {
    pub(super) file: &'a Path,
    pub(super) options: &'a Options,
    pub(super) all_final: bool,
    pub(super) venues: &'a Venues,
    /// Directory for the lines of a batch, which the table reader reads from a file.
    pub(super) folder: PathBuf,
}

/// The first line of a file, which determines the format of the other lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Column names.
    Header(String),
    /// The first line is a candle in JSON.
    JsonCandles,
    /// The first line is a trade in JSON.
    JsonTrades,
}

impl Head {
    pub(super) fn of(line: &str) -> Head {
        if !line.trim_start().starts_with('{') {
            return Head::Header(line.to_owned());
        }
        let row: Value = serde_json::from_str(line).unwrap_or_default();
        let is_trade = row.get("price").is_some() && row.get("open").is_none();
        if is_trade { Head::JsonTrades } else { Head::JsonCandles }
    }

    /// Returns whether the first line is also a row.
    pub(super) fn is_row(&self) -> bool {
        !matches!(self, Head::Header(_))
    }
}

impl Parser<'_> {
    pub(super) fn parse(&self, head: &Head, lines: &[String]) -> Result<Rows, Failure> {
        match head {
            Head::Header(header) => self.table(header, lines),
            Head::JsonCandles => {
                let rows = lines.iter().map(|line| {
                    let mut row = server::ingest_candle(&self.json(line), self.venues)?;
                    row.is_final = if self.all_final { Some(true) } else { row.is_final };
                    Ok(row)
                });
                Ok(Rows::Candles(rows.collect()))
            }
            Head::JsonTrades => {
                Ok(Rows::Trades(lines.iter().map(|line| server::ingest_trade(&self.json(line))).collect()))
            }
        }
    }

    /// Parses a line. A row without a symbol gets that of `--symbol`.
    fn json(&self, line: &str) -> Result<Value, String> {
        let mut row: Value = serde_json::from_str(line).map_err(|_| line.to_owned())?;
        if let (Some(fields), Some(symbol)) = (row.as_object_mut(), &self.options.read.symbol) {
            fields.entry("symbol").or_insert_with(|| symbol.to_string().into());
        }
        Ok(row)
    }

    /// Parses rows as a table with the header of the file.
    fn table(&self, header: &str, lines: &[String]) -> Result<Rows, Failure> {
        let name = self.file.file_name().filter(|name| *name != "-");
        let path = self.folder.join(name.unwrap_or_else(|| "input.csv".as_ref()));
        let mut file = File::create(&path)?;
        writeln!(file, "{header}")?;
        lines.iter().try_for_each(|line| writeln!(file, "{line}"))?;
        drop(file);
        let mut options = self.options.read.clone();
        // The period cannot be detected from a few rows.
        options.period.get_or_insert(Grain::Minute);
        let table = files::open(&path, self.venues, &options);
        let cannot = |error: files::FileError| usage(format!("{}: {}", self.file.display(), error.problem));
        match table.map_err(cannot)? {
            Table::Candles(mut reader) => {
                let (grain, mut all) = (reader.grain(), Vec::new());
                if !matches!(grain, Grain::Minute | Grain::Day) {
                    return Err(usage("--follow reads candles of 1m and 1d".to_owned()));
                }
                while let Some(batch) = reader.next().map_err(cannot)? {
                    let is_final = self.all_final.then_some(true);
                    all.extend(batch.rejected.into_iter().map(|row| (row.line, Err(refused(row)))));
                    all.extend(batch.rows.iter().filter_map(|row| {
                        let symbol = reader.symbols().get(row.symbol as usize)?.clone();
                        let candle = Candle {
                            time: row.time,
                            open: row.open,
                            high: row.high,
                            low: row.low,
                            close: row.close,
                            volume: row.volume,
                            turnover: row.turnover,
                            session: Session::Intraday,
                        };
                        Some((row.line, Ok(CandleInput { symbol, grain, candle, is_final })))
                    }));
                }
                Ok(Rows::Candles(in_order(all)))
            }
            Table::Trades(mut reader) => {
                let mut all = Vec::new();
                while let Some(batch) = reader.next().map_err(cannot)? {
                    all.extend(batch.rejected.into_iter().map(|row| (row.line, Err(refused(row)))));
                    all.extend(batch.rows.iter().filter_map(|row| {
                        let symbol = reader.symbols().get(row.symbol as usize)?.clone();
                        Some((row.line, Ok(TradeInput { symbol, trade: row.trade, id: None })))
                    }));
                }
                Ok(Rows::Trades(in_order(all)))
            }
            _ => Err(usage("--follow reads candles and trades".to_owned())),
        }
    }
}

fn in_order<T>(mut rows: Vec<(u64, Parsed<T>)>) -> Vec<Parsed<T>> {
    rows.sort_by_key(|(line, _)| *line);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn refused(row: files::Rejected) -> RefusedRow {
    RefusedRow { row: 0, symbol: row.symbol, text: row.text, reason: row.reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_determines_the_format() {
        assert_eq!(Head::of("symbol,time"), Head::Header("symbol,time".to_owned()));
        assert_eq!(Head::of(r#"{"symbol": "700.HK", "open": 1, "price": 2}"#), Head::JsonCandles);
        assert_eq!(Head::of(r#" {"symbol": "700.HK", "price": 1}"#), Head::JsonTrades);
        assert_eq!(Head::of("{not JSON"), Head::JsonCandles);
        assert!(Head::JsonTrades.is_row() && !Head::of("time").is_row());
    }
}
