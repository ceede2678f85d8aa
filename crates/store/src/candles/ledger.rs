//! The import ledger: imported files with their times, progress and results, and the rejected rows.

use std::borrow::Cow;

use market::{Symbol, Timestamp};

use crate::candles::batch::Batch;
use crate::candles::series::Series;
use crate::candles::sql;
use crate::candles::view::View;
use crate::engine::{Fault, Row, StoreError, Value, natural, signed};

/// Maximum number of characters that are stored of a quarantined row's text, reason and symbol.
pub const QUARANTINE_TEXT_MAX: usize = 500;
const MESSAGE_MAX: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImportId(pub i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImportState {
    Running,
    Done,
    Failed,
    /// The import was stopped, or its process died. Rows of completed checkpoints are in the store.
    Interrupted,
    /// The changes of the import were reverted.
    Undone,
}

impl ImportState {
    pub const ALL: [ImportState; 5] = [
        ImportState::Running,
        ImportState::Done,
        ImportState::Failed,
        ImportState::Interrupted,
        ImportState::Undone,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ImportState::Running => "running",
            ImportState::Done => "done",
            ImportState::Failed => "failed",
            ImportState::Interrupted => "interrupted",
            ImportState::Undone => "undone",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewImport {
    pub file: String,
    pub digest: [u8; 32],
    pub bytes: u64,
    pub kind: String,
    /// Fingerprint of all import options that change the meaning of the rows.
    pub options: String,
    pub started_at: Timestamp,
}

/// Progress of an import. Each checkpoint replaces the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportProgress {
    pub state: ImportState,
    pub rows_read: u64,
    /// Number of source rows that are completely stored once this checkpoint is committed.
    pub rows_done: u64,
    pub added: u64,
    pub replaced: u64,
    pub unchanged: u64,
    pub quarantined: u64,
    pub message: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRecord {
    pub id: ImportId,
    pub file: String,
    pub digest: [u8; 32],
    pub bytes: u64,
    pub kind: String,
    pub options: String,
    pub state: ImportState,
    pub started_at: Timestamp,
    /// `None` while the import is running, and if its process died.
    pub finished_at: Option<Timestamp>,
    pub rows_read: u64,
    pub rows_done: u64,
    pub added: u64,
    pub replaced: u64,
    pub unchanged: u64,
    pub quarantined: u64,
    pub message: Option<String>,
}

/// Contribution of one import to one series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSource {
    pub import: ImportRecord,
    pub series: Series,
    pub rows: u64,
    pub first: Timestamp,
    pub last: Timestamp,
}

/// A rejected row and the reason for its rejection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineRow {
    pub import_id: ImportId,
    pub line: u64,
    /// The symbol as written in the file; `None` if the row has no symbol.
    pub symbol: Option<String>,
    pub text: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineEntry {
    pub file: String,
    pub row: QuarantineRow,
}

/// Selects quarantined rows of all imports, of one import, or of one symbol.
#[derive(Clone, Copy, Debug)]
pub enum QuarantineOf<'a> {
    All,
    Import(ImportId),
    Symbol(&'a str),
}

impl View {
    /// Returns all imports, oldest first.
    pub fn imports(&self) -> Result<Vec<ImportRecord>, StoreError> {
        self.db().all(sql::IMPORTS, [], ImportRecord::read)
    }

    /// Returns imports with ids below `before`, newest first. If `before` is `None`, starts with
    /// the newest import.
    pub fn imports_before(
        &self,
        before: Option<ImportId>,
        limit: u32,
    ) -> Result<Vec<ImportRecord>, StoreError> {
        let before = before.map_or(i64::MAX, |id| id.0);
        self.db().all(sql::IMPORTS_BEFORE, (before, limit), ImportRecord::read)
    }

    pub fn import(&self, id: ImportId) -> Result<Option<ImportRecord>, StoreError> {
        self.db().first(sql::IMPORT, [id.0], ImportRecord::read)
    }

    /// Returns the import that was started last, or `None` if there are no imports.
    pub fn last_import(&self) -> Result<Option<ImportRecord>, StoreError> {
        self.db().first(sql::LAST_IMPORT, [], ImportRecord::read)
    }

    /// Returns the last import with this content digest and these options, or `None` if there is
    /// none.
    pub fn find_import(&self, digest: &[u8; 32], options: &str) -> Result<Option<ImportRecord>, StoreError> {
        self.db().first(sql::FIND_IMPORT, (digest.as_slice(), options), ImportRecord::read)
    }

    /// Returns the imports that a symbol's candles came from, oldest first.
    pub fn import_sources(&self, symbol: &Symbol) -> Result<Vec<ImportSource>, StoreError> {
        self.db().all(sql::IMPORT_SOURCES, [symbol.as_str()], |row| {
            Ok(ImportSource {
                import: ImportRecord::read(row)?,
                series: Series::read(row, 16)?,
                rows: natural(row, 19)?,
                first: Timestamp(row.get(20)?),
                last: Timestamp(row.get(21)?),
            })
        })
    }

    /// Returns the first `limit` quarantined rows, in the order of rejection.
    pub fn quarantine(&self, of: QuarantineOf<'_>, limit: u32) -> Result<Vec<QuarantineEntry>, StoreError> {
        match of {
            QuarantineOf::All => self.db().all(sql::QUARANTINE, [limit], QuarantineEntry::read),
            QuarantineOf::Import(id) => {
                self.db().all(sql::QUARANTINE_OF_IMPORT, (id.0, limit), QuarantineEntry::read)
            }
            QuarantineOf::Symbol(symbol) => {
                self.db().all(sql::QUARANTINE_OF_SYMBOL, (symbol, limit), QuarantineEntry::read)
            }
        }
    }

    /// Returns quarantined rows after a position in the order of rejection, each with its own
    /// position. Pass 0 to start with the first row.
    pub fn quarantine_after(
        &self,
        of: QuarantineOf<'_>,
        after: i64,
        limit: u32,
    ) -> Result<Vec<(i64, QuarantineEntry)>, StoreError> {
        let read = |row: &Row<'_>| Ok((row.get(6)?, QuarantineEntry::read(row)?));
        match of {
            QuarantineOf::All => self.db().all(sql::QUARANTINE_AFTER, (after, limit), read),
            QuarantineOf::Import(id) => {
                self.db().all(sql::QUARANTINE_OF_IMPORT_AFTER, (id.0, after, limit), read)
            }
            QuarantineOf::Symbol(symbol) => {
                self.db().all(sql::QUARANTINE_OF_SYMBOL_AFTER, (symbol, after, limit), read)
            }
        }
    }

    pub fn quarantine_count(&self, of: QuarantineOf<'_>) -> Result<u64, StoreError> {
        let read = |row: &Row<'_>| natural(row, 0);
        match of {
            QuarantineOf::All => self.db().one(sql::COUNT_QUARANTINE, [], read),
            QuarantineOf::Import(id) => self.db().one(sql::COUNT_QUARANTINE_OF_IMPORT, [id.0], read),
            QuarantineOf::Symbol(symbol) => self.db().one(sql::COUNT_QUARANTINE_OF_SYMBOL, [symbol], read),
        }
    }
}

impl Batch<'_> {
    pub fn start_import(&mut self, import: &NewImport) -> Result<ImportId, StoreError> {
        self.write(|batch| {
            let id = batch.take_ids("import", 1)?;
            batch.db().run(
                sql::START_IMPORT,
                (
                    id,
                    &import.file,
                    import.digest.as_slice(),
                    signed(import.bytes),
                    &import.kind,
                    &import.options,
                    ImportState::Running.as_str(),
                    import.started_at.0,
                ),
            )?;
            Ok(ImportId(id))
        })
    }

    /// Records the progress of an import. For every state except `Running`, `now` becomes the end
    /// time of the import.
    pub fn checkpoint_import(
        &mut self,
        id: ImportId,
        progress: &ImportProgress,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|batch| {
            let finished_at = (progress.state != ImportState::Running).then_some(now.0);
            let message = progress.message.as_deref().map(|text| clip(text, MESSAGE_MAX));
            let changed = batch.db().run(
                sql::CHECKPOINT_IMPORT,
                (
                    progress.state.as_str(),
                    finished_at,
                    signed(progress.rows_read),
                    signed(progress.rows_done),
                    signed(progress.added),
                    signed(progress.replaced),
                    signed(progress.unchanged),
                    signed(progress.quarantined),
                    message.as_deref(),
                    id.0,
                ),
            )?;
            known(id, changed)
        })
    }

    /// Adds the counts of one part of an import to the import's contribution to a series. Called
    /// once per part.
    pub fn add_import_series(
        &mut self,
        id: ImportId,
        series: &Series,
        rows: u64,
        first: Timestamp,
        last: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|batch| {
            batch.add_security(&series.symbol)?;
            batch.db().run(
                sql::ADD_IMPORT_SERIES,
                (
                    id.0,
                    series.symbol.as_str(),
                    series.grain.as_str(),
                    series.lane.as_str(),
                    signed(rows),
                    first.0,
                    last.0,
                ),
            )?;
            Ok(())
        })
    }

    /// Like [`Self::add_import_series`], for many existing series in one call: the import, the
    /// series, its rows, and the first and last timestamp. No pair of an import and a series may
    /// occur twice.
    pub fn add_import_series_all(
        &mut self,
        parts: &[(ImportId, &Series, u64, Timestamp, Timestamp)],
    ) -> Result<(), StoreError> {
        self.write(|batch| {
            let mut all: Vec<[Value<'_>; 7]> = Vec::with_capacity(parts.len());
            for (id, series, rows, first, last) in parts {
                all.push([
                    Value::Int(id.0),
                    Value::Text(series.symbol.as_str()),
                    Value::Text(series.grain.as_str()),
                    Value::Text(series.lane.as_str()),
                    Value::Int(signed(*rows)),
                    Value::Int(first.0),
                    Value::Int(last.0),
                ]);
            }
            batch.db().run_together(sql::ADD_IMPORT_SERIES_ALL, all.iter().map(<[Value<'_>; 7]>::as_slice))
        })
    }

    pub fn add_quarantine(&mut self, rows: &[QuarantineRow]) -> Result<(), StoreError> {
        self.write(|batch| {
            if rows.is_empty() {
                return Ok(());
            }
            let first = batch.take_ids("quarantine", rows.len())?;
            let clipped = |text| clip(text, QUARANTINE_TEXT_MAX);
            let texts: Vec<_> = rows
                .iter()
                .map(|row| (row.symbol.as_deref().map(clipped), clipped(&row.text), clipped(&row.reason)))
                .collect();
            let rows: Vec<[Value<'_>; 6]> = (first..)
                .zip(rows.iter().zip(&texts))
                .map(|(id, (row, (symbol, text, reason)))| {
                    [
                        Value::Int(id),
                        Value::Int(row.import_id.0),
                        Value::Int(signed(row.line)),
                        symbol.as_deref().map_or(Value::Null, Value::Text),
                        Value::Text(text),
                        Value::Text(reason),
                    ]
                })
                .collect();
            batch.db().run_all(sql::ADD_QUARANTINE, rows.iter().map(<[Value<'_>; 6]>::as_slice))
        })
    }
}

fn known(id: ImportId, changed: usize) -> Result<(), StoreError> {
    if changed == 0 {
        return Err(StoreError::unfit(
            format!("progress of import {}", id.0),
            "import not found in the ledger",
        ));
    }
    Ok(())
}

/// Truncates text from a file to `max` characters. Replaces NUL with U+FFFD, because PostgreSQL
/// text cannot contain NUL.
fn clip(text: &str, max: usize) -> Cow<'_, str> {
    let text = text.char_indices().nth(max).and_then(|(at, _)| text.get(..at)).unwrap_or(text);
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}").into(),
        false => text.into(),
    }
}

impl ImportRecord {
    fn read(row: &Row<'_>) -> Result<ImportRecord, Fault> {
        let state: String = row.get(6)?;
        let finished_at: Option<i64> = row.get(8)?;
        Ok(ImportRecord {
            id: ImportId(row.get(0)?),
            file: row.get(1)?,
            digest: row.get(2)?,
            bytes: natural(row, 3)?,
            kind: row.get(4)?,
            options: row.get(5)?,
            state: ImportState::ALL
                .into_iter()
                .find(|known| known.as_str() == state)
                .ok_or_else(|| Fault::value("state", &state))?,
            started_at: Timestamp(row.get(7)?),
            finished_at: finished_at.map(Timestamp),
            rows_read: natural(row, 9)?,
            rows_done: natural(row, 10)?,
            added: natural(row, 11)?,
            replaced: natural(row, 12)?,
            unchanged: natural(row, 13)?,
            quarantined: natural(row, 14)?,
            message: row.get(15)?,
        })
    }
}

impl QuarantineEntry {
    fn read(row: &Row<'_>) -> Result<QuarantineEntry, Fault> {
        Ok(QuarantineEntry {
            file: row.get(0)?,
            row: QuarantineRow {
                import_id: ImportId(row.get(1)?),
                line: natural(row, 2)?,
                symbol: row.get(3)?,
                text: row.get(4)?,
                reason: row.get(5)?,
            },
        })
    }
}
