//! `chandler imports`: the ledger.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};
use store::{Access, ImportRecord};

use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many imports, newest first
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    let store = surroundings.open(Access::Read)?;
    let mut reader = store.reader()?;
    let records = reader.snapshot()?.imports()?;
    let records: Vec<ImportRecord> = records.into_iter().rev().take(arguments.count as usize).collect();
    if arguments.format == Format::Json {
        output::json(&records.iter().map(record_json).collect::<Vec<Value>>())?;
        return Ok(());
    }
    let mut columns =
        vec![Column::Right("import"), Column::Left("started"), Column::Left("state"), Column::Left("kind")];
    columns.extend(["rows", "added", "replaced", "unchanged", "quarantined"].map(Column::Right));
    columns.push(Column::Left("file"));
    let rows = records.iter().map(|record| {
        let mut row = vec![record.id.0.to_string(), record.started_at.to_string()];
        row.extend([record.state.as_str().to_owned(), record.kind.clone()]);
        let numbers = [record.rows_read, record.added, record.replaced, record.unchanged, record.quarantined];
        row.extend(numbers.map(output::thousands));
        row.push(record.file.clone());
        row
    });
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    out.flush()?;
    Ok(())
}

fn record_json(record: &ImportRecord) -> Value {
    let digest: String = record.digest.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "import": record.id.0, "file": record.file, "digest": digest, "bytes": record.bytes, "kind": record.kind,
        "options": record.options, "state": record.state.as_str(), "started_at": record.started_at.to_string(),
        "finished_at": record.finished_at.map(|at| at.to_string()), "rows": record.rows_read,
        "rows_done": record.rows_done, "added": record.added, "replaced": record.replaced,
        "unchanged": record.unchanged, "quarantined": record.quarantined, "message": record.message,
    })
}
