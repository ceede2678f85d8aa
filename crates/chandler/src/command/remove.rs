//! `chandler remove`: removes a symbol, or its candles of one period, from the store.

use std::io::Write;

use clap::Args;
use history::import::{SourceFile, source_file};
use history::{Removal, plan_removal, remove};
use market::Period;
use serde_json::{Value, json};
use store::{ImportRecord, SeriesInfo, StoreError, View};

use super::again::{self, confirm};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::suggest::PeriodParser;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The security, with its candles, trades, corporate actions and details
    symbol: String,
    /// Only its candles of this imported period
    #[arg(long, short, value_parser = PeriodParser, hide_possible_values = true)]
    period: Option<Period>,
    /// Do not prompt
    #[arg(long, short = 'y')]
    yes: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let symbol = context.symbol(&arguments.symbol)?;
    let store = context.open_existing()?;
    let mut reader = store.reader()?;
    // The block closes the snapshot, which must not stay open while the user is prompted.
    let (planned, sources) = {
        let snapshot = reader.snapshot()?;
        let planned = plan_removal(&snapshot, &symbol, arguments.period)?;
        let sources = sources(&snapshot, &planned)?;
        (planned, sources)
    };
    if arguments.format == Format::Table {
        show(&planned, &sources, context)?;
    }
    confirm(arguments.yes, &format!("Remove this data of {symbol}?"))?;
    remove(&store, context.history.venues(), &planned, context.now())?;
    match arguments.format {
        Format::Json => Ok(output::json(&document(&planned, &sources, context))?),
        Format::Table => {
            let mut out = output::stdout();
            writeln!(out, "removed")?;
            for command in commands(&sources, context) {
                writeln!(out, "to import it again: {command}")?;
            }
            Ok(out.flush()?)
        }
    }
}

fn show(planned: &Removal, sources: &[Source], context: &CommandContext) -> Result<(), Failure> {
    let zone = context.history.venue(&planned.symbol).zone();
    let columns = [
        Column::Left("series"),
        Column::Left("from"),
        Column::Left("to"),
        Column::Right("candles"),
        Column::Right("size"),
    ];
    let rows = planned.series.iter().map(|SeriesInfo { series, rows, bytes, first, last, .. }| {
        let dates = [*first, *last].map(|at| zone.date(at).to_string());
        let [first, last] = dates;
        vec![series.to_string(), first, last, output::thousands(*rows), output::size(*bytes)]
    });
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
    if planned.trades > 0 {
        let (trades, days) = (output::thousands(planned.trades), output::thousands(planned.trade_days));
        writeln!(out, "{trades} trades of {days} days")?;
    }
    if planned.actions > 0 {
        writeln!(out, "{} corporate actions", output::thousands(planned.actions))?;
    }
    if planned.period.is_none() {
        let words = "names, lots, corporate actions and margin factors are removed too; `chandler imports` lists \
            their source files";
        writeln!(out, "{words}")?;
    }
    for Source { file, state, .. } in sources {
        let words = match state {
            SourceFile::Same => "",
            SourceFile::Changed => ", which has changed since",
            SourceFile::Absent => ", which no longer exists",
        };
        writeln!(out, "imported from {}{words}", output::printable(file))?;
    }
    Ok(out.flush()?)
}

/// Source file, and whether it has changed since its import.
struct Source {
    file: String,
    /// Import options, as stored in the ledger.
    options: String,
    state: SourceFile,
}

/// Returns the distinct source files and import options of the removed data, oldest first.
fn sources(view: &View, planned: &Removal) -> Result<Vec<Source>, StoreError> {
    let mut imports: Vec<ImportRecord> = planned.sources.iter().map(|source| source.import.clone()).collect();
    for source in &planned.trade_sources {
        imports.extend(view.import(source.import)?);
    }
    let mut sources: Vec<Source> = Vec::new();
    for import in imports {
        let is_known =
            sources.iter().any(|known| known.file == import.file && known.options == import.options);
        if !is_known {
            let state = source_file(&import);
            sources.push(Source { file: import.file, options: import.options, state });
        }
    }
    Ok(sources)
}

/// Returns the source files that exist and are unchanged.
fn unchanged(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|source| source.state == SourceFile::Same)
}

/// Returns the commands that import the unchanged source files again, one command per set of
/// options.
fn commands(sources: &[Source], context: &CommandContext) -> Vec<String> {
    let mut ways: Vec<(&str, Vec<&str>)> = Vec::new();
    for source in unchanged(sources) {
        match ways.iter_mut().find(|(options, _)| *options == source.options) {
            Some((_, files)) => files.push(source.file.as_str()),
            None => ways.push((source.options.as_str(), vec![source.file.as_str()])),
        }
    }
    let command = |(options, files): &(&str, Vec<&str>)| again::command("--again", options, files, context);
    ways.iter().map(command).collect()
}

fn document(planned: &Removal, sources: &[Source], context: &CommandContext) -> Value {
    let series: Vec<Value> = planned
        .series
        .iter()
        .map(|info| json!({"series": info.series.to_string(), "candles": info.rows, "bytes": info.bytes}))
        .collect();
    let names: Vec<&str> = sources.iter().map(|source| source.file.as_str()).collect();
    let same: Vec<&str> = unchanged(sources).map(|source| source.file.as_str()).collect();
    json!({
        "symbol": planned.symbol.as_str(), "candles": planned.candles(), "trades": planned.trades,
        "actions": planned.actions, "series": series, "sources": names, "unchanged_sources": same,
        "again": commands(sources, context),
    })
}
