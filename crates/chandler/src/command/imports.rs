//! `chandler imports`: lists the import ledger, and undoes imports.

use std::io::Write;

use clap::Args;
use history::import::{SourceFile, Undo, plan_undo, source_file, undo};
use serde_json::{Value, json};
use store::{Access, ImportId};

use super::again::{self, confirm};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};
use crate::remote::{self, field};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Maximum number of imports, newest first
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// Undo this import: candles that it added are removed, and those that it replaced are restored
    #[arg(long, value_name = "IMPORT", conflicts_with = "count")]
    undo: Option<i64>,
    /// With --undo: do not prompt
    #[arg(long, short = 'y', requires = "undo")]
    yes: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    remote: remote::ServerFlags,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    if let Some(id) = arguments.undo {
        if arguments.remote.session(context)?.is_some() {
            return Err(usage("--undo changes a store on this machine: name it with --store"));
        }
        return undo_import(id, arguments.yes, arguments.format, context);
    }
    let count = usize::try_from(arguments.count).unwrap_or(usize::MAX);
    let documents = match arguments.remote.session(context)? {
        Some(session) => session.rows("/v1/imports", &[], "imports", "before", count)?,
        None => here(count, context)?,
    };
    if arguments.format == Format::Json {
        return Ok(output::json(&documents)?);
    }
    let mut columns =
        vec![Column::Right("import"), Column::Left("started"), Column::Left("state"), Column::Left("kind")];
    columns.extend(["rows", "added", "replaced", "unchanged", "quarantined"].map(Column::Right));
    columns.push(Column::Left("file"));
    let rows = documents.iter().map(|record| {
        let text = |name: &str| field(record, name).as_str().unwrap_or_default().to_owned();
        let number = |name: &str| field(record, name).as_u64().unwrap_or_default();
        let mut row =
            vec![field(record, "import").to_string(), text("started_at"), text("state"), text("kind")];
        let numbers = ["rows", "added", "replaced", "unchanged", "quarantined"].map(number);
        row.extend(numbers.map(output::thousands));
        row.push(text("file"));
        row
    });
    let mut out = output::stdout();
    writeln!(
        out,
        "{}",
        output::text(output::table(&columns, rows).optional(&[
            "unchanged",
            "kind",
            "replaced",
            "rows",
            "started"
        ]))
    )?;
    out.flush()?;
    Ok(())
}

/// Returns the local store's import ledger in the format of the server's response.
fn here(count: usize, context: &CommandContext) -> Result<Vec<Value>, Failure> {
    let store = context.open(Access::Read)?;
    let mut reader = store.reader()?;
    let records = reader.snapshot()?.imports()?;
    Ok(records.iter().rev().take(count).map(server::import_document).collect())
}

/// Maximum number of series listed by an undo.
const SERIES_SHOWN: usize = 20;

fn undo_import(id: i64, yes: bool, format: Format, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open_existing()?;
    let mut reader = store.reader()?;
    // The block closes the snapshot, which must not stay open while the user is prompted.
    let planned = {
        let snapshot = reader.snapshot()?;
        plan_undo(&snapshot, ImportId(id))?
    };
    if format == Format::Table {
        show_undo(&planned, context)?;
    }
    confirm(yes, "Undo this import?")?;
    undo(&store, context.history.venues(), &planned)?;
    match format {
        Format::Json => Ok(output::json(&undo_document(&planned, context))?),
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

fn show_undo(planned: &Undo, context: &CommandContext) -> Result<(), Failure> {
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
    writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
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

/// Returns the command that repeats the import, or `None` if the import's file has changed or is
/// missing.
fn command(planned: &Undo, context: &CommandContext) -> Option<String> {
    let import = &planned.import;
    let is_same = source_file(import) == SourceFile::Same;
    is_same.then(|| again::command("", &import.options, &[import.file.as_str()], context))
}

fn undo_document(planned: &Undo, context: &CommandContext) -> Value {
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
