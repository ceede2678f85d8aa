//! Undoes an import: removes the candles that it added, and restores the candles that it replaced.
//!
//! The ledger stores the changes of each import (`changes.rs`). The changes can be reverted exactly
//! unless a later import has changed candles in the same range of the same series; that import must
//! be undone first. Roll-ups are rebuilt from the remaining one-minute candles. The candles and the
//! ledger entry are updated in one transaction.

use std::collections::BTreeSet;

use block::BlockError;
use market::{Candles, Grain, Symbol, Timestamp, Venue, Venues, fold};
use store::{Batch, ImportChange, ImportId, ImportRecord, ImportState, Series, Store, StoreError, View};

use super::ImportError;
use super::changes::{Run, decode_replaced, decode_runs};
use super::lay::{replace_window, stored, touched_hours};
use crate::adjustment;

/// Effect of undoing an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    pub import: ImportRecord,
    /// Sorted by series.
    pub series: Vec<UndoneSeries>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneSeries {
    pub series: Series,
    pub first: Timestamp,
    pub last: Timestamp,
    /// Number of candles that are removed.
    pub removed: u64,
    /// Number of candles that are restored to their old values.
    pub restored: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("the ledger has no import {}: `chandler imports` lists them", id.0)]
    Unknown { id: ImportId },
    #[error("import {} has already been undone", id.0)]
    Undone { id: ImportId },
    #[error(
        "import {} is of {kind}: only imports of candles can be undone; `chandler remove SYMBOL` removes \
         all data of a symbol", id.0
    )]
    Kind { id: ImportId, kind: String },
    #[error("import {} changed nothing: there is nothing to undo", id.0)]
    Nothing { id: ImportId },
    #[error(
        "the changes of import {} are unknown: it was made by an earlier version, or its candles were \
         removed since; run `chandler remove SYMBOL` and import the files again", id.0
    )]
    NotKept { id: ImportId },
    #[error(
        "import {} ({}) has changed candles of {series} since: undo it first, with `chandler imports --undo {}`",
        by.id.0, by.file, by.id.0
    )]
    ChangedSince { series: Series, by: Box<ImportRecord> },
    #[error("the candles of {series} have changed since import {}: nothing was undone", id.0)]
    Differs { id: ImportId, series: Series },
    #[error("the store has changed in the meantime: check again what would be undone")]
    Meanwhile,
    #[error("rolling up {series}: {source}")]
    Overflow { series: Series, source: fold::Overflow },
    #[error("what import {} replaced in {series}: {source}", id.0)]
    Damaged { id: ImportId, series: Series, source: BlockError },
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl From<StoreError> for UndoError {
    fn from(error: StoreError) -> UndoError {
        UndoError::Import(error.into())
    }
}

/// Computes the effect of undoing an import, without changing anything. Returns an error if the
/// import cannot be undone.
pub fn plan_undo(view: &View, id: ImportId) -> Result<Undo, UndoError> {
    let (import, changes) = changes_of(view, id)?;
    let mut series: Vec<UndoneSeries> = Vec::new();
    for change in &changes {
        let (removed, restored) = (runs(change), replaced(change)?);
        let removed = removed.iter().map(|run| run.rows).sum();
        let part = UndoneSeries {
            series: change.series.clone(),
            first: change.first,
            last: change.last,
            removed,
            restored: restored.len() as u64,
        };
        match series.iter_mut().find(|known| known.series == part.series) {
            Some(known) => known.add(&part),
            None => series.push(part),
        }
    }
    series.sort_by(|a, b| a.series.cmp(&b.series));
    Ok(Undo { import, series })
}

/// Undoes an import. Returns an error if the stored data has changed since `planned` was computed,
/// so that the effect would differ.
pub fn undo(store: &Store, venues: &Venues, planned: &Undo) -> Result<(), UndoError> {
    let id = planned.import.id;
    let mut writer = store.writer()?;
    let mut batch = writer.begin()?;
    if plan_undo(&batch, id)? != *planned {
        return Err(UndoError::Meanwhile);
    }
    let (_, changes) = changes_of(&batch, id)?;
    let mut symbols: BTreeSet<Symbol> = BTreeSet::new();
    for change in &changes {
        let venue = venues.of(change.series.symbol.market());
        take_back(&mut batch, venue, change)?;
        symbols.insert(change.series.symbol.clone());
    }
    batch.undo_import(id, &planned.message())?;
    for symbol in &symbols {
        batch.remove_bare_security(symbol)?;
    }
    adjustment::keep_all(&mut batch, venues)?;
    Ok(batch.commit()?)
}

impl Undo {
    pub fn removed(&self) -> u64 {
        self.series.iter().map(|series| series.removed).sum()
    }

    pub fn restored(&self) -> u64 {
        self.series.iter().map(|series| series.restored).sum()
    }

    /// Returns the message for the ledger.
    fn message(&self) -> String {
        format!("undone: {} candles removed, {} restored", self.removed(), self.restored())
    }
}

impl UndoneSeries {
    fn add(&mut self, other: &UndoneSeries) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.removed += other.removed;
        self.restored += other.restored;
    }
}

/// Returns an import and its changes, newest first. Returns an error if the import cannot be
/// undone.
fn changes_of(view: &View, id: ImportId) -> Result<(ImportRecord, Vec<ImportChange>), UndoError> {
    let import = view.import(id)?.ok_or(UndoError::Unknown { id })?;
    if import.state == ImportState::Undone {
        return Err(UndoError::Undone { id });
    }
    if import.kind != "candles" {
        return Err(UndoError::Kind { id, kind: import.kind });
    }
    let changes = view.import_changes(id)?;
    if changes.is_empty() {
        let has_changed = import.added + import.replaced > 0;
        return Err(if has_changed { UndoError::NotKept { id } } else { UndoError::Nothing { id } });
    }
    for change in &changes {
        if let Some(by) = view.changed_since(change)? {
            let (series, by) = (change.series.clone(), Box::new(by));
            return Err(UndoError::ChangedSince { series, by });
        }
    }
    Ok((import, changes))
}

fn runs(change: &ImportChange) -> Vec<Run> {
    decode_runs(&change.added)
}

fn replaced(change: &ImportChange) -> Result<Candles, UndoError> {
    decode_replaced(&change.replaced).map_err(|source| UndoError::Damaged {
        id: change.import,
        series: change.series.clone(),
        source,
    })
}

fn take_back(batch: &mut Batch<'_>, venue: &Venue, change: &ImportChange) -> Result<(), UndoError> {
    let series = &change.series;
    let window = (change.first, Timestamp(change.last.0 + 1));
    let now = stored(batch, series, window.0, window.1)?;
    let differs = || UndoError::Differs { id: change.import, series: series.clone() };
    let before = before(&now, &runs(change), &replaced(change)?).ok_or_else(differs)?;
    write(batch, series, window, &before)?;
    if series.grain == Grain::Minute {
        let hours = touched_hours(venue, change.first.0..=change.last.0);
        let mut rolled = stored(batch, series, hours.0, hours.1)?;
        for grain in Grain::ROLLED_UP {
            rolled = fold::fold(venue, grain.period(), &rolled)
                .map_err(|source| UndoError::Overflow { series: series.clone(), source })?;
            write(batch, &Series { grain, ..series.clone() }, hours, &rolled)?;
        }
    }
    Ok(())
}

fn write(
    batch: &mut Batch<'_>,
    series: &Series,
    window: (Timestamp, Timestamp),
    candles: &Candles,
) -> Result<(), UndoError> {
    if let Some(write) = replace_window(batch, series, window, candles)? {
        batch.replace_blocks(&write.series, &write.removed, &write.added)?;
    }
    Ok(())
}

/// Reconstructs the candles of a window before a change. Returns `None` if the stored candles do
/// not match the change.
fn before(now: &Candles, runs: &[Run], replaced: &Candles) -> Option<Candles> {
    let mut before = Candles::default();
    let mut old = replaced.iter().peekable();
    let (mut runs, mut left) = (runs.iter().peekable(), 0);
    for candle in now.iter() {
        let at = candle.time.0;
        if left == 0 {
            left = runs.next_if(|run| run.first == at).map_or(0, |run| run.rows);
        }
        if left > 0 {
            left -= 1;
            continue;
        }
        match old.next_if(|old| old.time.0 == at) {
            Some(old) => before.push(old),
            None => before.push(candle),
        }
    }
    (left == 0 && runs.peek().is_none() && old.peek().is_none()).then_some(before)
}
