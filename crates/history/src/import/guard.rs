//! Rejects a file that would replace many stored candles, before any of its rows is written, unless
//! the user has allowed it.
//!
//! A file that fits into one flush is judged by the stored candles that its parts overlap. A longer
//! file is read a second time from its beginning (`Guard::survey`) when its first flush arrives;
//! its rows wait for the result while the gatherer reads ahead. All earlier files are committed by
//! then, so each file of a command is also compared with the files before it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use files::{CandleReader, Problem, Table};
use market::Candles;
use store::{ImportState, Lane, Reader, Series};

use super::commit::LaidPart;
use super::flush::{Begin, Failure, FileNo, Flush};
use super::inspect::{Inspector, candle};
use super::lay::{OnDamage, differences};
use super::replacing::Replacing;
use super::{Context, ImportError};
use crate::lane_of;

/// Maximum number of rows that a survey holds in memory, about 10 MB, in addition to the two
/// flushes.
const SURVEY_ROWS: usize = 100_000;

/// Tracks which files may be written.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    sources: HashMap<FileNo, PathBuf>,
    /// Files that a survey has accepted, which need no further check.
    cleared: HashSet<FileNo>,
    notes: HashMap<FileNo, Replacing>,
}

impl Guard {
    /// Stores the source paths of the files whose import begins in a flush.
    pub(crate) fn meet(&mut self, begins: &[Begin]) {
        for begin in begins {
            self.sources.insert(begin.file, begin.source.clone());
        }
    }

    /// Surveys the files that begin in this flush and do not end in it. Returns the files that
    /// failed.
    pub(crate) fn survey(
        &mut self,
        context: &Context<'_>,
        flush: &Flush,
    ) -> Result<BTreeMap<FileNo, Failure>, ImportError> {
        let mut failed = BTreeMap::new();
        let unfinished = |state| matches!(state, ImportState::Running | ImportState::Interrupted);
        for mark in flush.marks.iter().filter(|mark| unfinished(mark.state)) {
            // The earlier run has already surveyed the file.
            let began_earlier =
                flush.begins.iter().any(|begin| begin.file == mark.file && begin.rows_done() > 0);
            if context.options.replace || began_earlier || self.cleared.contains(&mark.file) {
                continue;
            }
            let Some(source) = self.sources.get(&mark.file) else { continue };
            match survey(context, source)? {
                Ok(replacing) => {
                    self.cleared.insert(mark.file);
                    self.notes.insert(mark.file, replacing);
                }
                Err(failure) => drop(failed.insert(mark.file, failure)),
            }
        }
        Ok(failed)
    }

    /// Judges files by the stored candles that their parts overlap. Returns the files that are
    /// rejected.
    pub(crate) fn judge(&mut self, context: &Context<'_>, laid: &[LaidPart]) -> BTreeMap<FileNo, Failure> {
        let mut met: BTreeMap<FileNo, Replacing> = BTreeMap::new();
        for part in laid.iter().filter(|part| !self.cleared.contains(&part.file)) {
            let replacing = met.entry(part.file).or_default();
            replacing.add(&part.series.symbol, part.series.grain, &part.laid.differences);
        }
        let mut failed = BTreeMap::new();
        for (file, replacing) in met {
            match replacing.refusal(context.venues).filter(|_| !context.options.replace) {
                Some(message) => drop(failed.insert(file, Failure::Replacing(message))),
                None => self.notes.entry(file).or_default().merge(&replacing),
            }
        }
        failed
    }

    /// Returns a note for each file that was allowed to replace candles with very different ones.
    pub(crate) fn notes(&self, context: &Context<'_>) -> HashMap<FileNo, String> {
        let note = |(file, replacing): (&FileNo, &Replacing)| Some((*file, replacing.note(context.venues)?));
        self.notes.iter().filter_map(note).collect()
    }
}

/// Candles of a file, by symbol index and lane.
type Gathered = BTreeMap<(u32, Lane), Candles>;

/// Reads a whole file as the import does, and compares it with the stored candles.
fn survey(context: &Context<'_>, source: &Path) -> Result<Result<Replacing, Failure>, ImportError> {
    let mut replacing = Replacing::default();
    // The gatherer reports unreadable files and rows.
    let Ok(Table::Candles(mut rows)) = files::open(source, context.venues, &context.options.read) else {
        return Ok(Ok(replacing));
    };
    let grain = rows.grain();
    let mut reader = context.store.reader()?;
    if !reader.snapshot()?.all_series()?.iter().any(|info| info.series.grain == grain) {
        return Ok(Ok(replacing));
    }
    let mut inspector = Inspector::new(context.venues, grain);
    let mut gathered = Gathered::new();
    let mut count = 0;
    loop {
        if context.stop.load(Ordering::Relaxed) {
            return Ok(Err(Failure::Interrupted));
        }
        let batch = match rows.next() {
            Ok(Some(batch)) => batch,
            Err(error) if is_about_periods(&error.problem) => {
                return Ok(Err(Failure::Laying(error.problem.to_string())));
            }
            Ok(None) | Err(_) => break,
        };
        for row in &batch.rows {
            let Some(symbol) = rows.symbols().get(row.symbol as usize) else { continue };
            let Ok(session) = inspector.inspect(row, symbol) else { continue };
            gathered.entry((row.symbol, lane_of(session))).or_default().push(candle(row, session));
            count += 1;
        }
        if count >= SURVEY_ROWS {
            compare(context, &mut reader, &rows, &mut gathered, &mut replacing)?;
            count = 0;
        }
    }
    compare(context, &mut reader, &rows, &mut gathered, &mut replacing)?;
    Ok(match replacing.refusal(context.venues) {
        Some(message) => Err(Failure::Replacing(message)),
        None => Ok(replacing),
    })
}

fn is_about_periods(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::Mixed
            | Problem::MixedPeriods { .. }
            | Problem::OtherPeriod(_)
            | Problem::OddMinutes(_)
            | Problem::UnsurePeriod(_)
            | Problem::Seconds(_)
    )
}

fn compare(
    context: &Context<'_>,
    reader: &mut Reader,
    rows: &CandleReader,
    gathered: &mut Gathered,
    replacing: &mut Replacing,
) -> Result<(), ImportError> {
    let snapshot = reader.snapshot()?;
    for ((symbol, lane), candles) in std::mem::take(gathered) {
        let Some(symbol) = rows.symbols().get(symbol as usize) else { continue };
        let series = Series { symbol: symbol.clone(), grain: rows.grain(), lane };
        let found = differences(&snapshot, &series, candles, OnDamage::of(context.options))?;
        replacing.add(&series.symbol, series.grain, &found);
    }
    Ok(())
}
