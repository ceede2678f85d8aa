//! `chandler remove`: takes a symbol, or its candles of one period, out of the store.

use std::io::Write;
use std::path::Path;

use clap::Args;
use history::import::{SourceFile, source_file};
use history::{Removal, plan_removal, remove};
use market::Period;
use serde_json::{Value, json};
use store::SeriesInfo;

use crate::command::confirm::confirm;
use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::suggest::PeriodParser;
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The security: its candles, trades, corporate actions, and what is known of it
    symbol: String,
    /// Only its candles of this period, as they were imported
    #[arg(long, short, value_parser = PeriodParser, hide_possible_values = true)]
    period: Option<Period>,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    let symbol = surroundings.symbol(&arguments.symbol)?;
    let store = surroundings.open_existing()?;
    let mut reader = store.reader()?;
    // Nothing is held open while somebody thinks about the question.
    let planned = {
        let snapshot = reader.snapshot()?;
        plan_removal(&snapshot, &symbol, arguments.period)?
    };
    if arguments.format == Format::Table {
        show(&planned, surroundings)?;
    }
    confirm(arguments.yes, &format!("Remove this of {symbol}?"))?;
    remove(&store, surroundings.history.venues(), &planned, surroundings.now())?;
    match arguments.format {
        Format::Json => Ok(output::json(&document(&planned))?),
        Format::Table => {
            let mut out = output::stdout();
            writeln!(out, "removed")?;
            let files = unchanged(&planned);
            if !files.is_empty() {
                let command = surroundings.hint(&format!("import --again {}", files.join(" ")));
                writeln!(out, "to import it again: {command}")?;
            }
            Ok(out.flush()?)
        }
    }
}

fn show(planned: &Removal, surroundings: &Surroundings) -> Result<(), Failure> {
    let zone = surroundings.history.venue(&planned.symbol).zone();
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
    writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    if planned.trades > 0 {
        let (trades, days) = (output::thousands(planned.trades), output::thousands(planned.trade_days));
        writeln!(out, "{trades} trades of {days} days")?;
    }
    if planned.actions > 0 {
        writeln!(out, "{} corporate actions", output::thousands(planned.actions))?;
    }
    for (file, state) in sources(planned) {
        let words = match state {
            SourceFile::Same => "",
            SourceFile::Changed => ", which has changed since",
            SourceFile::Absent => ", which is not there any more",
        };
        writeln!(out, "came from {}{words}", output::printable(&file))?;
    }
    Ok(out.flush()?)
}

/// The files that it came from, oldest first, each once, and whether they are still what they were.
fn sources(planned: &Removal) -> Vec<(String, SourceFile)> {
    let mut files: Vec<(String, SourceFile)> = Vec::new();
    for source in &planned.sources {
        if !files.iter().any(|(file, _)| *file == source.import.file) {
            files.push((source.import.file.clone(), source_file(&source.import)));
        }
    }
    for source in &planned.trade_sources {
        if !files.iter().any(|(file, _)| *file == source.file) {
            let is_there = files::read_bytes(Path::new(&source.file)).is_ok();
            files.push((source.file.clone(), if is_there { SourceFile::Same } else { SourceFile::Absent }));
        }
    }
    files
}

/// Those that are still there as they were.
fn unchanged(planned: &Removal) -> Vec<String> {
    let same = sources(planned).into_iter().filter(|(_, state)| *state == SourceFile::Same);
    same.map(|(file, _)| file).collect()
}

fn document(planned: &Removal) -> Value {
    let series: Vec<Value> = planned
        .series
        .iter()
        .map(|info| json!({"series": info.series.to_string(), "candles": info.rows, "bytes": info.bytes}))
        .collect();
    let names: Vec<String> = sources(planned).into_iter().map(|(file, _)| file).collect();
    json!({
        "symbol": planned.symbol.as_str(), "candles": planned.candles(), "trades": planned.trades,
        "actions": planned.actions, "series": series, "sources": names, "unchanged_sources": unchanged(planned),
    })
}
