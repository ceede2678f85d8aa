//! `POST /v1/uploads/{upload}/import` and `/stop`: starts and stops an import. Only one import runs
//! at a time. The options override what is detected in a file, like the flags of `chandler import`.

use access::{Actor, ImportStep};
use files::{ColumnMap, DecimalMark, GivenSymbol, ReadOptions, Scale, Stamp, TimeFormat};
use history::import::Options;
use market::{FloorTable, Grain, Period, Region};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::{FileReport, UploadDocument};
use super::file::{CONFLICT, UPLOAD, find};
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::refusal::Refusal;

pub(super) const START: Doc = Doc::new(Tag::Admin, "importUpload", "Start importing a file")
    .about(
        "Responds immediately; `GET /v1/uploads/{upload}` returns the progress and the result. Refused with \
         409 while another import is running, including one from the command line. A stopped import resumes \
         after its last checkpoint.",
    )
    .parameters(&[UPLOAD])
    .body(&[Media::json::<ImportOptions>()])
    .answers(&[AnswerDoc::ok("The import has started", &[data::<UploadDocument>()])])
    .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT]);

pub(super) const STOP: Doc = Doc::new(Tag::Admin, "stopImport", "Stop an import at its next checkpoint")
    .parameters(&[UPLOAD])
    .answers(&[AnswerDoc::ok("The import will stop, or has already ended", &[data::<UploadDocument>()])])
    .refuses(&[NOT_FOUND]);

pub(super) fn start(call: &Call<'_>, site: &Site, by: Admitted) -> Result<Answer, Problem> {
    let (upload, core) = (find(call, site)?, &site.core);
    let run = core.intake.start(&upload, of_request(call, core.floors)?)?;
    let (actor, what) = (Actor::Account(by.account().id), format!("{}, {} bytes", upload.name, upload.bytes));
    if let Err(error) = core.access.note_import(ImportStep::Begun, &what, &actor, core.machine_now()) {
        // An import without an audit entry must not continue.
        run.stop();
        return Err(Problem::from_access(error));
    }
    tracing::info!(account = by.account().id.0, file = %upload.path.display(), "an import was started");
    Ok(envelope::success(UploadDocument::of(&upload, &core.intake)))
}

pub(super) fn stop(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let upload = find(call, site)?;
    let intake = &site.core.intake;
    if let Some(run) = intake.run_of(&upload) {
        run.stop();
    }
    Ok(envelope::success(UploadDocument::of(&upload, intake)))
}

pub(super) const DRY_RUN: Doc = Doc::new(Tag::Admin, "dryRun", "Dry run of an import")
    .about(
        "Reads the whole file as an import with the same options would, and returns how it was parsed, \
             which parts were guessed, the first rows as they would be stored, and the rows that would be \
             rejected.",
    )
    .parameters(&[UPLOAD])
    .body(&[Media::json::<ImportOptions>()])
    .answers(&[AnswerDoc::ok("The expected result", &[data::<DryRun>()])])
    .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT, TOO_FAST]);

/// Expected result of an import.
#[derive(Debug, Serialize, JsonSchema)]
struct DryRun {
    upload: String,
    /// One report, or one report per file of an archive.
    files: Vec<FileReport>,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let upload = find(call, site)?;
    let core = &site.core;
    let reports = core.intake.check(&upload, &of_request(call, core.floors)?)?;
    let files = reports.iter().map(|report| FileReport::of(report, core.history.venues())).collect();
    Ok(envelope::success(DryRun { upload: upload.id.to_string(), files }))
}

/// Options of `chandler import`. Omitted options are detected from the file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "ImportOptions")]
#[serde(deny_unknown_fields)]
pub(super) struct ImportOptions {
    /// Symbol for a file without a symbol column, such as AAPL.US. A ticker is completed by `region`,
    /// or else by its form.
    symbol: Option<String>,
    /// Region of tickers without a suffix: HK, US, SH or SZ.
    region: Option<String>,
    /// Candle period: 1m, 5m, 15m, 30m, 60m or 1d.
    period: Option<String>,
    /// Column mapping: `time=stamp,close=px_last`; `COLUMN=-` ignores a column.
    map: Option<String>,
    /// Comma-separated column names for a file without a header.
    columns: Option<String>,
    /// Time format: `mdy`, `dmy`, or a pattern such as `%d.%m.%Y %H:%M`.
    time_format: Option<String>,
    /// Decimal separator: `point` or `comma`.
    decimal: Option<String>,
    /// Factors that values are multiplied by: `volume=100,turnover=1000`. By default, volumes that
    /// vendors write in lots are converted to shares; `volume=1` leaves them unchanged.
    scale: Option<String>,
    /// Whether a candle's timestamp is its `start` or its `end`.
    stamp: Option<String>,
    /// Whether to estimate the turnover if the file has no turnover.
    #[serde(default)]
    estimate_turnover: bool,
    /// Whether to reject the whole file if any row is invalid.
    #[serde(default)]
    strict: bool,
    /// Whether to import the file even if it was imported before.
    #[serde(default)]
    again: bool,
    /// Whether to replace stored candles even if many of them differ greatly.
    #[serde(default)]
    replace: bool,
    /// Whether to build one-minute and daily candles from trades.
    #[serde(default)]
    build_candles: bool,
}

/// Parses the options of a request. An empty body means the defaults.
pub(super) fn of_request(call: &Call<'_>, floors: FloorTable) -> Result<Options, Problem> {
    let sent = if call.body.is_empty() { ImportOptions::default() } else { call.json()? };
    let map = said(sent.map.as_deref(), "map", ColumnMap::parse)?.unwrap_or_default();
    let columns = sent.columns.as_deref().unwrap_or_default();
    let read = ReadOptions {
        period: sent.period.as_deref().filter(|text| !text.trim().is_empty()).map(grain).transpose()?,
        region: said(sent.region.as_deref(), "region", |text| Region::parse(text).ok_or("HK, US, SH or SZ"))?,
        symbol: said(sent.symbol.as_deref(), "symbol", str::parse::<GivenSymbol>)?,
        map: map.fields,
        ignored: map.ignored,
        time_format: said(sent.time_format.as_deref(), "time_format", str::parse::<TimeFormat>)?,
        columns: columns
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        decimal: said(sent.decimal.as_deref(), "decimal", str::parse::<DecimalMark>)?,
        scale: said(sent.scale.as_deref(), "scale", str::parse::<Scale>)?.unwrap_or_default(),
        stamp: said(sent.stamp.as_deref(), "stamp", str::parse::<Stamp>)?,
        estimate_turnover: sent.estimate_turnover,
    };
    Ok(Options {
        read,
        strict: sent.strict,
        again: sent.again,
        replace: sent.replace,
        build_candles: sent.build_candles,
        floors,
    })
}

fn grain(text: &str) -> Result<Grain, Problem> {
    let grain = text.parse().ok().and_then(|period: Period| Grain::of_rows(period));
    grain.ok_or_else(|| wrong(format!("period {text:?}: a file may have 1m, 5m, 15m, 30m, 60m or 1d")))
}

/// Parses an option. Returns `None` if the value is absent or empty, because pages send empty
/// values.
fn said<T, E: std::fmt::Display>(
    text: Option<&str>,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Problem> {
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    text.map(parse).transpose().map_err(|error| wrong(format!("{name}: {error}")))
}

fn wrong(text: String) -> Problem {
    Refusal::BadQuery(text).into()
}
