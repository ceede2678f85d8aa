//! `chandler quarantine`: rows that were refused, and why.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};
use store::{Access, ImportId, QuarantineOf};

use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::surroundings::{Surroundings, symbol};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only the rows of this security
    symbol: Option<String>,
    /// Only the rows of this import (see `chandler imports`)
    #[arg(long, value_name = "N", conflicts_with = "symbol")]
    import: Option<i64>,
    /// How many rows, in the order they were refused
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    let of = arguments.symbol.as_deref().map(symbol).transpose()?;
    let store = surroundings.open(Access::Read)?;
    let mut reader = store.reader()?;
    let which = match (arguments.import, &of) {
        (Some(import), _) => QuarantineOf::Import(ImportId(import)),
        (None, Some(symbol)) => QuarantineOf::Symbol(symbol.as_str()),
        (None, None) => QuarantineOf::All,
    };
    let rows = reader.snapshot()?.quarantine(which, arguments.count)?;
    if arguments.format == Format::Json {
        let document = rows.iter().map(|entry| {
            let row = &entry.row;
            json!({
                "import": row.import_id.0, "file": entry.file, "line": row.line, "symbol": row.symbol, "text": row.text,
                "reason": row.reason,
            })
        });
        output::json(&document.collect::<Vec<Value>>())?;
        return Ok(());
    }
    let columns = [
        Column::Right("import"),
        Column::Left("file"),
        Column::Right("line"),
        Column::Left("symbol"),
        Column::Left("reason"),
        Column::Left("row"),
    ];
    let cells = rows.iter().map(|entry| {
        let row = &entry.row;
        let symbol = row.symbol.clone().unwrap_or_default();
        vec![
            row.import_id.0.to_string(),
            entry.file.clone(),
            row.line.to_string(),
            symbol,
            row.reason.clone(),
            row.text.clone(),
        ]
    });
    let mut out = output::stdout();
    match rows.is_empty() {
        true => writeln!(out, "nothing is quarantined")?,
        false => writeln!(out, "{}", output::text(&output::table(&columns, cells)))?,
    }
    out.flush()?;
    Ok(())
}
