//! Uploads and import reports as JSON documents.

use std::path::Path;
use std::sync::atomic::Ordering;

use history::import::{MarketTime, Outcome, Report};
use market::{Candle, DECIMALS_MAX, Period, Price, Symbol, Trade, Venues};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::reading::FileReading;
use crate::intake::{FinishedAs, ImportRun, Intake, Upload};
use crate::kit::doc::one_of;
use crate::written::Instant;

const RUNNING: &str = "running";

/// Files uploaded for import.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Uploads")]
pub(super) struct UploadsDocument {
    pub(super) uploads: Vec<UploadDocument>,
    /// Maximum size of one file in bytes.
    pub(super) bytes_max: u64,
}

/// A file uploaded for import.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Upload")]
pub(super) struct UploadDocument {
    upload: String,
    /// Name of the uploaded file.
    file: String,
    bytes: u64,
    arrived_at: Instant,
    /// Time at which the file is deleted.
    expires_at: Instant,
    /// Last import of the file since the server started; null if the file was not imported.
    import: Option<ImportRunDocument>,
}

/// A running or finished import of an upload.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportRun")]
struct ImportRunDocument {
    /// `known`: the ledger has this exact file. `not_replaced`: the import would replace many
    /// stored candles with very different candles, which needs `replace`. `stopped`: importing the
    /// file again resumes after the last checkpoint.
    #[schemars(schema_with = "run_states")]
    state: &'static str,
    /// Bytes of the file read so far.
    bytes_done: u64,
    bytes: u64,
    rows_done: u64,
    /// Reason why the import could not start.
    message: Option<&'static str>,
    /// Result: one report, or one report per file of an archive. Empty while the import is running.
    files: Vec<FileReport>,
}

/// Actual or expected result of importing one file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportReport")]
pub(super) struct FileReport {
    file: String,
    kind: &'static str,
    /// `checked`: a dry run in which nothing was written. `known`: the ledger has this exact file,
    /// imported with the same options.
    #[schemars(schema_with = "outcomes")]
    outcome: &'static str,
    /// Reason why the file was not imported, or time of its earlier import.
    message: Option<String>,
    /// Whether the file does not name its security, so that the option `symbol` is required.
    needs_symbol: bool,
    /// The symbol that the name of such a file suggests.
    suggested_symbol: Option<String>,
    /// Import number in the ledger.
    import: Option<i64>,
    rows: u64,
    symbols: u64,
    /// The first few symbols in the file.
    names: Vec<String>,
    /// Time of the first row.
    first: Option<Instant>,
    last: Option<Instant>,
    added: u64,
    replaced: u64,
    unchanged: u64,
    /// Number of rows that were, or would be, rejected.
    quarantined: u64,
    /// Number of rows too old to be served to any account.
    unserved: u64,
    /// How a table of candles was parsed, and which parts were guessed.
    understood: Option<FileReading>,
    notes: Vec<String>,
    /// The first few rejected rows.
    problems: Vec<RefusedRow>,
    /// In a dry run, the first few candles as they would be stored.
    first_rows: Vec<FirstRow>,
    /// In a dry run, the first few trades as they would be stored.
    first_trades: Vec<FirstTrade>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RefusedRow {
    line: u64,
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FirstRow {
    symbol: String,
    /// A date, or a local market time.
    time: String,
    session: &'static str,
    open: String,
    high: String,
    low: String,
    close: String,
    volume: i64,
    turnover: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FirstTrade {
    symbol: String,
    /// Time of the trade in the market's time zone.
    time: String,
    price: String,
    volume: i64,
    /// Trade direction; empty if the file has no direction.
    direction: &'static str,
    /// One-letter trade type; empty for an ordinary trade.
    #[serde(rename = "type")]
    kind: String,
}

fn run_states(_: &mut SchemaGenerator) -> Schema {
    one_of(&[RUNNING, "done", "known", "stopped", "failed", "not_replaced"])
}

fn outcomes(_: &mut SchemaGenerator) -> Schema {
    one_of(&["imported", "checked", "known", "stopped", "failed", "not_replaced"])
}

impl UploadDocument {
    pub(super) fn of(upload: &Upload, intake: &Intake) -> UploadDocument {
        UploadDocument {
            upload: upload.id.to_string(),
            file: upload.name.clone(),
            bytes: upload.bytes,
            arrived_at: Instant::utc(upload.id.arrived_at()),
            expires_at: Instant::utc(upload.id.expires_at()),
            import: intake.run_of(upload).map(|run| ImportRunDocument::of(&run, intake.venues())),
        }
    }
}

impl ImportRunDocument {
    fn of(run: &ImportRun, venues: &Venues) -> ImportRunDocument {
        let finished = run.finished();
        let reports = finished.map(|finished| finished.reports.as_slice()).unwrap_or_default();
        ImportRunDocument {
            state: finished.map_or(RUNNING, |finished| state(finished.how)),
            bytes_done: run.progress.bytes.load(Ordering::Relaxed).min(run.bytes),
            bytes: run.bytes,
            rows_done: run.progress.rows.load(Ordering::Relaxed),
            message: finished.and_then(|finished| finished.message),
            files: reports.iter().map(|report| FileReport::of(report, venues)).collect(),
        }
    }
}

fn state(how: FinishedAs) -> &'static str {
    match how {
        FinishedAs::Done => "done",
        FinishedAs::Known => "known",
        FinishedAs::Stopped => "stopped",
        FinishedAs::Failed => "failed",
        FinishedAs::NotReplaced => "not_replaced",
    }
}

impl FileReport {
    pub(super) fn of(report: &Report, venues: &Venues) -> FileReport {
        let (outcome, message) = outcome(&report.outcome);
        let market = report.names.first().map(Symbol::market);
        let local = |(at, market): MarketTime| Instant::local(at, venues.of(market).zone());
        let is_daily = report.understood.is_some_and(|understood| understood.period.period == Period::DAY);
        let rows = report.first_rows.iter();
        FileReport {
            file: file_name(&report.path),
            kind: report.kind,
            outcome,
            message,
            needs_symbol: report.lacks_symbol.is_some(),
            suggested_symbol: report
                .lacks_symbol
                .as_ref()
                .and_then(|lacks| lacks.perhaps.as_ref())
                .map(Symbol::to_string),
            import: report.import.map(|import| import.0),
            rows: report.rows,
            symbols: report.symbols,
            names: report.names.iter().map(Symbol::to_string).collect(),
            first: report.range.map(|(first, _)| local(first)),
            last: report.range.map(|(_, last)| local(last)),
            added: report.added,
            replaced: report.replaced,
            unchanged: report.unchanged,
            quarantined: report.quarantined,
            unserved: report.unserved,
            understood: report.understood.map(|understood| FileReading::of(&understood, market)),
            notes: report.notes.clone(),
            problems: report.problems.iter().map(RefusedRow::of).collect(),
            first_rows: rows
                .map(|(symbol, candle)| FirstRow::of(symbol, *candle, is_daily, venues))
                .collect(),
            first_trades: report
                .first_trades
                .iter()
                .map(|(symbol, trade)| FirstTrade::of(symbol, trade, venues))
                .collect(),
        }
    }
}

fn outcome(outcome: &Outcome) -> (&'static str, Option<String>) {
    match outcome {
        Outcome::Imported => ("imported", None),
        Outcome::Checked => ("checked", None),
        Outcome::Known { at } => ("known", Some(at.to_string())),
        Outcome::Interrupted => ("stopped", None),
        Outcome::Failed(message) => ("failed", Some(message.clone())),
        Outcome::NotReplaced(message) => ("not_replaced", Some(message.clone())),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

impl RefusedRow {
    fn of((line, reason): &(u64, String)) -> RefusedRow {
        RefusedRow { line: *line, reason: reason.clone() }
    }
}

impl FirstRow {
    fn of(symbol: &Symbol, candle: Candle, is_daily: bool, venues: &Venues) -> FirstRow {
        let zone = venues.of(symbol.market()).zone();
        let time = if is_daily { zone.date(candle.time).to_string() } else { zone.rfc3339(candle.time) };
        FirstRow {
            symbol: symbol.to_string(),
            time,
            session: candle.session.as_str(),
            open: plain(candle.open),
            high: plain(candle.high),
            low: plain(candle.low),
            close: plain(candle.close),
            volume: candle.volume,
            turnover: candle.turnover.text().to_string(),
        }
    }
}

impl FirstTrade {
    fn of(symbol: &Symbol, trade: &Trade, venues: &Venues) -> FirstTrade {
        FirstTrade {
            symbol: symbol.to_string(),
            time: venues.of(symbol.market()).zone().rfc3339(trade.time),
            price: plain(trade.price),
            volume: trade.volume,
            direction: trade.direction.as_str(),
            kind: trade.kind.to_string(),
        }
    }
}

/// Formats a price without trailing zeros.
fn plain(price: Price) -> String {
    let text = price.text(DECIMALS_MAX).to_string();
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
