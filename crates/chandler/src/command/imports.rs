//! `chandler imports`: lists the import ledger, and undoes imports.

use std::io::Write;

use clap::Args;
use serde_json::Value;
use store::Access;

use super::undo;
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
        return undo::run(id, arguments.yes, arguments.format, context);
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
    writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    out.flush()?;
    Ok(())
}

/// Returns the local store's ledger in the form that a server returns.
fn here(count: usize, context: &CommandContext) -> Result<Vec<Value>, Failure> {
    let store = context.open(Access::Read)?;
    let mut reader = store.reader()?;
    let records = reader.snapshot()?.imports()?;
    Ok(records.iter().rev().take(count).map(server::import_document).collect())
}
