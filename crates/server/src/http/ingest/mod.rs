//! `POST /v1/ingest/candles` and `/v1/ingest/trades`: add rows while the server runs. A batch is
//! committed to disk before the response. `head.rs` parses a batch and `rows.rs` its rows.
//! `plain.rs` parses the most common form of candle batches three times as fast.

mod head;
mod plain;
mod rows;

use access::{IngestSymbols, Scope};
use history::AsOf;
use history::ingest::{IngestError, Outcome, Parsed, Receipt, Rows};
use market::Symbol;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::ingest::{NotIngested, WAITING_MAX};
use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT, RETRY_AFTER};
use crate::kit::doc::{AnswerDoc, Doc, Media, RefusalDoc, Tag, data};
use crate::kit::{Accepts, Admitted, Answer, Call, PermittedHandler, Problem, Row, Site, codes, envelope};
use crate::metrics::Task;
use crate::refusal::Refusal;
use head::{Batch, Body};
pub use rows::{candle as ingest_candle, trade as ingest_trade};

pub(super) const ROUTES: &[Row] =
    &[post("/v1/ingest/candles", candles).doc(&CANDLES), post("/v1/ingest/trades", trades).doc(&TRADES)];

const fn post(path: &'static str, handler: PermittedHandler) -> Row {
    Row::post(path, Accepts::Program, Scope::Ingest, Task::Data, handler)
        .or_scope(Scope::Operator)
        .own_region_only()
        .takes_batch()
}

const ABOUT: &str = "Requires an operator, or an operator's token with the scope `ingest`. The body is JSON, \
 or lines of JSON (`application/x-ndjson`) of which the first is the batch without its rows; it may be \
 compressed with gzip. A batch has at most 5,000 rows and 4 MiB. It is on disk before it is answered, and \
 visible to every request a moment later. A batch that was answered before gets the same answer again, \
 with `repeated`.";

const CANDLES: Doc = Doc::new(Tag::Admin, "ingestCandles", "Add candles while the server runs")
    .about(ABOUT)
    .body(&[Media::json::<head::CandleBatch>(), LINES])
    .answers(&[AnswerDoc::ok("The batch is stored", &[data::<Ingested>()])])
    .refuses(&[BAD_REQUEST, CONFLICT, TOO_LARGE, TOO_MANY]);

const TRADES: Doc = Doc::new(Tag::Admin, "ingestTrades", "Add trades while the server runs")
    .about(ABOUT)
    .body(&[Media::json::<head::TradeBatch>(), LINES])
    .answers(&[AnswerDoc::ok("The batch is stored", &[data::<Ingested>()])])
    .refuses(&[BAD_REQUEST, CONFLICT, TOO_LARGE, TOO_MANY]);

const LINES: Media =
    Media::binary("application/x-ndjson").about("The batch without its rows, then a row in each line");

const TOO_LARGE: RefusalDoc = RefusalDoc::new("413", "BatchTooLarge", &[413]);
const TOO_MANY: RefusalDoc =
    RefusalDoc::new("429", "TooManyBatches", &[codes::TOO_OFTEN]).headers(&[RETRY_AFTER]);

/// `Retry-After` in seconds if too many batches are waiting.
const RETRY_AFTER_S: i64 = 1;

/// Outcome of a batch.
#[derive(Debug, Serialize, JsonSchema)]
struct Ingested {
    /// Number of the batch; null if it has none.
    seq: Option<i64>,
    /// Number of rows that are new or change a candle that was not final.
    accepted: u64,
    /// Number of rows that change nothing.
    unchanged: u64,
    /// Number of rows that correct a final candle.
    replaced: u64,
    refused: Vec<RefusedRow>,
    /// Position of the batch among all batches that the store has accepted. Null for a repeated
    /// batch whose response is no longer stored; its counts are 0.
    revision: Option<i64>,
    /// Whether the batch was accepted earlier.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RefusedIngestRow")]
struct RefusedRow {
    /// Index of the row in the batch, starting at 0.
    row: usize,
    reason: String,
}

impl Ingested {
    /// Returns the outcome of a batch that was accepted earlier and whose response is no longer
    /// stored.
    fn forgotten(seq: Option<i64>) -> Ingested {
        Ingested {
            seq,
            accepted: 0,
            unchanged: 0,
            replaced: 0,
            refused: Vec::new(),
            revision: None,
            repeated: true,
        }
    }
}

fn candles(call: &Call<'_>, site: &Site, by: Admitted) -> Result<Answer, Problem> {
    let body = read(call, &by)?;
    let (venues, symbols) = (site.core.history.venues(), symbols(site, &by)?);
    if let Some((batch, rows)) = plain::candles(&body, |symbol| symbols.has(symbol)) {
        let (count, rows) = (rows.len(), Rows::Candles(rows.into_iter().map(Ok).collect()));
        return commit(site, (batch, count), rows, &by);
    }
    let batch = Batch::read(&body)?;
    let parsed = batch.rows.iter().map(|row| {
        let input = rows::candle(row, venues)?;
        permitted(&symbols, &input.symbol, row)?;
        Ok(input)
    });
    let rows = Rows::Candles(parsed.collect());
    let count = batch.rows.len();
    commit(site, (batch, count), rows, &by)
}

fn trades(call: &Call<'_>, site: &Site, by: Admitted) -> Result<Answer, Problem> {
    let batch = Batch::read(&read(call, &by)?)?;
    let symbols = symbols(site, &by)?;
    let parsed = batch.rows.iter().map(|row| {
        let input = rows::trade(row)?;
        permitted(&symbols, &input.symbol, row)?;
        Ok(input)
    });
    let rows = Rows::Trades(parsed.collect());
    let count = batch.rows.len();
    commit(site, (batch, count), rows, &by)
}

fn commit(site: &Site, (batch, count): (Batch, usize), rows: Rows, by: &Admitted) -> Result<Answer, Problem> {
    let (seq, source) = (batch.seq, batch.source.clone());
    let outcome = site.core.ingest.commit(batch.with(rows, site.core.machine_now(), written));
    answer((&source, seq, count), outcome, by)
}

fn read<'a>(call: &Call<'a>, by: &Admitted) -> Result<Body<'a>, Problem> {
    if matches!(by.caller.as_of, AsOf::Replay(_)) {
        return Err(Problem::conflict("the clock is set"));
    }
    Body::of(call)
}

/// Returns the symbols for which the caller may add rows.
fn symbols(site: &Site, by: &Admitted) -> Result<IngestSymbols, Problem> {
    let symbols = site.core.access.ingest_symbols(by.who(), site.core.machine_now());
    // `None` means that the credentials were revoked after the request was admitted.
    symbols.map_err(Problem::from_access)?.ok_or_else(Problem::forbidden_to_programs)
}

/// Refuses a row whose symbol the caller's token does not permit.
fn permitted(symbols: &IngestSymbols, symbol: &Symbol, row: &rows::Row) -> Parsed<()> {
    match symbols.has(symbol) {
        true => Ok(()),
        false => Err(rows::refuse(row, symbol, "the token is not valid for this symbol")),
    }
}

/// Formats the response that is stored with the batch.
fn written(receipt: &Receipt) -> String {
    serde_json::to_string(&document(receipt)).unwrap_or_default()
}

fn document(receipt: &Receipt) -> Ingested {
    let refused =
        receipt.refused.iter().map(|(row, reason)| RefusedRow { row: *row, reason: reason.clone() });
    Ingested {
        seq: receipt.seq,
        accepted: receipt.counts.accepted,
        unchanged: receipt.counts.unchanged,
        replaced: receipt.counts.replaced,
        refused: refused.collect(),
        revision: Some(receipt.revision),
        repeated: false,
    }
}

fn answer(
    (source, seq, rows): (&str, Option<i64>, usize),
    outcome: Result<Outcome, NotIngested>,
    by: &Admitted,
) -> Result<Answer, Problem> {
    match outcome {
        Ok(Outcome::Committed(receipt)) => {
            tracing::debug!(
                account = by.account().id.0,
                source,
                rows,
                revision = receipt.revision,
                "a batch was ingested"
            );
            Ok(envelope::success(document(&receipt)))
        }
        Ok(Outcome::Repeated(before)) => {
            let before = before.and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok());
            match before {
                Some(mut answer) => {
                    answer.insert("repeated".to_owned(), json!(true));
                    Ok(envelope::success(answer))
                }
                None => Ok(envelope::success(Ingested::forgotten(seq))),
            }
        }
        Err(error) => Err(problem(error)),
    }
}

fn problem(error: NotIngested) -> Problem {
    match error {
        NotIngested::TooMany => {
            let text = format!("more than {WAITING_MAX} batches are waiting: try again");
            Problem::too_often(&text, RETRY_AFTER_S)
        }
        NotIngested::Ingest(error) => match (&*error, error.store()) {
            (IngestError::Gap { .. }, _) => Problem::conflict(error.to_string()),
            _ if error.is_busy() => Refusal::Busy.into(),
            (_, Some(error)) => Problem::from_store(error, "cannot ingest a batch"),
            (_, None) => {
                tracing::error!(%error, "cannot ingest a batch");
                Problem::internal()
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn responses_say_when_to_retry() {
        let answer = problem(NotIngested::TooMany).answer();
        assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (429, "1"));
        let answer = problem(NotIngested::Ingest(Arc::new(IngestError::Gap { expected: 4712 }))).answer();
        assert_eq!(answer.status().as_u16(), 409);
        let damaged = problem(NotIngested::Ingest(Arc::new(IngestError::Damaged { id: 3 }))).answer();
        assert_eq!(damaged.status().as_u16(), 500);
    }
}
