//! `chandler quarantine`: lists the rows that imports rejected, with the reasons.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};
use store::{Access, ImportId, QuarantineEntry, QuarantineOf};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::remote::session::Session;
use crate::remote::{self, field};

/// JSON fields of a quarantined row.
const FIELDS: [&str; 6] = ["import", "file", "line", "symbol", "text", "reason"];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only the rows of this security
    symbol: Option<String>,
    /// Only the rows of this import (see `chandler imports`)
    #[arg(long, value_name = "N", conflicts_with = "symbol")]
    import: Option<i64>,
    /// The maximum number of rows, in the order they were refused
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    remote: remote::ServerFlags,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let documents = match arguments.remote.session(context)? {
        Some(session) => arguments.there(&session)?,
        None => arguments.here(context)?,
    };
    if arguments.format == Format::Json {
        return Ok(output::json(&documents)?);
    }
    let columns = [
        Column::Right("import"),
        Column::Left("file"),
        Column::Right("line"),
        Column::Left("symbol"),
        Column::Left("reason"),
        Column::Left("row"),
    ];
    let cells = documents.iter().map(|row| {
        let text = |name: &str| field(row, name).as_str().unwrap_or_default().to_owned();
        let number = |name: &str| field(row, name).to_string();
        vec![number("import"), text("file"), number("line"), text("symbol"), text("reason"), text("text")]
    });
    let mut out = output::stdout();
    match documents.is_empty() {
        true => writeln!(out, "nothing is quarantined")?,
        false => {
            writeln!(out, "{}", output::text(output::table(&columns, cells).optional(&["row", "symbol"])))?
        }
    }
    out.flush()?;
    Ok(())
}

impl Arguments {
    fn here(&self, context: &CommandContext) -> Result<Vec<Value>, Failure> {
        let of = self.symbol.as_deref().map(|text| context.symbol(text)).transpose()?;
        let store = context.open(Access::Read)?;
        let mut reader = store.reader()?;
        let which = match (self.import, &of) {
            (Some(import), _) => QuarantineOf::Import(ImportId(import)),
            (None, Some(symbol)) => QuarantineOf::Symbol(symbol.as_str()),
            (None, None) => QuarantineOf::All,
        };
        let rows = reader.snapshot()?.quarantine(which, self.count)?;
        let document = |entry: &QuarantineEntry| {
            let row = &entry.row;
            json!({
                "import": row.import_id.0, "file": entry.file, "line": row.line, "symbol": row.symbol, "text": row.text,
                "reason": row.reason,
            })
        };
        Ok(rows.iter().map(document).collect())
    }

    fn there(&self, session: &Session) -> Result<Vec<Value>, Failure> {
        let import = self.import.map(|import| import.to_string());
        let parameters: Vec<(&str, &str)> =
            [("import", import.as_deref()), ("symbol", self.symbol.as_deref())]
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
                .collect();
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let rows = session.rows("/v1/quarantine", &parameters, "rows", "after", count)?;
        // A server returns additional fields, which are removed so that the output is the same as
        // for the local store.
        let known = |row: &Value| FIELDS.map(|name| (name.to_owned(), field(row, name).clone()));
        Ok(rows.iter().map(|row| Value::Object(known(row).into_iter().collect())).collect())
    }
}
