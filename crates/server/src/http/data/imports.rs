//! Operator endpoints for the import ledger and the rows that imports rejected.

use market::Symbol;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use store::{ImportId, ImportRecord, ImportState, QuarantineEntry, QuarantineOf, StoreError};

use crate::directory::Directory;
use crate::kit::doc::refusals::BAD_REQUEST;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data, one_of};
use crate::kit::envelope::{self, Problem};
use crate::kit::fields::QueryParameters;
use crate::kit::{Admitted, Answer, Call, Site};
use crate::refusal::Refusal;
use crate::written::Instant;

const ROWS_MAX: u32 = 200;
const ROWS_DEFAULT: u32 = 50;
/// Maximum number of characters of a rejected row in a response.
const TEXT_MAX: usize = 500;

pub(super) const LIST: Doc = Doc::new(Tag::Admin, "imports", "Import ledger, newest first")
    .parameters(&[
        LIMIT,
        Parameter::query("before", Kind::Whole, "Import number; `next` of the previous page"),
    ])
    .answers(&[AnswerDoc::ok("The imports", &[data::<Imports>()])])
    .refuses(&[BAD_REQUEST]);

pub(super) const QUARANTINE: Doc = Doc::new(Tag::Admin, "quarantine", "Quarantined rows, in import order")
    .parameters(&[
        Parameter::query("import", Kind::Whole, "Only rows of this import"),
        Parameter::query("symbol", Kind::Text, "Only rows with this symbol, as written in the file"),
        LIMIT,
        Parameter::query("after", Kind::Text, "`next` of the previous page"),
    ])
    .answers(&[AnswerDoc::ok("The rows", &[data::<QuarantinedRows>()])])
    .refuses(&[BAD_REQUEST]);

const LIMIT: Parameter = Parameter::query("limit", Kind::Between(1, ROWS_MAX), "Maximum number of rows")
    .or(Word::Number(ROWS_DEFAULT));

#[derive(Debug, Serialize, JsonSchema)]
struct Imports {
    imports: Vec<Import>,
    /// Value of `before` for the next page; null on the last page.
    next: Option<i64>,
}

/// An import, as recorded in the ledger.
#[derive(Debug, Serialize, JsonSchema)]
struct Import {
    import: i64,
    file: String,
    /// BLAKE3 hash of the file, in hexadecimal.
    digest: String,
    bytes: u64,
    kind: String,
    options: String,
    #[schemars(schema_with = "states")]
    state: &'static str,
    started_at: Instant,
    finished_at: Option<Instant>,
    rows: u64,
    rows_done: u64,
    added: u64,
    replaced: u64,
    unchanged: u64,
    quarantined: u64,
    message: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QuarantinedRows {
    rows: Vec<QuarantinedRow>,
    /// Value of `after` for the next page; null on the last page.
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QuarantinedRow {
    import: i64,
    file: String,
    line: u64,
    symbol: Option<String>,
    /// Whether candles are stored for this symbol.
    is_known: bool,
    reason: String,
    /// The row's text, truncated to 500 characters.
    text: String,
}

fn states(_: &mut SchemaGenerator) -> Schema {
    one_of(&ImportState::ALL.map(ImportState::as_str))
}

pub(super) fn list(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["limit", "before"])?;
    let limit = named.number("limit", 1..=ROWS_MAX, ROWS_DEFAULT)?;
    let before = named.id("before")?.map(ImportId);
    let read = site.core.with_reader(|reader| reader.snapshot()?.imports_before(before, limit + 1));
    let (imports, has_more) = page(read.map_err(failed)?, limit);
    let next = imports.last().filter(|_| has_more).map(|record| record.id.0);
    Ok(envelope::success(Imports { imports: imports.iter().map(Import::of).collect(), next }))
}

/// Truncates the result of a query for `limit` + 1 rows to `limit` rows. Returns these rows, and
/// whether there is a next page.
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

/// Returns an import ledger entry as JSON, in the same format over HTTP and on the command line.
pub fn import_document(record: &ImportRecord) -> Value {
    // Cannot fail: all fields are strings and numbers.
    serde_json::to_value(Import::of(record)).unwrap_or_default()
}

impl Import {
    fn of(record: &ImportRecord) -> Import {
        Import {
            import: record.id.0,
            file: record.file.clone(),
            digest: record.digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            bytes: record.bytes,
            kind: record.kind.clone(),
            options: record.options.clone(),
            state: record.state.as_str(),
            started_at: Instant::utc(record.started_at),
            finished_at: record.finished_at.map(Instant::utc),
            rows: record.rows_read,
            rows_done: record.rows_done,
            added: record.added,
            replaced: record.replaced,
            unchanged: record.unchanged,
            quarantined: record.quarantined,
            message: record.message.clone(),
        }
    }
}

pub(super) fn quarantine(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["import", "symbol", "limit", "after"])?;
    let limit = named.number("limit", 1..=ROWS_MAX, ROWS_DEFAULT)?;
    let after = named.id("after")?.unwrap_or(0);
    // A row may have been rejected because of its symbol, so an invalid symbol is looked up exactly
    // as given.
    let plain =
        |text: &str| text.parse().map_or_else(|_| text.to_owned(), |symbol: Symbol| symbol.to_string());
    let symbol = named.get("symbol").map(plain);
    let of = match (named.id("import")?, &symbol) {
        (Some(_), Some(_)) => {
            return Err(Refusal::BadQuery("import and symbol cannot be combined".to_owned()).into());
        }
        (Some(import), None) => QuarantineOf::Import(ImportId(import)),
        (None, Some(symbol)) => QuarantineOf::Symbol(symbol.as_str()),
        (None, None) => QuarantineOf::All,
    };
    let read = site.core.with_reader(|reader| reader.snapshot()?.quarantine_after(of, after, limit + 1));
    let (rows, has_more) = page(read.map_err(failed)?, limit);
    let next = rows.last().filter(|_| has_more).map(|(place, _)| place.to_string());
    let directory = site.directory(admitted.caller.as_of)?;
    let rows = rows.iter().map(|(_, entry)| refused(entry, &directory)).collect();
    Ok(envelope::success(QuarantinedRows { rows, next }))
}

fn refused(entry: &QuarantineEntry, directory: &Directory) -> QuarantinedRow {
    let row = &entry.row;
    let symbol = row.symbol.as_deref().and_then(|text| text.parse::<Symbol>().ok());
    QuarantinedRow {
        import: row.import_id.0,
        file: entry.file.clone(),
        line: row.line,
        symbol: row.symbol.clone(),
        is_known: symbol.is_some_and(|symbol| directory.contains(&symbol)),
        reason: row.reason.clone(),
        text: row.text.chars().take(TEXT_MAX).collect(),
    }
}
