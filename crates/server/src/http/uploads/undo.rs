//! `POST /v1/imports/{import}/undo`: undoes an import, or previews the result.

use std::ffi::OsStr;
use std::path::Path;

use access::{Actor, ImportStep};
use history::import::{ImportError, SourceFile, Undo, UndoError, UndoneSeries, source_file};
use market::Venues;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use store::{ImportId, StoreError};

use super::file::CONFLICT;
use crate::intake::IntakeError;
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Media, Parameter, Tag, data, one_of};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::written::Instant;

/// Maximum number of series listed in a response. The totals cover all series.
const SERIES_MAX: usize = 100;

pub(super) const UNDO: Doc =
    Doc::new(Tag::Admin, "undoImport", "Undo an import: remove added candles and restore replaced ones")
        .about(
            "With `dry_run`, returns what would be done. Refused with 409 if the import cannot be undone, \
             or if a later import, named in the message, has changed its candles.",
        )
        .parameters(&[Parameter::path("import", "Import number in the ledger").such_as("7")])
        .body(&[Media::json::<UndoRequest>()])
        .answers(&[AnswerDoc::ok("The actual or expected result", &[data::<Undone>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT]);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoRequest {
    /// Whether to return the expected result without changing anything.
    #[serde(default)]
    dry_run: bool,
}

/// Result of undoing an import.
#[derive(Debug, Serialize, JsonSchema)]
struct Undone {
    import: i64,
    file: String,
    /// Whether the import was undone; false for a dry run.
    is_done: bool,
    /// Number of candles that the undo removes.
    removed: u64,
    /// Number of candles restored to their previous values.
    restored: u64,
    /// State of the file named in the ledger: `same`, `changed` or `absent`.
    #[schemars(schema_with = "sources")]
    source: &'static str,
    /// Affected series, at most 100.
    series: Vec<UndoneSeriesDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UndoneSeries")]
struct UndoneSeriesDocument {
    symbol: String,
    /// Candle period, such as 1m or 1d.
    period: &'static str,
    first: Instant,
    last: Instant,
    removed: u64,
    restored: u64,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, by: Admitted) -> Result<Answer, Problem> {
    let id = call.path_value("import").parse::<i64>().map_err(|_| Problem::not_found())?;
    let request: UndoRequest = if call.body.is_empty() { UndoRequest::default() } else { call.json()? };
    let core = &site.core;
    let planned = core.intake.plan_undo(ImportId(id)).map_err(problem)?;
    if !request.dry_run {
        core.intake.undo(&planned).map_err(problem)?;
        tracing::info!(account = by.account().id.0, import = id, "an import was undone");
        let (actor, what) = (Actor::Account(by.account().id), undone(&planned));
        let noted = core.access.note_import(ImportStep::Undone, &what, &actor, core.machine_now());
        noted.map_err(Problem::from_access)?;
    }
    let venues = core.history.venues();
    Ok(envelope::success(Undone::of(&planned, !request.dry_run, venues)))
}

/// Describes an undo for the audit log. Only the file name is included, because the ledger may
/// contain the full path.
fn undone(undo: &Undo) -> String {
    let file = Path::new(&undo.import.file).file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let (removed, restored) = (undo.removed(), undo.restored());
    format!("import {}, {file}: {removed} candles removed, {restored} restored", undo.import.id.0)
}

impl Undone {
    fn of(undo: &Undo, is_done: bool, venues: &Venues) -> Undone {
        Undone {
            import: undo.import.id.0,
            file: undo.import.file.clone(),
            is_done,
            removed: undo.removed(),
            restored: undo.restored(),
            source: source_word(source_file(&undo.import)),
            series: undo.series.iter().take(SERIES_MAX).map(|one| series(one, venues)).collect(),
        }
    }
}

fn sources(_: &mut SchemaGenerator) -> Schema {
    one_of(&[SourceFile::Same, SourceFile::Changed, SourceFile::Absent].map(source_word))
}

fn source_word(source: SourceFile) -> &'static str {
    match source {
        SourceFile::Same => "same",
        SourceFile::Changed => "changed",
        SourceFile::Absent => "absent",
    }
}

fn series(undone: &UndoneSeries, venues: &Venues) -> UndoneSeriesDocument {
    let zone = venues.of(undone.series.symbol.market()).zone();
    UndoneSeriesDocument {
        symbol: undone.series.symbol.to_string(),
        period: undone.series.grain.written(),
        first: Instant::local(undone.first, zone),
        last: Instant::local(undone.last, zone),
        removed: undone.removed,
        restored: undone.restored,
    }
}

fn problem(error: UndoError) -> Problem {
    match error {
        UndoError::Unknown { .. } => Problem::nothing_there("import not found in the ledger"),
        UndoError::Import(ImportError::Store(StoreError::Busy { .. })) => IntakeError::StoreBusy.into(),
        UndoError::Import(_) | UndoError::Damaged { .. } | UndoError::Overflow { .. } => {
            tracing::error!(%error, "cannot undo an import");
            Problem::internal()
        }
        UndoError::Undone { .. }
        | UndoError::Kind { .. }
        | UndoError::Nothing { .. }
        | UndoError::NotKept { .. }
        | UndoError::ChangedSince { .. }
        | UndoError::Differs { .. }
        | UndoError::Meanwhile => Problem::conflict(error.to_string()),
    }
}
