//! `chandler export`: writes whole series or date ranges to files, page by page.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use files::{CandleSink, TradeSink};
use history::{HistoryError, Plan, Query, Select, Take};
use market::{Date, Floors, Period, Symbol, Timestamp};
use serde_json::json;
use store::{Access, Store};

use super::kline::{AdjustArgument, SessionArgument};
use super::time;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::suggest::{self, PeriodParser};
use crate::{output, progress};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The securities to export [default: all stored ones]
    symbols: Vec<String>,
    /// Any period; the stored ones are 1m and day
    #[arg(long, short, default_value = "day", value_parser = PeriodParser, hide_possible_values = true)]
    period: Period,
    /// Single trades instead of candles
    #[arg(long, conflicts_with_all = ["period", "adjust", "session"])]
    trades: bool,
    /// First date, inclusive
    #[arg(long, value_name = "D")]
    start: Option<String>,
    /// Last date, inclusive
    #[arg(long, value_name = "D")]
    end: Option<String>,
    /// Adjust earlier prices for splits and dividends
    #[arg(long, value_enum, default_value_t)]
    adjust: AdjustArgument,
    /// Trading sessions of US minutes: regular, with pre- and post-market, or all with overnight
    #[arg(long, value_enum, default_value_t = SessionArgument::All)]
    session: SessionArgument,
    /// The output format [default: by the extension of the output file]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// The format of the summary, with --output; JSON goes to standard output
    #[arg(long, value_enum, default_value_t, requires = "output")]
    summary: output::Format,
    #[command(flatten)]
    progress: progress::Flags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Parquet,
    Arrow,
}

impl Format {
    fn of(arguments: &Arguments) -> Result<Format, Failure> {
        let ending =
            arguments.output.as_ref().and_then(|path| path.extension()).and_then(|ending| ending.to_str());
        match (arguments.format, ending) {
            (Some(format), _) => Ok(format),
            (None, None | Some("csv")) => Ok(Format::Csv),
            (None, Some("parquet" | "pq")) => Ok(Format::Parquet),
            (None, Some("arrow" | "ipc" | "arrows" | "feather")) => Ok(Format::Arrow),
            (None, Some(other)) => Err(usage(format!(
                "cannot tell the format of a .{other} file: add --format csv, parquet or arrow"
            ))),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let format = Format::of(arguments)?;
    if arguments.output.is_none() && output::stdout_is_terminal() {
        return Err(usage(
            "an export is not written to a terminal: add --output FILE, or use a pipe; `chandler kline SYMBOL` shows \
            candles here",
        ));
    }
    let store = context.open(Access::Read)?;
    let symbols = symbols(arguments, context, &store).map_err(|failure| suggest::hinted(failure, &store))?;
    let write = |out: &mut (dyn Write + Send)| write(arguments, format, context, &store, &symbols, out);
    match &arguments.output {
        None => write(&mut output::stdout()).map(drop),
        Some(path) => {
            let rows = output::file(path, write)?;
            // Only a regular file gets a note about the result. A pipe or a device may be this
            // process's stdout, which must contain only the exported rows.
            if path.is_file() { arguments.note(rows, symbols.len(), path) } else { Ok(()) }
        }
    }
}

impl Arguments {
    /// Returns the noun for the exported rows in messages.
    fn rows(&self) -> &'static str {
        if self.trades { "trades" } else { "candles" }
    }

    fn note(&self, rows: u64, securities: usize, path: &Path) -> Result<(), Failure> {
        let shown = path.display();
        if self.summary == output::Format::Json {
            let bytes = path.metadata()?.len();
            return Ok(output::json(&json!({
                "file": shown.to_string(), "bytes": bytes, (self.rows()): rows, "securities": securities,
                "period": if self.trades { "trades".to_owned() } else { self.period.to_string() },
            }))?);
        }
        let of = match securities {
            1 => "1 security".to_owned(),
            many => format!("{} securities", output::thousands(many as u64)),
        };
        let row = if self.trades { "trade" } else { "candle" };
        let text = format!("{} of {of} in {shown}", output::count(rows, row));
        self.progress.note(&text);
        Ok(())
    }
}

fn symbols(arguments: &Arguments, context: &CommandContext, store: &Store) -> Result<Vec<Symbol>, Failure> {
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    if !arguments.symbols.is_empty() {
        let known = |text: &String| {
            let symbol = context.symbol(text)?;
            match snapshot.security(&symbol)? {
                Some(_) => Ok(symbol),
                None => Err(history::HistoryError::UnknownSecurity(symbol).into()),
            }
        };
        return arguments.symbols.iter().map(known).collect();
    }
    if arguments.trades {
        return traded_symbols(store);
    }
    let mut symbols: Vec<Symbol> = snapshot
        .all_series()?
        .into_iter()
        .filter(|info| {
            let (venue, as_of) = (context.history.venue(&info.series.symbol), context.as_of());
            // Securities whose first candle is still forming have nothing to export. Option candles
            // are omitted, because they exist only to fill orders.
            history::makes(venue, arguments.period, info, as_of)
                && !info.series.symbol.is_us_option()
                && as_of.shows(venue, info)
        })
        .map(|info| info.series.symbol)
        .collect();
    symbols.sort();
    symbols.dedup();
    if symbols.is_empty() {
        return Err(usage(format!("the store has no candles to build {} candles from", arguments.period)));
    }
    Ok(symbols)
}

fn write(
    arguments: &Arguments,
    format: Format,
    context: &CommandContext,
    store: &Store,
    symbols: &[Symbol],
    mut out: impl Write + Send,
) -> Result<u64, Failure> {
    let file_format = match format {
        Format::Csv => files::Format::Csv,
        Format::Parquet => files::Format::Parquet,
        Format::Arrow => files::Format::ArrowIpc,
    };
    let date = |text: &Option<String>| text.as_deref().map(time::date).transpose();
    let (start, end) = (date(&arguments.start)?, date(&arguments.end)?);
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        return Err(usage(history::BadQuery::Backwards { start, end }));
    }
    if arguments.trades {
        return write_trades((start, end), file_format, context, store, symbols, out);
    }
    let mut reader = store.reader()?;
    let mut sink = CandleSink::create(file_format, &mut out)?;
    let mut rows = 0;
    let as_of = context.as_of();
    let bar = arguments.progress.count(symbols.len() as u64, "securities");
    for symbol in symbols {
        let venue = context.history.venue(symbol);
        let zone = venue.zone();
        let query = Query {
            symbol: symbol.clone(),
            period: arguments.period,
            adjust: arguments.adjust.into(),
            sessions: arguments.session.into(),
            // The command exports all stored data, without floors.
            floors: Floors::NONE,
            select: Select::Dates { start, end },
        };
        // Rows are exported oldest first, unlike the paging order of the API.
        let from = start.map_or(Timestamp(i64::MIN), |date| zone.midnight(date));
        let until =
            end.and_then(|date| date.tomorrow().ok()).map_or(Timestamp(i64::MAX), |date| zone.midnight(date));
        let plan = Plan::over(&query, venue, as_of, from..until, Take::First(PAGE));
        for page in context.history.pages(&mut reader, &query, plan, as_of) {
            let page = match page {
                Ok(page) => page,
                // A security whose candles are all after the current time has no rows.
                Err(HistoryError::NoCandles(_)) => break,
                Err(error) => return Err(error.into()),
            };
            rows += page.candles.len() as u64;
            sink.write(symbol, zone, page.decimals, &page.candles)?;
            bar.say(|| format!("{symbol}, {} candles", output::thousands(rows)));
        }
        bar.advance(1);
    }
    drop(bar);
    sink.finish()?;
    out.flush()?;
    Ok(rows)
}

/// Number of candles per read, large enough that each block is read only about once.
const PAGE: usize = 32_768;

/// Returns the securities that have trades.
fn traded_symbols(store: &Store) -> Result<Vec<Symbol>, Failure> {
    let mut reader = store.reader()?;
    let symbols: Vec<Symbol> =
        reader.snapshot()?.traded_symbols()?.into_iter().map(|traded| traded.symbol).collect();
    if symbols.is_empty() { Err(usage("the store has no trades")) } else { Ok(symbols) }
}

/// Writes the trades of a date range, both ends inclusive, and returns their number.
fn write_trades(
    (start, end): (Option<Date>, Option<Date>),
    format: files::Format,
    context: &CommandContext,
    store: &Store,
    symbols: &[Symbol],
    mut out: impl Write + Send,
) -> Result<u64, Failure> {
    let mut sink = TradeSink::create(format, &mut out)?;
    let mut reader = store.reader()?;
    let mut rows = 0;
    for symbol in symbols {
        let zone = context.history.venue(symbol).zone();
        let days = context.history.traded_days(&mut reader, symbol, context.as_of())?;
        let wanted = days
            .into_iter()
            .filter(|day| start.is_none_or(|start| day.day >= start) && end.is_none_or(|end| day.day <= end));
        for day in wanted {
            let trades = context.history.day_trades(&mut reader, &day, context.as_of())?;
            sink.write(symbol, zone, &trades)?;
            rows += trades.len() as u64;
        }
    }
    sink.finish()?;
    out.flush()?;
    Ok(rows)
}
