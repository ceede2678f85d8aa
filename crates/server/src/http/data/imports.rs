//! Where candles came from, and the rows that were refused on the way, for operators.

use market::Symbol;
use serde_json::{Value, json};
use store::{ImportId, ImportRecord, QuarantineEntry, QuarantineOf, StoreError};

use crate::directory::Directory;
use crate::kit::Site;
use crate::kit::envelope::{self, Problem};
use crate::kit::named::Named;
use crate::kit::{Admitted, Answer, Call};
use crate::refusal::Refusal;

const ROWS_MAX: u32 = 200;
const ROWS_DEFAULT: u32 = 50;
/// Characters of a refused row.
const TEXT_MAX: usize = 500;

pub(super) fn list(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let named = Named::parse(call.query, &["limit", "before"])?;
    let limit = named.number("limit", 1..=ROWS_MAX, ROWS_DEFAULT)?;
    let before = named.id("before")?.map(ImportId);
    let read = site.core.with_reader(|reader| reader.snapshot()?.imports_before(before, limit + 1));
    let (imports, has_more) = page(read.map_err(failed)?, limit);
    let next = imports.last().filter(|_| has_more).map(|record| record.id.0);
    let imports: Vec<Value> = imports.iter().map(import_document).collect();
    Ok(envelope::success(json!({"imports": imports, "next": next})))
}

/// So many, of one more than was wanted; and whether there was one more.
fn page<T>(mut rows: Vec<T>, limit: u32) -> (Vec<T>, bool) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    (rows, has_more)
}

fn failed(error: StoreError) -> Problem {
    tracing::error!(%error, "cannot read the ledger");
    Refusal::Internal.into()
}

/// An import of the ledger, in the form that everybody gets it in: over HTTP and from the command line.
pub fn import_document(record: &ImportRecord) -> Value {
    let digest: String = record.digest.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "import": record.id.0, "file": record.file, "digest": digest, "bytes": record.bytes, "kind": record.kind,
        "options": record.options, "state": record.state.as_str(), "started_at": record.started_at.to_string(),
        "finished_at": record.finished_at.map(|at| at.to_string()), "rows": record.rows_read,
        "rows_done": record.rows_done, "added": record.added, "replaced": record.replaced,
        "unchanged": record.unchanged, "quarantined": record.quarantined, "message": record.message,
    })
}

pub(super) fn quarantine(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let named = Named::parse(call.query, &["import", "symbol", "limit", "after"])?;
    let limit = named.number("limit", 1..=ROWS_MAX, ROWS_DEFAULT)?;
    let after = named.id("after")?.unwrap_or(0);
    // A row may have been refused for its symbol: what is none is looked for as it stands.
    let plain =
        |text: &str| text.parse().map_or_else(|_| text.to_owned(), |symbol: Symbol| symbol.to_string());
    let symbol = named.get("symbol").map(plain);
    let of = match (named.id("import")?, &symbol) {
        (Some(_), Some(_)) => {
            return Err(Refusal::BadQuery("import and symbol contradict each other".to_owned()).into());
        }
        (Some(import), None) => QuarantineOf::Import(ImportId(import)),
        (None, Some(symbol)) => QuarantineOf::Symbol(symbol.as_str()),
        (None, None) => QuarantineOf::All,
    };
    let read = site.core.with_reader(|reader| reader.snapshot()?.quarantine_after(of, after, limit + 1));
    let (rows, has_more) = page(read.map_err(failed)?, limit);
    let next = rows.last().filter(|_| has_more).map(|(place, _)| place.to_string());
    let directory = site.directory()?;
    let rows: Vec<Value> = rows.iter().map(|(_, entry)| refused(entry, &directory)).collect();
    Ok(envelope::success(json!({"rows": rows, "next": next})))
}

fn refused(entry: &QuarantineEntry, directory: &Directory) -> Value {
    let row = &entry.row;
    let symbol = row.symbol.as_deref().and_then(|text| text.parse::<Symbol>().ok());
    json!({
        "import": row.import_id.0, "file": entry.file, "line": row.line, "symbol": row.symbol,
        "is_known": symbol.is_some_and(|symbol| directory.contains(&symbol)), "reason": row.reason,
        "text": row.text.chars().take(TEXT_MAX).collect::<String>(),
    })
}
