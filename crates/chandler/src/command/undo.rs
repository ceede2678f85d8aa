//! `chandler imports --undo`: undoes an import.

use std::io::Write;

use history::import::{SourceFile, Undo, plan_undo, source_file, undo};
use serde_json::{Value, json};
use store::ImportId;

use crate::command::again;
use crate::command::confirm::confirm;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};

/// Maximum number of series listed.
const SERIES_SHOWN: usize = 20;

pub(crate) fn run(id: i64, yes: bool, format: Format, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open_existing()?;
    let mut reader = store.reader()?;
    // The snapshot must not stay open during the prompt.
    let planned = {
        let snapshot = reader.snapshot()?;
        plan_undo(&snapshot, ImportId(id))?
    };
    if format == Format::Table {
        show(&planned, context)?;
    }
    confirm(yes, "Undo this import?")?;
    undo(&store, context.history.venues(), &planned)?;
    match format {
        Format::Json => Ok(output::json(&document(&planned, context))?),
        Format::Table => {
            let mut out = output::stdout();
            writeln!(out, "undone")?;
            if let Some(command) = command(&planned, context) {
                writeln!(out, "to import it again: {command}")?;
            }
            Ok(out.flush()?)
        }
    }
}

fn show(planned: &Undo, context: &CommandContext) -> Result<(), Failure> {
    let venues = context.history.venues();
    let columns = [
        Column::Left("series"),
        Column::Left("from"),
        Column::Left("to"),
        Column::Right("removed"),
        Column::Right("restored"),
    ];
    let rows = planned.series.iter().take(SERIES_SHOWN).map(|part| {
        let zone = venues.of(part.series.symbol.market()).zone();
        vec![
            part.series.to_string(),
            zone.date(part.first).to_string(),
            zone.date(part.last).to_string(),
            output::thousands(part.removed),
            output::thousands(part.restored),
        ]
    });
    let mut out = output::stdout();
    writeln!(out, "import {}: {}", planned.import.id.0, output::printable(&planned.import.file))?;
    writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    let more = planned.series.len().saturating_sub(SERIES_SHOWN);
    if more > 0 {
        writeln!(out, "and {} more series", output::thousands(more as u64))?;
    }
    writeln!(
        out,
        "{} candles are removed, {} are restored",
        output::thousands(planned.removed()),
        output::thousands(planned.restored())
    )?;
    match source_file(&planned.import) {
        SourceFile::Same => {}
        SourceFile::Changed => {
            writeln!(out, "the file has changed since: its former content cannot be imported again")?
        }
        SourceFile::Absent => {
            writeln!(out, "the file is gone: its content can only be imported again from another copy")?
        }
    }
    Ok(out.flush()?)
}

/// Returns the command that repeats the import, if its file is unchanged.
fn command(planned: &Undo, context: &CommandContext) -> Option<String> {
    let import = &planned.import;
    let is_same = source_file(import) == SourceFile::Same;
    is_same.then(|| again::command("", &import.options, &[import.file.as_str()], context))
}

fn document(planned: &Undo, context: &CommandContext) -> Value {
    let venues = context.history.venues();
    let series: Vec<Value> = planned
        .series
        .iter()
        .map(|part| {
            let zone = venues.of(part.series.symbol.market()).zone();
            json!({
                "series": part.series.to_string(), "first": zone.rfc3339(part.first), "last": zone.rfc3339(part.last),
                "removed": part.removed, "restored": part.restored,
            })
        })
        .collect();
    json!({
        "import": planned.import.id.0, "file": planned.import.file, "removed": planned.removed(),
        "restored": planned.restored(), "series": series, "again": command(planned, context),
    })
}
