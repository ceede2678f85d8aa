//! `chandler import`: imports files, with a progress bar on a terminal, and prints a summary.

mod follow;
mod words;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use files::{ColumnMap, DecimalMark, GivenSymbol, ReadOptions, Scale, Stamp, TimeFormat};
use history::import::{Context, Options, Outcome, Progress, Report, import, preview};
use market::{FloorTable, Grain, Region, Venues};
use serde_json::{Value, json};
use store::{Access, Store, StoreError};

use crate::config::Config;
use crate::context::{CommandContext, shell_word};
use crate::failure::{self, Failure, usage};
use crate::output::{self, Column, Format};
use crate::progress;
use crate::remote::ServerFlags;

/// `chandler import`. `chandler open` has the same arguments, without a server to send rows to.
#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(flatten)]
    arguments: Arguments,
    #[command(flatten)]
    remote: ServerFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// CSV (also .gz, .zst, or in .zip), XLSX and Parquet files, or folders of them, which are
    /// searched with the folders inside
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Candle period [default: detected from the times]
    #[arg(long, value_enum)]
    period: Option<PeriodArgument>,
    /// Column mapping, if the header is not recognised: time=stamp,close=px_last; COLUMN=- ignores
    /// a column
    #[arg(long, value_name = "FIELD=COLUMN,…")]
    map: Option<String>,
    /// Time format, if it cannot be detected: mdy, dmy, or a pattern like %d.%m.%Y %H:%M
    #[arg(long, value_name = "FORMAT")]
    time_format: Option<String>,
    /// Column names of files without a header, in order; any other word ignores a column
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    columns: Vec<String>,
    /// The decimal separator, if it cannot be detected
    #[arg(long, value_enum, value_name = "MARK")]
    decimal: Option<DecimalArgument>,
    /// Multiply by exact factors: volume=100,turnover=1000 or price=0.001; volume=1 leaves volumes in
    /// lots unchanged
    #[arg(long, value_name = "WHAT=FACTOR,…")]
    scale: Option<String>,
    /// Symbol for files that do not contain one; a ticker without market is completed
    #[arg(long, aliases = ["ticker", "code"])]
    symbol: Option<String>,
    /// Region for tickers without one: HK, US, SH or SZ
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Whether intraday candles are stamped with their start or their end
    #[arg(long, value_enum)]
    stamp: Option<StampArgument>,
    /// Estimate missing turnover as average price times volume
    #[arg(long)]
    estimate_turnover: bool,
    /// Report what would be imported, with the first rows as they would be stored, without writing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Refuse a whole file if any of its rows is invalid
    #[arg(long)]
    strict: bool,
    /// Import files again even if they are in the ledger
    #[arg(long)]
    again: bool,
    /// Replace stored candles even if many of them differ greatly
    #[arg(long)]
    replace: bool,
    /// Build one-minute and daily candles from the imported trades, replacing stored ones
    #[arg(long)]
    build_candles: bool,
    /// Read one growing file, or `-` for standard input, and store new rows as they arrive: CSV,
    /// TSV or lines of JSON
    #[arg(long, conflicts_with_all = ["dry_run", "strict", "again", "replace"])]
    follow: bool,
    /// With --follow: seconds after its end at which a minute counts as final
    /// [default: 5s]
    #[arg(long, requires = "follow", value_name = "SECONDS", value_parser = seconds)]
    final_after: Option<i64>,
    /// With --follow: every row is final
    #[arg(long, requires = "follow")]
    all_final: bool,
    /// First dates served to accounts, as in `chandler serve`; earlier rows are stored and counted
    /// [default: published]
    #[arg(long, env = "CHANDLER_FLOORS", value_name = "FLOORS")]
    floors: Option<String>,
    /// Server configuration file, for its floors
    #[arg(long, env = "CHANDLER_CONFIG", value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    config: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) progress: progress::Flags,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PeriodArgument {
    #[value(name = "1m")]
    Minute,
    #[value(name = "5m")]
    Minutes5,
    #[value(name = "15m")]
    Minutes15,
    #[value(name = "30m")]
    Minutes30,
    #[value(name = "60m", alias = "1h")]
    Minutes60,
    #[value(name = "1d", alias = "day")]
    Day,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DecimalArgument {
    Point,
    Comma,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StampArgument {
    Start,
    End,
}

impl Arguments {
    pub(super) fn options(&self) -> Result<Options, Failure> {
        let period = self.period.map(|period| match period {
            PeriodArgument::Minute => Grain::Minute,
            PeriodArgument::Minutes5 => Grain::Own5,
            PeriodArgument::Minutes15 => Grain::Own15,
            PeriodArgument::Minutes30 => Grain::Own30,
            PeriodArgument::Minutes60 => Grain::Own60,
            PeriodArgument::Day => Grain::Day,
        });
        let map = self
            .map
            .as_deref()
            .map(ColumnMap::parse)
            .transpose()
            .map_err(|error| usage(format!("--map: {error}")))?
            .unwrap_or_default();
        let time_format = self.time_format.as_deref().map(str::parse::<TimeFormat>).transpose();
        let time_format = time_format.map_err(|error| usage(format!("--time-format: {error}")))?;
        let scale = self.scale.as_deref().map(str::parse::<Scale>).transpose();
        let scale = scale.map_err(|error| usage(format!("--scale: {error}")))?;
        let floors = self.floors()?;
        let region = |text: &String| {
            Region::parse(text).ok_or_else(|| usage(format!("--region {text:?}: HK, US, SH or SZ")))
        };
        let read = ReadOptions {
            period,
            map: map.fields,
            ignored: map.ignored,
            time_format,
            columns: self.columns.clone(),
            decimal: self.decimal.map(|mark| match mark {
                DecimalArgument::Point => DecimalMark::Point,
                DecimalArgument::Comma => DecimalMark::Comma,
            }),
            scale: scale.unwrap_or_default(),
            symbol: self.symbol.as_deref().map(str::parse::<GivenSymbol>).transpose().map_err(usage)?,
            region: self.region.as_ref().map(region).transpose()?,
            stamp: self.stamp.map(|stamp| match stamp {
                StampArgument::Start => Stamp::Start,
                StampArgument::End => Stamp::End,
            }),
            estimate_turnover: self.estimate_turnover,
        };
        Ok(Options {
            read,
            strict: self.strict,
            again: self.again,
            replace: self.replace,
            build_candles: self.build_candles,
            floors,
        })
    }

    /// Returns the history floors. A flag takes precedence over the environment, and the
    /// environment over the configuration file, as in the server.
    fn floors(&self) -> Result<FloorTable, Failure> {
        if let Some(text) = &self.floors {
            return text.parse().map_err(|error| usage(format!("--floors {error}")));
        }
        match &self.config {
            Some(path) => Ok(Config::read_under(path)?.server.floors),
            None => Ok(FloorTable::default()),
        }
    }
}

impl Import {
    pub(crate) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        if context.named.server && !self.arguments.follow {
            return Err(usage("--server needs --follow"));
        }
        run(&self.arguments, Some(&self.remote), context)
    }
}

/// Imports files. `server` may name a server that gets followed rows instead of the store.
pub(super) fn run(
    arguments: &Arguments,
    server: Option<&ServerFlags>,
    context: &CommandContext,
) -> Result<(), Failure> {
    let options = arguments.options()?;
    let files = if arguments.follow { arguments.files.clone() } else { expand(&arguments.files)? };
    // The first Ctrl-C ends the import at its next flush. A second one kills the process as usual.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    if arguments.follow {
        let [file] = files.as_slice() else { return Err(usage("--follow reads one file, or -")) };
        let (final_after_s, all_final) = (arguments.final_after, arguments.all_final);
        let follow = follow::Follow { file, options, final_after_s, all_final, server, stop };
        return follow::run(&follow, context);
    }
    if arguments.dry_run {
        let reports = dry_run(&options, &files, &stop, context)?;
        return note(arguments, &reports, &files, &[], context);
    }
    let store = context.open(Access::Write { now: context.now() })?;
    let progress = Progress::default();
    let now = || context.now();
    let job = Context {
        store: &store,
        venues: context.history.venues(),
        options: &options,
        now: &now,
        stop: &stop,
        progress: &progress,
    };
    let total = files.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum();
    let bar = arguments.progress.bytes(total);
    let reports = bar.over_import(&progress, total, || import(&job, &files))?;
    drop(bar);
    let ignored = ignored_actions(&reports, &store, context)?;
    note(arguments, &reports, &files, &ignored, context)
}

fn note(
    arguments: &Arguments,
    reports: &[Report],
    files: &[PathBuf],
    ignored: &[String],
    context: &CommandContext,
) -> Result<(), Failure> {
    let next = words::next_steps(reports, context);
    let venues = context.history.venues();
    let report = match arguments.format {
        Format::Table => summary(reports, ignored, &next, context),
        Format::Json => output::json(&as_json(reports, ignored, &next, venues)).map_err(Failure::from),
    };
    failure::found(report, verdict(reports, files))
}

/// Parses a number of seconds, such as `5` or `5s`.
fn seconds(text: &str) -> Result<i64, String> {
    let digits = text.strip_suffix('s').unwrap_or(text);
    digits.parse::<u32>().map(i64::from).map_err(|_| "a number of seconds, such as 5s".to_owned())
}

/// Maximum number of rows that a dry run shows per file.
const ROWS_SHOWN: usize = 5;

fn dry_run(
    options: &Options,
    files: &[PathBuf],
    stop: &AtomicBool,
    context: &CommandContext,
) -> Result<Vec<Report>, Failure> {
    let store = match Store::open(context.url()?, Access::Read) {
        Ok(store) => Some(store),
        Err(StoreError::Absent { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(preview(store.as_ref(), context.history.venues(), options, ROWS_SHOWN, stop, files)?)
}

/// Returns an error if the import was interrupted or any file has an error.
fn verdict(reports: &[Report], files: &[PathBuf]) -> Result<(), Failure> {
    let interrupted =
        reports.iter().any(|report| report.outcome == Outcome::Interrupted) || reports.len() < files.len();
    if interrupted {
        return Err(Failure::Interrupted("stopped: run the same command to continue".to_owned()));
    }
    if reports.iter().any(|report| trouble(report).is_some()) { Err(Failure::Reported) } else { Ok(()) }
}

/// Returns why a file was not imported, or `None` if the file has no error.
fn trouble(report: &Report) -> Option<&str> {
    match &report.outcome {
        Outcome::Failed(message) | Outcome::NotReplaced(message) => Some(message),
        Outcome::Imported | Outcome::Checked | Outcome::Known { .. } | Outcome::Interrupted => None,
    }
}

/// Replaces each folder by the table files in it and in the folders inside it, sorted by path, and
/// each ZIP archive by its files. Returns an error if a path does not exist.
pub(super) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(files::tables_under(path).map_err(|error| usage(error.to_string()))?);
        } else {
            files.push(path.clone());
        }
    }
    // A path may name a file inside a ZIP archive.
    let is_there = |path: &PathBuf| path.exists() || path.ancestors().skip(1).any(Path::is_file);
    match files.iter().find(|path| !is_there(path)) {
        Some(absent) => Err(usage(format!("{}: no such file", absent.display()))),
        // An archive that cannot be read is treated as one file, whose report contains the error.
        None => Ok(files
            .into_iter()
            .flat_map(|path| files::tables_in(&path).unwrap_or_else(|_| vec![path]))
            .collect()),
    }
}

/// Lists corporate actions that are ignored by price adjustment.
fn ignored_actions(
    reports: &[Report],
    store: &store::Store,
    context: &CommandContext,
) -> Result<Vec<String>, Failure> {
    if !reports.iter().any(|report| report.kind == "actions" && report.outcome == Outcome::Imported) {
        return Ok(Vec::new());
    }
    let mut reader = store.reader()?;
    let symbols: Vec<market::Symbol> =
        reader.snapshot()?.securities()?.into_iter().map(|s| s.symbol).collect();
    let mut lines = Vec::new();
    for symbol in symbols {
        for ignored in context.history.ignored_actions(&mut reader, &symbol, context.now())? {
            lines.push(format!(
                "{symbol} {}: ignored by price adjustment, {}",
                ignored.ex_date, ignored.reason
            ));
        }
    }
    Ok(lines)
}

fn outcome(report: &Report) -> String {
    match &report.outcome {
        Outcome::Imported if report.resumed_at > 0 => {
            format!("resumed at row {}", output::thousands(report.resumed_at))
        }
        Outcome::Imported => "imported".to_owned(),
        Outcome::Checked => "not imported".to_owned(),
        Outcome::Known { at } => format!("unchanged, imported {at}"),
        Outcome::Interrupted => "stopped".to_owned(),
        Outcome::Failed(_) => "failed".to_owned(),
        Outcome::NotReplaced(_) => "needs --replace".to_owned(),
    }
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Maximum number of files in the table. If there are more, only files with quarantined rows or
/// errors are listed.
const FILES_SHOWN: usize = 20;

fn summary(
    reports: &[Report],
    ignored: &[String],
    next: &[String],
    context: &CommandContext,
) -> Result<(), Failure> {
    let reported = print(reports, ignored, next, context);
    for report in reports {
        if let Some(message) = trouble(report) {
            let retry = with_symbol(report, context);
            let message = output::printable(message);
            output::note(format_args!("chandler: {}: {message}{retry}", report.path.display()));
        }
    }
    reported
}

/// Returns the command to run for a file that does not name its security, with the symbol that its
/// name suggests, or else an example. Empty for other errors.
fn with_symbol(report: &Report, context: &CommandContext) -> String {
    let Some(lacks) = &report.lacks_symbol else { return String::new() };
    let file = shell_word(&report.path.display().to_string());
    let command = |symbol: &str| context.hint(&format!("import {file} --symbol {symbol}"));
    match &lacks.perhaps {
        Some(symbol) => format!("; run `{}` if that is it", command(symbol.as_str())),
        None => format!("; run `{}` with its symbol instead of AAPL.US", command("AAPL.US")),
    }
}

fn print(
    reports: &[Report],
    ignored: &[String],
    next: &[String],
    context: &CommandContext,
) -> Result<(), Failure> {
    let (mut out, venues) = (output::stdout(), context.history.venues());
    writeln!(out, "{}", counts(reports))?;
    for report in reports.iter().take(FILES_SHOWN) {
        if let Some(words) = words::understood(report, venues) {
            writeln!(out, "{}: {}", name(&report.path), output::printable(&words))?;
        }
        if !report.first_rows.is_empty() {
            writeln!(out, "{}", words::first_rows(report, venues))?;
        }
        if !report.first_trades.is_empty() {
            writeln!(out, "{}", words::first_trades(report, venues))?;
        }
    }
    for report in reports {
        for note in &report.notes {
            writeln!(out, "{}: {}", name(&report.path), output::printable(note))?;
        }
        for (line, reason) in &report.problems {
            writeln!(out, "{}:{line}: {}", name(&report.path), output::printable(reason))?;
        }
    }
    for line in ignored {
        writeln!(out, "{line}")?;
    }
    let is_written = !reports.iter().any(|report| report.outcome == Outcome::Checked);
    if is_written && reports.iter().any(|report| report.quarantined > 0) {
        writeln!(out, "quarantined rows are not served; `{}` lists them", context.hint("quarantine"))?;
    }
    if let [see, undo @ ..] = next {
        writeln!(out, "next: {see}")?;
        undo.iter().try_for_each(|undo| writeln!(out, "undo: {undo}"))?;
    }
    Ok(out.flush()?)
}

/// Formats a table with one row per file and a total.
fn counts(reports: &[Report]) -> String {
    let mut columns = vec![Column::Left("file"), Column::Left("kind")];
    columns.extend(["rows", "symbols", "added", "replaced", "unchanged", "quarantined"].map(Column::Right));
    columns.push(Column::Left("outcome"));
    let numbers = |report: &Report| {
        let Report { rows, symbols, added, replaced, unchanged, quarantined, .. } = report;
        [rows, symbols, added, replaced, unchanged, quarantined].map(|number| output::thousands(*number))
    };
    let shown = reports
        .iter()
        .filter(|report| reports.len() <= FILES_SHOWN || report.quarantined > 0 || trouble(report).is_some());
    let mut rows: Vec<Vec<String>> = shown
        .take(FILES_SHOWN)
        .map(|report| {
            let mut row = vec![name(&report.path), report.kind.to_owned()];
            row.extend(numbers(report));
            row.push(outcome(report));
            row
        })
        .collect();
    if reports.len() > 1 {
        let sum = |of: fn(&Report) -> u64| output::thousands(reports.iter().map(of).sum());
        let mut row = vec![format!("{} files", reports.len()), String::new(), sum(|r| r.rows), String::new()];
        row.extend([
            sum(|r| r.added),
            sum(|r| r.replaced),
            sum(|r| r.unchanged),
            sum(|r| r.quarantined),
            String::new(),
        ]);
        rows.push(row);
    }
    output::text(output::table(&columns, rows).optional(&["kind", "unchanged", "symbols", "replaced"]))
}

fn as_json(reports: &[Report], ignored: &[String], next: &[String], venues: &Venues) -> Value {
    let files: Vec<Value> = reports
        .iter()
        .map(|report| {
            let error = trouble(report);
            let problems: Vec<Value> =
                report.problems.iter().map(|(line, reason)| json!({"line": line, "reason": reason})).collect();
            json!({
                "suggested_symbol": report.lacks_symbol.as_ref().and_then(|lacks| lacks.perhaps.as_ref()).map(market::Symbol::as_str),
                "file": report.path.display().to_string(), "kind": report.kind, "outcome": outcome(report), "error": error,
                "rows": report.rows, "symbols": report.symbols, "added": report.added, "replaced": report.replaced,
                "unchanged": report.unchanged, "quarantined": report.quarantined, "unserved": report.unserved, "resumed_at": report.resumed_at,
                "notes": report.notes, "problems": problems, "import": report.import.map(|id| id.0),
                "understood": words::understood_document(report, venues),
                "first_rows": words::first_rows_document(report, venues),
            })
        })
        .collect();
    json!({"files": files, "ignored_actions": ignored, "next": next})
}
